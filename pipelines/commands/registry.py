"""How a user looks at what a run on this machine has registered."""

from pathlib import Path

from argosy.pipelines.commands import place
from argosy.pipelines.runs import Run
from argosy.pipelines.views.answers import kind
from argosy.steps import values

_DATABASE = "sqlite:///"


def browse(run: Run) -> list[str]:
    """The commands that show each registry in which the run has published; an address stands for itself."""
    published = [step.outputs for step in run.leaves() if kind(step.outputs) == "model"]
    addresses = dict.fromkeys(outputs["tracking-uri"] for outputs in published if "tracking-uri" in outputs)
    return [_browse(values.decode(address, str)) for address in addresses]


def _browse(address: str) -> str:
    if not address.startswith(_DATABASE):
        return address
    database = place.shown(Path(address.removeprefix(_DATABASE)))
    return f"{place.program('mlflow')} ui --backend-store-uri {_DATABASE}{database}"
