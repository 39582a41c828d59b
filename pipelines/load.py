"""A user's Python file -> the Hera workflow it defines."""

import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from hera.workflows import Workflow
from pydantic import ValidationError

from argosy.pipelines import names
from argosy.pipelines.errors import LoadError, Problem, Refusal
from argosy.pipelines.nouns import problems_of
from argosy.pipelines.project import importable, project_of
from argosy.pipelines.spec import Pipeline

Kind = TypeVar("Kind", Workflow, Pipeline)


@dataclass(frozen=True)
class Definition:
    """What a file defines."""

    workflow: Workflow
    pipeline: Pipeline | None
    """What the workflow was made of, where the file says so."""


def load(path: Path, name: str | None = None) -> Definition:
    """The workflow that a file defines: its Hera workflows if it has any at module level, else its pipelines.

    `name`, a variable or a pipeline's name, is needed where a file defines several. Raises LoadError, which names the
    user's own line.
    """
    module = _executed(path)
    pipelines = _defined(module, Pipeline)
    found = _defined(module, Workflow) or pipelines
    if not found:
        raise LoadError([Problem(str(path), "defines no Pipeline and no Workflow", "assign one to a variable")])
    chosen = {variable: one for variable, one in found.items() if name in (None, variable, _name(one))}
    if len(chosen) != 1:
        known = ", ".join(found)
        what = f"defines no {name}" if name and not chosen else f"defines several: {known}"
        raise LoadError([Problem(str(path), what, names.suggestion(name or "", found, f"name one of {known}"))])
    (one,) = chosen.values()
    if isinstance(one, Pipeline):
        return Definition(one.workflow(), one)
    made_of = (one.labels or {}).get(names.PIPELINE_LABEL)
    return Definition(one, next((each for each in pipelines.values() if each.name == made_of), None))


def _defined(module: ModuleType, kind: type[Kind]) -> dict[str, Kind]:
    """Variable -> object, each object once."""
    found: dict[int, tuple[str, Kind]] = {}
    for variable, value in vars(module).items():
        if isinstance(value, kind):
            found.setdefault(id(value), (variable, value))
    return dict(found.values())


def _name(definition: Workflow | Pipeline) -> str | None:
    if isinstance(definition, Pipeline):
        return definition.name
    return definition.name or (definition.generate_name or "").rstrip("-")


def _executed(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"argosy_pipeline_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise LoadError([Problem(str(path), "is no Python file", "name the file that defines a pipeline")])
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pydantic look their own module up
    # Standard output is for what a command prints: a manifest, or JSON.
    with importable(project_of(path)), redirect_stdout(sys.stderr):
        try:
            spec.loader.exec_module(module)
        except Refusal as error:
            raise LoadError(_placed(error.problems, _line(error, path))) from None
        except ValidationError as error:  # of a model of the user's own, hyperparameters for example
            raise LoadError(_placed(problems_of(error, {}), _line(error, path))) from None
        except SyntaxError as error:
            where = f"{error.filename or path}:{error.lineno}" if error.lineno else str(path)
            raise LoadError([Problem(where, f"syntax error: {error.msg}", "correct that line")]) from None
        except ModuleNotFoundError as error:
            remedy = "install it, or put it into the project's folder"
            raise LoadError([Problem(_line(error, path), f"there is no module {error.name}", remedy)]) from None
        except SystemExit as error:
            what = f"ends argosy: sys.exit({error.code!r})"
            raise LoadError([Problem(_line(error, path), what, "remove it; the file need only define")]) from None
        except Exception as error:  # noqa: BLE001 - whatever the user's own code raises
            what = f"{type(error).__name__}: {error}"
            raise LoadError([Problem(_line(error, path), what, "correct that line")]) from None
    return module


def _placed(problems: Sequence[Problem], line: str) -> list[Problem]:
    return [Problem(f"{line}: {one.where}", one.what, one.remedy) for one in problems]


def _line(error: BaseException, path: Path) -> str:
    """`FILE:LINE` of the innermost line that the user wrote, in that file or in one that it imports."""
    library = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    own = str(Path(__file__).parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path) or not frame.filename.startswith((*library, own, "<"))
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(path)
