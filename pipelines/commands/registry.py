"""How a user looks at what a run on this machine has registered."""

from pathlib import Path
from typing import TYPE_CHECKING

from argosy.pipelines.commands import place
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Run
from argosy.pipelines.views.answers import kind

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder

_OPTION = "--tracking-uri="
_DATABASE = "sqlite:///"


def browse(run: Run, folder: "RunFolder") -> list[str]:
    """The commands that show each registry in which the run has published; an address stands for itself."""
    names = {step.pod.template_name for step in run.leaves() if kind(step.outputs) == "model"}
    templates = [one for one in folder.workflow()["spec"]["templates"] if one["name"] in names]
    return [command for template in templates if (command := _browse(template))]


def _browse(template: Json) -> str:
    arguments = template.get("container", {}).get("args", [])
    uri = next((word.removeprefix(_OPTION) for word in arguments if word.startswith(_OPTION)), "")
    if not uri.startswith(_DATABASE):
        return uri
    database = _outside(Path(uri.removeprefix(_DATABASE)), template)
    mlflow = place.program("mlflow")
    return f"{mlflow} ui --backend-store-uri {_DATABASE}{place.shown(database)}" if database else ""


def _outside(path: Path, template: Json) -> Path | None:
    """Where a file on a claim lies on this machine."""
    claims = {one["name"]: one.get("persistentVolumeClaim", {}).get("claimName") for one in template.get("volumes", [])}
    for mount in template["container"].get("volumeMounts", []):
        if path.is_relative_to(mount["mountPath"]) and (claim := claims.get(mount["name"])):
            folder: Path = place.home().claims / claim
            return folder / path.relative_to(mount["mountPath"])
    return None
