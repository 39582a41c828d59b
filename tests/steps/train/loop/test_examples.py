"""The scripts of docs/examples, supervised: killed, resumed, and then equal to one that ran through."""

import signal
from pathlib import Path

import pytest

from argosy.steps import exported_model

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"


@pytest.mark.parametrize(
    ("name", "stop"), [("ddp.py", signal.SIGKILL), ("fsdp.py", signal.SIGKILL), ("callback.py", signal.SIGTERM)]
)
def test_an_example_goes_on_where_it_was_stopped_and_gives_the_same_model(name, stop, supervised):
    script = {"script": EXAMPLES / name, "checkpoint-every-seconds": 0.1, "hyperparameters.epochs": 80}
    whole = supervised.finished(run="whole", **script)
    supervised.stopped(stop, least=2, run="stopped", **script)
    again = supervised.finished(run="stopped", **script)
    assert 0 < again.resumed_at_step < again.steps == whole.steps
    assert again.model_hash == whole.model_hash
    assert exported_model.verified(supervised.models / again.model, again.model_hash).output_shape == (10,)
