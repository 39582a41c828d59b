"""`argosy compile`: a pipeline as an Argo manifest."""

from pathlib import Path

import click

from argosy.pipelines.commands import arguments


@click.command(epilog="Example: argosy compile digits -o digits.yaml")
@arguments.PIPELINE
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file, not to standard output."
)
def compile(pipeline: str, output: Path | None) -> None:  # noqa: A001 - the command's name
    """Print a pipeline as an Argo manifest.

    PIPELINE is a name (pipelines/NAME.py or NAME.py in the project) or a Python file (FILE.py, or FILE.py:VARIABLE).
    The same definition gives the same bytes. Every check comes first; with a problem nothing is printed.
    """
    from argosy.pipelines.commands import source
    from argosy.pipelines.commands.mistake import Mistake

    found = source.find(pipeline)
    if not found.is_python:
        raise Mistake(f"{found.path or 'standard input'} is a manifest already; `argosy check` checks one")
    text = found.manifest()
    if output is None:
        click.echo(text, nl=False)
        return
    if not output.parent.is_dir():
        raise Mistake(f"there is no folder {output.parent}; make it, or name another")
    temporary = output.with_name(f".{output.name}.part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(output)
