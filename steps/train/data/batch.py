"""What a rank gets for a step."""

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """A rank's part of a step's samples. The first axis of both tensors counts them."""

    inputs: Tensor
    targets: Tensor
    samples: int
    """Of all ranks together."""
    weight: float
    """Factor for the mean loss of this part, so that the mean over the ranks is that over all samples. 0: the rank has
    no part of this step, and holds a sample that does not count, since every rank makes every step."""
