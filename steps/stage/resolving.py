"""Resolve: a run's data pinned where git is, and a look at whether its remote has it."""

import time
from pathlib import Path

from argosy.steps.contracts import ResolveInput, ResolveOutput
from argosy.steps.pins import Pin
from argosy.steps.stage import resolve

STORES = ("obstore", "xxhash")
"""Packages without which no remote can be asked."""


def run(inputs: ResolveInput) -> ResolveOutput:
    """Raises StepError: what `resolve.pinned` raises, and DATA for what the remote lacks or what may not be staged."""
    started = time.monotonic()
    pin = resolve.pinned(inputs.project, inputs.dataset, inputs.revision)
    unverified = _unverified(pin, inputs.project)
    return ResolveOutput(
        summary=_summary(pin, unverified),
        seconds=time.monotonic() - started,
        dataset_pin=pin,
        dataset_hash=pin.hash,
        unverified=unverified,
    )


def _unverified(pin: Pin, project: Path) -> str:
    """Why the remote could not be asked from here. Raises StepError (DATA) where it could, and lacks something."""
    try:
        from argosy.steps.stage import preflight

        return preflight.check(pin, project)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in STORES:
            raise
        return f"{package} is not installed here; `pip install 'argosy[steps]'` installs it"


def _summary(pin: Pin, unverified: str) -> str:
    named = ", ".join(f"{one.path} ({one.hash})" for one in pin.sources)
    return f"{named}: {f'not looked at: {unverified}' if unverified else 'the remote has it'}"
