"""`argosy cache`: a cache of a project's local runs, or any other, through the program that the steps bring."""

import hashlib
import json
import os

import pytest
from click import Context
from click.shell_completion import ShellComplete

from argosy.pipelines import cli
from argosy.pipelines.commands.cache import cache
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version

LOCAL = ".argosy/host/var/lib/argosy/cache"


def stage(root, key="k", content=b"content"):
    md5 = hashlib.md5(content).hexdigest()
    staged = NodeCache(root)
    with staged.staging(key):
        staged.blobs.add(md5, content)
        staged.publish(key, Version(dataset="data/x", dataset_hash=md5, revision=""), [Entry("a", md5)], {})
    return root


@pytest.fixture
def local(project):
    """The cache of the project's local runs, with a version in it."""
    return stage(project / LOCAL)


@pytest.mark.usefixtures("local")
def test_the_versions_of_the_projects_own_cache_are_listed(argosy):
    done = argosy("cache", "ls")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split()[:4] == ["k", "data/x", "1", "7"]
    (line,) = json.loads(argosy("cache", "ls", "--json").stdout)
    assert (line["key"], line["files"], line["is_held"]) == ("k", 1, False)


def test_another_folder_can_be_named(argosy, tmp_path):
    stage(tmp_path / "elsewhere", "other")
    assert json.loads(argosy("cache", "ls", "--json", "--cache", "elsewhere").stdout)[0]["key"] == "other"


@pytest.mark.usefixtures("local")
def test_modules_in_the_working_directory_do_not_come_before_the_libraries(argosy, project):
    (project / "pydantic.py").write_text("raise SystemExit('the wrong one')")
    done = argosy("cache", "ls")
    assert (done.returncode, done.stderr) == (0, "")


def test_where_there_is_none_or_more_than_one_that_is_told(argosy, project):
    done = argosy("cache", "ls")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"there is no cache in {project}; " in done.stderr
    stage(project / LOCAL)
    stage(project / ".argosy/claims/data")
    done = argosy("cache", "ls")
    assert done.returncode == 2
    assert f"name one with --cache: {LOCAL}, .argosy/claims/data" in done.stderr
    done = argosy("cache", "ls", "--cache", ".")
    assert (done.returncode, done.stderr) == (2, ".: is no cache of argosy's; name another folder\n")


def test_verify_exits_with_1_when_something_is_damaged_and_names_it(argosy, local):
    assert argosy("cache", "verify").returncode == 0
    path = local / "datasets/k/data/a"
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(b"CONTENT")
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
    done = argosy("cache", "verify", "--md5", "--json")
    assert done.returncode == 1
    assert [one["path"] for one in json.loads(done.stdout)] == [str(path)]
    assert argosy("cache", "doctor").returncode == 1


def test_prune_needs_to_be_told_how_far(argosy, local):
    for words in ([], ["--to", "1G", "--all-unused"], ["--to", "much"]):
        done = argosy("cache", "prune", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    os.utime(local / "datasets/k/version.json", (0, 0))
    assert json.loads(argosy("cache", "prune", "--to", "1G", "--json").stdout)["freed_files"] == 0
    assert json.loads(argosy("cache", "prune", "--all-unused", "--json").stdout)["freed_files"] == 1
    assert list((local / "datasets").iterdir()) == []


@pytest.mark.usefixtures("local")
def test_doctor_says_what_it_looked_at(argosy):
    done = argosy("cache", "doctor")
    assert done.returncode == 0
    assert {line.split()[1] for line in done.stdout.splitlines()} >= {"cache", "locks", "links", "space", "versions"}


def offered(shell, words, begun):
    return {item.value for item in shell.get_completions(words, begun)}


def test_the_shell_completes_its_commands():
    shell = ShellComplete(cli.argosy, {}, "argosy", "_ARGOSY_COMPLETE")
    assert offered(shell, ["cache"], "") == {"doctor", "ls", "prune", "verify"}
    assert {item.value for item in shell.get_completions(["cache", "prune"], "--")} >= {
        "--to",
        "--all-unused",
        "--cache",
    }


@pytest.mark.parametrize("name", ["ls", "verify", "prune", "doctor"])
def test_each_command_has_help_with_an_example(name):
    command = cache.get_command(Context(cache), name)
    assert command.epilog.startswith(f"Example: argosy cache {name}")
    assert not command.get_short_help_str(limit=80).endswith("...")
