"""Programs that tests and benchmarks hold in strings: no linter reads them, so a name that has moved is seen here."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def programs():
    for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_program(node.value):
                yield path, node


def is_program(text):
    if "import " not in text:
        return False
    try:
        return any(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(text).body)
    except SyntaxError:
        return False


def test_every_name_of_a_program_in_a_string_is_known(tmp_path):
    for path, node in programs():
        name = f"{'-'.join(path.relative_to(ROOT).with_suffix('').parts)}-line-{node.lineno}-{node.col_offset}.py"
        (tmp_path / name).write_text(node.value)
    assert len(list(tmp_path.iterdir())) > 20, "no programs were found"
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--output-format", "concise"]
    done = subprocess.run([*words, "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
