"""The latency gate on a clock of the test's own, and on a real model."""

import math
import threading

import numpy as np
import pytest
import torch

from argosy.steps.gate import arrivals, latency
from argosy.steps.gate.clock import MachineClock
from argosy.steps.gate.device import Cpu
from argosy.steps.gate.loops import WARM_UP_WINDOW, WARM_UP_WINDOWS_AT_MOST, Service
from argosy.steps.gate.noise import Noise
from argosy.steps.gate.quantile import dependent, effective_samples, independent
from argosy.steps.gate.requests import batches
from argosy.steps.gate.verdict import AT_MOST, judge
from argosy.steps.gates import LatencyInput

MS, SECOND = 1_000_000, 1_000_000_000


class Server:
    """A clock on which each request takes what `takes(number)` says, in nanoseconds."""

    def __init__(self, takes):
        self.time, self.calls, self._takes = 0, 0, takes

    def now(self):
        return self.time

    def wait_until(self, moment):
        self.time = max(self.time, moment)

    def request(self):
        self.time += self._takes(self.calls)
        self.calls += 1


@pytest.fixture
def inputs(tmp_path):
    def made(**changes):
        fields = {
            "output": tmp_path, "task": "a:B", "cache": tmp_path, "dataset_hash": "0" * 32, "models": tmp_path,
            "model": "m", "model_hash": "f" * 64, "gate": "g", "confidence": 0.95, "quantile": 0.99, "at_most_ms": 50,
        }  # fmt: skip
        return LatencyInput(**fields | changes)

    return made


def timed(server, given):
    """What such a server's requests take."""
    timing = latency.begun(given, server.request, Cpu(), clock=server)
    timing.extend(given.requests)
    return timing


def measured(server, given):
    """What the gate measures of such a server."""
    return latency.looked(given, server.request, Cpu(), clock=server)


def answer(server, given):
    return judge(given, measured(server, given), given.at_most_ms, AT_MOST).answer


# ---------------------------------------------------------------------------------------------- coordinated omission

WARM = 2 * WARM_UP_WINDOW


def stalls_once(number):
    return SECOND if number == WARM + 400 else MS


def test_one_stall_of_a_second_is_one_slow_request_of_a_thousand_one_after_the_other(inputs):
    timing, found = (made(Server(stalls_once), inputs()) for made in (timed, measured))
    assert sorted(timing.taken_ms)[-2:] == [1, 1000]
    assert (found.estimate, found.upper) == (1, 1)
    assert answer(Server(stalls_once), inputs()) == "pass"


def test_one_stall_of_a_second_fails_the_open_loop_since_all_who_asked_meanwhile_have_waited(inputs):
    given = inputs(arrivals_per_second=100)
    timing, found = (made(Server(stalls_once), given) for made in (timed, measured))
    waited = sum(one > 50 for one in timing.taken_ms)
    assert 60 < waited < 140  # a hundred arrive in a second
    assert found.estimate > 500
    assert found.lower > 50
    assert answer(Server(stalls_once), given) == "fail"


def test_stalls_that_the_quantile_must_count_fail_the_closed_loop_too(inputs):
    assert answer(Server(lambda number: SECOND if number % 50 == 0 else MS), inputs()) == "fail"


def test_without_stalls_both_loops_pass(inputs):
    for rate in (0, 100):
        assert answer(Server(lambda _number: MS), inputs(arrivals_per_second=rate)) == "pass"


def test_a_request_s_time_counts_from_its_arrival_also_when_it_could_not_be_sent():
    server = Server(lambda number: 30 * MS if number == WARM + 2 else 0)
    gaps = iter([10 * MS, 10 * MS, 10 * MS, 1 * MS, 4 * MS, 50 * MS])
    loop = latency.OpenLoop(Service(server.request, Cpu(), server), Noise(server), gaps)
    server.calls = WARM
    assert loop.send(6) == [0, 0, 30, 29, 25, 0]
    assert loop.load == 30 / 85


def test_the_first_arrivals_fill_the_line_and_do_not_count(inputs):
    server = Server(lambda number: 2 * MS if WARM <= number < WARM + 100 else MS)
    timing = timed(server, inputs(arrivals_per_second=0.01, requests=1000))
    assert timing.taken_ms == [1] * 1000
    assert server.calls == timing.warm_ups + 1100


