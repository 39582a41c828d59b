"""The README says what is there: its tree is the disk's, its commands exist."""

import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TREE = README.split("## The tree\n```\n")[1].split("```")[0]
ROOMS = ("pipelines", "steps")


def listed():
    """The paths of the tree: an entry that is indented belongs to the folder above it."""
    folder = ""
    for line in TREE.splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            folder = name if name.rstrip("/") in ROOMS else ""
            yield name
        else:
            yield folder + name


def on_disk():
    """What git tracks: the top level without dot files, and the rooms one level down."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in map(Path, tracked.splitlines()):
        depth = 2 if path.parts[0] in ROOMS else 1
        for length in range(1, depth + 1):
            shown = Path(*path.parts[:length])
            if not shown.name.startswith(".") and shown.name not in ("__init__.py", "py.typed"):
                yield f"{shown}/" if length < len(path.parts) else str(shown)


def test_the_tree_is_the_disks():
    assert set(listed()) == set(on_disk())


def test_every_entry_of_the_tree_says_what_it_is():
    assert [line for line in TREE.splitlines() if len(line.split()) < 2] == []


def test_every_make_target_that_it_names_exists():
    targets = set(re.findall(r"^([a-z%-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", README)) | set(
        re.findall(r"`make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    )
    patterns = [target.replace("%", "*") for target in targets]
    assert [name for name in named if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []


def test_every_argosy_command_that_it_names_exists():
    from argosy.pipelines.cli import argosy

    named = set(re.findall(r"(?:^|[`&] ?)argosy ([a-z]+)", README, re.MULTILINE))
    assert named
    assert named <= set(argosy.list_commands(None))


def test_the_pipeline_it_shows_is_the_reference_pipeline():
    shown = re.search(r"```python\n(.+?)```", README, re.DOTALL)[1]
    without_comments = re.sub(r" +#.*", "", shown)
    code = (ROOT / "pipelines" / "digits.py").read_text()
    flat = re.sub(r"\s+", "", re.sub(r",(\s*[\])])", r"\1", code))
    for line in re.sub(r",(\s*[\])])", r"\1", without_comments).splitlines():
        assert re.sub(r"\s+", "", line).rstrip(",") in flat, line
