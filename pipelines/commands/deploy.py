"""`argosy deploy`: what a pipeline puts into a cluster."""

import click

from argosy.pipelines.commands import arguments


@click.command(epilog="Example: argosy deploy digits | kubectl apply -n NAMESPACE -f -")
@arguments.PIPELINE
def deploy(pipeline: str) -> None:
    """Print a pipeline's WorkflowTemplate and its trigger.

    PIPELINE is a name (pipelines/NAME.py or NAME.py in the project) or a Python file (FILE.py, or FILE.py:VARIABLE).
    With `on_push`, the WorkflowEventBinding that starts a run for each push comes too. Apply them by kubectl, or commit
    them for GitOps: Argo's server has no way to make a binding. The same definition gives the same bytes; with a
    problem nothing is printed.
    """
    from argosy.pipelines.commands import place, source
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.trigger.deployment import deployment

    found = source.find(pipeline)
    if not found.is_python:
        raise Mistake(f"{found.path or 'standard input'} is a manifest already; name a pipeline or its Python file")
    definition = found.definition
    click.echo(deployment(definition.workflow, definition.pipeline, place.project()), nl=False)
