"""Names as Kubernetes and Argo want them."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

NAME_LIMIT = 63
"""Characters in a workflow's name: it becomes a label value (argo: workflow/validate/validate.go:101,161)."""

RANDOM_SUFFIX = 5
"""Characters that `generateName` adds (kubernetes: apiserver/pkg/storage/names/generate.go)."""

PIPELINE_NAME_LIMIT = NAME_LIMIT - 1 - RANDOM_SUFFIX
"""Characters in a pipeline's name: its runs add a dash and a suffix."""

POD_NAME_PREFIX = 242
"""Characters of a pod's name before its hash."""

PIPELINE_LABEL = "argosy/pipeline"
"""Label of the workflows that argosy compiled."""

GANG = "argosy-gang"
"""Service at which the nodes of a training find each other, and the account of what starts them."""

GANG_LABEL = "argosy.dev/gang"
"""Label of a node's pod."""

DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
TEMPLATE_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]*")
PARAMETER_NAME = re.compile(r"[-a-zA-Z0-9_]+")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def dns_name(text: str) -> str:
    """The nearest name that Kubernetes takes: `Train_Modèle` is `train-modele`."""
    unaccented = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return re.sub(r"[^a-z0-9]+", "-", unaccented.lower()).strip("-")[:NAME_LIMIT].strip("-")


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


def node_id(workflow: str, node: str) -> str:
    """A node's id from its whole name (argo: pkg/apis/workflow/v1alpha1/workflow_types.go:3751)."""
    return node if node == workflow else f"{workflow}-{fnv1a(node)}"


def pod_name(workflow: str, node: str, template: str) -> str:
    """The name of a node's pod; the prefix is cut to leave room for the hash (argo: workflow/util/pod_name.go:50)."""
    return workflow if node == workflow else f"{f'{workflow}-{template}'[:POD_NAME_PREFIX]}-{fnv1a(node)}"


def fnv1a(text: str) -> int:
    """The 32-bit FNV-1a hash, http://www.isthe.com/chongo/tech/comp/fnv/."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
