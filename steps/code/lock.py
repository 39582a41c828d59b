"""Whether the image holds the packages that the code at a revision was locked to."""

import re
import sys
from collections import defaultdict
from pathlib import Path

from argosy.steps.errors import configuration_error

NAME = "requirements.lock"
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:==|@)\s*([^\s;\\]+)", re.MULTILINE)
NAMED_AT_MOST = 10


def require_agreement(wanted: str | None, image: Path, revision: str) -> None:
    """Each package has the version in the image's lock that it has in the revision's.

    Raises StepError (CONFIGURATION) that names those that differ. A revision without a lock is content with any image;
    what no lock describes cannot be compared, and a line says so.
    """
    if wanted is None:
        return
    if not image.is_file():
        sys.stderr.write(f"{image}: is not there, so the packages were not compared with the revision's {NAME}\n")
        return
    there, needed = _pins(image.read_text(encoding="utf-8")), _pins(wanted)
    differing = [
        f"{name} {there.get(name, 'none')} instead of {needed.get(name, 'none')}"
        for name in sorted(there.keys() | needed.keys())
        if there.get(name) != needed.get(name)
    ]
    if differing:
        more = f" and {len(differing) - NAMED_AT_MOST} more" if len(differing) > NAMED_AT_MOST else ""
        raise configuration_error(
            f"revision {revision[:12]}: its {NAME} is not the image's, which has {', '.join(differing[:NAMED_AT_MOST])}"
            f"{more}; type `argosy images build` at that revision, and name that image"
        )


def _pins(text: str) -> dict[str, str]:
    """Package -> its version, or the address that it comes from; several where that depends on the platform.

    Names as PyPI compares them (PEP 503).
    """
    pins: dict[str, set[str]] = defaultdict(set)
    for name, version in PIN.findall(text):
        pins[re.sub(r"[-_.]+", "-", name).lower()].add(version)
    return {name: " or ".join(sorted(versions)) for name, versions in pins.items()}
