"""Troubles that users of other systems reported with training, rows T and W; and those of disks and ranks."""

import os
import re
import signal
import socket
import subprocess

import pytest
import torch
from trainingnode import Node, found, of_members, sound_shards, step_of

from argosy.steps.contracts import GANG, LEADER, NODE_RANK, ExitCode

pytestmark = pytest.mark.timeout(900)

EPOCHS = {"hyperparameters.epochs": 4}
ENDLESS = {"hyperparameters.epochs": 200}


def until(condition, process):
    """Waits for what a training does, while it lives."""
    while not condition():
        try:
            process.wait(timeout=0.01)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(process.communicate()[1])


def stopped(process):
    """What it said at its end, after a SIGTERM."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 128 + signal.SIGTERM, said
    return said.splitlines()


# ------------------------------------------------------------------------------------------------- T: training


def test_t1_a_save_that_takes_three_seconds_is_finished_and_the_retry_goes_on_behind_it(node, record):
    slow = {**EPOCHS, "hyperparameters.save_seconds": 3, "checkpoint_every_seconds": 3600}
    first, second = record("first"), record("second")
    with node.start("t1", environment=first.environment, **slow) as process:
        until(lambda: first.count("step") >= 7, process)
        said = stopped(process)
    step = first.read().last
    assert said[-1] == f"stopped by SIGTERM at step {step}, with a checkpoint"
    assert (first.saves, [step_of(one) for one in node.checkpoints("t1")]) == ([step], [step])
    exit_code, said = node.train("t1", environment=second.environment, **slow)
    assert exit_code == 0, said
    assert second.read().first == step + 1


def test_t8_a_gang_whose_agent_was_killed_ends_and_meets_anew_at_the_same_address(node, record):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        leader = f"127.0.0.1:{listening.getsockname()[1]}"

    def start(attempt, rank):
        environment = {**attempt.environment, NODE_RANK: str(rank), LEADER: leader, GANG: "g"}
        output = node.folder / f"output-t8-{rank}"
        return node.start("t8", environment=environment, nodes=2, ranks=1, output=output, **EPOCHS)

    first, second = record("first"), record("second")
    with start(first, 0) as one, start(first, 1) as other:
        until(lambda: node.checkpoints("t8"), one)
        found(other, "launcher").kill()
        said = [process.communicate(timeout=600)[1].splitlines()[-1] for process in (one, other)]
    assert (one.returncode, other.returncode) == (ExitCode.TEMPORARY, ExitCode.TEMPORARY), said
    assert said[1].startswith("torchrun was killed (SIGKILL), by the machine or by hand; ")
    assert said[0] == f"node 1 failed: {said[1]}"
    with start(second, 0) as one, start(second, 1) as other:
        said = [process.communicate(timeout=600)[1] for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), said
    assert second.read().resumed > 0


# ------------------------------------------------------------------------------------------------- W: shards


def test_w3_w5_training_on_shards_with_faults_is_refused_with_each_before_the_first_step(tmp_path, record):
    cut = sound_shards()["train-1"][:700]
    twice = of_members([("0.cls", b"0"), ("0.cls", b"1")])
    shards = {"train-0": of_members([]), "train-1": cut, "train-2": twice, "train-3": b""}
    attempt = record("attempt")
    exit_code, said = Node(tmp_path, **shards).train("r", environment=attempt.environment, **EPOCHS)
    assert exit_code == ExitCode.DATA, said
    told = [line for line in said if re.search(r"train-\d\.tar: ", line)][-4:]
    assert "train-0.tar: holds no samples" in told[0]
    assert "train-1.tar: " in told[1]
    assert "train-2.tar: member 0.cls at byte 1024 stands twice" in told[2]
    assert "train-3.tar: " in told[3]
    assert said[-1].endswith("; write these 4 shards anew, and add the dataset anew to DVC")
    assert attempt.count("step") == 0


def test_w1_training_on_names_with_dots_is_refused_with_the_reason_before_the_first_step(tmp_path, record):
    dotted = of_members([(f"22.{number:02d}.cls", b"1") for number in range(100)])
    attempt = record("attempt")
    node = Node(tmp_path, **dict.fromkeys(sound_shards(), dotted))
    exit_code, said = node.train("r", environment=attempt.environment, **EPOCHS)
    assert exit_code == ExitCode.DATA, said
    assert "(a key ends at its first dot)" in said[-1]
    assert attempt.count("step") == 0


# ------------------------------------------------------------------------------------------------- disks and ranks


@pytest.mark.parametrize("left", [65536, 0])
def test_a_disk_that_becomes_full_is_told_and_with_room_again_the_training_goes_on(left, node, disk, record):
    wide = {"models": disk, "hyperparameters.width": 4096, **EPOCHS}
    first, second = record("first"), record("second")
    filler = disk / "filler"
    with node.start(f"full-{left}", environment=first.environment, **wide) as process:
        until(lambda: node.checkpoints(f"full-{left}", disk), process)
        filler.touch()
        free = os.statvfs(disk)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - left)
        _, said = process.communicate(timeout=600)
    assert process.returncode == ExitCode.CONFIGURATION, said
    assert re.search(rf"{disk}\S*: (has no room|No space left)", said.splitlines()[-1]), said
    assert "Traceback" not in said
    filler.unlink()
    kept = step_of(node.checkpoints(f"full-{left}", disk)[-1])
    exit_code, said = node.train(f"full-{left}", environment=second.environment, **wide)
    assert exit_code == 0, said
    assert second.read().first == kept + 1


def flipped(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.fixture(scope="module")
def whole(node):
    """A run that nothing interrupts."""
    exit_code, said = node.train("whole", **EPOCHS)
    assert exit_code == 0, said
    return node.models / "whole"


@pytest.mark.parametrize("damaged", [flipped, lambda content: content[:-1]], ids=["flipped", "truncated"])
def test_a_damaged_checkpoint_is_told_and_the_one_before_gives_the_same_model(
    *, damaged, node, record, whole, weights, request
):
    run = request.node.callspec.id
    first, second = record("first"), record("second")
    with node.start(run, environment=first.environment, **EPOCHS) as process:
        until(lambda: first.count("saving") > 2, process)
        stopped(process)
    before, newest = node.checkpoints(run)
    part = newest / "part-00000.bin"
    part.write_bytes(damaged(part.read_bytes()))
    exit_code, said = node.train(run, environment=second.environment, **EPOCHS)
    assert exit_code == 0, said
    (told,) = [line for line in said if line.startswith(f"checkpoint {newest}: is damaged: ")]
    assert "it was set aside" in told
    assert second.read().first == step_of(before) + 1
    model = weights(node.models / run)
    assert all(torch.equal(model[name], weight) for name, weight in weights(whole).items())


AT = r"; at step 20, last checkpoint (\d+)"
PLACE = r"\S+troubled\.py:\d+ hang\(\)"
REMEDY = "lower the learning rate, or clip gradients"


@pytest.mark.parametrize(
    ("trouble", "exit_code", "words"),
    [
        ("vanish", ExitCode.TEMPORARY, rf"rank 1 was killed \(SIGKILL\), by the machine or by hand{AT}"),
        ("hang", ExitCode.TEMPORARY, rf"rank 1 hangs: no step for \d+ s \(median \S+ s\); it is in {PLACE}{AT}"),
        ("nan", ExitCode.CODE, rf"loss is nan at step 21; {REMEDY}; last checkpoint (\d+) is from before"),
    ],
    ids=["vanish", "hang", "nan"],
)
def test_the_trouble_of_a_rank_in_argosys_own_loop_is_told_with_step_and_last_checkpoint(
    *, trouble, exit_code, words, node, record
):
    fields = {"task": "troubled:Troubled", "hyperparameters.trouble": trouble, "hang_seconds": 20, **ENDLESS}
    ended, said = node.train(trouble, environment=record("attempt").environment, **fields)
    assert ended == exit_code, said
    told = re.fullmatch(words, said[-1])
    assert told, said[-1]
    # The newest may have come to count since the last step, at whose end ranks tell of it.
    assert int(told[1]) in map(step_of, node.checkpoints(trouble))
