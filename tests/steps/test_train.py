"""Training, with real torchrun and real kills."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest
import torch

from argosy.steps import exported_model
from argosy.steps.contracts import ExitCode, StageInput, TrainOutput
from argosy.steps.stage import step as stage_step

BOOM = """
import os
from torch import nn
from argosy.steps.digits import Digits

class Boom(Digits):
    def loss(self, outputs, targets):
        if os.environ["RANK"] == "1":
            raise ValueError("boom")
        return super().loss(outputs, targets)

class Alien(Digits):
    def loss(self, outputs, targets):
        return 0.5

class Misfit(Digits):
    def model(self):
        return nn.Sequential(nn.Flatten(), nn.Linear(5, 10))

class Crosswise(Digits):
    def correct(self, outputs, targets):
        return outputs.argmax(dim=1) == targets.unsqueeze(1)

class Hopeless(Digits):
    def loss(self, outputs, targets):
        return super().loss(outputs, targets) * float("nan")
"""


def record(folder):
    return TrainOutput.model_validate_json((folder / "record.json").read_bytes())


def children(pid):
    """Pids of a process's children, eldest first."""
    return sorted(child.pid for child in psutil.Process(pid).children())


def end(pid):
    """Waits until a process has ended, reaped or not. A process that has let go of its streams may still be exiting."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    readable, _, _ = select.select([descriptor], [], [], 10)
    os.close(descriptor)
    assert readable, f"process {pid} is still there"


def at_step(process, least):
    """Waits until the training says that it has done some steps."""
    for line in process.stderr:
        found = re.match(r"step ([\d,]+)/", line)
        if found and int(found[1].replace(",", "")) >= least:
            return
    raise AssertionError("the training ended before")


@pytest.fixture
def arguments(training, tmp_path):
    return {**training, "models": tmp_path / "models", "run": "r", "output": tmp_path / "output"}


@pytest.fixture
def begun(start_step, arguments):
    """A training under way, past its first checkpoint: `process`, `torchrun`, `ranks`."""
    process = start_step("train", **arguments)
    at_step(process, least=40)
    (torchrun,) = children(process.pid)
    yield SimpleNamespace(process=process, torchrun=torchrun, ranks=children(torchrun))
    process.kill()
    process.communicate()


def test_learns_and_exports_a_model_that_its_card_describes(trained):
    output = trained.output
    assert output.validation_accuracy > 0.9
    assert output.steps == 400
    card = exported_model.verified(trained.models / output.model, output.model_hash)
    assert (card.input_shape, card.output_shape) == ((1, 8, 8), (10,))
    assert card.training == {
        name: getattr(output, name) for name in ("loss", "validation_accuracy", "samples_per_second", "steps")
    }
    program = torch.export.load(trained.models / output.model / "model.pt2").module()
    with torch.inference_mode():
        for batch in (1, 2, 7):
            assert program(torch.zeros(batch, 1, 8, 8)).shape == (batch, 10)


def test_a_finished_training_started_again_gives_its_result_at_once(trained, training, run_step, tmp_path):
    started = time.monotonic()
    again = run_step("train", **training, models=trained.models, run=trained.run, output=tmp_path)
    assert again.exit_code == 0
    assert record(tmp_path) == trained.output
    assert time.monotonic() - started < 2


def test_a_run_keeps_to_the_recipe_that_it_was_begun_with(trained, training, run_step, tmp_path):
    other = run_step("train", **{**training, "seed": 1}, models=trained.models, run=trained.run, output=tmp_path)
    assert other.exit_code == ExitCode.CONFIGURATION
    assert "seed 0 and not 1" in other.stderr


@pytest.mark.parametrize("text", ["", '{"task": "argosy', '{"another": "version"}'])
@pytest.mark.parametrize("name", ["recipe.json", "result.json"])
def test_a_file_of_the_run_that_cannot_be_read_is_named_with_its_remedy(name, text, run_step, arguments):
    folder = arguments["models"] / arguments["run"]
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    refused = run_step("train", **arguments)
    assert refused.exit_code == ExitCode.DATA
    assert refused.stderr.splitlines()[-1].startswith(f"{folder / name}: is no {name.removesuffix('.json')} of this")
    assert "; " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_sigterm_leaves_a_checkpoint_and_the_resumed_training_is_equal_bit_for_bit(begun, arguments, trained, run_step):
    begun.process.send_signal(signal.SIGTERM)
    _, stderr = begun.process.communicate(timeout=60)
    assert begun.process.returncode == 128 + signal.SIGTERM, stderr
    for pid in (begun.torchrun, *begun.ranks):
        end(pid)
    resumed = run_step("train", **arguments)
    assert resumed.exit_code == 0, resumed.stderr
    assert 0 < record(arguments["output"]).resumed_at_step < 400
    assert record(arguments["output"]).model_hash == trained.output.model_hash


def test_a_checkpoint_of_other_data_is_refused_with_both_hashes(begun, arguments, staged, first_project, run_step):
    begun.process.send_signal(signal.SIGTERM)
    begun.process.communicate(timeout=60)
    (arguments["models"] / "r/recipe.json").unlink()  # which would be the first to say so
    asked = '[{"path": "data/digits", "only": ["*.tar"]}]'
    fields = {"dataset": asked, "project": first_project, "cache": staged.cache, "output": arguments["output"]}
    other = stage_step.run(StageInput(**fields)).dataset_hash
    refused = run_step("train", **{**arguments, "dataset-hash": other})
    assert refused.exit_code == ExitCode.CONFIGURATION, refused.stderr
    assert f"was trained on data {staged.dataset_hash} and not {other}; give another --run" in refused.stderr
    assert "Traceback" not in refused.stderr


RANK = """
import os, sys
from argosy.steps.errors import StepError
from argosy.steps.train import world
with world.joined(gpus=False) as ranks:
    try:
        ranks.refuse_other_data(sys.argv[1 + ranks.rank])
    except StepError as error:
        sys.stderr.write(f"{int(error.exit_code)} {error.message}\\n")
