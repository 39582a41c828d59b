"""Requests to a model in this process, one at a time, each timed until the device has finished it."""

import statistics
from collections.abc import Callable, Iterator
from typing import Protocol

from argosy.steps.gate.clock import Clock
from argosy.steps.gate.device import Device
from argosy.steps.gate.noise import Noise

WARM_UP_WINDOW = 10
WARM_UP_WINDOWS_AT_MOST = 20
STABLE = 0.1
"""Relative change of a window's median below which the warm-up ends."""
NOISE_EVERY = 10
"""Requests from one look at the machine's noise to the next."""
NOISE_NS = 1_000_000
"""Idle time in which the machine's noise can be looked at without making a request late."""
LEAD = 0.1
"""Share of the arrivals that come first and do not count: a queue begins empty, and takes time to be as it goes on."""


class Service:
    """A model that answers one request at a time."""

    def __init__(self, request: Callable[[], object], device: Device, clock: Clock) -> None:
        self._request, self._device, self.clock = request, device, clock

    def once(self) -> int:
        """Answers a request. The moment when the device had finished it, in the clock's nanoseconds."""
        self._request()
        self._device.synchronise()
        return self.clock.now()

    def warm_up(self) -> int:
        """Answers requests until they no longer get faster, and returns how many."""
        medians = [self._median(), self._median()]
        while abs(medians[-1] - medians[-2]) > STABLE * medians[-2] and len(medians) < WARM_UP_WINDOWS_AT_MOST:
            medians.append(self._median())
        return len(medians) * WARM_UP_WINDOW

    def _median(self) -> float:
        return statistics.median(-self.clock.now() + self.once() for _ in range(WARM_UP_WINDOW))


class Loop(Protocol):
    """A way in which requests follow one another."""

    @property
    def load(self) -> float:
        """Work that comes in the time it is done in; from 1 on a queue grows without end. 0: no queue can form."""

    def send(self, count: int) -> list[float]:
        """Milliseconds that each of so many requests took, in the order of sending."""


class ClosedLoop:
    """Each request is sent when the one before is done."""

    load = 0.0

    def __init__(self, service: Service, noise: Noise) -> None:
        self._service, self._noise = service, noise

    def send(self, count: int) -> list[float]:
        now, once, taken = self._service.clock.now, self._service.once, []
        for number in range(count):
            began = now()
            taken.append((once() - began) / 1e6)
            if number % NOISE_EVERY == 0:
                self._noise.take()
        return taken


class OpenLoop:
    """Requests arrive whether or not the model is ready, and wait in line: a request's time counts from its arrival,
    so that one which could not even be sent during a stall is as slow as it was for whoever asked.
    """

    def __init__(self, service: Service, noise: Noise, gaps: Iterator[int]) -> None:
        """`gaps`: nanoseconds from each arrival to the next."""
        self._service, self._noise, self._gaps = service, noise, gaps
        self._busy = self._passed = 0

    @property
    def load(self) -> float:
        return self._busy / self._passed if self._passed else 0.0

    def send(self, count: int) -> list[float]:
        lead = int(LEAD * count)
        arrival = self._service.clock.now()
        taken = [self._one(arrival := arrival + self._gap()) for _ in range(lead + count)]
        return taken[lead:]

    def _gap(self) -> int:
        gap = next(self._gaps)
        self._passed += gap
        return gap

    def _one(self, arrival: int) -> float:
        clock = self._service.clock
        if clock.now() + NOISE_NS < arrival:
            self._noise.take()
        clock.wait_until(arrival)
        began = clock.now()
        ended = self._service.once()
        self._busy += ended - began
        return (ended - arrival) / 1e6
