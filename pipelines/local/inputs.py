"""Arguments become a template's inputs, and inputs become its text (workflow/common/util.go: ProcessArgs)."""

from argosy.pipelines.expressions.golang import any_string
from argosy.pipelines.expressions.tags import substitute_tree
from argosy.pipelines.local.scope import Scope, input_variables, layered
from argosy.pipelines.manifest import Arguments, Artifact, Json, Parameter, Template, convert
from argosy.pipelines.status import File, Value, Values


class InputError(ValueError):
    """An input that nobody supplied."""


def process(template: Json, arguments: Arguments, variables: Scope) -> Json:
    """The template with its inputs filled in and every variable known by now put in its place.

    Raises InputError, ExpressionError.
    """
    filled = {**template, "inputs": _inputs(convert(template.get("inputs", {}), Arguments), arguments)}
    return substitute(filled, variables)


def substitute(template: Json, variables: Scope) -> Json:
    """Two passes, as inputs may name globals, and the rest of the template its inputs (util.go: SubstituteParams)."""
    first: Json = substitute_tree(template, variables)
    inputs = convert(first.get("inputs", {}), Arguments)
    outputs = convert(first.get("outputs", {}), Arguments)
    second: Json = substitute_tree(first, layered(input_variables(inputs, outputs), variables))
    return second


def values(template: Template) -> Values | None:
    """A template's inputs, as its node shows them."""
    inputs = template.inputs
    if not (inputs.parameters or inputs.artifacts):
        return None
    parameters = [Value(p.name, p.text, description=p.description) for p in inputs.parameters]
    return Values(parameters, [file(artifact) for artifact in inputs.artifacts])


def file(artifact: Artifact) -> File:
    """An artifact as a node shows it."""
    return File(
        artifact.name,
        artifact.path,
        {"key": artifact.s3.key} if artifact.s3 else None,
        {"data": artifact.raw.data} if artifact.raw else None,
        optional=artifact.optional,
        global_name=artifact.global_name,
    )


def _inputs(declared: Arguments, given: Arguments) -> Json:
    arguments = {p.name: p for p in given.parameters}
    parameters = [_parameter(p, arguments.get(p.name)) for p in declared.parameters]
    files = {a.name: a for a in given.artifacts}
    artifacts = [_artifact(a, files.get(a.name)) for a in declared.artifacts]
    return {"parameters": parameters, "artifacts": artifacts}


def _parameter(declared: Parameter, given: Parameter | None) -> Json:
    """The argument, else the input's own value, else its default. An argument without a value erases the default."""
    value = declared.value if declared.value is not None else declared.default
    if given is not None:
        value = given.value
    if value is None:
        raise InputError(f"inputs.parameters.{declared.name} was not supplied")
    kept = {"description": declared.description} if declared.description else {}
    return {"name": declared.name, "value": any_string(value), **kept}


def _artifact(declared: Artifact, given: Artifact | None) -> Json:
    source = given if given is not None and given.has_location else declared
    if not source.has_location and not declared.optional:
        problem = "was not supplied" if given is None else "missing location information"
        raise InputError(f"inputs.artifacts.{declared.name} {problem}")
    return {
        "name": declared.name,
        "optional": declared.optional,
        **({"path": declared.path} if declared.path else {}),
        **({"mode": declared.mode} if declared.mode is not None else {}),
        **({"raw": {"data": source.raw.data}} if source.raw else {}),
        **({"s3": {"key": source.s3.key}} if source.s3 else {}),
    }
