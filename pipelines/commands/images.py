"""`argosy images`: the container images of a project's pods."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands.mistake import Mistake

if TYPE_CHECKING:
    from argosy.pipelines.images.tiers import Images

PUSHED = "pushed-images.lock"
"""In the project's folder of runs: what `push` has brought to a registry."""

REGISTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*/?")

ENGINE = click.option(
    "--engine", type=click.Choice(["buildah", "podman", "docker"]), help="Use this one, not the first that is there."
)
DIRTY = click.option("--dirty", is_flag=True, help="Take files that differ from the commit; the tag says so.")


def _arguments(_ctx: click.Context, _param: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` words as a dict."""
    pairs = [word.partition("=") for word in given]
    if wrong := next((name for name, mark, _ in pairs if not mark or not name), None):
        raise click.BadParameter(f"{wrong!r} is not NAME=VALUE.")
    return {name: value for name, _, value in pairs}


@click.group(epilog="Example: argosy images build")
def images() -> None:
    """Build and push the images of a project's pods.

    An image has three tiers: base (Python), framework (what requirements.lock pins) and project (argosy's steps and the
    files of a commit). Only the last is built again when code has changed.
    """


@images.command(epilog="Example: argosy images build --base registry.example.org/python:3.12-slim")
@click.option(
    "--tier", type=click.Choice(["base", "framework", "project"]), default="project", show_default=True,
    help="Build anew from this tier on; those below it are built where they are missing.",
)  # fmt: skip
@click.option("--base", metavar="IMAGE", help="A Debian or Ubuntu with Python 3.11 or newer, to build on.")
@ENGINE
@DIRTY
@click.option(
    "--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", callback=_arguments,
    help="Give the builds an argument, such as SSL_CERT_FILE; not for secrets.",
)  # fmt: skip
@click.option(
    "--volume", "volumes", multiple=True, metavar="HERE:THERE[:ro]",
    help="Show the builds a folder or file of this machine; nothing of it stays in the image.",
)  # fmt: skip
def build(
    *, tier: str, base: str | None, engine: str | None, dirty: bool, arguments: dict[str, str], volumes: tuple[str, ...]
) -> None:
    """Build the project's image, tagged NAME:VERSION-COMMIT."""
    from argosy.pipelines.images.tiers import Given

    click.echo(_images(engine, dirty=dirty).build(tier, Given(base, arguments, volumes)))


@images.command(epilog="Example: argosy images push registry.example.org/team")
@click.argument("registry")
@ENGINE
@DIRTY
def push(registry: str, engine: str | None, dirty: bool) -> None:
    """Bring the image that was built of the checked-out commit to REGISTRY, which may go on with a path."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.images import lock

    if not REGISTRY.fullmatch(registry):
        raise Mistake(f"{registry!r} is no registry; write HOST, HOST:PORT or HOST/PATH, and no https://")
    of_project = _images(engine, dirty=dirty)
    pushed = of_project.push(registry.rstrip("/"))
    ledger = place.project() / place.HOME / PUSHED
    lock.write(ledger, lock.entries(ledger) | {of_project.definition.image: pushed})
    click.echo(pushed.reference)


@images.command(epilog="Example: argosy images lock")
def lock() -> None:
    """Let manifests name the image that was pushed last, by its digest.

    Writes images.lock: where a pipeline's `image` stands in it, manifests name the digest from now on.
    """
    from argosy.pipelines.commands import place
    from argosy.pipelines.images import lock as locks
    from argosy.pipelines.images.project import Definition

    project = place.project()
    image = Definition.of(project).image
    pushed = locks.entries(project / place.HOME / PUSHED).get(image)
    if pushed is None:
        raise Mistake(f"no {image} was pushed from here; `argosy images push REGISTRY` comes first")
    if pushed.revision.endswith("-dirty"):
        raise Mistake(f"the {image} that was pushed holds files of no commit; commit them, then build and push again")
    file = project / locks.FILE
    locks.write(file, locks.entries(file) | {image: pushed})
    click.echo(f"{image} is {pushed.reference}, of commit {pushed.revision[:12]}; commit {locks.FILE}")


@images.command(epilog="Example: argosy images freeze")
def freeze() -> None:
    """Pin what pods import, with hashes, in requirements.lock."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.images.freeze import freeze as frozen
    from argosy.pipelines.images.project import Definition

    written = frozen(place.project(), Definition.of(place.project()))
    click.echo(f"{place.shown(written)} is written; commit it")


def _images(engine: str | None, *, dirty: bool) -> "Images":
    """The images of the project's files as they are. Raises Mistake, Refusal."""
    from argosy.pipelines.commands import place, revision
    from argosy.pipelines.images.engine import Engine
    from argosy.pipelines.images.project import Definition
    from argosy.pipelines.images.tiers import Images

    project = place.project()
    now = revision.head(project)
    if not now:
        raise Mistake(f"{project} has no commit, and an image is named after one; `git commit` first")
    if not revision.is_pinned(now) and not dirty:
        raise Mistake("files differ from the commit, or are new; commit them, or take them as they are with --dirty")
    found = Engine.found(engine, lambda line: click.echo(line, err=True))
    return Images(project, Definition.of(project), now, found)
