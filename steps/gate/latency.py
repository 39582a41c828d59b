"""How long one request takes: a closed loop, one request at a time, in one process."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from argosy.steps.gate import exported
from argosy.steps.gate.bounds import quantile_estimate, quantile_lower, quantile_upper
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.device import Device
from argosy.steps.gate.requests import requests
from argosy.steps.gate.verdict import AT_MOST, Measurement
from argosy.steps.gates import GateOutput, LatencyInput, requests_needed

THREADS = 1
"""What a request may count on wherever it is served; torch's own choice differs from node to node."""
WARM_UP_WINDOW = 10
WARM_UP_WINDOWS_AT_MOST = 20
STABLE = 0.1
"""Relative change of a window's median below which the warm-up ends."""

Clock = Callable[[], int]


@dataclass(frozen=True)
class Timing:
    warm_ups: int
    ascending_ms: list[float]


def run(inputs: LatencyInput) -> GateOutput:
    """Raises StepError (DATA) when the model or the data is missing or damaged."""
    started = time.monotonic()
    with _threads(THREADS):
        model = exported.load(inputs)
        batch = requests(model, inputs, inputs.batch_size)
        timing = timed(lambda: model.request(next(batch)), model.device, inputs.requests)
    measured = measurement(timing, inputs, model.device)
    return concluded(inputs, measured, inputs.at_most_ms, AT_MOST, started)


def timed(request: Callable[[], object], device: Device, count: int, clock: Clock = time.perf_counter_ns) -> Timing:
    """Times requests one after the other, each until the device has finished it, after a warm-up that doesn't count."""

    def one() -> float:
        began = clock()
        request()
        device.synchronise()
        return (clock() - began) / 1e6

    warm_ups = _warm_up(one)
    return Timing(warm_ups, sorted(one() for _ in range(count)))


def measurement(timing: Timing, inputs: LatencyInput, device: Device) -> Measurement:
    ascending, quantile, n = timing.ascending_ms, inputs.quantile, len(timing.ascending_ms)
    upper = quantile_upper(ascending, quantile, inputs.confidence)
    needed = requests_needed(quantile, inputs.confidence)
    where = f"{THREADS} thread" if device.name == "cpu" else device.name
    return Measurement(
        metric=f"p{100 * quantile:g} latency",
        unit="ms",
        estimate=quantile_estimate(ascending, quantile),
        lower=quantile_lower(ascending, quantile, inputs.confidence),
        upper=upper,
        samples=n,
        conditions=f"n = {n} requests of {inputs.batch_size} on {where}, after {timing.warm_ups} to warm up",
        advice="more requests would tell" if upper is not None else f"an upper bound needs {needed} requests",
    )


def _warm_up(one: Callable[[], float]) -> int:
    """Runs requests until they no longer get faster, and returns how many."""
    medians = [_median(one), _median(one)]
    while abs(medians[-1] - medians[-2]) > STABLE * medians[-2] and len(medians) < WARM_UP_WINDOWS_AT_MOST:
        medians.append(_median(one))
    return len(medians) * WARM_UP_WINDOW


def _median(one: Callable[[], float]) -> float:
    return statistics.median(one() for _ in range(WARM_UP_WINDOW))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
