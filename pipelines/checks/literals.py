"""Literals that Argo reads only while it runs: durations, counts, patches, and the words that start a process.

What holds a tag is left for the run.
"""

import re
from collections.abc import Callable, Iterator

from argosy.pipelines import documents, names, quantities
from argosy.pipelines.checks.view import Json, View, containers
from argosy.pipelines.errors import Problem, excerpt

RETRY_POLICIES = ("Always", "OnFailure", "OnError", "OnTransientError")

GRACE = "terminationGracePeriodSeconds"

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")


def timeouts(view: View) -> Iterator[Problem]:
    """Timeouts are durations with a unit (argo: workflow/validate/validate.go:509)."""
    for where, template in _templates(view):
        timeout = template.get("timeout")
        if not _is_open(timeout):
            yield from _misread(f"{where}timeout", quantities.duration, str(timeout))


def pauses(view: View) -> Iterator[Problem]:
    """A pause that ends by itself has a duration (argo: workflow/controller/operator.go:3801)."""
    for where, template in _templates(view):
        duration = (template.get("suspend") or {}).get("duration")
        if not _is_open(duration):
            yield from _misread(f"{where}suspend.duration", quantities.pause_seconds, str(duration))


def deadlines(view: View) -> Iterator[Problem]:
    """Deadlines are one second or more (argo: workflow/validate/validate.go:889)."""
    for where, holder in _holders(view):
        value = holder.get("activeDeadlineSeconds")
        if not _is_open(value) and not _is_whole(value, least=1):
            yield Problem(
                f"{where}activeDeadlineSeconds", f"{excerpt(value)} is no deadline", "give whole seconds, 1 or more"
            )


def parallelism(view: View) -> Iterator[Problem]:
    """Something may run: Argo waits for ever where nothing may (argo: workflow/controller/operator.go:3113)."""
    for where, holder in _holders(view):
        value = holder.get("parallelism")
        if not _is_open(value) and not _is_whole(value, least=1):
            yield Problem(
                f"{where}parallelism", f"{excerpt(value)} lets nothing run", "give 1 or more, or leave it out"
            )


def misplaced_limits(view: View) -> Iterator[Problem]:
    """Limits stand on the kind of template that heeds them (argo: workflow/validate/validate.go:509,772,897)."""
    for template in view.templates:
        where = f"templates.{template.get('name', 'inline')}"
        is_caller = "dag" in template or "steps" in template
        for key in ("timeout", "activeDeadlineSeconds") if is_caller else ("parallelism",):
            if template.get(key) not in (None, ""):
                here, there = ("DAG or steps", "pod's") if is_caller else ("pod's", "DAG or steps")
                remedy = f"remove it, or give it to a {there} template"
                yield Problem(f"{where}.{key}", f"Argo refuses it on a {here} template", remedy)


def retry_limits(view: View) -> Iterator[Problem]:
    """Retries are so many, or without a limit."""
    for where, strategy in _retries(view):
        limit = strategy.get("limit")
        if not _is_open(limit) and not _is_whole(limit, least=0):
            remedy = "give a whole number, or leave it out to retry without end"
            yield Problem(f"{where}.limit", f"{excerpt(limit)} is no number of retries", remedy)


def retry_policies(view: View) -> Iterator[Problem]:
    """Argo knows the policy (argo: workflow/controller/operator.go:1118)."""
    for where, strategy in _retries(view):
        policy = strategy.get("retryPolicy")
        if not _is_open(policy) and policy not in RETRY_POLICIES:
            remedy = names.suggestion(str(policy), RETRY_POLICIES, f"there are {', '.join(RETRY_POLICIES)}")
            yield Problem(f"{where}.retryPolicy", f"there is no policy {policy}", remedy)


def backoff_pauses(view: View) -> Iterator[Problem]:
    """A backoff has a duration, and what it has are durations (argo: workflow/controller/operator.go:1046)."""
    for where, backoff in _backoffs(view):
        if backoff.get("duration") in (None, ""):
            yield Problem(f"{where}.duration", "is missing", "say how long to wait before the first retry: '10s'")
        for key in ("duration", "cap", "maxDuration"):
            if not _is_open(backoff.get(key)):
                yield from _misread(f"{where}.{key}", quantities.pause_seconds, str(backoff[key]))


