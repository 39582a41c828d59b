"""Two and three nodes, each a supervisor of its own on this machine."""

import re
import signal
import socket

import pytest

from argosy.steps.contracts import GANG, LEADER, NODE_RANK, ExitCode, TrainInput
from argosy.steps.errors import StepError
from argosy.steps.train import nodes

INPUTS = TrainInput(
    output="o", task="a:B", cache="c", dataset_hash="0" * 32, models="m", run="r", ranks=2, nodes=2,
    checkpoint_every_seconds=1, checkpoints_kept=2,
)  # fmt: skip
COMPLETE = {NODE_RANK: "1", LEADER: "host-0.gang:29500", GANG: "g"}


def test_two_nodes_train_together_and_both_give_the_result_which_a_second_start_gives_at_once(trainings):
    first, second = trainings.gang(2, ranks=1)
    assert (first.ended().exit_code, second.ended().exit_code) == (0, 0)
    assert first.record == second.record
    assert {path.name for path in trainings.run.glob("begun-*")} == {"begun-0", "begun-1"}
    again = trainings.gang(2, ranks=1, meeting_seconds=1)
    assert [one.ended().exit_code for one in again] == [0, 0]
    assert len(trainings.records()) == 1


def test_sigterm_on_one_node_stops_all_and_no_node_calls_that_success(trainings, eventually):
    leader, other = trainings.gang(2, ranks=1, total=100_000, stop_together="yes")
    eventually((trainings.run / "begun-1").exists)
    other.process.send_signal(signal.SIGTERM)
    stopped, followed = other.ended(), leader.ended()
    assert (stopped.exit_code, followed.exit_code) == (143, ExitCode.TEMPORARY)
    assert re.fullmatch(r"stopped by SIGTERM at step \d+, with a checkpoint", stopped.last_word)
    assert re.fullmatch(r"stopped with another node at step \d+, with a checkpoint", followed.last_word)
    assert trainings.records()[-1].cause == ""


def test_a_node_whose_peer_failed_is_temporary_and_names_the_peers_own_failure(trainings):
    leader, other = trainings.gang(2, ranks=1, event="collective_boom", hit="0,1")
    failed, lost = other.ended(), leader.ended()
    assert failed.exit_code == ExitCode.CODE, failed.stderr
    assert failed.last_word.startswith("rank 1: ValueError: boom (")
    assert lost.exit_code == ExitCode.TEMPORARY
    assert lost.last_word == f"node 1 failed: {failed.last_word}"
    assert trainings.records()[-1].cause.startswith("ValueError: boom")


def test_a_node_that_is_gone_without_a_word_is_named(trainings, eventually):
    leader, other = trainings.gang(2, ranks=1, event="collective_awaits", hit="0,1")
    eventually((trainings.run / "awaiting-1").exists)
    other.process.kill()
    lost = leader.ended()
    assert lost.exit_code == ExitCode.TEMPORARY
    assert re.match(r"rank 0 lost the others: .*; no word of node 1: it was killed, or is cut off$", lost.last_word)


def test_too_few_nodes_are_counted_and_the_missing_ones_named(trainings):
    leader, other = trainings.gang(3, present=(0, 2), ranks=1, meeting_seconds=8)
    alone = leader.ended()
    assert alone.exit_code == ExitCode.TEMPORARY
    assert alone.last_word == "2 of 3 nodes came within 8 s; missing: 1"
    assert other.ended().exit_code == ExitCode.TEMPORARY
    assert trainings.records()[-1].cause == ""


def test_a_node_without_its_leader_says_where_it_looked(trainings):
    (other,) = trainings.gang(2, present=(1,), ranks=1, meeting_seconds=2)
    alone = other.ended()
    assert alone.exit_code == ExitCode.TEMPORARY
    assert re.match(r"node 1: the leader's 127.0.0.1:\d+ did not answer within 2 s: ", alone.last_word)


def test_as_many_nodes_as_suffice_train_after_the_last_call(trainings):
    gang = trainings.gang(3, present=(0, 2), ranks=1, nodes_at_least=2, meeting_seconds=60)
    assert [one.ended().exit_code for one in gang] == [0, 0]
    assert {path.name for path in trainings.run.glob("begun-*")} == {"begun-0", "begun-1"}


def test_a_port_that_is_taken_is_named(trainings):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        leader = f"127.0.0.1:{listening.getsockname()[1]}"
        (first,) = trainings.gang(2, present=(0,), ranks=1, leader=leader, meeting_seconds=5)
        ended = first.ended()
    assert ended.exit_code == ExitCode.TEMPORARY
    assert ended.last_word.startswith(f"node 0: the leader's {leader} cannot be opened: ")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({NODE_RANK: ""}, f"{NODE_RANK}: is not set"),
        ({LEADER: ""}, f"{LEADER}: is not set"),
        ({GANG: ""}, f"{GANG}: is not set"),
        ({NODE_RANK: "2"}, f"{NODE_RANK}=2: must be a number from 0 to 1"),
        ({NODE_RANK: "first"}, f"{NODE_RANK}=first: must be a number from 0 to 1"),
        ({LEADER: "host-0.gang"}, f"{LEADER}=host-0.gang: must be HOST:PORT"),
        ({LEADER: "host:99999"}, f"{LEADER}=host:99999: must be HOST:PORT"),
    ],
)
def test_an_environment_that_lacks_or_contradicts_something_is_named(changed, words):
    with pytest.raises(StepError, match=re.escape(words)) as refused:
        nodes.this_node(INPUTS, {**COMPLETE, **changed})
    assert refused.value.exit_code == ExitCode.CONFIGURATION


def test_what_one_node_is_told_must_agree_with_its_arguments():
    one = INPUTS.model_copy(update={"nodes": 1})
    assert nodes.this_node(one, {}) == nodes.Node(rank=0, of=1, at_least=1)
    with pytest.raises(StepError, match="there is one node; give --nodes"):
        nodes.this_node(one, COMPLETE)
    with pytest.raises(StepError, match="--nodes-at-least=3: is more than --nodes=2"):
        nodes.this_node(INPUTS.model_copy(update={"nodes_at_least": 3}), COMPLETE)
