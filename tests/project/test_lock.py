"""The lock: pinned, hashed, without addresses, and in step with pyproject.toml."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINNED = dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", LOCK, re.MULTILINE))


def declared():
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"].values()
    groups = [project["dependencies"], *extras, PYPROJECT["dependency-groups"]["dev"]]
    return [Requirement(line) for group in groups for line in group]


def test_the_lock_satisfies_every_declared_dependency():
    missing = [
        str(requirement)
        for requirement in declared()
        if not requirement.specifier.contains(PINNED.get(requirement.name.lower(), ""), prereleases=True)
    ]
    assert missing == [], "run `make lock`"


def test_every_pin_has_a_hash():
    entries = re.split(r"^(?=[a-z0-9._-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_address():
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
