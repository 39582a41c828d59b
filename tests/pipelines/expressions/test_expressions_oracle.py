"""Against Argo itself: its Go packages, built here."""

import pytest

from argosy.pipelines.expressions.errors import UnsupportedExpression

pytestmark = pytest.mark.timeout(1800)  # the first build compiles Argo's packages


def test_the_golden_answers_are_argos(oracle):
    vectors = [vector for vector in oracle.read() if "answer" in vector]
    fresh = oracle.argos([vector["question"] for vector in vectors])
    stale = [vector for vector, answer in zip(vectors, fresh, strict=True) if vector["answer"] != answer]
    assert stale == [], "run tests/pipelines/expressions/golden.py"


def test_the_golden_questions_are_those_of_the_files(oracle):
    written = [vector["question"] for vector in oracle.read()]
    assert written == oracle.hand_picked() + oracle.random_questions(oracle.SEED, each=100)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_to_unseen_questions_are_argos(oracle, seed):
    questions = oracle.random_questions(seed, each=500)
    differences, unsupported = [], []
    for question, answer in zip(questions, oracle.argos(questions), strict=True):
        try:
            differences.append(oracle.difference(question, answer))
        except UnsupportedExpression as error:
            unsupported.append(str(error))
    assert [difference for difference in differences if difference] == []
    assert len(unsupported) < len(questions) / 50
