"""What Argo refuses, or fails on while it runs: the rules that whoever runs a manifest needs.

They are for every start of a run, so neither hera nor pydantic is imported for them.
"""

from collections.abc import Callable, Iterator

from argosy.pipelines.checks import literals, naming, order, wiring
from argosy.pipelines.checks.view import Json, View
from argosy.pipelines.errors import Problem

Rule = Callable[[View], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    naming.repeats,
    wiring.entrypoint,
    wiring.exit_handlers,
    wiring.called_templates,
    order.known_dependencies,
    order.cycles,
    order.targets,
    literals.timeouts,
    literals.pauses,
    literals.deadlines,
    literals.parallelism,
    literals.misplaced_limits,
    literals.retry_limits,
    literals.retry_policies,
    literals.backoff_pauses,
    literals.backoff_factors,
    literals.pod_spec_patches,
    literals.grace_periods,
    literals.environment_names,
    literals.nul_characters,
)


def problems(manifest: Json) -> list[Problem]:
    """What is wrong with a manifest whose fields have Argo's types."""
    view = View(manifest)
    return [problem for rule in RULES for problem in rule(view)]
