"""The project: the data and the task that a manifest names are there. Nothing of the user's is imported."""

import ast
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from argosy.pipelines import names
from argosy.pipelines.checks import sources
from argosy.pipelines.checks.view import Json, View, parameters
from argosy.pipelines.errors import Problem, excerpt
from argosy.pipelines.project import importable
from argosy.pipelines.started import starts, trainings
from argosy.steps import pins, values
from argosy.steps.contracts import Step

_OUT = re.compile(r"^\s*(?:- )?path: *['\"]?([^'\"\n]+)", re.MULTILINE)
"""A path in a DVC file; those of dependencies are among them, which errs on the side of running."""


OF_TRAINING = "correct"
"""A metric that training itself takes: it is not missed for the first time by a gate."""
_WHOLE_TAG = re.compile(r"\{\{(inputs|workflow)\.parameters\.([-\w]+)\}\}")


def datasets(view: View, project: Path) -> Iterator[Problem]:
    """DVC's files name every dataset that is staged, and can be read."""
    texts = {one for call in _calls(view, Step.STAGE) for one in _texts(view, call, "dataset")}
    for text in sorted(texts):
        yield from dataset_problems(text, project)


def dataset_problems(text: str, project: Path) -> Iterator[Problem]:
    """Why DVC's files of a project cannot say what the datasets of a parameter are."""
    try:
        pinned = pins.sources(str(values.decode(text, str)))
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        yield Problem(excerpt(text), what, remedy)
    else:
        found = (_dataset_problem(path, project) for path in sorted({source.path for source in pinned}))
        yield from (problem for problem in found if problem)


def _dataset_problem(dataset: str, project: Path) -> Problem | None:
    """Why DVC's files of a project cannot say what a dataset is.

    Which out it is exactly, only staging says: here the last part of its path must be there.
    """
    normal = posixpath.normpath(dataset)
    if normal == ".." or normal.startswith(("/", "../")):
        return Problem(dataset, "leads out of the project", "give a path inside it, relative to it")
    recorded: list[str] = []
    for file in _dvc_files(project, PurePosixPath(dataset)):
        try:
            text = (project / file).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            return Problem(str(file), f"is no UTF-8 text at byte {error.start}", "write it anew with DVC")
        if line := _conflict(text):
            return Problem(f"{file}:{line}", "holds a merge conflict", "resolve it, then run `dvc status`")
        recorded += _OUT.findall(text)
    if PurePosixPath(dataset).name in {PurePosixPath(path).name for path in recorded}:
        return None
    if (project / f"{normal}.dvc").is_file():
        return Problem(f"{normal}.dvc", "records no such dataset", f"write it anew: `dvc add {normal}`")
    parent = PurePosixPath(normal).parent
    recorded += sorted(str(parent / file.stem) for file in (project / parent).glob("*.dvc") if file.is_file())
    known = f"DVC has {', '.join(recorded)}" if recorded else "name it in dvc.yaml, or run `dvc add`"
    return Problem(dataset, f"no DVC file in {project} names it", names.suggestion(dataset, recorded, known))


def _dvc_files(project: Path, dataset: PurePosixPath) -> list[PurePosixPath]:
    """The files that can record a dataset: its own .dvc file, or the dvc.lock of a folder above it."""
    folders = list(dataset.parents)
    candidates = [dataset.with_name(f"{dataset.name}.dvc"), *(folder / "dvc.lock" for folder in folders)]
    return [file for file in candidates if (project / file).is_file()]


def _conflict(text: str) -> int | None:
    """The line of git's mark for two versions of a file."""
    marks = (number for number, line in enumerate(text.splitlines(), 1) if line.startswith(("<<<<<<< ", ">>>>>>> ")))
    return next(marks, None)


def tasks(view: View, project: Path) -> Iterator[Problem]:
    """Every task's class stands in a module that can be found, and what that imports can be found too."""
    for task in sorted({one for call in training_templates(view) for one in _texts(view, call, "task")}):
        yield from _import_problems(task, "class", project)


def functions(view: View, project: Path) -> Iterator[Problem]:
    """Every gate of the user's own is a function in a module that can be found, with what that imports."""
    for function in sorted({one for call in _calls(view, Step.CUSTOM_GATE) for one in _texts(view, call, "function")}):
        yield from _import_problems(function, "def", project, sources.not_called)


