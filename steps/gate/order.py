"""The order in which a split's samples are judged: one for each dataset, the same for every model.

Shards are often sorted, by class or by patient, so that their first samples say nothing of the rest. A permutation that
only the data decides makes any number of first samples a random part of them, and pairs the predictions of two models.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray


def seed(dataset_hash: str, purpose: str) -> int:
    """A number that only these texts decide."""
    return int.from_bytes(hashlib.sha256(f"{dataset_hash} {purpose}".encode()).digest()[:8], "big")


def permutation(dataset_hash: str, split: str, samples: int) -> NDArray[np.int64]:
    """The places in the split of the samples, in the order in which they are judged.

    Sorted by a hash of the place, not drawn by a generator whose next release may draw otherwise.
    """
    key = f"{dataset_hash} {split}".encode()
    hashes = [
        hashlib.blake2b(place.to_bytes(8, "big"), key=hashlib.sha256(key).digest(), digest_size=8).digest()
        for place in range(samples)
    ]
    return np.argsort(np.frombuffer(b"".join(hashes), dtype=">u8"), kind="stable")
