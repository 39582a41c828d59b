"""A registered model, made again by one command."""

import hashlib
import json
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.timeout(900)

CHAMPION = "models:/digits@champion"


@pytest.fixture
def published(digits):
    """The project after a run that registered a model; its remote is its own."""
    remote = digits.path / "dvc-remote"
    source = remote.resolve()
    remote.unlink()
    shutil.copytree(source, remote)
    pipeline = digits.path / "pipelines/digits.py"
    pipeline.write_text(pipeline.read_text().replace("argosy.steps.digits:Digits", "own:Digits"))
    write_task(digits, TASK)
    digits.argosy("run", "digits")
    return digits


TASK = "from argosy.steps.digits import Digits\n"


def write_task(project, text):
    """The project's own, committed."""
    (project.path / "own.py").write_text(text)
    commit(project, "A task")


def commit(project, message):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", "add", "."], cwd=project.path, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", message], cwd=project.path, check=True)


def change_a_shard(project):
    """The dataset with one shard that is another's copy, pushed; the shard's path."""
    objects = project.path / "dvc-remote/files/md5"
    lock = project.path / "dvc.lock"
    listing = next(path for path in objects.glob("*/*.dir") if f"{path.parent.name}{path.name}" in lock.read_text())
    files = json.loads(listing.read_bytes())
    shards = [one for one in files if one["relpath"].startswith("train-")]
    shards[0]["md5"] = shards[1]["md5"]
    text = json.dumps(files).encode()
    md5 = f"{hashlib.md5(text).hexdigest()}.dir"
    (objects / md5[:2]).mkdir(exist_ok=True)
    (objects / md5[:2] / md5[2:]).write_bytes(text)
    lock.write_text(lock.read_text().replace(f"{listing.parent.name}{listing.name}", md5))
    return f"data/digits/{shards[0]['relpath']}"


def test_the_champion_is_made_again_with_its_bytes_and_with_other_data_the_verdict_names_it(published):
    run = published.run.name
    write_task(published, "raise RuntimeError('the project has gone on')")
    shutil.rmtree(published.path / ".argosy/host")  # with the node's cache: the data comes from the recorded remote
    told = published.json("reproduce", CHAMPION)
    assert told["answer"] == "same bytes", told
    assert len(published.versions()) == 1, "a reproduction was published"
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=published.path, capture_output=True, check=True)
    assert worktrees.stdout.count(b"\n") == 1
    between = published.json("diff", run, told["run"], code=1)["differences"]
    left_out = {"publish", "pipeline.dag.tasks[publish]"}
    assert {one["what"] for one in between} - left_out <= {"latency-gate"}, "more than a time differs"

    shard = change_a_shard(published)
    write_task(published, TASK)
    told = published.json("reproduce", CHAMPION, "--here", code=1)
    assert told["answer"] == "different"
    assert f"data {shard}" in told["reason"]
    assert [one["what"] for one in told["differences"] if one["heading"] == "data"] == [shard]


def test_a_recipe_of_files_that_no_commit_has_is_refused_with_what_can_be_done(digits):
    (digits.path / "new.py").write_text("")
    digits.argosy("run", "digits")
    with digits.start("reproduce", CHAMPION) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "was made of files that no commit has" in said
    assert "--here takes the files of this folder instead" in said
