"""All the rules. One rule is one function is one kind of message."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hera.workflows import Workflow

from argosy.pipelines.checks import amounts, conditions, naming, project, schema, structure, tags, training, wiring
from argosy.pipelines.checks.dropped import dropped_templates
from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem

RULES: tuple[structure.Rule, ...] = (
    naming.workflow_name,
    naming.field_names,
    naming.collisions,
    naming.labels,
    *structure.RULES,
    wiring.arguments,
    wiring.artifact_arguments,
    tags.known,
    conditions.readable,
    amounts.finite_numbers,
    amounts.characters,
    amounts.parameter_sizes,
    amounts.word_sizes,
    amounts.manifest_size,
)

PROJECT_RULES: tuple[Callable[[View, Path], Iterator[Problem]], ...] = (
    project.datasets,
    project.tasks,
    project.functions,
    project.methods,
    training.scripts,
    training.graces,
)


def check(workflow: Workflow, folder: Path | None = None) -> list[Problem]:
    """What is wrong with a Hera workflow; with a project's folder, what is wrong there too."""
    return check_built(workflow, workflow.to_dict(), folder)


def check_built(workflow: Workflow, manifest: Mapping[str, Any], folder: Path | None = None) -> list[Problem]:
    """The same for a workflow whose manifest was built already."""
    return [*dropped_templates(workflow, manifest), *check_manifest(manifest, folder)]


def check_manifest(manifest: Mapping[str, Any], folder: Path | None = None) -> list[Problem]:
    """What is wrong with a manifest, whoever wrote it."""
    view = View(dict(manifest))
    if problems := list(schema.fields(view)):
        return problems  # the rules expect the types that the schema promises
    found = [problem for rule in RULES for problem in rule(view)]
    if folder is not None:
        found += [problem for rule in PROJECT_RULES for problem in rule(view, folder)]
    return found
