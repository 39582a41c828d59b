"""Argo's own examples are right: the rules find nothing in them but what is known to be refused on purpose."""

from pathlib import Path

import yaml

from argosy.pipelines.checks.rules import check_manifest
from argosy.pipelines.checks.schema import KINDS

NO_NAME = "there is no name"
LONG_NAME = "has 61 characters"
EXPRESSION = "mixes two languages"
UNUSED = "takes no such argument"
ON_PURPOSE = {
    "conditionals.yaml": EXPRESSION,
    "fun-with-gifs.yaml": "no",  # its generateName stands among its labels
    "global-parameters-from-configmap-referenced-as-local-variable.yaml": LONG_NAME,
    "k8s-jobs.yaml": NO_NAME,
    "synchronization-db-mutex-tmpl-level.yaml": UNUSED,
    "synchronization-db-tmpl-level.yaml": UNUSED,
    "synchronization-mutex-tmpl-level.yaml": UNUSED,
    "synchronization-tmpl-level.yaml": UNUSED,
}


def test_rules_refuse_no_example_that_argo_runs(argo_examples: Path):
    checked, refused = 0, {}
    for file in sorted(argo_examples.rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            if isinstance(document, dict) and document.get("kind") in KINDS:
                checked += 1
                said = [str(one) for one in check_manifest(document)]
                if said:
                    refused[file.name] = said
    assert checked >= 200
    unexpected = {name: said for name, said in refused.items() if name not in ON_PURPOSE}
    assert unexpected == {}
    assert all(ON_PURPOSE[name] in one for name, said in refused.items() for one in said)
    assert refused.keys() == ON_PURPOSE.keys()
