"""The committed manifests are what the definitions compile to today."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hera.workflows import Workflow

from argosy.pipelines import documents
from argosy.pipelines.compile import compiled
from argosy.pipelines.load import load

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
DEFINITIONS = [ROOT / "pipelines" / "digits.py", *sorted(GOLDEN.glob("*.py"))]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_committed_manifest_is_what_its_definition_compiles_to(definition: Path):
    golden = GOLDEN / f"{definition.stem}.yaml"
    text = compiled(load(definition).workflow)
    if os.environ.get("ARGOSY_REGENERATE"):
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text, (
        f"{golden} is stale; type `make golden` and review the difference"
    )


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_bytes_depend_on_nothing_but_the_definition(definition: Path, tmp_path: Path):
    program = (
        "import sys, pathlib; from argosy.pipelines.compile import compiled; from argosy.pipelines.load import load; "
    )
    program += "sys.stdout.buffer.write(compiled(load(pathlib.Path(sys.argv[1])).workflow).encode())"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": f"UTC+{seed}"}
        command = [sys.executable, "-c", program, str(definition)]
        done = subprocess.run(command, capture_output=True, check=True, env=environment, cwd=tmp_path)
        assert done.stdout == (GOLDEN / f"{definition.stem}.yaml").read_bytes()


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_manifest_is_the_document_that_hera_writes(definition: Path):
    workflow = load(definition).workflow
    assert _in_order(yaml.safe_load(compiled(workflow))) == _in_order(yaml.safe_load(workflow.to_yaml()))


def test_hera_finds_the_workflow_of_the_reference_pipeline_once():
    import argosy.pipelines.digits as module

    assert [name for name, value in vars(module).items() if isinstance(value, Workflow)] == ["workflow"]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_argo_reads_the_values_that_were_written(definition: Path):
    workflow = load(definition).workflow
    assert list(documents.load_all(compiled(workflow))) == [workflow.to_dict()]


def _in_order(part: object) -> object:
    """Mappings as lists of pairs, so that their order counts."""
    if isinstance(part, dict):
        return [(key, _in_order(value)) for key, value in part.items()]
    return [_in_order(value) for value in part] if isinstance(part, list) else part
