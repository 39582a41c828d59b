"""The size gate counts what is served, and nothing else."""

import pytest

from argosy.steps import exported_model, files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import size
from argosy.steps.gates import SizeInput

CARD = exported_model.ModelCard(
    task="a:B", hyperparameters={}, sha256="", input_shape=(1,), input_dtype="float32", output_shape=(1,),
    output_dtype="float32", training={},
)  # fmt: skip


@pytest.fixture
def sized(tmp_path):
    """Judges a model whose program has so many bytes, beside a reference of as many."""

    def judged(program, at_most_mib, **changes):
        folder = tmp_path / "run/model"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / exported_model.PROGRAM).write_bytes(bytes(program))
        (folder / exported_model.INPUTS).write_bytes(bytes(program))
        (folder / exported_model.CARD).write_text(CARD.model_dump_json())
        fields = {
            "output": tmp_path, "task": "a:B", "cache": tmp_path, "dataset_hash": "0" * 32, "models": tmp_path,
            "model": "run/model", "model_hash": files.sha256(folder / exported_model.PROGRAM), "gate": "g",
            "confidence": 0.95,
        }  # fmt: skip
        return size.run(SizeInput(**fields | changes, at_most_mib=at_most_mib))

    return judged


def test_the_program_and_its_card_count_and_the_reference_does_not(sized):
    gate = sized(3 << 20, 10)
    assert gate.verdict.estimate == gate.verdict.bound
    assert gate.verdict.estimate * 2**20 == (3 << 20) + len(CARD.model_dump_json())


@pytest.mark.parametrize(("spare", "answer"), [(0, "pass"), (-1, "fail")])
def test_one_byte_decides(sized, spare, answer):
    allowed = (1000 + len(CARD.model_dump_json()) + spare) / 2**20
    assert sized(1000, allowed).answer == answer


def test_a_model_that_changed_is_not_judged(sized):
    with pytest.raises(StepError, match="it changed after training") as caught:
        sized(1000, 1, model_hash="f" * 64)
    assert caught.value.exit_code == ExitCode.DATA
