"""What DVC's files say about a dataset, and what is wrong with them."""

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.stage.resolve import resolved

MD5 = "0123456789abcdef0123456789abcdef"
LOCK = f"""schema: '2.0'
stages:
  prepare:
    cmd: make it
    outs:
    - path: data/digits
      hash: md5
      md5: {MD5}.dir
      size: 12
      nfiles: 3
    - path: data/letters
      hash: md5
      md5: {MD5}.dir
      remote: other
"""


@pytest.fixture
def project(tmp_path, git):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "dvc.lock").write_text(LOCK)
    return tmp_path


def refusal(project, path="data/digits", revision=""):
    with pytest.raises(StepError) as caught:
        resolved(project, path, revision)
    assert caught.value.exit_code == ExitCode.DATA
    return caught.value.message


def test_an_out_of_dvc_lock_is_found_with_all_that_is_known_of_it(project):
    found = resolved(project, "./data/digits/", "abc-dirty")
    assert (found.path, found.hash, found.bytes, found.files) == ("data/digits", f"{MD5}.dir", 12, 3)
    assert (found.remote, found.revision, found.is_folder) == (None, "abc-dirty", True)
    assert resolved(project, "data/letters", "").remote == "other"


def test_a_dvc_file_beside_the_data_and_a_dvc_lock_in_a_folder_are_found(project):
    folder = project / "sub/data"
    folder.mkdir(parents=True)
    (folder / "x.dvc").write_text(f"outs:\n- {{md5: {MD5}, hash: md5, path: x}}\n")
    (project / "sub/dvc.lock").write_text(LOCK)
    assert resolved(project, "sub/data/x", "").hash == MD5
    assert resolved(project, "sub/data/digits", "").hash == f"{MD5}.dir"


def test_a_stages_own_folder_counts(project):
    (project / "dvc.yaml").write_text("stages: {prepare: {cmd: make it, wdir: deep}}")
    assert resolved(project, "deep/data/digits", "").files == 3
    assert "no DVC file names it" in refusal(project)


def test_a_conflict_is_named_with_its_line(project):
    lines = LOCK.splitlines()
    lines[7:8] = ["<<<<<<< HEAD", lines[7], "=======", lines[7], ">>>>>>> other"]
    (project / "dvc.lock").write_text("\n".join(lines))
    assert refusal(project).startswith("dvc.lock:8: holds a merge conflict")


def test_broken_yaml_is_named_with_its_line(project):
    (project / "dvc.lock").write_text(LOCK + "  broken: [\n")
    assert refusal(project).startswith("dvc.lock:1")


def test_a_key_that_stands_twice_is_named_with_its_line(project):
    (project / "dvc.lock").write_text(LOCK.replace("      size: 12\n", "      size: 12\n      size: 13\n"))
    assert refusal(project) == "dvc.lock:10: is no valid YAML: size stands twice; restore it from git"


@pytest.mark.parametrize(
    "content", ["", "[]", "text", "stages: []", "stages: {a: 3}", "schema: '2.0'\nstages: {a: {outs: 3}}", "a: \x01"]
)
def test_yaml_that_is_no_dvc_record_is_refused_without_traceback(content, project):
    (project / "dvc.lock").write_text(content)
    assert refusal(project).startswith("dvc.lock: ")


def test_an_unknown_dataset_is_answered_with_the_known_ones_nearest_first(project):
    assert refusal(project, "data/leters").endswith("known are data/letters, data/digits")


def test_a_part_of_a_dataset_is_refused_by_the_wholes_name(project):
    assert "is a part of data/digits" in refusal(project, "data/digits/train-0000.tar")


@pytest.mark.parametrize("path", ["../data", "/data", "data/../.."])
def test_a_path_outside_the_project_is_a_usage_error(path, project):
    with pytest.raises(StepError) as caught:
        resolved(project, path, "")
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (f"{{md5: {MD5}, path: x}}", "md5-dos2unix"),
        ("{hash: md5, path: x}", "has no hash"),
        ("{hash: md5, path: x, files: []}", "version-aware"),
        (f"{{hash: md5, md5: {MD5}, path: x, cloud: {{s: {{etag: a}}}}}}", "version-aware"),
        ("{hash: md5, md5: short, path: x}", "outs.0.md5: String should match pattern"),
        ("{hash: md5, md5: [], path: x}", "outs.0.md5: "),
        (f"{{hash: md5, md5: {MD5}}}", "outs.0.path: Field required"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_by_name(out, words, project):
    (project / "x.dvc").write_text(f"outs:\n- {out}\n")
    message = refusal(project, "x")
    assert message.startswith("x.dvc: ")
    assert words in message


def test_an_import_from_another_project_is_refused_by_name(project):
    (project / "x.dvc").write_text(
        f"deps:\n- {{path: y, repo: {{url: elsewhere, rev_lock: a}}}}\nouts:\n- {{md5: {MD5}, hash: md5, path: x}}\n"
    )
    assert "is imported from elsewhere" in refusal(project, "x")


def test_a_revision_outside_of_git_is_a_matter_of_configuration(tmp_path):
    with pytest.raises(StepError) as caught:
        resolved(tmp_path, "x", "main")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "not a git repository" in caught.value.message


def test_a_missing_project_is_a_matter_of_configuration(tmp_path):
    with pytest.raises(StepError) as caught:
        resolved(tmp_path / "none", "x", "")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