def backoff_factors(view: View) -> Iterator[Problem]:
    """A factor is whole, and Argo heeds none below one (argo: workflow/controller/operator.go:1055)."""
    for where, backoff in _backoffs(view):
        factor = backoff.get("factor")
        if not _is_open(factor) and not _is_whole(factor, least=1):
            yield Problem(f"{where}.factor", f"{excerpt(factor)} is no factor", "give a whole number, 1 or more")


def pod_spec_patches(view: View) -> Iterator[Problem]:
    """Patches are objects (argo: workflow/util/util.go:1564)."""
    for where, text in _patches(view):
        if _patch(text) is None:
            yield Problem(where, f"{excerpt(text)} is no object", f"write YAML such as '{GRACE}: 60'")


def grace_periods(view: View) -> Iterator[Problem]:
    """The time that a pod has to end is whole seconds, as Kubernetes wants them."""
    for where, text in _patches(view):
        patch = _patch(text) or {}
        if GRACE in patch and not (type(patch[GRACE]) is int and patch[GRACE] >= 0):
            yield Problem(f"{where}.{GRACE}", f"{excerpt(patch[GRACE])} is no time", "give whole seconds, 0 or more")


def environment_names(view: View) -> Iterator[Problem]:
    """A variable's name is one that a process can have."""
    for where, container in containers(view):
        for variable in container.get("env") or []:
            name = str(variable.get("name") or "")
            if "{{" not in name and (not name or "=" in name or "\0" in name):
                yield Problem(f"{where}.env", f"{excerpt(name)} is no name for a variable", "use letters, digits and _")


def nul_characters(view: View) -> Iterator[Problem]:
    """No word that starts a process holds the character that ends words (execve(2))."""
    for where, container in containers(view):
        words = {key: container.get(key) or [] for key in ("command", "args")}
        words["env"] = [str(one.get("value") or "") for one in container.get("env") or []]
        for key, held in words.items():
            if any("\0" in word for word in held):
                remedy = "remove it, or encode the value with argosy.steps.values.encode"
                yield Problem(f"{where}.{key}", "holds U+0000, which no process can be given", remedy)


def _misread(where: str, read: Callable[[str], object], text: str) -> Iterator[Problem]:
    try:
        read(text)
    except ValueError as error:
        what, _, remedy = str(error).rpartition("; ")
        yield Problem(where, what, remedy)


def _is_open(value: object) -> bool:
    """Whether there is no value, or one that only a run can tell."""
    return value is None or value == "" or (isinstance(value, str) and "{{" in value)


def _is_whole(value: object, least: int) -> bool:
    """Whether Go's strconv.Atoi reads a number of at least this."""
    return bool(_WHOLE.fullmatch(str(value))) and int(str(value)) >= least


def _templates(view: View) -> Iterator[tuple[str, Json]]:
    """What templates say, and what is said for all of them, each with the beginning of its place."""
    if defaults := view.spec.get("templateDefaults"):
        yield "templateDefaults.", defaults
    for template in view.templates:
        yield f"templates.{template.get('name', 'inline')}.", template


def _holders(view: View) -> Iterator[tuple[str, Json]]:
    yield "", view.spec
    yield from _templates(view)


def _retries(view: View) -> Iterator[tuple[str, Json]]:
    for where, holder in _holders(view):
        if strategy := holder.get("retryStrategy"):
            yield f"{where}retryStrategy", strategy


def _backoffs(view: View) -> Iterator[tuple[str, Json]]:
    for where, strategy in _retries(view):
        if (backoff := strategy.get("backoff")) is not None:
            yield f"{where}.backoff", backoff


def _patches(view: View) -> Iterator[tuple[str, str]]:
    for where, holder in _holders(view):
        text = holder.get("podSpecPatch")
        if isinstance(text, str) and not _is_open(text):
            yield f"{where}podSpecPatch", text


def _patch(text: str) -> Json | None:
    try:
        held = list(documents.load_all(text))
    except documents.DocumentError:
        return None
    return held[0] if len(held) == 1 and isinstance(held[0], dict) else None
