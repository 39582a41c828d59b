"""Several ranks: each writes its share, all agree, and any number of them takes it up again."""

import json

import pytest

from argosy.steps.contracts import ExitCode


def sound(answers):
    """What the ranks' programs returned. An exception of one is the test's."""
    for answer in answers:
        if isinstance(answer, dict) and "trace" in answer:
            pytest.fail(answer["trace"])
    return answers


def manifests(folder):
    return [json.loads(path.read_bytes())["manifest"] for path in sorted(folder.glob("step-*/manifest.json"))]


def test_a_replicated_tensor_is_written_once_and_the_work_is_shared(ranks, tmp_path):
    assert sound(ranks("saves", 3, tmp_path, [1])) == [1, 1, 1]
    (manifest,) = manifests(tmp_path)
    boxes = [len(tensor["boxes"]) for tensor in manifest["tensors"].values()]
    assert boxes == [1] * len(boxes)
    written = {box["part"] for tensor in manifest["tensors"].values() for box in tensor["boxes"]}
    assert written == {0, 1, 2}
    size = sum(path.stat().st_size for path in tmp_path.glob("*/*.bin"))
    assert size == sum(part["bytes"] for part in manifest["parts"].values()) < 50_000 * 8 * 1.1


def test_saved_by_four_it_is_resumed_by_two_then_three_then_one_with_every_ranks_own_state(ranks, tmp_path):
    sound(ranks("saves", 4, tmp_path, [1, 2]))
    own = [f"rank {rank}" for rank in range(4)]
    for size in (2, 3, 1):
        assert sound(ranks("resumes", size, tmp_path)) == [[2, own, ""]] * size


def test_fsdp2_shards_of_four_ranks_are_those_of_two_and_three(ranks, tmp_path):
    folder, record = tmp_path / "checkpoints", tmp_path / "record"
    written = set()
    for start, size in ((0, 4), (2, 2), (4, 3), (6, 1)):
        answers = sound(ranks("trains_sharded", size, folder, record))
        assert [resumed for resumed, _ in answers] == [start] * size
        written.add(len(manifests(folder)[-1]["parts"]))
    assert written == {4, 2, 3, 1}


def test_what_one_rank_alone_cannot_read_no_rank_loads(ranks, tmp_path):
    sound(ranks("saves", 2, tmp_path, [1, 2]))
    answers = sound(ranks("resumes", 2, tmp_path, "step-00000002"))
    assert [step for step, _, _ in answers] == [1, 1]
    assert "is damaged: its disk is blind; it was set aside" in answers[0][2]


def test_a_rank_without_room_fails_all_alike_and_nothing_is_committed(ranks, tmp_path):
    answers = sound(ranks("fails_on_one_rank", 2, tmp_path))
    assert answers[0] == answers[1]
    kind, code, message = answers[0]
    assert (kind, code) == ("StepError", ExitCode.CONFIGURATION)
    assert message.startswith(f"{tmp_path}: has no room for the ")
    assert list(tmp_path.iterdir()) == []


def test_one_name_for_tensors_of_several_shapes_is_refused_with_the_remedy(ranks, tmp_path):
    for answer in ranks("other_shapes", 2, tmp_path):
        assert answer["error"].startswith("checkpoint: part/mine is ")
        assert answer["error"].endswith("give each rank's own state a name with the rank in it")


def test_a_store_that_not_all_nodes_share_is_named(ranks, tmp_path):
    for answer in ranks("saves_apart", 2, tmp_path):
        assert "what rank 1 has written is not there; mount the same model store on every node" in answer["error"]
