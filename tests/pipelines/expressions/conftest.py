import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def golden() -> ModuleType:
    """golden.py, which is a program and in no package."""
    specification = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def oracle(golden: ModuleType) -> ModuleType:
    """golden.py with its Go program built; the first build takes minutes."""
    if not shutil.which("go"):
        pytest.skip("there is no Go here: Argo's answers are those of golden.jsonl")
    try:
        golden.build_oracle()
    except subprocess.CalledProcessError as failure:
        pytest.skip(f"Go cannot build the oracle here: {failure.stderr.strip().splitlines()[-1]}")
    return golden
