import pytest

from argosy.pipelines.expressions.errors import UnsupportedExpression


@pytest.mark.parametrize("language", ["tags", "when", "expr", "depends", "anystring"])
def test_every_answer_is_argos(golden, language):
    vectors = [vector for vector in golden.read() if vector["question"]["language"] == language]
    answered = [vector for vector in vectors if "answer" in vector]
    assert len(answered) >= 20
    differences = [golden.difference(vector["question"], vector["answer"]) for vector in answered]
    assert [difference for difference in differences if difference] == []


def test_what_argo_can_and_we_cannot_says_so(golden):
    vectors = [vector for vector in golden.read() if "unsupported" in vector]
    assert vectors
    for vector in vectors:
        with pytest.raises(UnsupportedExpression) as caught:
            golden.ours(vector["question"])
        assert str(caught.value) == vector["unsupported"]
