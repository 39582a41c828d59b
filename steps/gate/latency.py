"""How long one request takes, in one process: one after the other, or arriving at random moments as users' do."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from argosy.steps.gate import arrivals, exported, latency_page, looks, order
from argosy.steps.gate.clock import Clock, MachineClock
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.device import Device
from argosy.steps.gate.loops import ClosedLoop, Loop, OpenLoop, Service
from argosy.steps.gate.noise import Noise
from argosy.steps.gate.quantile import dependent, independent
from argosy.steps.gate.requests import requests
from argosy.steps.gate.verdict import AT_MOST, Measurement
from argosy.steps.gates import GateOutput, LatencyInput

THREADS = 1
"""What a request may count on wherever it is served; torch's own choice differs from node to node."""
MOST_LOAD = 0.85
"""Share of the time above which a queue takes longer to settle than any measurement lasts."""
RELIEF = "fewer arrivals in a second, or a faster model, would leave it time"


@dataclass
class Timing:
    """What is known of the latency so far."""

    warm_ups: int
    loop: Loop
    noise: Noise
    taken_ms: list[float] = field(default_factory=list)
    """In the order of sending."""

    def extend(self, count: int) -> None:
        """Sends requests until so many have been sent."""
        self.taken_ms += self.loop.send(count - len(self.taken_ms))


def run(inputs: LatencyInput) -> GateOutput:
    """Raises StepError (DATA) when the model or the data is missing or damaged."""
    started = time.monotonic()
    with _threads(THREADS):
        model = exported.load(inputs)
        batch, program, where = requests(model, inputs, inputs.batch_size), model.program, model.device.name
        # Inference mode is entered once, and not in each request: that takes as long as a small layer.
        with torch.inference_mode():
            measured = looked(inputs, lambda: program(next(batch).to(where)), model.device)
    return concluded(inputs, measured, inputs.at_most_ms, AT_MOST, started)


def looked(
    inputs: LatencyInput, request: Callable[[], object], device: Device, clock: Clock | None = None
) -> Measurement:
    """What the first look that decides says, or the last."""
    timing = begun(inputs, request, device, clock)

    def look(count: int, confidence: float) -> Measurement:
        timing.extend(count)
        return measurement(timing, inputs, device, confidence)

    sizes = looks.sizes(inputs.requests, inputs.looks)
    return looks.taken(sizes, inputs.confidence, inputs.at_most_ms, AT_MOST, look)


def begun(inputs: LatencyInput, request: Callable[[], object], device: Device, clock: Clock | None = None) -> Timing:
    """After a warm-up that does not count."""
    clock = clock or MachineClock()
    service, noise, rate = Service(request, device, clock), Noise(clock), inputs.arrivals_per_second
    warm_ups = service.warm_up()
    if not rate:
        return Timing(warm_ups, ClosedLoop(service, noise), noise)
    gaps = arrivals.gaps(rate, order.seed(inputs.dataset_hash, "arrivals"))
    return Timing(warm_ups, OpenLoop(service, noise, gaps), noise)


def measurement(timing: Timing, inputs: LatencyInput, device: Device, confidence: float) -> Measurement:
    """What the requests so far say. Of a queue that may grow without end they say no upper bound."""
    is_busy = timing.loop.load > MOST_LOAD
    found = (dependent if inputs.arrivals_per_second else independent)(timing.taken_ms, inputs.quantile, confidence)
    return Measurement(
        metric=f"p{100 * inputs.quantile:g} latency",
        unit="ms",
        estimate=found.estimate,
        lower=found.lower,
        upper=None if is_busy else found.upper,
        samples=len(timing.taken_ms),
        conditions=_conditions(timing, inputs, device),
        advice=RELIEF if is_busy else found.lacks or "more requests would tell",
        method=found.method,
        sections=(latency_page.course(timing.taken_ms, inputs.at_most_ms), latency_page.quantiles(timing.taken_ms)),
    )


def _conditions(timing: Timing, inputs: LatencyInput, device: Device) -> str:
    where = f"{THREADS} thread" if device.name == "cpu" else device.name
    arriving = (
        f", {inputs.arrivals_per_second:g} of them arriving in a second, which gives it work for "
        f"{100 * timing.loop.load:.3g} % of the time"
        if inputs.arrivals_per_second
        else ""
    )
    noise = f"; {timing.noise.words}" if timing.noise.words else ""
    n = f"n = {len(timing.taken_ms)} requests of {inputs.batch_size} on {where}"
    return f"{n}{arriving}, after {timing.warm_ups} to warm up{noise}"


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
