"""Seeds of everything that is drawn."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.random import mtrand


def seed_generators(*parts: object) -> None:
    """Seeds every generator that a task may draw from. Done at each step, it leaves no state worth keeping."""
    seed = mixed(*parts)
    _seed_processor(seed)
    if torch.cuda.is_available():  # torch.manual_seed takes 0.2 ms where there is none
        torch.cuda.manual_seed_all(seed)


def seed_sample(*parts: object) -> None:
    """Seeds what a sample's augmentation may draw from: the generators of the processor."""
    _seed_processor(mixed("sample", *parts))


@contextmanager
def kept_generators() -> Iterator[None]:
    """The processor's generators are afterwards as they were."""
    of_torch, of_python, of_numpy = torch.get_rng_state(), random.getstate(), mtrand.get_bit_generator()
    mtrand.set_bit_generator(np.random.MT19937(0))
    try:
        yield
    finally:
        torch.set_rng_state(of_torch)
        random.setstate(of_python)
        mtrand.set_bit_generator(of_numpy)


def mixed(*parts: object) -> int:
    """63 bits that differ wherever any part does."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _seed_processor(seed: int) -> None:
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is what users' augmentations draw from
