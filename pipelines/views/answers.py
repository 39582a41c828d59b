"""What the steps of a training pipeline found out, read from their outputs' names (`argosy.steps.contracts`)."""

from collections.abc import Mapping
from typing import Any

from argosy.pipelines import status as s
from argosy.pipelines.runs import Run, Step
from argosy.pipelines.status import INTERRUPTED
from argosy.pipelines.views.words import amount, clean, one_line, size
from argosy.steps import values

Outputs = Mapping[str, str]

_KINDS = {"dataset-hash": "dataset", "model-hash": "training", "verdict": "gate", "registered-model": "model"}
"""The output by which a step is known -> what it tells about."""

_SHOWN = 60
"""Characters shown of an output whose meaning is not known."""


def kind(outputs: Outputs) -> str:
    """`dataset`, `training`, `gate` or `model`; nothing for any other step."""
    return next((kind for name, kind in _KINDS.items() if name in outputs), "")


def found(run: Run, wanted: str) -> dict[str, dict[str, Any]]:
    """Step -> its outputs with their types, for all steps of one kind."""
    from argosy.steps import base, contracts, gates, registry  # pydantic: only where a script asks

    contracts_of: dict[str, type[base.StepOutput]] = {
        "dataset": contracts.StageOutput,
        "training": contracts.TrainOutput,
        "gate": gates.GateOutput,
        "model": registry.PublishOutput,
    }
    fields = contracts_of[wanted].model_fields
    types = {contracts.option(name): info.annotation for name, info in fields.items()}
    return {
        step.name: {name: values.decode(text, types[name]) for name, text in step.outputs.items() if name in types}
        for step in run.leaves()
        if kind(step.outputs) == wanted
    }


def note(step: Step) -> str:
    """What there is to say about a step in one line: what went wrong, or what came out."""
    outputs = step.outputs
    if step.node.type == s.SUSPEND:
        return "waits for a person" if step.phase == s.HELD else one_line(step.node.message)
    if kind(outputs) == "gate" and outputs.get("summary"):
        return _text(outputs["summary"])
    own = step.node.message  # of a retried step that failed: `No more retries left`, which is no cause
    if step.phase == INTERRUPTED:
        return ""
    if step.phase != s.SUCCEEDED and (message := own if step.is_active else step.reason):
        return one_line(message)
    try:
        return _NOTES[kind(outputs)](outputs)
    except (KeyError, ValueError):  # outputs of somebody else's, which only look like ours
        return _other(outputs)


def _dataset(outputs: Outputs) -> str:
    fetched = size(int(outputs["fetched-bytes"]))
    return f"{amount(int(outputs['files']), 'file')}, {size(int(outputs['bytes']))}, {fetched} of it fetched"


def _training(outputs: Outputs) -> str:
    resumed = int(outputs["resumed-at-step"])
    return ", ".join(
        [
            amount(int(outputs["steps"]), "step") + (f" (resumed at step {resumed:,})" if resumed else ""),
            *_known(outputs, "loss", "loss {:.4g}"),
            *_known(outputs, "validation-accuracy", "validation accuracy {:.4g}"),
            *_known(outputs, "samples-per-second", "{:,.0f} samples/s"),
        ]
    )


def _known(outputs: Outputs, name: str, form: str) -> list[str]:
    """Nothing of what a script has not said."""
    return [] if outputs[name] == "null" else [form.format(float(outputs[name]))]


def _model(outputs: Outputs) -> str:
    again = " (registered by an earlier attempt)" if outputs.get("created") == "false" else ""
    return f"{_text(outputs['registered-model'])} version {outputs['version']}{again}"


def _other(outputs: Outputs) -> str:
    told = ((name, _text(text)) for name, text in outputs.items())
    return ", ".join(f"{name}={text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}" for name, text in told)


_NOTES = {"dataset": _dataset, "training": _training, "model": _model, "gate": _other, "": _other}


def _text(text: str) -> str:
    return clean(str(values.decode(text, str)))
