"""A step as a process of a command's: what a command needs to know, and only `argosy.steps` can find out."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands.mistake import Mistake

if TYPE_CHECKING:
    from argosy.pipelines.manifest import Json
    from argosy.steps.contracts import Step

QUIET_SECONDS = 1.0
"""So long it takes before a person at a terminal is told what is waited for."""


class StepBrokenError(Exception):
    """A step that ended badly, and not by a mistake of the user's."""


def outputs(step: "Step | str", fields: Mapping[str, object], waited_for: str, *, is_told: bool = False) -> "Json":
    """What a step gives, or another of the steps' programs, by its module's name in `argosy.steps`: its record.
    `is_told`: what it says on standard error is for the user, too.

    Raises Mistake, with the step's own words, for what it refuses; StepBrokenError for any other bad end.
    """
    import json

    from argosy.steps import values
    from argosy.steps.contracts import RECORD, ExitCode, Step, option

    with tempfile.TemporaryDirectory(prefix="argosy-") as folder:
        given = {**fields, "output": folder}
        words = [f"--{option(name)}={values.encode(value)}" for name, value in given.items()]
        # -P: the user's modules in the working directory must not come before the libraries that the step imports.
        program = ["argosy.steps", step] if isinstance(step, Step) else [f"argosy.steps.{step}"]
        code, said = _ended([sys.executable, "-P", "-m", *program, *words], waited_for)
        if code in (ExitCode.USAGE, ExitCode.DATA, ExitCode.CONFIGURATION):
            raise Mistake(said.strip())
        if code != ExitCode.OK:
            raise StepBrokenError((said.strip() or f"exit code {code}").splitlines()[-1])
        if is_told:
            click.echo(said, err=True, nl=False)
        record: Json = json.loads(Path(folder, RECORD).read_bytes())
    return record


def _ended(command: list[str], waited_for: str) -> tuple[int, str]:
    """Exit code and standard error of a process, which does not outlive this one's interest in it."""
    unread = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=unread, stdout=unread, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        try:
            return _waited(process, waited_for)
        except BaseException:
            process.kill()
            raise


def _waited(process: "subprocess.Popen[str]", waited_for: str) -> tuple[int, str]:
    try:
        _, said = process.communicate(timeout=QUIET_SECONDS)
    except subprocess.TimeoutExpired:
        if sys.stderr.isatty():
            click.echo(f"{waited_for}; Ctrl-C ends it", err=True)
        _, said = process.communicate()
    return process.returncode, said