@pytest.mark.parametrize("rate", [99, 110])
def test_a_queue_that_grows_or_hardly_settles_never_passes(inputs, rate):
    given = inputs(arrivals_per_second=rate, at_most_ms=100_000, quantile=0.3)
    found = measured(Server(lambda _number: 10 * MS), given)
    assert found.upper is None
    assert found.advice == latency.RELIEF
    assert answer(Server(lambda _number: 10 * MS), given) == "inconclusive"
    assert answer(Server(lambda _number: 10 * MS), inputs(arrivals_per_second=2 * rate)) == "fail"


# ---------------------------------------------------------------------------------------------- arrivals


def test_arrivals_are_a_poisson_process_that_the_dataset_alone_decides():
    gaps = [next(given) for given in [arrivals.gaps(50, 7)] for _ in range(20_000)]
    assert gaps == [next(given) for given in [arrivals.gaps(50, 7)] for _ in range(20_000)]
    assert gaps[:5] != [next(given) for given in [arrivals.gaps(50, 8)] for _ in range(5)]
    seconds = np.array(gaps) / SECOND
    assert seconds.mean() == pytest.approx(1 / 50, rel=0.03)
    assert seconds.std() == pytest.approx(1 / 50, rel=0.04)
    counts = np.bincount(np.cumsum(seconds).astype(int))[:-1]
    assert counts.var() == pytest.approx(counts.mean(), rel=0.2)


def test_a_wait_ends_at_its_moment_and_one_that_has_passed_at_once():
    clock = MachineClock()
    moment = clock.now() + 20 * MS
    clock.wait_until(moment)
    ended = clock.now()
    assert ended >= moment
    clock.wait_until(moment)


# ---------------------------------------------------------------------------------------------- bounds of a queue

ERROR = 0.05
EVALUATIONS = 2000


def queues(load, service, requests, evaluations=EVALUATIONS, lead=0):
    """Latencies of FIFO queues with Poisson arrivals, in service times (Lindley's recursion)."""
    rng = np.random.default_rng(1)
    latencies, waiting = np.empty((requests, evaluations)), np.zeros(evaluations)
    for number in range(lead + requests):
        served = service(rng, evaluations)
        if number >= lead:
            latencies[number - lead] = waiting + served
        waiting = np.maximum(waiting + served - rng.exponential(1 / load, evaluations), 0)
    return latencies.T


def wrong(bounds, latencies, quantile, truth):
    found = [bounds(one.tolist(), quantile, 1 - ERROR) for one in latencies]
    upper = np.mean([one.upper is not None and one.upper < truth - 1e-9 for one in found])
    lower = np.mean([one.lower is not None and one.lower > truth + 1e-9 for one in found])
    return upper, lower


SERVICES = {
    "constant": lambda _rng, count: np.ones(count),
    "exponential": lambda rng, count: rng.exponential(1, count),
}


@pytest.mark.parametrize(
    ("service", "load", "quantile"), [("constant", 0.5, 0.99), ("exponential", 0.6, 0.5), ("exponential", 0.8, 0.9)]
)
def test_bounds_of_a_queue_are_wrong_no_more_often_than_stated(service, load, quantile):
    truth = np.quantile(queues(load, SERVICES[service], 20_000, evaluations=200, lead=2000), quantile)
    upper, lower = wrong(dependent, queues(load, SERVICES[service], 1000, lead=100), quantile, truth)
    noise = 3 * math.sqrt(ERROR * (1 - ERROR) / EVALUATIONS)
    assert upper <= ERROR + noise
    assert lower <= ERROR + noise


def test_bounds_for_independent_samples_would_be_wrong_of_a_queue_far_more_often():
    truth = np.quantile(queues(0.6, SERVICES["exponential"], 20_000, evaluations=200, lead=2000), 0.9)
    upper, _ = wrong(independent, queues(0.6, SERVICES["exponential"], 1000, evaluations=500, lead=100), 0.9, truth)
    assert upper > 4 * ERROR


def test_independent_samples_are_wrong_no_more_often_than_stated_and_a_queue_s_bounds_are_wider():
    samples = np.random.default_rng(2).exponential(1, (EVALUATIONS, 500))
    truth = -math.log(0.1)
    noise = 3 * math.sqrt(ERROR * (1 - ERROR) / EVALUATIONS)
    assert max(wrong(independent, samples, 0.9, truth)) <= ERROR + noise
    exact, careful = (bounds(samples[0].tolist(), 0.9, 1 - ERROR) for bounds in (independent, dependent))
    assert exact.estimate == careful.estimate
    assert careful.lower <= exact.lower <= exact.upper <= careful.upper


def test_a_run_of_slow_ones_counts_for_less_than_as_many_scattered():
    scattered = [float(number % 100 == 0) for number in range(1000)]
    in_a_row = sorted(scattered)
    assert effective_samples(in_a_row, 0.5, 0.95) < 100
    assert effective_samples(scattered, 0.5, 0.95) > 500


