"""What the ranks of one attempt wrote down, see recorded.py."""

import json
from pathlib import Path

RANKS = 2


class Record:
    def __init__(self, path):
        self.path = path
        self.resumed = None
        """Step that it went on from; None: it did not come so far."""
        self.saves = []
        """Steps after which a checkpoint was begun."""
        self.steps = {}
        """Step -> for each rank that has done it, its samples and its state thereafter."""

    def count(self, event):
        """Of rank 0, so far."""
        return self._written(0).count(f'"{event}":')

    def reached(self, step):
        return f'"step": {step},' in self._written(0)

    def read(self):
        """All of it, when the attempt has ended."""
        for rank in range(RANKS):
            for event in map(json.loads, self._written(rank).splitlines()):
                if "step" in event:
                    self.steps.setdefault(event["step"], {})[rank] = event["samples"], event["state"]
                elif "resumed" in event:
                    self.resumed = event["resumed"]
                elif rank == 0:
                    self.saves.append(event["saving"])
        if self.resumed is None and self.steps:
            self.resumed = 0
        return self

    @property
    def environment(self):
        """Of an attempt that is to be recorded here."""
        return {"RECORD": str(self.path)}

    @property
    def first(self):
        """The first step that a rank has done; None: none in this attempt."""
        return min(self.steps, default=None)

    @property
    def last(self):
        """The last step that a rank has done; None: none in this attempt."""
        return max(self.steps, default=None)

    def _written(self, rank):
        file = Path(f"{self.path}.{rank}")
        return file.read_text() if file.exists() else ""
