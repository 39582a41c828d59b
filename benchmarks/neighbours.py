"""Programs that argosy is compared with and that the project does not install: each in an environment of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from report import ROOT
from timing import Case

PEERS = ROOT / "benchmarks" / "peers"
UV = str(Path(sys.executable).parent / "uv")


@dataclass(frozen=True)
class Neighbour:
    """Runs chains and fans on one machine. `name` is its package's, and that of its pins in peers/."""

    name: str
    argv: Callable[[str, int], list[str]]
    """Shape and number of steps -> the program in peers/ with its arguments."""
    finished: str
    """A pattern that it prints once for every task that succeeded."""
    extra: Callable[[str], int]
    """Shape -> how often it prints that for what is no step of ours."""

    @property
    def version(self) -> str:
        return str(re.findall(rf"^{self.name}==(\S+)$", self._pins.read_text(), re.MULTILINE)[0])

    def install(self) -> str:
        """Bring its environment to its pins; returns why that failed, or nothing."""
        print(f"  preparing {self.name} {self.version} into {self._environment.relative_to(ROOT)}", flush=True)
        make = [UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(self._environment)]
        fill = [UV, "pip", "sync", "--quiet", "--compile-bytecode", "--python", str(self._python), str(self._pins)]
        for command in (make, fill):
            done = subprocess.run(command, stdout=sys.stderr, check=False)
            if done.returncode != 0:
                return f"`uv {command[1]}` could not install it (exit code {done.returncode})"
        return ""

    def case(self, shape: str, steps: int) -> Case:
        program, *arguments = self.argv(shape, steps)
        return Case(
            f"{self.name}, {shape} of {steps}",
            [str(self._python), str(PEERS / program), *arguments],
            path=self._python.parent,
            steps=steps,
            count=lambda _folder, output: len(re.findall(self.finished, output)) - self.extra(shape),
        )

    @property
    def _pins(self) -> Path:
        return PEERS / f"{self.name}.txt"

    @property
    def _environment(self) -> Path:
        return ROOT / "build" / "peers" / self.name

    @property
    def _python(self) -> Path:
        return self._environment / "bin" / "python"


def _metaflow(shape: str, steps: int) -> list[str]:
    arguments = {"chain": [str(steps)], "fan": ["run", "--steps", str(steps), "--max-workers", str(os.cpu_count())]}
    return [f"metaflow_{shape}.py", *arguments[shape]]


KFP = Neighbour(
    "kfp",
    lambda shape, steps: ["kfp_pipeline.py", shape, str(steps)],
    r"finished with status \S*SUCCESS",
    lambda _shape: 1,  # the pipeline itself
)
METAFLOW = Neighbour(
    "metaflow",
    _metaflow,
    r"Task finished successfully",
    {"chain": 0, "fan": 3}.__getitem__,  # a fan's start, join and end, which Metaflow asks for
)
