"""The architecture's rules, held to the code: two rooms, one door, no third name."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

DOOR = {f"argosy.steps.{name}" for name in ("base", "contracts", "gates", "pins", "registry", "stored", "values")}
FORBIDDEN = {
    "pipelines": {"torch", "dvc", "mlflow", "webdataset", "scipy", "numpy"},
    "steps": {"hera", "argosy.pipelines", "click", "rich", "msgspec"},
}
REFERENCE = {"pipelines/digits.py": {"argosy.steps.digits_hyperparameters"}}
"""A pipeline also imports the hyperparameters of its task: they are that task's contract."""


def sources(room):
    return sorted(path for path in (ROOT / room).rglob("*.py") if "project_template" not in path.parts)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(module, packages):
    return any(module == package or module.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_nothing_of_the_other(room):
    crossings = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sources(room)
        for module in imports(path)
        if is_within(module, FORBIDDEN[room])
    ]
    assert crossings == []


def test_pipelines_use_only_the_door_into_steps():
    crossings = []
    for path in sources("pipelines"):
        allowed = DOOR | REFERENCE.get(str(path.relative_to(ROOT)), set())
        used = [module for module in imports(path) if is_within(module, ["argosy.steps"]) and module != "argosy.steps"]
        crossings += [f"{path.relative_to(ROOT)}: {module}" for module in used if not is_within(module, allowed)]
    assert crossings == []


@pytest.mark.parametrize("module", ["argosy.steps.contracts", "argosy.steps.values", "argosy.pipelines"])
def test_the_door_opens_without_heavy_libraries(module):
    heavy = {"torch", "mlflow", "dvc", "hera", "numpy", "scipy"}
    code = f"import sys, {module}; print(*sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_no_module_is_imported_by_its_folder_name():
    assert "steps" not in sys.modules
    assert "pipelines" not in sys.modules


def test_every_package_is_listed_for_the_wheel():
    on_disk = {
        "argosy." + ".".join(path.parent.relative_to(ROOT).parts)
        for room in FORBIDDEN
        for path in sources(room)
        if path.name == "__init__.py"
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == on_disk | {"argosy.images"}  # data alone


def test_argosy_is_a_namespace():
    import argosy

    assert argosy.__file__ is None
