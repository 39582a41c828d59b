"""Names: legal, short enough, and each used once."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from argosy.pipelines import names
from argosy.pipelines.checks.view import Json, View, artifacts, parameters, siblings
from argosy.pipelines.errors import Problem, excerpt

CRON_LIMIT = 52
"""A CronWorkflow adds a time to its name (argo: workflow/validate/validate.go:103)."""

FIELD_LIMIT = 128
"""Characters in the name of a template or task (argo: workflow/validate/validate.go:1626)."""


OWN_NAME = "give each a name of its own"


def workflow_name(view: View) -> Iterator[Problem]:
    """The workflow has a name that Kubernetes takes, with room for what is added to it."""
    for key, added in (("name", 0), ("generateName", names.RANDOM_SUFFIX)):
        name = view.metadata.get(key)
        if name is None:
            continue
        limit = (CRON_LIMIT if view.kind == "CronWorkflow" else names.NAME_LIMIT) - added
        stem = name.rstrip("-") if added else name
        if not all(names.DNS_NAME.fullmatch(part) for part in stem.split(".")):
            yield Problem(
                f"metadata.{key}", f"{excerpt(name)} is no name", f"write {names.dns_name(stem) or 'digits'!r}"
            )
        elif len(name) > limit:
            yield Problem(f"metadata.{key}", f"{excerpt(name)} has {len(name)} characters", f"leave {limit} at most")
    if not {"name", "generateName"} & view.metadata.keys():
        yield Problem("metadata", "there is no name", "give a name, or a generateName that ends in a hyphen")


def field_names(view: View) -> Iterator[Problem]:
    """Templates, tasks, parameters and artifacts have names that Argo takes."""
    for template in view.templates:
        title = template.get("name", "inline")
        is_pod = not ("dag" in template or "steps" in template)
        # A template's name is a part of its pods' names, which are lower case (argo: workflow/util/pod_name.go:50).
        yield from _field_name(f"templates.{title}", title, is_lower=is_pod)
        for one in siblings(template):
            yield from _field_name(f"{title}.{one.get('name')}", str(one.get("name")), is_lower=False)
        for side in ("inputs", "outputs"):
            for one in [*parameters(template.get(side)), *artifacts(template.get(side))]:
                yield from _parameter_name(f"templates.{title}.{side}", str(one.get("name")))
    for one in parameters(view.spec.get("arguments")):
        yield from _parameter_name("arguments", str(one.get("name")))


def _field_name(where: str, name: str, *, is_lower: bool) -> Iterator[Problem]:
    if not names.TEMPLATE_NAME.fullmatch(name) or (is_lower and name != name.lower()):
        form = "lower-case letters, digits and hyphens" if is_lower else "letters, digits and hyphens"
        yield Problem(where, f"{excerpt(name)} is no name for Argo", f"use {form}: {names.dns_name(name) or 'a'!r}")
    elif len(name) > FIELD_LIMIT:
        yield Problem(where, f"the name has {len(name)} characters", f"leave {FIELD_LIMIT} at most")


def _parameter_name(where: str, name: str) -> Iterator[Problem]:
    if "{{" not in name and not names.PARAMETER_NAME.fullmatch(name):
        remedy = f"use letters, digits, - and _: {names.dns_name(name) or 'a'!r}"
        yield Problem(f"{where}.{name}", f"{excerpt(name)} is no name for a parameter", remedy)


def repeats(view: View) -> Iterator[Problem]:
    """No two templates, tasks or parameters have one name."""
    for where, held in _named(view):
        for name, count in Counter(held).items():
            if count > 1:
                yield Problem(where, f"{name} is there {'twice' if count == 2 else f'{count} times'}", OWN_NAME)


def collisions(view: View) -> Iterator[Problem]:
    """No two names of templates, tasks or parameters differ in case, hyphen and underscore alone."""
    for where, held in _named(view):
        alike: dict[str, list[str]] = defaultdict(list)
        for name in dict.fromkeys(held):
            alike[name.lower().replace("_", "-")].append(name)
        for group in alike.values():
            if len(group) > 1:
                yield Problem(where, f"{' and '.join(group)} are the same name", OWN_NAME)


def _named(view: View) -> Iterator[tuple[str, list[str]]]:
    """The names that must differ from each other, with their place."""
    yield "templates", [str(one["name"]) for one in view.templates if "name" in one]
    yield "arguments", _names(parameters(view.spec.get("arguments")))
    for template in view.templates:
        title = template.get("name", "inline")
        yield title, _names(siblings(template))
        for side in ("inputs", "outputs"):
            yield f"{title}.{side}", _names(parameters(template.get(side)))


def _names(holders: list[Json]) -> list[str]:
    return [str(one.get("name")) for one in holders]


def labels(view: View) -> Iterator[Problem]:
    """Labels have keys and values that Kubernetes takes."""
    yield from _labels("metadata.labels", view.metadata.get("labels"))
    for template in view.templates:
        held = (template.get("metadata") or {}).get("labels")
        yield from _labels(f"templates.{template.get('name', 'inline')}.metadata.labels", held)
    yield from _labels("podMetadata.labels", (view.spec.get("podMetadata") or {}).get("labels"))


def _labels(where: str, held: Mapping[str, str] | None) -> Iterator[Problem]:
    for key, value in (held or {}).items():
        if not names.LABEL_KEY.fullmatch(key):
            yield Problem(f"{where}.{key}", f"{excerpt(key)} is no key of a label", f"write {names.label_value(key)!r}")
        if "{{" not in value and not names.LABEL_VALUE.fullmatch(value):
            remedy = f"write {names.label_value(value)!r}, and keep the original in an annotation"
            yield Problem(f"{where}.{key}", f"{excerpt(value)} is no value of a label", remedy)
