"""Whether the exported model is no worse than the version that holds the alias, on the same samples."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from argosy.steps import exported_model, serving
from argosy.steps.errors import data_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.gate import exported, pair_plot, sampled
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.exported import Exported
from argosy.steps.gate.interval import Interval
from argosy.steps.gate.scores import Scores, difference
from argosy.steps.gate.section import Section
from argosy.steps.gate.verdict import AT_LEAST, Measurement
from argosy.steps.gates import ChampionInput, GateOutput
from argosy.steps.publish import place, published
from argosy.steps.publish.client import connected
from argosy.steps.publish.tags import MODEL_HASH
from argosy.steps.publish.versions import Versions

METRIC = "difference to champion"


@dataclass(frozen=True)
class Champion:
    number: int
    name: str
    """`digits version 3`."""
    model_hash: str
    folder: Path
    """Of its exported model; lasts no longer than the block that it was fetched for."""


def run(inputs: ChampionInput) -> GateOutput:
    """Passes where there is no champion, or this very model is it.

    Raises StepError: DATA when the model, the split or the champion is missing or damaged, or the champion does not
    take and give what the model does; TEMPORARY when MLflow does not answer, CONFIGURATION when it refuses.
    """
    started = time.monotonic()
    with _champion(inputs) as champion:
        if champion is None:
            measured = _nothing(f"no version of {inputs.registry} is {inputs.alias} yet", None)
        elif champion.model_hash == inputs.model_hash:
            measured = _nothing(f"{champion.name} is this very model", champion.number)
        else:
            measured = _compared(inputs, champion)
    return concluded(inputs, measured, 0 - inputs.margin, AT_LEAST, started)  # a margin of 0 is no -0


@contextmanager
def _champion(inputs: ChampionInput) -> Iterator[Champion | None]:
    """The version that holds the alias, its model downloaded and whole; nothing is kept of it."""
    with tempfile.TemporaryDirectory() as scratch:
        with connected(place.tracking_uri(inputs)) as client:
            versions = Versions(client, inputs.registry)
            version = published.held(versions, inputs.alias)
            found = None
            if version is not None:
                name = f"{inputs.registry} version {version.number}"
                folder = published.model(versions, version, Path(scratch))
                found = Champion(version.number, name, version.tags[MODEL_HASH], folder)
        yield found


def _nothing(why: str, champion: int | None) -> Measurement:
    """No difference, known without a sample."""
    return replace(Measurement.exact(METRIC, "", 0.0, 0, why), champion=champion)


def _compared(inputs: ChampionInput, champion: Champion) -> Measurement:
    model = exported.load(inputs)
    with sampled.sampling(inputs, [model, _opponent(champion, model)]) as sampling:

        def measure(scores: list[Scores], confidence: float) -> Measurement:
            new, old = scores
            return _measurement(inputs, champion, (new, old), difference(new, old, confidence, sampling.seed))

        return sampling.looked(-inputs.margin, measure)


@dataclass(frozen=True)
class Opponent(Exported):
    """The champion's program; what is right and wrong, the model's task says for both."""

    champion: str

    def request(self, batch: Tensor) -> Tensor:
        try:
            return super().request(batch)
        except Exception as error:
            raise data_error(f"{self.champion}: fails on samples that this model takes: {error}") from error


def _opponent(champion: Champion, model: Exported) -> Opponent:
    other = ModelCard.model_validate_json((champion.folder / exported_model.CARD).read_bytes())
    if (shapes := _shapes(other)) != _shapes(model.card):
        raise data_error(f"{champion.name}: {shapes}, but this model {_shapes(model.card)}: the two cannot be compared")
    path = champion.folder / exported_model.PROGRAM
    try:
        program = serving.load_program(path, model.device.name)
    except Exception as error:
        raise data_error(f"{champion.name}: torch cannot load its {path.name}: {error}") from error
    return Opponent(program, model.device, model.task, other, champion.name)


def _shapes(card: ModelCard) -> str:
    return f"makes {card.output_dtype} {card.output_shape} of {card.input_dtype} {card.input_shape}"


def _measurement(
    inputs: ChampionInput, champion: Champion, scores: tuple[Scores, Scores], found: Interval
) -> Measurement:
    new, old = scores
    pairs, sections = "", tuple[Section, ...]()
    if not new.broken and new.each is not None and old.each is not None and new.right_or_wrong and old.right_or_wrong:
        gained, lost = int((new.each > old.each).sum()), int((new.each < old.each).sum())
        both = int((new.each * old.each).sum())
        pairs = f", {gained} of them right with this model only and {lost} with the champion only"
        sections = (pair_plot.section_of(both, gained, lost, len(new) - both - gained - lost),)
    return Measurement(
        metric=METRIC,
        unit="",
        estimate=found.estimate,
        lower=found.lower,
        upper=found.upper,
        samples=len(new),
        conditions=f"against {champion.name}, {sampled.conditions(inputs, new)}{pairs}",
        advice=sampled.advice(found),
        method=found.method,
        champion=champion.number,
        sections=sections,
    )
