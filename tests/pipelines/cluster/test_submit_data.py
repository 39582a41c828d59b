"""`argosy submit` sends a run with its data pinned, as git and DVC have it at the run's commit."""

import hashlib

import pytest

from argosy.steps import values
from argosy.steps.pins import Pin

DATA = """
  arguments: {parameters: [{name: dataset, value: x}, {name: dataset-pin, value: ""}, {name: revision, value: ""}]}
"""
CONFIG = "[core]\n    remote = store\n['remote \"store\"']\n    url = ../store\n"


@pytest.fixture
def data(project, git):
    """Commits a dataset's content, which it pushes; its hash."""
    text = (project / "greeting.yaml").read_text().splitlines(keepends=True)
    lines = [DATA if "arguments:" in line else line.replace("parameters.word", "parameters.dataset") for line in text]
    (project / "greeting.yaml").write_text("".join(lines))
    (project / ".dvc").mkdir()
    (project / ".dvc/config").write_text(CONFIG)
    (project / ".gitignore").write_text("/store\n")

    def write(content):
        md5 = hashlib.md5(content).hexdigest()
        target = project / "store/files/md5" / md5[:2] / md5[2:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        (project / "x.dvc").write_text(f"outs:\n- {{md5: {md5}, hash: md5, path: x}}\n")
        git("add", "-A")
        git("commit", "-q", "-m", "Data")
        return md5

    return write


def created(argo):
    return [one.body["workflow"] for one in argo.of("create")]


def pin(workflow):
    (text,) = [one["value"] for one in workflow["spec"]["arguments"]["parameters"] if one["name"] == "dataset-pin"]
    return text and Pin.model_validate_json(values.decode(text, str))


def pinned(workflow):
    """The hash of its one dataset."""
    (source,) = pin(workflow).sources
    return source.hash


def test_a_run_arrives_with_the_data_of_its_commit(argosy, argo, data, git):
    md5 = data(b"first")
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    (made,) = created(argo)
    assert (pinned(made), pin(made).revision) == (md5, git("rev-parse", "HEAD"))
    assert argosy("submit", "greeting.yaml").run == done.run


def test_whoever_submits_a_commit_gets_the_same_run_however_their_machine_reaches_the_data(argosy, argo, data, project):
    data(b"first")
    first = argosy("submit", "greeting.yaml")
    (project / ".git/info/exclude").write_text(".dvc/config.local\n")
    (project / ".dvc/config.local").write_text("['remote \"store\"']\n    url = ../elsewhere\n")
    second = argosy("submit", "greeting.yaml")
    assert (first.run, len(created(argo))) == (second.run, 1)
    argosy("submit", "greeting.yaml", "--again")
    before, after = (pin(made).sources[0].remote.url for made in created(argo))
    assert (before, after) == ("store", "elsewhere")


def test_the_data_of_another_commit_is_that_commits(argosy, argo, data):
    first, second = data(b"first"), data(b"second")
    for revision in ("HEAD~1", "HEAD"):
        assert argosy("submit", "greeting.yaml", "-p", f"revision={revision}").returncode == 0
    assert [pinned(made) for made in created(argo)] == [first, second]


def test_the_data_is_that_of_the_commit_whose_image_is_recorded(argosy, argo, data, project, git):
    md5 = data(b"first")
    commit = git("rev-parse", "HEAD")
    (project / "images.lock").write_text(f'["greet:1"]\nreference = "x"\nrevision = "{commit}"\n')
    git("add", "-A")
    git("commit", "-q", "-m", "Record the image")
    assert argosy("submit", "greeting.yaml").returncode == 0
    (made,) = created(argo)
    assert (pinned(made), pin(made).revision) == (md5, commit)


def test_the_data_of_a_commit_that_is_not_known_here_is_left_to_the_first_pod(argosy, argo, data):
    data(b"first")
    done = argosy("submit", "greeting.yaml", "-p", f"revision={'0123456789' * 4}")
    assert done.returncode == 0
    assert done.stderr == "the data was not looked at: commit 012345678901 is not known here; the first pod finds it\n"
    assert [pin(made) for made in created(argo)] == [""]


def test_data_that_no_pod_could_stage_is_never_submitted(argosy, argo, data, project):
    md5 = data(b"first")
    (project / "store/files/md5" / md5[:2] / md5[2:]).unlink()
    done = argosy("submit", "greeting.yaml", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("argosy: DVC remote store lacks x (")
    assert argo.asked == []
