"""Stage: a DVC-tracked dataset into the node's cache.

Run again, or as the init container of a training pod, it finds the version there and does nothing: DVC is then not
even imported.
"""

import time
from typing import TYPE_CHECKING

from argosy.steps.contracts import StageInput, StageOutput
from argosy.steps.errors import data_error
from argosy.steps.stage import cache, version
from argosy.steps.stage.version import Version

if TYPE_CHECKING:
    from argosy.steps.stage.resolve import Dataset


def run(inputs: StageInput) -> StageOutput:
    started = time.monotonic()
    there = version.found(inputs.cache, inputs.expect) if inputs.expect else None
    staged, fetched = (there, 0) if there else _staged(inputs)
    seconds = time.monotonic() - started
    return StageOutput(
        summary=_summary(staged, fetched, seconds),
        seconds=seconds,
        dataset_hash=staged.dataset_hash,
        files=staged.files,
        bytes=staged.bytes,
        fetched_bytes=fetched,
    )


def _summary(staged: Version, fetched: int, seconds: float) -> str:
    rate = fetched / 1e6 / max(seconds, 1e-3)
    how = f"{fetched / 1e6:,.1f} MB fetched at {rate:,.1f} MB/s" if fetched else "all of it in the cache already"
    return f"{staged.files:,} file{'s' * (staged.files != 1)}, {staged.bytes / 1e6:,.1f} MB, {how}"


def _staged(inputs: StageInput) -> tuple[Version, int]:
    """The version, and the bytes fetched for it."""
    from argosy.steps.stage import resolve

    dataset = resolve.resolved(inputs.project, inputs.dataset, inputs.revision)
    if inputs.expect and inputs.expect.removesuffix(".dir") != dataset.hash.removesuffix(".dir"):
        raise data_error(
            f"{inputs.dataset}: has hash {dataset.hash} and not {inputs.expect} as expected; "
            "give the --revision that the expected hash is from"
        )
    if there := version.found(inputs.cache, dataset.hash):
        return there, 0
    return _fetched(inputs, dataset)


def _fetched(inputs: StageInput, dataset: "Dataset") -> tuple[Version, int]:
    from argosy.steps.stage import fetch

    remote = fetch.Remote(inputs.project, dataset.remote)
    cache.require_writable(inputs.cache / version.DATASETS, inputs.node_folder)
    with version.staging(inputs.cache) as folder:
        contents = fetch.fetch(remote, dataset, folder / version.DATA)
        staged = Version(dataset=dataset.path, dataset_hash=dataset.hash, revision=dataset.revision, contents=contents)
        version.publish(folder, inputs.cache, staged)
    return staged, staged.bytes