"""


@pytest.mark.parametrize("second", ["1" * 32, "2" * 32])
def test_ranks_that_have_different_data_are_all_refused_with_every_hash(second, tmp_path):
    (tmp_path / "rank.py").write_text(RANK)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = [*torchrun, str(tmp_path / "rank.py"), f"{'1' * 32}.dir", second]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    told = [line for line in done.stderr.splitlines() if "different data" in line]
    each = f"78 ranks have different data: rank 0 {'1' * 32}, rank 1 {second}; give each the same --dataset-hash"
    assert told == ([] if second == "1" * 32 else [each] * 2)


@pytest.mark.parametrize("victim", ["rank", "torchrun", "supervisor"])
def test_a_kill_leaves_nobody_behind_and_the_training_goes_on_from_a_checkpoint(
    victim, begun, arguments, trained, run_step
):
    at_step(begun.process, least=80)
    pid = {"rank": begun.ranks[1], "torchrun": begun.torchrun, "supervisor": begun.process.pid}[victim]
    os.kill(pid, signal.SIGKILL)
    begun.process.communicate(timeout=60)  # ends when the last holder of stderr has ended: the ranks too
    assert begun.process.returncode == (-signal.SIGKILL if victim == "supervisor" else ExitCode.TEMPORARY)
    for pid in (begun.torchrun, *begun.ranks):
        end(pid)
    resumed = run_step("train", **arguments)
    assert resumed.exit_code == 0, resumed.stderr
    assert record(arguments["output"]).resumed_at_step > 0
    assert record(arguments["output"]).model_hash == trained.output.model_hash
    assert not list(arguments["output"].glob(".partial-*"))


@pytest.mark.usefixtures("begun")
def test_two_trainings_of_one_run_are_refused_as_temporary(arguments, run_step, tmp_path):
    second = run_step("train", **{**arguments, "output": tmp_path / "second"})
    assert second.exit_code == ExitCode.TEMPORARY
    assert "another process is training it" in second.stderr


@pytest.fixture
def own_tasks(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "own_tasks.py").write_text(BOOM)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder / "own_tasks.py"


def test_a_rank_that_raises_is_named_with_exception_and_line(own_tasks, arguments, run_step, tmp_path):
    last_word = tmp_path / "termination"
    failed = run_step(
        "train", **{**arguments, "task": "own_tasks:Boom"}, env={"ARGOSY_TERMINATION_LOG": str(last_word)}
    )
    assert failed.exit_code == ExitCode.CODE
    assert last_word.read_text() == f"rank 1: ValueError: boom ({own_tasks}:9); before the first step, no checkpoint"
    assert "ChildFailedError" not in failed.stderr


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("Alien", "loss() ({}:13) gave float; it must give a scalar tensor of floating point, the mean over the batch"),
        ("Misfit", "(16x64 and 5x10) (in what model() ({}:17) gave, for inputs of shape (16, 1, 8, 8))"),
        ("Crosswise", "correct() ({}:21) gave torch.bool of shape (16, 16); it must give torch.bool of shape (16,)"),
    ],
)
def test_a_task_that_gives_what_it_must_not_is_told_so_at_its_place_after_one_batch(
    task, words, own_tasks, arguments, run_step
):
    failed = run_step("train", **{**arguments, "task": f"own_tasks:{task}"})
    assert failed.exit_code == ExitCode.CODE
    assert words.format(own_tasks) in failed.stderr.splitlines()[-1]
    assert "step 2/" not in failed.stderr


@pytest.mark.usefixtures("own_tasks")
def test_a_loss_that_is_no_number_ends_the_training(arguments, run_step):
    failed = run_step("train", **{**arguments, "task": "own_tasks:Hopeless"})
    assert failed.exit_code == ExitCode.CODE
    assert failed.stderr.splitlines()[-1] == (
        "loss is nan at step 1; lower the learning rate, or clip gradients; there is no checkpoint from before"
    )


@pytest.mark.parametrize(
    ("changed", "exit_code", "words"),
    [
        ({"gpus": 99}, ExitCode.CONFIGURATION, "--gpus=99"),
        ({"gpus": 1}, ExitCode.USAGE, "a rank needs a GPU"),
        ({"dataset-hash": "0" * 32}, ExitCode.CONFIGURATION, "is not staged on this node"),
    ],
)
def test_what_cannot_be_had_is_refused_before_any_rank_starts(changed, exit_code, words, arguments, run_step):
    refused = run_step("train", **{**arguments, **changed})
    assert refused.exit_code == exit_code
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_wrong_hyperparameter_is_a_usage_error_without_traceback(arguments, run_step):
    refused = run_step("train", **{**arguments, "hyperparameters.epochs": "many"})
    assert refused.exit_code == ExitCode.USAGE
    assert refused.stderr.splitlines()[-1].startswith("--hyperparameters.epochs=many: ")
    assert "Traceback" not in refused.stderr
