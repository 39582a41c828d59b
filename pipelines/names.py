"""Names as Kubernetes and Argo want them."""

import difflib
import re
from collections.abc import Iterable

NAME_LIMIT = 63
"""Characters in a workflow's name: it becomes a label value (argo: workflow/validate/validate.go:101,161)."""

RANDOM_SUFFIX = 5
"""Characters that `generateName` adds (kubernetes: apiserver/pkg/storage/names/generate.go)."""

DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
TEMPLATE_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]*")
PARAMETER_NAME = re.compile(r"[-a-zA-Z0-9_]+")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def dns_name(text: str) -> str:
    """The nearest name that Kubernetes takes: `Train_Model` is `train-model`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LIMIT].strip("-")


def label_value(text: str) -> str:
    """The nearest label value that Kubernetes takes: `feature/A_b` is `feature-A_b`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:NAME_LIMIT].strip("-_.")


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, list(words), n=1)), None)


def suggestion(word: str, words: Iterable[str], otherwise: str) -> str:
    """A remedy for an unknown word."""
    near = nearest(word, words)
    return f"did you mean {near}?" if near else otherwise
