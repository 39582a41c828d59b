"""The questions that hold pipelines/expressions to Argo, Argo's answers, and what ours are.

`python tests/pipelines/expressions/golden.py` builds the Go program of oracle/ and writes golden.jsonl: hand-picked
questions and seeded random ones. Where argosy says that it does not support something, the vector says so too.
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from argosy.pipelines.expressions import depends, expr, golang, tags, when
from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression
from argosy.pipelines.expressions.expr_values import type_name

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.jsonl"
HAND_PICKED = HERE / "questions.json"
ORACLE = HERE.parents[2] / "build" / "oracle"
SEED = 20260731
WORDS = json.loads((HERE / "vocabulary.json").read_text())
KINDS = {"invalid": "nil", "int64": "int", "float64": "float", "slice": "array", "uint8": "int"}

Question = dict[str, Any]
Answer = dict[str, Any]


def build_oracle() -> None:
    command = ["go", "build", "-trimpath", "-o", str(ORACLE), "."]
    subprocess.run(command, cwd=HERE / "oracle", check=True, capture_output=True, text=True, timeout=1500)


def argos(questions: Sequence[Question]) -> list[Answer]:
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([str(ORACLE)], input=asked, check=True, capture_output=True, text=True, timeout=300)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def ours(question: Question) -> Answer:
    """Our answer in the oracle's form: the value, and the kind or the expanded logic where the language has one."""
    match question["language"]:
        case "tags":
            return {"value": tags.substitute_tree(question["tree"], question["scope"], question["strict"])}
        case "when":
            return {"value": when.evaluate(question["text"])}
        case "expr":
            return _our_expression(question)
        case "depends":
            return _our_depends(question)
    return {"value": golang.any_string(question["tree"])}


def _our_expression(question: Question) -> Answer:
    variables = golang.unmarshal(json.dumps(question.get("variables", {})))
    value = expr.evaluate(question["text"], tags.expand(variables))
    try:
        return {"value": json.loads(golang.marshal(value)), "kind": type_name(value)}
    except ExpressionError:
        return {"value": None, "kind": f"{type_name(value)}, which is no JSON"}


def _our_depends(question: Question) -> Answer:
    policies = {name: SimpleNamespace(**policy) for name, policy in question["continueOn"].items()}
    if text := question.get("text"):
        depends.parse(text)
        logic = depends.expand(text, policies)
    else:
        logic = depends.from_dependencies(question["dependencies"], policies)
    results = {name: depends.TaskResult(**result) for name, result in question["results"].items()}
    return {"value": depends.evaluate(logic, results), "logic": logic}


def difference(question: Question, answer: Answer) -> str | None:
    """How our answer differs from Argo's, None where they agree. The words of an error count for `when` alone."""
    try:
        our_answer = ours(question)
    except UnsupportedExpression:
        raise
    except ExpressionError as error:
        expected = answer.get("error")
        if expected is None:
            return f"{question} is {answer} but we refuse it: {error}"
        must_say = question["language"] == "when" and not expected.startswith("panic") and "regexp" not in expected
        return f"{expected!r} is said as {str(error)!r}" if must_say and str(error) != expected.rstrip("\n") else None
    if json.dumps(our_answer, sort_keys=True) == json.dumps(_normalized(answer), sort_keys=True):
        return None
    return f"{question} is {answer} but ours is {our_answer}"


def _normalized(answer: Answer) -> Answer:
    kind, *rest = answer.get("kind", "").split(",")
    return {**answer, "kind": ",".join([KINDS.get(kind, kind), *rest])} if kind else answer


def hand_picked() -> list[Question]:
    """questions.json names a language and what its questions share; a question that is a text is only that text."""
    questions = []
    for group in json.loads(HAND_PICKED.read_text()):
        for asked in group["questions"]:
            own = {"text": asked} if isinstance(asked, str) else asked
            questions.append({"language": group["language"], **group.get("shared", {}), **own})
    return questions


def random_questions(seed: int, each: int) -> list[Question]:
    """`each` questions of every maker, the same for the same seed."""
    maker = _Maker(seed)
    makers = (maker.when, maker.when_words, maker.expr, maker.expr_words, maker.tags, maker.depends)
    return [make() for make in makers for _ in range(each)]


