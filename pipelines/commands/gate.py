"""`argosy gate`: what gates are worth, before anything is trained."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments, completion
from argosy.pipelines.commands.mistake import Mistake, unknown

if TYPE_CHECKING:
    from argosy.pipelines.gates import Gate
    from argosy.pipelines.manifest import Json
    from argosy.pipelines.planning import Expectations
    from argosy.pipelines.spec import Pipeline

SHARE = arguments.Finite(0, 1, min_open=True, max_open=True)


@click.group(epilog="Example: argosy gate plan digits")
def gate() -> None:
    """Look after a pipeline's gates."""


@gate.command(epilog="Example: argosy gate plan digits --expect 0.97 --power 0.9")
@click.argument("pipeline", required=False, shell_complete=completion.pipelines)
@click.option(
    "--expect", "expected", multiple=True, metavar="[GATE=]VALUE", help="What the model is expected to reach: the "
    "metric's value; the difference to the champion; of requests the share that keep within the limit.",
)  # fmt: skip
@click.option("--power", type=SHARE, default=0.8, show_default=True, help="How often such a model is to pass.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Samples of each split, if none is staged.")
@click.option(
    "--differing", type=SHARE, default=0.1, show_default=True,
    help="Share of samples of which the model and the champion get only one right.",
)  # fmt: skip
@click.option(
    "--spread", type=arguments.Finite(min=0, min_open=True), metavar="VALUE",
    help="Standard deviation of a sample's score; not for shares.",
)  # fmt: skip
@click.option("--slices", type=click.IntRange(min=1), metavar="N", help="Slices of a gate on slices.")
@click.option(
    "--cluster-size",
    type=arguments.Finite(min=1),
    metavar="N",
    help="Samples of a patient, or what else `cluster` is.",
)
@click.option(
    "--correlation", type=arguments.Finite(0, 1), default=0.3, show_default=True, help="Of the scores within a cluster."
)
@arguments.as_json("the plan")
def plan(
    pipeline: str | None,
    *,
    expected: Sequence[str],
    power: float,
    samples: int | None,
    differing: float,
    spread: float | None,
    slices: int | None,
    cluster_size: float | None,
    correlation: float,
    as_json: bool,
) -> None:
    """Tell how many samples each gate needs to be worth having.

    For each gate: the fewest samples at which it can pass at all, those at which a model as good as expected passes so
    often, and how often it passes on as many as there are. Without --expect a model is halfway from the threshold to 1,
    equal to the champion, or slow half as often as it may be. PIPELINE may be left out where the project has one.
    """
    from argosy.pipelines.commands.output import print_json
    from argosy.pipelines.planning import Expectations
    from argosy.pipelines.views.plan import table

    found = _pipeline(pipeline)
    value, values = _expected(expected, found)
    counted = _samples(found, samples)
    known = Expectations(power, value, values, differing, spread, slices, cluster_size, correlation, counted)
    planned = [_planned(one, known) for one in found.gates]
    if as_json:
        print_json({"pipeline": found.name, "power": power, "gates": planned})
    else:
        click.echo(table(planned, power))


def _pipeline(name: str | None) -> "Pipeline":
    """The pipeline of this name, or the project's only one. Raises Mistake, LoadError."""
    from argosy.pipelines.commands import place, source

    if name is None:
        known = sorted(source.available())
        if len(known) != 1:
            has = f"has {', '.join(known)}" if known else "has none yet"
            raise Mistake(f"name the pipeline: {place.project()} {has}")
        name = known[0]
    found = source.find(name)
    definition = found.definition if found.is_python else None
    if definition is None or definition.pipeline is None:
        raise Mistake(f"{name} holds no Pipeline, and so no gates; name a Python file that defines one")
    return definition.pipeline


def _expected(words: Iterable[str], pipeline: "Pipeline") -> tuple[float | None, dict[str, float]]:
    """The value for every metric, and those of single gates. Raises Mistake."""
    value, values = None, {}
    known = [one.name for one in pipeline.gates]
    for word in words:
        name, _, text = word.rpartition("=")
        number = _number(text)
        if number is None:
            raise Mistake(f"--expect {word}: {text!r} is no number; write 0.95, or {known[0]}=0.95")
        if name and name not in known:
            raise unknown("gate", name, known, f"there are {', '.join(known)}")
        if name:
            values[name] = number
        else:
            value = number
    return value, values


def _number(text: str) -> float | None:
    """None for a text that is no number, or no finite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _planned(gate: "Gate", known: "Expectations") -> "Json":
    """What the steps' own program says, by the statistics that the gate decides with. Raises Mistake."""
    from argosy.pipelines.commands import stepping
    from argosy.pipelines.planning import NothingToPlan, question

    try:
        asked = question(gate, known)
        answer = stepping.outputs("gate.plan", asked, f"planning {gate.name}")
    except NothingToPlan as reason:
        return {"name": gate.name, "note": str(reason)}
    except stepping.StepBrokenError as error:
        raise Mistake(f"{gate.name}: {error}") from error
    return {"name": gate.name, "note": answer.pop("summary"), **asked, **answer}


def _samples(pipeline: "Pipeline", told: int | None) -> dict[str, int]:
    """Split -> its samples, as the user tells, else as the data that DVC's files name is staged here."""
    from argosy.pipelines.commands import stepping
    from argosy.pipelines.gates import Sampled

    splits = sorted({one.split for one in pipeline.gates if isinstance(one, Sampled)})
    if told is not None:
        return dict.fromkeys(splits, told)
    try:
        folder = _staged(pipeline) if splits else None
        counted = {
            split: stepping.outputs("shards.count", {"folder": str(folder), "split": split}, f"counting {split}")
            for split in splits
        }
    except (Mistake, stepping.StepBrokenError) as error:
        click.echo(f"how many samples there are is not known: {error}; --samples tells it", err=True)
        return {}
    return {split: count["samples"] for split, count in counted.items()}


def _staged(pipeline: "Pipeline") -> Path:
    """The folder of the pipeline's data in this project's cache. Raises Mistake, StepBrokenError."""
    from argosy.pipelines.commands import cache, place, stepping
    from argosy.pipelines.dataset import dataset_parameter
    from argosy.steps import pins, values
    from argosy.steps.contracts import Step

    try:
        local = cache.local()
    except Mistake:
        raise Mistake("no data is staged here") from None
    asked = {"dataset": values.decode(dataset_parameter(pipeline.datasets), str), "project": str(place.project())}
    found = stepping.outputs(Step.RESOLVE, asked, "looking which data DVC's files name")
    folder = local / "datasets" / pins.key(found["dataset_hash"])
    if not folder.is_dir():
        raise Mistake(f"{found['dataset_hash']} is not staged in {place.shown(local)}")
    return folder
