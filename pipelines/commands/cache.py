"""`argosy cache`: what a node's cache holds, and whether it is well."""

from pathlib import Path

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.mistake import Mistake

FOLDER = click.option(
    "--cache",
    "folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="The cache, where it is not the one of this project's local runs.",
)


@click.group(epilog="Example: argosy cache ls")
def cache() -> None:
    """Look after a cache of datasets.

    It is the one of this project's local runs, unless --cache names another: that of a node, on the node itself.

    Exit code: 0 done, 1 something is damaged, 2 there is no cache, or it cannot be used.
    """


@cache.command(epilog="Example: argosy cache ls")
@FOLDER
@arguments.as_json("the versions")
def ls(folder: Path | None, *, as_json: bool) -> int:
    """List the versions that are there, the one that was used last first."""
    return _run("ls", folder, as_json=as_json)


@cache.command(epilog="Example: argosy cache verify")
@FOLDER
@arguments.as_json("what is damaged")
@click.option("--md5", "by_md5", is_flag=True, help="Compare DVC's own hash, which takes far longer.")
def verify(folder: Path | None, *, as_json: bool, by_md5: bool) -> int:
    """Read every file, and name what is damaged.

    A run that needs a damaged version replaces its damaged files.
    """
    return _run("verify", folder, *["--md5"] * by_md5, as_json=as_json)


@cache.command(epilog="Example: argosy cache prune --to 100G")
@FOLDER
@arguments.as_json("what was freed")
@click.option(
    "--to",
    "size",
    metavar="BYTES",
    callback=arguments.byte_count,
    help="Until no more than these are there, such as 100G.",
)
@click.option("--all-unused", is_flag=True, help="All that no run uses.")
def prune(folder: Path | None, *, as_json: bool, size: int | None, all_unused: bool) -> int:
    """Remove versions, the least recently used first.

    What a pod holds, and what was used within the hour, stays.
    """
    if all_unused == (size is not None):
        raise click.UsageError("Give either --to BYTES or --all-unused.")
    return _run("prune", folder, "--all-unused" if all_unused else f"--to={size}", as_json=as_json)


@cache.command(epilog="Example: argosy cache doctor")
@FOLDER
@arguments.as_json("the findings")
def doctor(folder: Path | None, *, as_json: bool) -> int:
    """Tell what is wrong with a cache, and what to do."""
    return _run("doctor", folder, as_json=as_json)


def _run(name: str, folder: Path | None, *words: str, as_json: bool) -> int:
    """Let the steps' own program do it, which the pods use too."""
    import subprocess
    import sys

    from argosy.steps.contracts import ExitCode

    # -P: the user's modules in the working directory must not come before the libraries that it imports.
    command = [sys.executable, "-P", "-m", "argosy.steps.cache", name, f"--cache={folder or local()}", *words]
    done = subprocess.run([*command, *["--json"] * as_json], check=False)
    if done.returncode == ExitCode.OK:
        return 0
    return 1 if done.returncode == ExitCode.DATA else Mistake.exit_code


def local() -> Path:
    """The cache of the project's local runs. Raises Mistake where there is none, or more than one."""
    from argosy.pipelines.commands import place

    home = place.home()
    found = [one for root in (home.host_paths, home.claims) for one in _caches(root)]
    if not found:
        run = f"`{place.program('argosy')} run PIPELINE` makes one"
        raise Mistake(f"there is no cache in {place.project()}; {run}, or name another with --cache FOLDER")
    if len(found) > 1:
        named = ", ".join(place.shown(one) for one in found)
        raise Mistake(f"there are several caches in {place.project()}; name one with --cache: {named}")
    return found[0]


def _caches(root: Path) -> list[Path]:
    """The caches below a folder; none is in another."""
    import os

    found = []
    for folder, folders, files in os.walk(root):
        if "format" in files and {"blobs", "datasets"} <= set(folders):
            found.append(Path(folder))
            folders.clear()
    return found
