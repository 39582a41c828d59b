"""Publishes that are killed at random moments and tried again until they succeed; prints what is then in the registry.

    python killing.py --kills 100 [--seed 1]

Each run of a pipeline publishes in a process that dies by SIGKILL after a random part of the time that a whole publish
takes, again and again until one attempt is done; half of the runs race with a second publisher of the same run.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch

from argosy.steps import exported_model, files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gates import Answer, Verdict
from argosy.steps.publish import step
from argosy.steps.publish.client import connected
from argosy.steps.registry import PublishInput
from argosy.steps.train.export import export

FORK = multiprocessing.get_context("fork")  # a process to be killed need not import mlflow anew
TASK = "argosy.steps.digits:Digits"


def inputs(folder: Path, uid: str) -> PublishInput:
    verdict = Verdict(
        gate="accuracy-gate",
        answer=Answer.PASS,
        metric="accuracy",
        estimate=0.97,
        bound=0.95,
        threshold=0.9,
        margin=0.05,
        confidence=0.95,
        samples=360,
        reason="accuracy 0.97 pass",
    )
    return PublishInput(
        output=folder / "out",
        registry="digits",
        alias="champion",
        folder=folder / "registry",
        tracking_uri=f"sqlite:///{folder}/registry/mlflow.db",
        models=folder,
        model="run/model",
        model_hash=files.sha256(folder / "run/model" / exported_model.PROGRAM),
        run=f"digits-{uid}",
        run_uid=uid,
        dataset="data/digits",
        dataset_hash="0" * 32 + ".dir",
        task=TASK,
        image="image",
        parameters="[]",
        verdicts={"accuracy-gate": verdict},
    )


def publish(made: PublishInput) -> None:
    """Exits with the step's code: 75 is tried again by whoever started it."""
    try:
        step.run(made)
    except StepError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(error.exit_code)


def start(made: PublishInput) -> "multiprocessing.process.BaseProcess":
    process = FORK.Process(target=publish, args=(made,))
    process.start()
    return process


def killed_until_done(made: PublishInput, whole: float, chance: random.Random) -> int:
    """How often it was killed."""
    kills = 0
    while True:
        racing = [start(made) for _ in range(chance.choice([1, 2]))]
        for process in racing:
            process.join(chance.uniform(0, whole) if kills == 0 else chance.uniform(0, 2 * whole))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
            process.join()
        kills += sum(process.exitcode == -signal.SIGKILL for process in racing)
        wrong = [one.exitcode for one in racing if one.exitcode not in {0, -signal.SIGKILL, ExitCode.TEMPORARY}]
        if wrong:
            raise SystemExit(f"{made.run_uid}: a publish ended with {wrong}")
        if kills and any(process.exitcode == 0 for process in racing):
            return kills


def state(folder: Path) -> dict[str, object]:
    """What is in the registry, for whoever judges it."""
    made = inputs(folder, "uid")
    with connected(made.tracking_uri) as client:
        experiment = client.get_experiment_by_name("digits").experiment_id
        versions = sorted(client.search_model_versions("name = 'digits'"), key=lambda one: int(one.version))
        logged = client.search_logged_models([experiment], max_results=50000)
        whole = [next((Path(one.source.removeprefix("file://"))).rglob("model.pt2"), None) for one in versions]
        return {
            "uids": [one.tags["argosy.run_uid"] for one in versions],
            "alias": int(client.get_model_version_by_alias("digits", "champion").version),
            "last": int(versions[-1].version),
            "decisions": [one.tags.get("argosy.decision") for one in versions],
            "torn": sum(path is None or files.sha256(path) != made.model_hash for path in whole),
            "statuses": sorted({one.status for one in logged}),
            "models": sorted(one.artifact_location for one in logged) == sorted(one.source for one in versions),
            "running": sum(client.get_run(one.run_id).info.status != "FINISHED" for one in versions),
        }


def main(kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tempfile.tempdir = name  # what a killed process leaves half made goes, too
        (folder / "run").mkdir()
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        about = {"task": TASK, "hyperparameters": {}, "training": {"loss": 0.1}}
        export(model, torch.zeros(1, 8, 8), folder / "run/model", **about)
        step.run(inputs(folder, "first"))
        shutil.rmtree(folder / "out", ignore_errors=True)
        started = time.monotonic()
        step.run(inputs(folder, "second"))
        whole, chance = time.monotonic() - started, random.Random(seed)
        done = total = 0
        while total < kills:
            total += killed_until_done(inputs(folder, f"uid-{done}"), whole, chance)
            done += 1
        sys.stdout.write(json.dumps({"kills": total, "runs": done + 2, **state(folder)}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    main(**vars(parser.parse_args()))
