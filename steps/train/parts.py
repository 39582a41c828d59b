"""What a training consists of, as a checkpoint keeps it: the same names and values however many ranks there are."""

import random
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from torch import distributed, nn
from torch._dynamo import OptimizedModule
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.checkpoints import Stateful
from argosy.steps.train.data.seeding import seed_generators
from argosy.steps.train.world import World


class Model:
    """A module's weights under the names that it has without a wrapper: DDP, FSDP2, torch.compile."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def state_dict(self) -> dict[str, Any]:
        share_buffers(self._module)
        return get_model_state_dict(self._module)

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        set_model_state_dict(self._module, state)


class ShardedOptimizer:
    """An optimiser of sharded weights: its state is named after them, and can be cut anew for another world size."""

    def __init__(self, module: nn.Module, optimizer: Optimizer) -> None:
        self._module, self._optimizer = module, optimizer

    def state_dict(self) -> dict[str, Any]:
        return get_optimizer_state_dict(self._module, self._optimizer)

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        set_optimizer_state_dict(self._module, self._optimizer, state)


class Generators:
    """The random states of all ranks. Another number of ranks begins new ones, from the seed."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed = world, seed

    def state_dict(self) -> dict[Any, Any]:
        """Of this rank: a checkpoint has those of all."""
        kind, keys, *rest = cast("tuple[Any, ...]", np.random.get_state())  # noqa: NPY002 - what users draw from
        return {
            self._world.rank: {
                "torch": _bytes(torch.get_rng_state()),
                "cuda": _bytes(torch.cuda.get_rng_state()) if _has_cuda() else None,
                "python": random.getstate(),
                "numpy": (kind, keys.tolist(), *rest),
            }
        }

    def load_state_dict(self, state: dict[Any, Any], /) -> None:
        if len(state) != self._world.size:
            seed_generators(self._seed, "resumed", len(state), self._world.rank)
            return
        state = state[self._world.rank]
        torch.set_rng_state(_tensor(state["torch"]))
        if state["cuda"] and _has_cuda():
            torch.cuda.set_rng_state(_tensor(state["cuda"]))
        random.setstate(state["python"])
        np.random.set_state(state["numpy"])  # noqa: NPY002 - as above


def wrapped(given: Mapping[str, object]) -> dict[str, Stateful]:
    """Parts as a checkpoint keeps them, out of what a script trains with.

    Raises StepError (USAGE) for one that has no state.
    """
    modules = [one for one in given.values() if isinstance(one, nn.Module)]
    return {name: _wrapped(name, one, modules) for name, one in given.items()}


def _wrapped(name: str, one: object, modules: list[nn.Module]) -> Stateful:
    if isinstance(one, nn.Module):
        return Model(one)
    if isinstance(one, Optimizer):
        changed = [parameter for group in one.param_groups for parameter in group["params"]]
        if any(isinstance(parameter, DTensor) for parameter in changed):
            return ShardedOptimizer(_module_of(name, changed, modules), one)
    if not (hasattr(one, "state_dict") and hasattr(one, "load_state_dict")):
        raise StepError(
            ExitCode.USAGE, f"{name}={type(one).__name__}: has no state_dict and load_state_dict; leave it out"
        )
    return one


def _module_of(name: str, changed: list[nn.Parameter], modules: list[nn.Module]) -> nn.Module:
    for module in modules:
        if any(parameter is changed[0] for parameter in module.parameters()):
            return module
    raise StepError(ExitCode.USAGE, f"{name}: changes weights of no model given; give the model, too")


def share_buffers(module: nn.Module) -> None:
    """All ranks have rank 0's buffers, as DDP gives them to all before its next forward pass."""
    if isinstance(module, (DistributedDataParallel, AveragedModel)):
        for buffer in module.buffers():
            distributed.broadcast(buffer, src=0)


def bare(module: nn.Module) -> nn.Module:
    """The module within DDP, torch.compile or an average."""
    for name in ("module", "_orig_mod"):
        if isinstance(module, (DistributedDataParallel, AveragedModel, OptimizedModule)) and hasattr(module, name):
            inner: nn.Module = getattr(module, name)
            return bare(inner)
    return module


def gather(sharded: nn.Module, into: nn.Module) -> None:
    """All weights of a sharded module, put into one that is not, on the first rank. Collective."""
    whole = get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if whole:  # the first rank alone has them
        into.load_state_dict(whole)


def are_finite(given: Mapping[str, object]) -> bool:
    """Whether no weight, here, is NaN or infinite."""
    modules = [one for one in given.values() if isinstance(one, nn.Module)]
    with torch.no_grad():
        weights = [_local(parameter) for module in modules for parameter in module.parameters()]
        verdicts = [_is_finite(weight) for weight in weights if weight.numel()]
        # The device is waited for once, and not at each weight.
        return not verdicts or bool(torch.stack([one.to(verdicts[0].device) for one in verdicts]).all())


def _is_finite(weight: torch.Tensor) -> torch.Tensor:
    """By its least and its greatest number, which are NaN where any is: `isfinite` takes ten times as long, since it
    makes a tensor of answers.
    """
    if weight.is_floating_point() and weight.itemsize > 1:  # torch.aminmax knows no float8, and nothing complex
        weight = torch.stack(torch.aminmax(weight))
    return weight.isfinite().all()


def _local(parameter: nn.Parameter) -> torch.Tensor:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


def _has_cuda() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call] # torch leaves it without types


def _bytes(state: torch.Tensor) -> bytes:
    return state.numpy().tobytes()


def _tensor(state: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)
