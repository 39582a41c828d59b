import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
from argosy.pipelines.expressions import depends, expr, tags, when
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_importing_the_languages_loads_only_the_standard_library_and_nothing_slow():
    command = [sys.executable, "-c", PROGRAM]
    loaded = set(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split())
    assert loaded <= sys.stdlib_module_names | {"argosy"}
    assert not loaded & {"dataclasses", "inspect", "datetime", "decimal", "asyncio", "logging"}
