"""Gang: a training on several nodes, followed to its end."""

import time
from pathlib import Path

from pydantic import ValidationError

from argosy.steps.contracts import GangInput, TrainOutput
from argosy.steps.errors import configuration_error, data_error
from argosy.steps.gang import account
from argosy.steps.gang.lines import Lines
from argosy.steps.gang.manifest import Manifest

RESULT_SECONDS, LOOK_SECONDS = 60.0, 1.0
"""How long a shared volume may take to show a file that another node wrote (nfs(5): acdirmax)."""


def run(inputs: GangInput) -> TrainOutput:
    manifest = Manifest(inputs.run, inputs.job, inputs.group, inputs.arguments)
    lines = Lines()
    if found := account.here():
        from argosy.steps.gang.cluster import ClusterGang

        ClusterGang(found, manifest, lines).train()
    else:
        from argosy.steps.gang.machine import MachineGang

        MachineGang(manifest, inputs.output, lines).train()
    return _result(inputs.models / inputs.run / "result.json", RESULT_SECONDS if found else 0)


def _result(path: Path, seconds: float) -> TrainOutput:
    """What the nodes' training gave; `seconds`: how long is waited for it.

    Raises StepError when it is missing (CONFIGURATION), or cannot be read (DATA).
    """
    until = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    try:
        return TrainOutput.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        remedy = "do the nodes write into the same model store that this pod reads?"
        raise configuration_error(f"{path}: is missing though every node has finished; {remedy}") from None
    except ValidationError:
        raise data_error(f"{path}: is no result of this version of argosy") from None