def methods(view: View, project: Path) -> Iterator[Problem]:
    """A task has the methods that the gates' metrics and labels are, as far as its class can be read."""
    for step in (Step.ACCURACY_GATE, Step.SLICES_GATE, Step.CHAMPION_GATE):
        for gate in _calls(view, step):
            metrics = sorted({*_texts(view, gate, "metric")} - {OF_TRAINING})
            labels = sorted({label for name in ("by", "cluster") for label in _texts(view, gate, name) if label})
            if metrics or labels:
                for task in _texts(view, gate, "task"):
                    yield from _lacking(task, gate["name"], metrics, labels, project)


def _lacking(task: str, gate: str, metrics: list[str], labels: list[str], project: Path) -> Iterator[Problem]:
    with importable(project):
        known = sources.methods(task)
    if known is None:
        return
    for metric in metrics:
        if metric not in known:
            remedy = names.suggestion(metric, known, f"write def {metric}(self, outputs, targets) there")
            yield Problem(task, f"has no method {metric}, the metric of {gate}", remedy)
    if labels and "labels" not in known:
        what = f"has no method labels, which tells {gate} the {' and the '.join(labels)} of a sample"
        yield Problem(task, what, "write def labels(self, members) there")


def _import_problems(
    text: str, keyword: str, project: Path, unfit: Callable[[ast.Module], set[str]] = lambda _: set()
) -> Iterator[Problem]:
    """Why an import string, `module:name`, leads to nothing, or to one of a module's unfit names."""
    module, _, attribute = text.partition(":")
    with importable(project):
        spec = sources.found(module)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        yield Problem(text, f"there is no module {module}", f"write it into {project}, or install it")
        return
    if not spec.origin.endswith(".py"):
        return
    try:
        tree = sources.read(spec.origin)
    except SyntaxError as error:
        yield Problem(f"{spec.origin}:{error.lineno}", f"syntax error: {error.msg}", "correct that line")
        return
    yield from _missing_imports(tree, spec.origin, project)
    bound = sources.bound(tree)
    if attribute not in bound and "*" not in bound:
        remedy = names.suggestion(attribute, bound, f"write {keyword} {attribute} there")
        yield Problem(text, f"{spec.origin} has no {attribute}", remedy)
    elif attribute in unfit(tree):
        yield Problem(text, "is no function", "a gate is one that takes Judged and gives Measurement")


def _missing_imports(tree: ast.Module, file: str, project: Path) -> Iterator[Problem]:
    """The packages that a module imports whatever happens. Where torch is missing, nothing is trained: none count."""
    with importable(project):
        if sources.found("torch") is None:
            return
        for line, package in sources.imported(tree):
            if sources.found(package) is None:
                remedy = "install it, or put it into the project's folder"
                yield Problem(f"{file}:{line}", f"there is no module {package}", remedy)


def _calls(view: View, step: Step) -> list[Json]:
    """The templates that start a step of argosy's."""
    return [template for template in view.templates if starts(template.get("container") or {}, step)]


def training_templates(view: View) -> Iterator[Json]:
    """The templates that train, each with the container that does."""
    for template in view.templates:
        for container in trainings(template.get("container") or {}):
            yield {**template, "container": container}


def _texts(view: View, template: Json, name: str) -> Iterator[str]:
    """What an argument of a template's can be; what only a run can tell is left out."""
    prefix = f"--{name}="
    for word in template["container"]["args"]:
        if word.startswith(prefix):
            for text in _replaced(view, template, word.removeprefix(prefix)):
                if "{{" not in text:
                    yield text


def _replaced(view: View, template: Json, text: str) -> Iterator[str]:
    tag = _WHOLE_TAG.fullmatch(text)
    if tag is None:
        yield text
    elif tag[1] == "workflow":
        yield from _value(parameters(view.spec.get("arguments")), tag[2])
    else:
        given = [
            value for one in view.invocations if view.called(one) is template for value in _value(one.arguments, tag[2])
        ]
        for value in given or _value(parameters(template.get("inputs")), tag[2]):
            yield from _replaced(view, template, value) if value != text else ()


def _value(held: list[Json], name: str) -> Iterator[str]:
    for one in held:
        if one.get("name") == name and isinstance(text := one.get("value", one.get("default")), str):
            yield text
