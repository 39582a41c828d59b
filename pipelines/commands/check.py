"""`argosy check`: everything that can be known to go wrong before anything runs."""

import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json

if TYPE_CHECKING:
    from argosy.pipelines.commands.source import Source
    from argosy.pipelines.errors import Problem
    from argosy.pipelines.manifest import Json


OWN = ["argosy's rules", "Argo's schema (Hera's models)"]
LINT = "argo lint"


@click.command(epilog="Example: argosy check digits")
@arguments.PIPELINE
@arguments.as_json("the problems")
def check(pipeline: str, as_json: bool) -> int:
    """Print what is wrong with a pipeline or manifest.

    PIPELINE is a name (pipelines/NAME.py or NAME.py in the project), a Python file (FILE.py, or FILE.py:VARIABLE), a
    manifest (.yaml, .yml, .json), or - for a manifest on standard input.

    Exit code: 0 nothing is wrong, 1 there are problems, 2 there is nothing to check.
    """
    from argosy.pipelines.commands import source
    from argosy.pipelines.errors import LoadError

    document: Json = {}
    validations: list[str] = []
    try:
        document, problems, validations = _checked(source.find(pipeline))
    except LoadError as error:
        problems = list(error.problems)
    if as_json:
        told = [asdict(problem) for problem in problems]
        print_json({"ok": not problems, "problems": told, "validations": validations})
    else:
        for problem in problems:
            click.echo(problem)
        by = f", by {', '.join(validations)}" if validations else ""
        without = "" if problems or LINT in validations else "; not by argo lint: there is no argo on PATH"
        click.echo(f"{_verdict(document, problems)}{by}{without}")
    return 1 if problems else 0


def _checked(found: "Source") -> tuple["Json", list["Problem"], list[str]]:
    """The manifest, all its problems, and what it was checked by: argo's own linter last. Raises LoadError, Mistake."""
    from argosy.pipelines import manifest
    from argosy.pipelines.checks import rules
    from argosy.pipelines.checks.linter import argo_lint
    from argosy.pipelines.commands import place
    from argosy.pipelines.compile import rendered

    if found.is_python:
        workflow = found.definition.workflow
        document = workflow.to_dict()
        problems = rules.check_built(workflow, document, place.project())
    else:
        with found.blamed():
            document = manifest.read(found.manifest())
        problems = rules.check_manifest(document, place.project())
    if problems or not shutil.which("argo"):
        return document, problems, OWN
    return document, argo_lint(rendered(document)), [*OWN, LINT]


def _verdict(document: "Json", problems: list["Problem"]) -> str:
    from argosy.pipelines.views.words import amount

    if problems:
        return amount(len(problems), "problem")
    templates = document["spec"].get("templates", [])
    tasks = sum(len(one.get("dag", {}).get("tasks", [])) + sum(map(len, one.get("steps", []))) for one in templates)
    return f"ok: {amount(len(templates), 'template')} and {amount(tasks, 'task')} checked"
