"""`argosy trigger`: what starts a run when code is pushed."""

import click

from argosy.pipelines.commands import completion

PIPELINE = click.argument("pipeline", shell_complete=completion.pipelines)


@click.group(epilog="Example: argosy trigger hook > hooks/post-receive")
def trigger() -> None:
    """Print hooks and CI files that start runs for pushes.

    GitHub and GitLab need none of them where they can reach Argo's server: their webhook goes straight to it, and
    `argosy deploy` prints what listens there.
    """


@trigger.command(epilog="Example: argosy trigger hook > hooks/post-receive && chmod +x hooks/post-receive")
def hook() -> None:
    """Print a post-receive hook for a bare repository.

    A Python program that needs nothing but git. It tells Argo's server of each push, signed as GitHub does. Its first
    lines name its settings, which `git config` holds.
    """
    from pathlib import Path

    import argosy.pipelines.trigger

    click.echo((Path(*argosy.pipelines.trigger.__path__) / "post_receive.py").read_text(encoding="utf-8"), nl=False)


@trigger.command(epilog="Example: argosy trigger github digits > .github/workflows/digits.yaml")
@PIPELINE
def github(pipeline: str) -> None:
    """Print a workflow for GitHub Actions.

    A pull request shows how the manifest of PIPELINE changes; a push to main submits it.
    """
    from argosy.pipelines.trigger import ci

    click.echo(ci.github(_known(pipeline)), nl=False)


@trigger.command(epilog="Example: argosy trigger gitlab digits > .gitlab-ci.yml")
@PIPELINE
def gitlab(pipeline: str) -> None:
    """Print a file for GitLab's CI.

    A merge request shows how the manifest of PIPELINE changes; a push to the default branch submits it.
    """
    from argosy.pipelines.trigger import ci

    click.echo(ci.gitlab(_known(pipeline)), nl=False)


def _known(pipeline: str) -> str:
    """A pipeline of the project, by its name: CI has no other files. Raises Mistake."""
    from argosy.pipelines.commands import source
    from argosy.pipelines.commands.mistake import Mistake, unknown
    from argosy.pipelines.names import TEMPLATE_NAME

    known = source.available()
    if pipeline not in known:
        raise unknown("pipeline", pipeline, known, f"there are {', '.join(sorted(known)) or 'none'}")
    if not TEMPLATE_NAME.fullmatch(pipeline):  # it goes into shell lines
        raise Mistake(f"{pipeline!r} is more than letters, digits and dashes; rename {known[pipeline].name}")
    return pipeline
