"""What a finished pod gave, and what a finished DAG or steps template makes of its children's outputs."""

from collections.abc import Mapping

from argosy.pipelines.expressions import expr, tags
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.expressions.golang import any_string
from argosy.pipelines.local.artifacts import ArtifactError, Repository
from argosy.pipelines.local.pod import Pod, PodResult, PodRunner
from argosy.pipelines.local.scope import Scope
from argosy.pipelines.manifest import Artifact, Parameter, Template
from argosy.pipelines.status import File, Value, Values


class OutputError(ValueError):
    """A declared output that is not there."""


def of_pod(
    template: Template, pod: Pod, result: PodResult, runner: PodRunner, repository: Repository
) -> tuple[Values, str]:
    """The outputs of a pod whose main container ran, and what is missing of them, if something is.

    A parameter from the first one on that cannot be read is there without a value (executor.go:609), an artifact that
    was not written is not (executor.go:342).
    """
    values = Values(exit_code=str(result.exit_code), result=result.result)
    missing: list[str] = []
    for parameter in template.outputs.parameters:
        value = None
        try:
            value = None if missing else _from_file(parameter, pod, runner)
        except OutputError as error:
            missing.append(str(error))
        values.parameters.append(
            Value(parameter.name, value, global_name=parameter.global_name, description=parameter.description)
        )
    for artifact in template.outputs.artifacts:
        try:
            file = repository.save(artifact, runner.path(pod, artifact.path or ""), pod.name)
        except ArtifactError as error:
            missing.append(str(error))
        else:
            values.artifacts += [file] if file else []
    return values, "; ".join(missing)


def of_children(template: Template, scope: Scope, files: Mapping[str, File]) -> Values | None:
    """The outputs that a DAG or steps template exports (operator.go: getTemplateOutputsFromScope).

    Raises OutputError for one that no child gave.
    """
    declared = template.outputs
    if not (declared.parameters or declared.artifacts):
        return None
    parameters = [_from_scope(parameter, scope) for parameter in declared.parameters]
    found = [(artifact, resolved(artifact, scope, files)) for artifact in declared.artifacts]
    return Values(parameters, [_renamed(file, artifact) for artifact, file in found if file])


def _from_file(parameter: Parameter, pod: Pod, runner: PodRunner) -> str:
    source = parameter.value_from
    if source is None or source.path is None:
        raise OutputError(f"output parameter {parameter.name!r} has no valueFrom.path")
    try:
        text = runner.path(pod, source.path).read_text()
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise OutputError(f"output parameter {parameter.name!r}: {source.path} is no text: {error}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if source.default is None:
            problem = f"{source.path} does not exist after the step"
            raise OutputError(f"output parameter {parameter.name!r}: {problem}") from error
        text = any_string(source.default)
    return text.removesuffix("\n")


def _from_scope(parameter: Parameter, scope: Scope) -> Value:
    source = parameter.value_from
    if source is None:
        raise OutputError(f"output parameter {parameter.name!r} has no valueFrom")
    try:
        value = _evaluated(source.expression, scope) if source.expression else scope[_tag(source.parameter or "")]
    except (LookupError, ExpressionError) as error:
        if source.default is None:
            what = source.expression or source.parameter
            raise OutputError(f"output parameter {parameter.name!r}: unable to resolve {what}") from error
        value = any_string(source.default)
    return Value(parameter.name, value, global_name=parameter.global_name, description=parameter.description)


def _evaluated(expression: str, scope: Scope) -> str:
    return expr.format_result(expr.evaluate(expression, tags.expand(scope)))


def resolved(artifact: Artifact, scope: Scope, files: Mapping[str, File]) -> File | None:
    """The file that an artifact's `from` or `fromExpression` names; None for an optional one that nobody gave.

    Raises OutputError.
    """
    try:
        return files[_tag(artifact.source or "") if artifact.source else _chosen(artifact, scope, files)]
    except (LookupError, ExpressionError) as error:
        if artifact.optional:
            return None
        name = artifact.from_expression or _tag(artifact.source or "")
        raise OutputError(f'Unable to resolve: "{name}"') from error  # util/template/resolve_var.go


def _chosen(artifact: Artifact, scope: Scope, files: Mapping[str, File]) -> str:
    """The name of the file that an expression chooses: to the expression, a file is its name."""
    names = {name: name for name in files}
    return str(expr.evaluate(artifact.from_expression or "", tags.expand({**scope, **names})))


def _renamed(file: File, artifact: Artifact) -> File:
    return File(artifact.name, file.path, file.s3, file.raw, global_name=artifact.global_name)


def _tag(text: str) -> str:
    """The name inside `{{...}}`."""
    return text.strip().removeprefix("{{").removesuffix("}}").strip()
