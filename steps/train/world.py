"""The ranks together."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from argosy.steps.errors import configuration_error


@dataclass(frozen=True)
class World:
    rank: int
    size: int
    device: torch.device

    def summed(self, *numbers: float) -> list[float]:
        """The sums over all ranks, the same on each."""
        tensor = torch.tensor(numbers, dtype=torch.float64)
        distributed.all_reduce(tensor)
        return [float(number) for number in tensor]

    def refuse_other_data(self, dataset_hash: str) -> None:
        """All ranks train on the same data. Raises StepError (CONFIGURATION) on every rank when any has other data."""
        mine = torch.tensor(list(bytes.fromhex(dataset_hash.removesuffix(".dir"))), dtype=torch.uint8)
        of_all = [torch.empty_like(mine) for _ in range(self.size)]
        distributed.all_gather(of_all, mine)
        hashes = [bytes(one.tolist()).hex() for one in of_all]
        if len(set(hashes)) > 1:
            listed = ", ".join(f"rank {rank} {one}" for rank, one in enumerate(hashes))
            raise configuration_error(f"ranks have different data: {listed}; give each the same --dataset-hash")


@contextmanager
def joined(*, gpus: bool) -> Iterator[World]:
    """The rank that torchrun's environment says, or the only one. Numbers travel by gloo, gradients on GPUs by nccl."""
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    if distributed.is_torchelastic_launched():
        distributed.init_process_group(backend)
    else:
        store = distributed.HashStore()  # type: ignore[attr-defined] # it is documented, but not listed
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)
    yield World(distributed.get_rank(), distributed.get_world_size(), device)
    # Not after a failure: it would wait for collectives that can no longer end.
    distributed.destroy_process_group()
