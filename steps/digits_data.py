"""Prepares the reference data: 1,797 scanned digits as WebDataset shards, the same bytes wherever they are built.

    python -m argosy.steps.digits_data FOLDER

writes train-*.tar, validation-*.tar and test-*.tar. Which split a digit belongs to depends on its class and its
index alone: no random number generator, whose stream may change between releases, has a say.
"""

import hashlib
import io
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from sklearn.datasets import load_digits

SHARES = {"test": 0.25, "validation": 0.10}
"""Of every class; the rest is for training."""
SAMPLES_PER_SHARD = 256

Sample = tuple[int, bytes, int]
"""Index in scikit-learn's set, 64 bytes of pixels, digit."""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, samples in splits().items():
        for number, start in enumerate(range(0, len(samples), SAMPLES_PER_SHARD)):
            write_shard(folder / f"{split}-{number:04d}.tar", samples[start : start + SAMPLES_PER_SHARD])


def splits() -> dict[str, list[Sample]]:
    """Split -> its samples, in an order that mixes the classes."""
    classes: dict[int, list[Sample]] = defaultdict(list)
    for sample in digits():
        classes[sample[2]].append(sample)
    parts: dict[str, list[Sample]] = {"train": [], "validation": [], "test": []}
    for samples in classes.values():
        rest = sorted(samples, key=_order)
        for split, share in SHARES.items():
            count = round(share * len(samples))
            parts[split] += rest[:count]
            rest = rest[count:]
        parts["train"] += rest
    return {split: sorted(samples, key=_order) for split, samples in parts.items()}


def digits() -> Iterator[Sample]:
    data = load_digits()
    for index, (image, digit) in enumerate(zip(data.images, data.target, strict=True)):
        yield index, image.astype("uint8").tobytes(), int(digit)


def write_shard(path: Path, samples: Sequence[Sample]) -> None:
    """A tar whose bytes depend on the samples alone: no owner, no time, the oldest format."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as shard:
        for index, pixels, digit in samples:
            _add(shard, f"{index:05d}.pixels", pixels)
            _add(shard, f"{index:05d}.cls", str(digit).encode())


def _add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mode = 0o444
    shard.addfile(member, io.BytesIO(content))


def _order(sample: Sample) -> bytes:
    return hashlib.sha256(str(sample[0]).encode()).digest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