def test_without_news_enough_no_upper_bound_is_claimed_and_the_lack_is_said():
    found = dependent([float(number >= 990) for number in range(1000)], 0.99, 0.95)
    assert found.upper is None
    assert found.lacks.startswith("an upper bound needs ")
    needed = int(found.lacks.split()[4])
    assert needed > 3000
    assert dependent([1.0] * 5, 0.5, 0.95).upper is None


# ---------------------------------------------------------------------------------------------- looks, warm-up, device


def test_a_look_that_cannot_tell_is_followed_by_one_at_twice_as_many_until_one_decides(inputs):
    server = Server(lambda _number: MS)
    found = measured(server, inputs(requests=150, looks=4))
    assert (found.looks, found.planned, found.samples) == (3, 4, 600)  # 436 bound p99 at 1 - 0.05 / 4
    assert server.calls == WARM + 600


class LateDevice:
    """Finishes 20 ms after the call has returned."""

    name = "late"

    def __init__(self):
        self.finished = threading.Event()

    def request(self):
        self.finished.clear()
        threading.Timer(0.020, self.finished.set).start()

    def synchronise(self):
        self.finished.wait()

    def peak_bytes(self):
        raise NotImplementedError


@pytest.mark.parametrize("rate", [0, 20])
def test_a_device_that_finishes_after_the_call_is_waited_for(inputs, rate):
    device = LateDevice()
    timing = latency.begun(inputs(arrivals_per_second=rate), device.request, device)
    timing.extend(5)
    assert min(timing.taken_ms) >= 20


@pytest.mark.parametrize(("slow", "warm_ups"), [(1, 20), (8, 30)])
def test_first_calls_that_are_slow_are_counted_as_warm_up_and_not_measured(inputs, slow, warm_ups):
    server = Server(lambda number: SECOND if number < slow else 10 * MS)
    found = measured(server, inputs(requests=50))
    assert "<td>all<td>10 ms" in found.sections[1].html
    assert server.calls == warm_ups + 50
    assert f"after {warm_ups} to warm up" in found.conditions


def test_a_request_that_never_settles_is_warmed_up_for_a_bounded_time(inputs):
    timing = timed(Server(lambda number: 2 ** (number // 10)), inputs(requests=1))
    assert timing.warm_ups == WARM_UP_WINDOW * WARM_UP_WINDOWS_AT_MOST


def test_too_few_requests_have_no_bound_and_the_number_needed_is_said(inputs):
    found = measured(Server(lambda _number: MS), inputs(requests=298))
    assert found.upper is None
    assert found.advice == "an upper bound needs 299 requests"


# ---------------------------------------------------------------------------------------------- noise, page


def test_the_machine_s_noise_is_measured_and_said():
    times = iter([0, 10] * 97 + [0, 30] * 3)
    clock = Server(lambda _number: 0)
    clock.now = lambda: next(times)
    noise = Noise(clock)
    for _ in range(100):
        noise.take()
    assert noise.ratio == 3
    assert noise.words == "a fixed piece of work took 3 times its median at p99 on this machine"


def test_noise_that_no_clock_could_see_is_not_spoken_of(inputs):
    found = measured(Server(lambda _number: MS), inputs())
    assert "fixed piece of work" not in found.conditions


def test_real_noise_is_looked_at_among_the_requests_of_both_loops(inputs):
    for rate in (0, 200):
        timing = latency.begun(inputs(arrivals_per_second=rate), lambda: None, Cpu())
        timing.extend(100)
        assert timing.noise.ratio >= 1
        assert "fixed piece of work" in latency.measurement(timing, inputs(), Cpu(), 0.95).conditions


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_the_page_shows_a_stall_above_the_threshold_and_all_within_the_picture(inputs, count):
    found = measured(Server(lambda number: SECOND if number == WARM else MS), inputs(requests=count))
    course, distribution = found.sections
    marks = [float(part.split('"')[1]) for part in course.html.split("y1=")[1:]]
    assert all(0 <= mark <= latency.latency_page.HEIGHT for mark in marks)
    threshold = marks[-1]
    assert marks[0] < threshold
    assert "1000 ms" in distribution.html
    assert course.html.count("<line") <= latency.latency_page.COLUMNS + 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_every_request_is_a_full_batch_and_every_sample_is_asked_about(size):
    made = batches(torch.arange(7), size)
    assert {len(batch) for batch in made} == {size}
    assert set(torch.cat(made).tolist()) == set(range(7))
