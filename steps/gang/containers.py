"""A container of the Job as a process: what the kubelet would make of its command and its environment."""

import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from argosy.steps import cores
from argosy.steps.contracts import TERMINATION_LOG
from argosy.steps.errors import configuration_error
from argosy.steps.gang.manifest import Container, Variable
from argosy.steps.gang.objects import INDEX
from argosy.steps.progress import PROGRESS_FILE

OUTPUT, RANKS = "--output=", "--ranks="
THREADS = "OMP_NUM_THREADS"
GPU, VISIBLE = "nvidia.com/gpu", "CUDA_VISIBLE_DEVICES"
_EXPANSION = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")


class ProcessContainer:
    """One container of one node of a gang on this machine."""

    def __init__(
        self, container: Container, node: int, folder: Path, given: Mapping[str, str], *, nodes: int = 1
    ) -> None:
        """`folder`: takes the place of the container's `--output`. `given`: variables that the gang decides on.
        `nodes`: so many share the machine.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._container = container
        self._declared = {**_declared(container.env, node), **given}
        self._node, self._nodes = node, nodes
        self._folder = folder
        self._termination_log = folder / "termination-log"
        self._termination_log.unlink(missing_ok=True)

    @property
    def last_word(self) -> str:
        path = self._termination_log
        return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""

    @property
    def argv(self) -> list[str]:
        """Raises StepError (CONFIGURATION) where this machine lacks the command."""
        words = [_expanded(word, self._declared) for word in (*self._container.command, *self._container.args)]
        if not words:
            raise configuration_error(f"{self._container.name}: has no command; a process needs one")
        command = shutil.which(words[0], path=self.environment["PATH"])
        if command is None:
            raise configuration_error(f"{words[0]}: there is no such command on this machine")
        return [command, *(f"{OUTPUT}{self._folder}" if word.startswith(OUTPUT) else word for word in words[1:])]

    @property
    def environment(self) -> dict[str, str]:
        """The machine's, which stands for ConfigMaps and Secrets, and the container's own.

        Commands such as `python` come from where the step's own Python is.
        """
        machine = {name: value for name, value in os.environ.items() if name != PROGRESS_FILE}
        machine["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{machine.get('PATH', os.defpath)}"
        return {
            **self._threads(),
            **machine,
            **self._gpus(),
            **self._declared,
            TERMINATION_LOG: str(self._termination_log),
        }

    @property
    def working_folder(self) -> Path:
        """Raises StepError (CONFIGURATION) when it is not there."""
        folder = Path(self._container.working_dir or ".")
        if not folder.is_dir():
            raise configuration_error(f"{folder}: is not there, and {self._container.name} works in it")
        return folder

    def _threads(self) -> dict[str, str]:
        """A rank's share of the machine's cores; of one node alone, its supervisor knows it."""
        if self._nodes == 1:
            return {}
        ranks = next((int(word.removeprefix(RANKS)) for word in self._container.args if word.startswith(RANKS)), 1)
        return {THREADS: str(max(1, cores.usable() // (self._nodes * ranks)))}

    def _gpus(self) -> dict[str, str]:
        """The node's own share of the machine's GPUs: two nodes must not meet on one."""
        count = int(self._container.resources.limits.get(GPU, 0))
        if not count:
            return {}
        first = self._node * count
        listed = os.environ.get(VISIBLE, "")
        known = listed.split(",") if listed else [str(number) for number in range(first + count)]
        return {VISIBLE: ",".join(known[first : first + count])}


def _declared(variables: list[Variable], node: int) -> dict[str, str]:
    """A container's own environment; a variable may name those before it."""
    fields = {f"metadata.annotations['{INDEX}']": str(node), "spec.nodeName": platform.node()}
    declared: dict[str, str] = {}
    for variable in variables:
        source = variable.value_from
        if source is None:
            declared[variable.name] = _expanded(variable.value, declared)
        elif source.field_ref is not None and source.field_ref.field_path in fields:
            declared[variable.name] = fields[source.field_ref.field_path]
    return declared


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` and `$$`; unknown names stay (kubernetes: third_party/forked/golang/expansion/expand.go)."""
    return _EXPANSION.sub(lambda found: environment.get(found[2], found[0]) if found[2] else "$", text)
