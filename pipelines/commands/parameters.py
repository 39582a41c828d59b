"""Values that are given on the command line, held against the types and bounds of the pipeline's own nouns."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo

from argosy.pipelines.checks.project import dataset_problems
from argosy.pipelines.dataset import Dataset
from argosy.pipelines.errors import Problem, SpecError
from argosy.pipelines.gates import Gate
from argosy.pipelines.hyperparameters import hyperparameters
from argosy.pipelines.nouns import problems_of
from argosy.pipelines.spec import Pipeline
from argosy.steps import values
from argosy.steps.contracts import option


def refuse_unfit(pipeline: Pipeline, given: Mapping[str, str], project: Path) -> None:
    """Every value is one that its step will take, and every dataset one of the project's.

    Raises SpecError with all that are not.
    """
    problems = list(_of_nouns(pipeline, given))
    if "dataset" in given and not problems:
        problems += dataset_problems(given["dataset"], project)
    if pipeline.training.hyperparameters is not None:
        problems += _of_task(pipeline.training.hyperparameters, given)
    if problems:
        raise SpecError(problems)


def _of_nouns(pipeline: Pipeline, given: Mapping[str, str]) -> Iterator[Problem]:
    known = {"dataset": Dataset.model_fields["path"], "seed": Pipeline.model_fields["seed"]}
    gates = {gate.parameter: gate for gate in pipeline.gates if gate.parameter in given}
    known |= {name: type(gate).model_fields[gate.limit] for name, gate in gates.items()}
    fields = {name: info for name, info in known.items() if name in given}
    definitions: dict[str, Any] = {name: (info.annotation, info) for name, info in fields.items()}
    # Not the nouns themselves: they are strict, and a step takes `.9` and `1e-3`.
    model, content = create_model("parameters", **definitions), _decoded(fields, given)
    problems = list(_problems(model, content))
    yield from problems
    if not problems:
        taken = model.model_validate(content)
        for name, gate in gates.items():
            yield from _of_gate(gate, name, getattr(taken, name))


def _of_gate(gate: Gate, parameter: str, limit: object) -> Iterator[Problem]:
    """What the noun itself says of another threshold."""
    try:
        type(gate)(**{**dict(gate), gate.limit: limit})
    except SpecError as error:
        yield from (Problem(f"-p {parameter}", one.what, one.remedy) for one in error.problems)


def _of_task(model: BaseModel, given: Mapping[str, str]) -> Iterator[Problem]:
    kind = type(model)
    fields = {name: info for name, info in kind.model_fields.items() if option(name) in given}
    if not fields:
        return
    content = {**model.model_dump(), **_decoded(fields, {name: given[option(name)] for name in fields})}
    problems = list(_problems(kind, content))
    yield from problems or _of_hyperparameters(kind.model_validate(content))


def _of_hyperparameters(made: BaseModel) -> Iterator[Problem]:
    try:
        hyperparameters(made)
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        yield Problem("-p", what, remedy)


def _problems(kind: type[BaseModel], content: Mapping[str, object]) -> Iterator[Problem]:
    try:
        kind.model_validate(content)
    except ValidationError as error:
        for one in problems_of(error, kind.model_fields):
            _, _, field = one.where.partition(".")
            yield Problem(f"-p {option(field)}" if field else one.where, one.what, one.remedy)


def _decoded(fields: Mapping[str, FieldInfo], given: Mapping[str, str]) -> dict[str, object]:
    return {name: values.decode(given[name], info.annotation) for name, info in fields.items()}
