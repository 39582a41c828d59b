"""What DVC's files say about datasets, and what is wrong with them."""

import json
import subprocess

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pins import Remote
from argosy.steps.stage.resolve import pinned

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
"""
PIPELINE = """
stages:
  prepare: {cmd: make it, outs: [data/digits, data/letters: {remote: other}]}
"""
CONFIG = """
[core]
    remote = store
['remote "store"']
    url = ../store
['remote "other"']
    url = s3://bucket/prefix
"""
STORE = Remote(name="store", url="store")
OTHER = Remote(name="other", url="s3://bucket/prefix")


@pytest.fixture
def project(tmp_path, git):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text(CONFIG)
    (folder / "dvc.lock").write_text(LOCK)
    (folder / "dvc.yaml").write_text(PIPELINE)
    return folder


def resolved(project, path, revision=""):
    (found,) = pinned(project, path, revision).sources
    return found


def refusal(project, path="data/digits", revision=""):
    with pytest.raises(StepError) as caught:
        pinned(project, path, revision)
    assert caught.value.exit_code == ExitCode.DATA
    return caught.value.message


def test_an_out_of_dvc_lock_is_pinned_with_all_that_is_known_of_it(project):
    pin = pinned(project, "./data/digits/", "abc-dirty")
    (found,) = pin.sources
    assert (pin.dataset, pin.revision, pin.hash) == ("./data/digits/", "abc-dirty", f"{MD5}.dir")
    assert (found.path, found.hash, found.bytes, found.files) == ("data/digits", f"{MD5}.dir", 12, 3)
    assert found.remote == STORE


def test_the_remote_that_dvc_yaml_names_for_an_out_comes_before_the_default_one(project):
    assert resolved(project, "data/letters").remote == OTHER


def test_several_datasets_are_pinned_in_their_order_with_their_names_and_patterns(project):
    text = json.dumps([{"path": "data/letters", "name": "abc"}, {"path": "data/digits", "only": ["train-*"]}])
    first, second = pinned(project, text, "").sources
    assert (first.path, first.folder, first.only, first.remote) == ("data/letters", "abc", (), OTHER)
    assert (second.path, second.folder, second.only, second.remote) == ("data/digits", "digits", ("train-*",), STORE)


def test_each_dataset_that_cannot_be_pinned_is_told(project):
    (project / "x.dvc").write_text("outs:\n- {hash: md5, path: x}\n")
    first, second = refusal(project, '[{"path": "x"}, {"path": "data/digits"}, {"path": "data/leters"}]').splitlines()
    assert first.startswith("x.dvc: x: has no hash")
    assert second.startswith("data/leters: no DVC file names it")


def test_a_pin_is_the_same_wherever_the_project_lies(project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    subprocess.run(["cp", "-r", project, elsewhere], check=True)
    assert pinned(project, "data/digits", "") == pinned(elsewhere, "data/digits", "")


def test_a_revision_counts_for_data_and_remotes_whatever_the_files_hold_now(project, git):
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=x")
    (project / "dvc.lock").write_text("<<<<<<< HEAD")
    (project / ".dvc/config").write_text("")
    assert resolved(project, "data/digits", "HEAD").remote == STORE


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


@pytest.mark.parametrize("option", ["push", "cache"])
@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("make", "{cmd: x, outs: [data/a: {OPTION: false}]}"),
        ("make", "{cmd: x, metrics: [data/a: {OPTION: false}]}"),
        ("make@a", "{foreach: [a], do: {cmd: x, outs: [data/letters, 'data/${item}': {OPTION: false}]}}"),
        ("make@a", "{matrix: {it: [a]}, cmd: x, outs: ['data/${item.it}': {OPTION: false}, data/letters]}"),
    ],
)
def test_an_out_that_dvc_pushes_nowhere_is_refused_also_where_many_stages_are_one(name, stage, option, project):
    (project / "dvc.yaml").write_text(f"stages: {{make: {stage.replace('OPTION', option)}}}")
    (project / "dvc.lock").write_text(LOCK.replace("prepare", name).replace("data/digits", "data/a"))
    assert f"dvc.lock: data/a: has `{option}: false`" in refusal(project, "data/a")
    assert resolved(project, "data/letters").hash == f"{MD5}.dir"


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
        (f"{{hash: md5, md5: {MD5}, path: x, push: false}}", "`push: false`"),
        (f"{{hash: md5, md5: {MD5}, path: x, size: -1}}", "outs.0.size: "),
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


def test_an_import_from_a_url_is_pinned_by_its_own_hash_and_not_by_that_of_its_source(project):
    source = f"deps:\n- {{path: s3://public/x, etag: abc, md5: {'f' * 32}.dir}}\nfrozen: true\n"
    (project / "x.dvc").write_text(f"{source}outs:\n- {{md5: {MD5}, hash: md5, path: x, size: 3}}\n")
    found = resolved(project, "x")
    assert (found.hash, found.files, found.bytes, found.remote) == (MD5, 1, 3, STORE)


def test_a_dataset_whose_remote_is_not_there_is_a_matter_of_configuration(project):
    (project / "x.dvc").write_text(f"outs:\n- {{md5: {MD5}, hash: md5, path: x, remote: gone}}\n")
    with pytest.raises(StepError) as caught:
        pinned(project, "x", "")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert caught.value.message == "DVC remote gone: .dvc/config has none of this name; it has other, store"


DVC_YAML = """
vars: [{base: data}]
stages:
  many:
    matrix: {item: [a, b]}
    cmd: mkdir -p ${base}/${item.item} && echo ${item.item} > ${base}/${item.item}/f
    outs: ["${base}/${item.item}": {remote: other}]
  each:
    foreach: [x]
    do:
      wdir: sub
      cmd: echo ${item} > ${item}.txt
      outs: ["${item}.txt": {push: false}]
"""


def test_what_dvc_itself_writes_of_imports_and_of_many_stages_in_one_is_understood(project, dvc, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_text("x")
    (project / "sub").mkdir()
    (project / "dvc.lock").unlink()
    (project / "dvc.yaml").write_text(DVC_YAML)
    dvc(project, "import-url", "--quiet", "../elsewhere", "imported")
    dvc(project, "import-url", "--quiet", "--no-download", "../elsewhere/file", "later")
    dvc(project, "repro", "--quiet")
    imported, many = resolved(project, "imported"), resolved(project, "data/a")
    assert (imported.files, imported.bytes, imported.remote) == (1, 1, STORE)
    assert (many.files, many.bytes, many.remote) == (1, 2, OTHER)
    assert "sub/x.txt: has `push: false`" in refusal(project, "sub/x.txt")
    assert "later: has no hash" in refusal(project, "later")


def test_a_revision_that_a_shallow_clone_lacks_is_told_as_such(project, git, tmp_path):
    for name in ("x", "y"):
        (project / name).touch()
        git(project, "add", "--all")
        git(project, "commit", "--quiet", f"--message={name}")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project}", str(clone))
    assert resolved(clone, "data/digits", "HEAD").files == 3
    assert refusal(clone, revision="HEAD~1").endswith("the clone is shallow: fetch more of it")


def test_a_revision_outside_of_git_is_a_matter_of_configuration(tmp_path):
    with pytest.raises(StepError) as caught:
        pinned(tmp_path, "x", "main")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "not a git repository" in caught.value.message


def test_a_missing_project_is_a_matter_of_configuration(tmp_path):
    with pytest.raises(StepError) as caught:
        resolved(tmp_path / "none", "x", "")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
