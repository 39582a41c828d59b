"""A new project of the user's own: the files of `project_template/` under names of its own."""

import importlib.util
import keyword
import sys
from pathlib import Path

from argosy.pipelines import names
from argosy.pipelines.errors import Problem, Refusal

TEMPLATE = Path(__file__).with_name("project_template")
SUFFIX = "-tpl"
"""Ends the name of each file there, so that no tool takes it for a file of the project it lies in."""

NAME, PACKAGE = "my-model", "my_model"
"""What the template calls itself and its package."""

FOLDERS = {"build", "data", "dist", "pipelines", "tests"}
"""What else lies in a project beside its package."""

STEPS_IMPORT = {"argosy", "dvc", "mlflow", "numpy", "pydantic", "scipy", "sklearn", "torch", "webdataset"}
"""Modules of the pods, which need not be installed here."""


def package_of(name: str) -> str:
    """The Python package of a project."""
    return name.replace("-", "_")


def check_name(name: str) -> None:
    """Raises Refusal for a name that is none of a pipeline and of a package alike, or that is taken."""
    if problem := _problem(name):
        raise Refusal([problem])


def write(name: str, folder: Path) -> None:
    """The files of a new project. The folder must not exist."""
    for source in TEMPLATE.rglob(f"*{SUFFIX}"):
        path = folder / renamed(str(source.relative_to(TEMPLATE)).removesuffix(SUFFIX), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(renamed(source.read_text(encoding="utf-8"), name), encoding="utf-8")


def renamed(text: str, name: str) -> str:
    return text.replace(NAME, name).replace(PACKAGE, package_of(name))


def _problem(name: str) -> Problem | None:
    package = package_of(name)
    if len(name) > names.PIPELINE_NAME_LIMIT:
        what = f"has {len(name)} characters"
        return Problem(name, what, f"leave {names.PIPELINE_NAME_LIMIT} at most, since a run adds six to it")
    if not names.DNS_NAME.fullmatch(name) or not package.isidentifier():
        near = names.dns_name(name).lstrip("-0123456789") or NAME
        return Problem(
            repr(name), "is no name: it takes lower-case letters, digits and -, a letter first", f"write {near}"
        )
    remedy = f"choose another name, such as {name}-model"
    if keyword.iskeyword(package):
        return Problem(name, "is a word of Python's, and no package can have its name", remedy)
    if package in FOLDERS:
        return Problem(name, "is a folder that a project has anyway", remedy)
    if package in STEPS_IMPORT or package in sys.stdlib_module_names or importlib.util.find_spec(package):
        return Problem(name, f"there is a Python module {package} already, which the project's would hide", remedy)
    return None