class _Maker:
    """Texts in the languages' grammar, most of them with types that fit, and rows of words in no grammar at all."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)
        self._results = [self._table(lambda: self._source.random() < 0.4, WORDS["results"]) for _ in range(3)]
        self._policies = [self._table(lambda: self._source.random() < 0.5, ["error", "failed"]) for _ in range(3)]

    def _table(self, value: Callable[[], bool], columns: list[str]) -> dict[str, dict[str, bool]]:
        return {task: {column: value() for column in columns} for task in WORDS["tasks"]}

    def _pick(self, words: str) -> Any:
        return self._source.choice(WORDS[words])

    def _one(self, *choices: Any) -> Any:
        return self._source.choice(choices)

    def _row(self, *vocabularies: str) -> str:
        words = [word for vocabulary in vocabularies for word in WORDS[vocabulary]]
        return self._one(" ", " ", "").join(self._source.choices(words, k=self._source.randint(1, 6)))

    def when(self) -> Question:
        return {"language": "when", "text": self._when_test(3)}

    def when_words(self) -> Question:
        return {"language": "when", "text": self._row("when_values", "when_operators", "when_noise")}

    def _when_number(self, depth: int) -> str:
        if depth == 0 or self._source.random() < 0.5:
            return self._one("", "", "-") + self._pick("when_numbers")
        operator = self._one("+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>")
        return f"{self._when_number(depth - 1)} {operator} {self._when_number(depth - 1)}"

    def _when_test(self, depth: int) -> str:
        comparison = self._one("==", "!=", "<", "<=", ">", ">=")
        shapes = [
            lambda: f"{self._pick('when_values')} {self._pick('when_operators')} {self._pick('when_values')}",
            lambda: f"{self._when_number(2)} {comparison} {self._when_number(1)}",
            lambda: f"{self._pick('when_texts')} {self._one(comparison, '=~', '!~')} {self._pick('when_texts')}",
            lambda: f"{self._pick('when_texts')} in {self._pick('when_choices')}",
            lambda: self._one("true", "false", "a == a", "1 > 2", "!true"),
        ]
        if depth and self._source.random() < 0.5:
            one, two, three = (self._when_test(depth - 1) for _ in range(3))
            return self._one(f"({one} ? {two} : {three})", f"{self._one('', '!')}({one}) {self._one('&&', '||')} {two}")
        return self._source.choice(shapes)()

    def expr(self) -> Question:
        text = self._expr_value(self._one(1, 2, 2, 3), self._kind())
        return {"language": "expr", "text": text, "variables": WORDS["variables"]}

    def expr_words(self) -> Question:
        vocabularies = ("expr_numbers", "expr_texts", "expr_booleans", "expr_operators", "expr_noise", "expr_noise")
        return {"language": "expr", "text": self._row(*vocabularies), "variables": WORDS["variables"]}

    def _kind(self) -> str:
        return str(self._one("expr_numbers", "expr_texts", "expr_booleans", "expr_lists", "expr_others"))

    def _expr_value(self, depth: int, kind: str) -> str:
        shape = self._source.random()
        if depth == 0 or shape < 0.35:
            return str(self._pick(kind))
        if shape < 0.7:
            same = self._one(kind, self._kind())
            operator = self._pick("expr_operators")
            return f"({self._expr_value(depth - 1, same)}) {operator} {self._expr_value(depth - 1, same)}"
        call = self._pick("expr_calls")
        kinds = [self._one(kind, self._kind()) for _ in range(call.count("{}"))]
        return str(call.format(*(self._expr_value(depth - 1, other) for other in kinds)))

    def tags(self) -> Question:
        tree = self._one(
            self._tagged(),
            [self._tagged()],
            {"k": self._tagged()},
            {"args": [self._tagged(), 1, True, None], f"key {self._tagged()}": {"n": 1.5}},
        )
        strict = self._one([], ["tasks", "steps"])
        return {"language": "tags", "tree": tree, "scope": WORDS["tag_scope"], "strict": strict}

    def _tagged(self) -> str:
        pieces = self._source.choices(WORDS["tag_pieces"], k=self._one(1, 1, 1, 2, 3))
        return str(self._one("", "--x=", "é ") + self._one("", " ").join(pieces))

    def depends(self) -> Question:
        known = {"results": self._source.choice(self._results), "continueOn": self._source.choice(self._policies)}
        if self._source.random() < 0.2:
            tasks = self._source.sample(WORDS["tasks"], k=self._source.randint(1, 4))
            return {"language": "depends", "dependencies": tasks, **known}
        return {"language": "depends", "text": self._logic(2), **known}

    def _logic(self, depth: int) -> str:
        words = [self._term(depth)]
        for _ in range(self._one(0, 1, 1, 2)):
            words += [self._one("&&", "||", "&&", "||", "and", "&"), self._term(depth)]
        return " ".join(words)

    def _term(self, depth: int) -> str:
        if depth and self._source.random() < 0.5:
            return f"{self._one('', '!')}({self._logic(depth - 1)})"
        name, result = self._pick("tasks"), self._pick("results")
        good = self._one(name, f"{name}.{result}", f"!{name}.{result}")
        return str(self._one(*[good] * 9, self._one(f"{name}.Wrong", f"{name} ||")))


def read() -> list[dict[str, Any]]:
    """The vectors: a question, and Argo's answer or what we say to be unsupported."""
    shared, *lines = GOLDEN.read_text().splitlines()
    contexts = json.loads(shared)
    vectors = [json.loads(line) for line in lines]
    return [{**vector, "question": {**vector["question"], **contexts[vector["shared"]]}} for vector in vectors]


def write(questions: Sequence[Question], answers: Sequence[Answer]) -> None:
    """What many questions share stands once, in the first line."""
    contexts: list[Question] = []
    lines = []
    for question, answer in zip(questions, answers, strict=True):
        context = {key: question[key] for key in ("scope", "variables", "results", "continueOn") if key in question}
        if context not in contexts:
            contexts.append(context)
        own = {key: value for key, value in question.items() if key not in context}
        lines.append({"shared": contexts.index(context), "question": own, **_expected(question, answer)})
    GOLDEN.write_text("".join(json.dumps(line) + "\n" for line in [contexts, *lines]))


def _expected(question: Question, answer: Answer) -> dict[str, Any]:
    try:
        ours(question)
    except UnsupportedExpression as error:
        return {"unsupported": str(error)}
    except ExpressionError:
        pass
    return {"answer": answer}


def main() -> None:
    build_oracle()
    questions = hand_picked() + random_questions(SEED, each=100)
    write(questions, argos(questions))
    sys.stdout.write(f"{len(questions)} vectors in {GOLDEN}\n")


if __name__ == "__main__":
    main()
