"""A task whose steps take some tens of milliseconds, and write down when each was made.

The file that LOOP_TIMES names receives a JSON object at the end: `ends`, the monotonic seconds at which the optimiser
made its steps; `waited`, the seconds for which argosy's loader had let them wait until then; and `sessions`, the
seconds that argosy's session took after each.
"""

import atexit
import gc
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from argosy.steps.digits import Digits
from argosy.steps.train.data.feed import Feed
from argosy.steps.train.session import Session

WIDTH = 2048


class Wide(Digits):
    def model(self) -> nn.Module:
        layers = [layer for _ in range(2) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
        return nn.Sequential(nn.Flatten(), nn.Linear(64, WIDTH), nn.ReLU(), *layers, nn.Linear(WIDTH, 10))

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        optimizer = torch.optim.SGD(parameters, lr=0.01)
        if os.environ["RANK"] == "0":
            times = Times()
            optimizer.register_step_post_hook(lambda *_: times.add())
            atexit.register(times.write)
        return optimizer


class Times:
    def __init__(self) -> None:
        self._ends: list[float] = []
        self._feeds: list[Feed] = []
        self._waited: list[float] = []
        self._sessions: list[float] = []
        after_step = Session.after_step

        def timed(session: Session, step: int, total: int) -> bool:
            begun = time.perf_counter()
            is_over = after_step(session, step, total)
            self._sessions.append(time.perf_counter() - begun)
            return is_over

        Session.after_step = timed  # type: ignore[method-assign] # to measure it, not to change it

    def add(self) -> None:
        if not self._ends:
            self._feeds = [one for one in gc.get_objects() if isinstance(one, Feed)]
        self._ends.append(time.monotonic())
        self._waited.append(sum(feed.waited for feed in self._feeds))

    def write(self) -> None:
        times = {"ends": self._ends, "waited": self._waited, "sessions": self._sessions}
        Path(os.environ["LOOP_TIMES"]).write_text(json.dumps(times))
