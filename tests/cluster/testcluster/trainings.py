"""Runs of training alone, on the reference data: to be hurt, and to be watched as they go on."""

import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hera.workflows import DAG, Task, Workflow

from argosy.pipelines import Checkpoints, Resources, Training, templates
from argosy.pipelines.compile import compiled
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from testcluster.access import Access
from testcluster.services import wait_until

SECONDS_TO_MOVE = 300
SECONDS_FOR_A_RUN = 500
DATA = ("dataset-pin", "dataset-hash")


def training(task: str, *, epochs: int = 10, memory: str = "2Gi", **settings: object) -> Training:
    """Small enough for several at a time on one node; its state is kept every second."""
    return Training(
        task=f"troubled_digits:{task}",
        hyperparameters=DigitsHyperparameters(epochs=epochs),
        resources=Resources(cpu=0.2, memory=memory),
        checkpoints=Checkpoints(every="1s"),
        grace="10s",
        metrics=False,
        **settings,
    )


@dataclass
class Trainings:
    """Those that a test module submits, which go with it."""

    cluster: Access
    folder: Path
    submitted: list[str] = field(default_factory=list)

    def submit(self, what: Training) -> str:
        """The run's name."""
        name = f"train-{uuid.uuid4().hex[:6]}"
        given = self._data | {"seed": "0", "node": "node0"}
        train = templates.train(what, image=self.cluster.image)
        everything = DAG(name="all", tasks=[Task(name="train", template=train, arguments=given)])
        workflow = Workflow(
            name=name, entrypoint="all", service_account_name="argosy-steps", templates=[everything, train]
        )
        file = self.folder / f"{name}.yaml"
        file.write_text(compiled(workflow))
        told = json.loads(self.cluster.argosy(self.cluster.project, "submit", str(file), "-c", "--json"))
        self.submitted.append(str(told["name"]))
        return self.submitted[-1]

    def attempts(self, name: str) -> list[dict]:
        found = [one for one in self._nodes(name) if one["type"] == "Pod" and one["displayName"].startswith("train(")]
        return sorted(found, key=lambda one: str(one["displayName"]))

    def until_step(self, name: str, step: int, *, attempt: int = 0) -> None:
        """Waits until this many steps are done, as Argo's progress says."""

        def is_there() -> bool:
            there = self.attempts(name)
            assert self.phase(name) in ("", "Pending", "Running"), self.log(name)
            return len(there) > attempt and int(there[attempt].get("progress", "0/0").partition("/")[0]) >= step

        wait_until(is_there, f"{name} to have done {step} steps", SECONDS_TO_MOVE)

    def ended(self, name: str) -> dict:
        """The run's last attempt, once the run has ended."""
        # Of a stopped workflow the node above its attempts stays as it was.
        is_over = lambda: self.phase(name) not in ("", "Pending", "Running")  # noqa: E731 - asked again and again
        wait_until(is_over, f"{name} to end", SECONDS_FOR_A_RUN)
        return self.attempts(name)[-1]

    def phase(self, name: str) -> str:
        return str(self.cluster.workflow(name)["status"].get("phase", ""))

    def outputs(self, name: str) -> dict[str, str]:
        """Of a training that must have ended well."""
        last = self.ended(name)
        assert last["phase"] == "Succeeded", f"{last.get('message')}\n{self.log(name)}"
        return {one["name"]: one["value"] for one in last["outputs"]["parameters"]}

    def log(self, name: str) -> str:
        return self.cluster.argosy(self.cluster.project, "logs", name, "-c")

    def kubectl(self, *words: str) -> str:
        return self.cluster.kubectl(f"--namespace={self.cluster.namespace}", *words)

    def remove(self) -> None:
        if self.submitted:
            self.kubectl("delete", "workflow", *self.submitted, "--ignore-not-found")

    @cached_property
    def _data(self) -> dict[str, str]:
        output = self.folder / "resolved"
        words = ("--dataset=data/digits", f"--project={self.cluster.project}", f"--output={output}")
        command = [sys.executable, "-m", "argosy.steps", "resolve", *words]
        subprocess.run(command, env=os.environ | self.cluster.environment, check=True)
        return {name: (output / name).read_text() for name in DATA}

    def _nodes(self, name: str) -> list[dict]:
        return list((self.cluster.workflow(name)["status"].get("nodes") or {}).values())
