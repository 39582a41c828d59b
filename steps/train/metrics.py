"""A training's metrics on their way to MLflow: in batches, from a thread that no step waits for.

They go to the MLflow run that bears this run's name, which every attempt continues and `publish` completes.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from argosy.steps.contracts import TrainInput
from argosy.steps.errors import StepError
from argosy.steps.publish.client import ADDRESS, connected, is_server
from argosy.steps.publish.database import SQLITE
from argosy.steps.publish.place import ARTIFACTS, TRACKING_URI
from argosy.steps.publish.runs import experiment_id
from argosy.steps.publish.tags import RUN

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
"""MLflow's own environment variable: the pipeline's registered model has the same name."""
DEFAULT_EXPERIMENT = "argosy"
PREFIX = "training/"
"""Metrics of a group lie together in MLflow's pages."""
SECONDS_OF_A_POINT, SECONDS_BETWEEN_BATCHES, SECONDS_TO_CLOSE = 1.0, 5.0, 30.0
POINTS_KEPT = 100_000
"""That an MLflow which does not answer may have outstanding; the eldest go first."""
METRICS_AT_ONCE = 1000  # mlflow/utils/validation.py, MAX_METRICS_PER_BATCH


class Point(NamedTuple):
    """Means over about a second."""

    step: int
    milliseconds: int
    """Since the epoch."""
    sums: dict[str, Tensor | float]
    counts: dict[str, int]


class Metrics:
    def __init__(self, tracking_uri: str, run: str) -> None:
        self._tracking_uri, self._name = tracking_uri, run
        self._experiment = os.environ.get(EXPERIMENT, "").strip() or DEFAULT_EXPERIMENT
        self._points: deque[Point] = deque(maxlen=POINTS_KEPT)
        self._sums: dict[str, Tensor | float] = {}
        self._counts: dict[str, int] = {}
        self._began = time.monotonic()
        self._closing = threading.Event()
        self._run_id = ""
        self._is_finished = self._has_complained = False
        self._thread = threading.Thread(target=self._work, name="metrics", daemon=True)
        self._thread.start()

    def add(self, step: int, values: Mapping[str, Tensor | float]) -> None:
        """What a step measured. A tensor may still be under way on its device."""
        for name, value in values.items():
            number = value.detach() if isinstance(value, Tensor) else value
            self._sums[name] = self._sums[name] + number if name in self._sums else number
            self._counts[name] = self._counts.get(name, 0) + 1
        if time.monotonic() - self._began >= SECONDS_OF_A_POINT:
            self._end_point(step)

    def close(self, step: int, *, finished: bool) -> None:
        """Sends what is left, in a limited time. `finished`: no attempt follows."""
        self._end_point(step)
        self._is_finished = finished
        self._closing.set()
        self._thread.join(SECONDS_TO_CLOSE)
        if self._points or self._thread.is_alive():
            _say(f"the last {len(self._points) or ''} points did not reach MLflow".replace("  ", " "))

    def _end_point(self, step: int) -> None:
        if self._sums:
            self._points.append(Point(step, int(time.time() * 1000), self._sums, self._counts))
        self._sums, self._counts, self._began = {}, {}, time.monotonic()

    def _work(self) -> None:
        while not self._closing.wait(SECONDS_BETWEEN_BATCHES):
            self._try_to_send()
        self._try_to_send()

    def _try_to_send(self) -> None:
        self._add_gpu_use()
        try:
            with connected(self._tracking_uri) as client:
                self._run_id = self._run_id or self._found_run(client)
                self._send(client)
                if self._is_finished:
                    client.set_terminated(self._run_id)
        except StepError as error:
            self._complain(error.message)
        except Exception as error:  # noqa: BLE001 - whatever MLflow raises, the training goes on
            self._complain(f"{type(error).__name__}: {error}")

    def _add_gpu_use(self) -> None:
        """Share of the time that this rank's GPU was busy of late, as NVIDIA's library says; where it is there."""
        if not self._points or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call] # torch leaves it so
            return
        # Without nvidia-ml-py it raises ModuleNotFoundError, within a MIG slice an error of that library's own.
        with suppress(Exception):
            use = torch.cuda.utilization() / 100
            self._points.append(Point(self._points[-1].step, int(time.time() * 1000), {"gpu_use": use}, {"gpu_use": 1}))

    def _send(self, client: "MlflowClient") -> None:
        from mlflow.entities import Metric

        while self._points:
            points = [self._points[index] for index in range(min(len(self._points), METRICS_AT_ONCE))]
            metrics = [
                Metric(PREFIX + name, float(total) / point.counts[name], point.milliseconds, point.step)
                for point in points
                for name, total in point.sums.items()
            ]
            for start in range(0, len(metrics), METRICS_AT_ONCE):
                client.log_batch(self._run_id, metrics=metrics[start : start + METRICS_AT_ONCE])
            for _ in points:
                self._points.popleft()

    def _found_run(self, client: "MlflowClient") -> str:
        """The id of the run that bears this name; a new one, if need be."""
        experiment = experiment_id(client, self._experiment, _artifacts(self._tracking_uri))
        found = client.search_runs([experiment], f"tags.`{RUN}` = '{self._name}'", max_results=1)
        if not found:
            return str(client.create_run(experiment, tags={RUN: self._name}, run_name=self._name).info.run_id)
        client.update_run(found[0].info.run_id, status="RUNNING")
        return str(found[0].info.run_id)

    def _complain(self, why: str) -> None:
        if not self._has_complained:
            self._has_complained = True
            _say(f"{' '.join(why.split())}; the training goes on, and sends them when it can")


def metrics(inputs: TrainInput) -> Metrics | None:
    """None: no MLflow is named, or it cannot be one, which is said."""
    uri = inputs.tracking_uri or os.environ.get(TRACKING_URI, "").strip()
    if not uri:
        return None
    if not ADDRESS.fullmatch(uri):
        source = "--tracking-uri" if inputs.tracking_uri else TRACKING_URI
        _say(f"{source} is neither http(s)://HOST nor {SQLITE}PATH; none are kept")
        return None
    return Metrics(uri, inputs.run)


def _artifacts(tracking_uri: str) -> str | None:
    """Where a new experiment keeps its files: beside a database, as `publish` does; None: as the server decides."""
    if is_server(tracking_uri):
        return None
    return (Path(tracking_uri.removeprefix(SQLITE)).parent / ARTIFACTS).resolve().as_uri()


def _say(what: str) -> None:
    sys.stderr.write(f"metrics: {what}\n")
