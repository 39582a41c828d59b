"""`argosy submit`: one run, however often it is asked for and whatever becomes of the answers."""

import json
import subprocess

import pytest
from fakeargo import TOKEN, resets

from argosy.steps import values


def created(argo):
    return [one.body["workflow"] for one in argo.of("create")]


def parameters(workflow):
    return {one["name"]: one["value"] for one in workflow["spec"]["arguments"]["parameters"]}


def test_a_run_is_submitted_with_its_commit_who_submitted_it_and_a_title(argosy, argo, commit):
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    (workflow,) = created(argo)
    assert workflow["metadata"]["name"] == done.run
    assert "generateName" not in workflow["metadata"]
    assert workflow["metadata"]["annotations"] == {
        "workflows.argoproj.io/title": f"greet {commit[:7]}",
        "argosy/commit": commit,
        "argosy/branch": "feature/A_b",
        "argosy/submitted-by": "Ada <ada@example.org>",
    }
    assert parameters(workflow) == {"word": "hello", "revision": commit}
    assert f"argosy watch {done.run}\n" in done.stdout
    assert f"/workflows/ml/{done.run}" not in done.stdout.splitlines()[0]


def test_a_run_here_and_one_on_a_cluster_have_the_same_name(argosy, project):
    text = (project / "greeting.yaml").read_text().replace("{image: x, command: [echo]", "{image: x, command: [true]")
    plain = text.replace("command: [true]", 'command: ["true"]')
    assert argosy("run", "-", input=plain).run == argosy("submit", "-", input=plain).run


def test_submitted_twice_it_is_one_run_and_the_second_time_says_so(argosy, argo):
    first, second = argosy("submit", "greeting.yaml"), argosy("submit", "greeting.yaml")
    assert second.returncode == 0
    assert second.stdout.startswith(f"run {first.run} exists, with the same manifest and values; --again makes another")
    assert len(created(argo)) == 1
    assert json.loads(argosy("submit", "greeting.yaml", "--json").stdout)["created"] is False


def test_who_submits_and_from_which_branch_makes_no_other_run(argosy, argo, git):
    argosy("submit", "greeting.yaml")
    git("checkout", "-q", "-b", "other")
    git("config", "user.name", "Bob")
    assert " exists, " in argosy("submit", "greeting.yaml").stdout
    assert len(created(argo)) == 1


def test_without_a_branch_none_is_told(argosy, argo, git):
    git("checkout", "-q", "--detach")
    argosy("submit", "greeting.yaml")
    assert "argosy/branch" not in created(argo)[0]["metadata"]["annotations"]


def test_again_makes_another_run_and_a_third(argosy):
    names = [argosy("submit", "greeting.yaml", "--again").run for _ in range(3)]
    assert names[1:] == [f"{names[0]}-2", f"{names[0]}-3"]


NASTY = ['it\'s "quoted"', "{{workflow.name}}", "two\nlines", "ünïcode \U0001f680", "$(touch /tmp/p); id", "a=b"]


def test_a_manifest_on_standard_input_may_follow_the_cluster(argosy, argo, project):
    text = (project / "greeting.yaml").read_text()
    assert argosy("submit", "-c", "-", input=text).returncode == 0
    assert len(created(argo)) == 1


def test_values_arrive_as_they_were_given(argosy, argo, project):
    named = {f"word-{number}": text for number, text in enumerate(NASTY)}
    declared = "".join(f"{{name: {name}, value: x}}, " for name in named)
    text = (project / "greeting.yaml").read_text().replace("{name: word,", declared + "{name: word,")
    words = [word for name, value in named.items() for word in ("-p", f"{name}={value}")]
    assert argosy("submit", "-", *words, input=text).returncode == 0
    arrived = {name: text for name, text in parameters(created(argo)[0]).items() if name in named}
    assert {name: values.decode(text, str) for name, text in arrived.items()} == named
    assert not [text for text in arrived.values() if "{{" in text or "$(" in text or not text.isprintable()]


def test_a_manifest_arrives_as_it_is_written(argosy, argo, project):
    text = (
        (project / "greeting.yaml").read_text()
        + """
  - {name: other, plugin: {hello: {deep: [1, null]}}}
  - {name: many, steps: [[{name: a, template: say, withItems: [1, "1"]}]]}
  parallelism: 3
"""
    )
    assert argosy("submit", "-", input=text).returncode == 0
    spec = created(argo)[0]["spec"]
    assert spec["templates"][1] == {"name": "other", "plugin": {"hello": {"deep": [1, None]}}}
    assert spec["templates"][2]["steps"][0][0]["withItems"] == [1, "1"]
    assert spec["parallelism"] == 3


def test_a_template_without_a_container_hides_no_other(argosy, argo, project):
    text = (project / "greeting.yaml").read_text() + "  - {name: rest, suspend: {}, container: null}\n"
    text = text.replace("  templates:\n", "  templates:\n  - {name: wait, suspend: {}, container: null}\n")
    assert argosy("submit", "-", input=text).returncode == 0
    assert created(argo)[0]["spec"]["templates"][0] == {"name": "wait", "suspend": {}, "container": None}


# ---------------------------------------------------------------------------------------------- lost answers


def loses_the_answer(handler):
    """The workflow is made, and nobody is told."""
    workflow = handler.argo.asked[-1].body["workflow"]
    handler.argo.on_create(workflow)
    handler.argo.put(workflow, "ADDED")
    resets(handler)


def says(status, answer):
    return lambda handler: handler.say(status, answer)


LOST = {
    "reset before": resets,
    "reset after": loses_the_answer,
    "503": says(503, {"code": 14, "message": "later"}),
    "504 of a proxy": says(504, b"<html>"),
}


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
def test_a_lost_answer_makes_neither_two_runs_nor_none(argosy, argo, fault):
    argo.faults["create"].append(fault)
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert " submitted to " in done.stdout
    assert list(argo.workflows) == [done.run]


def test_a_lost_answer_makes_one_run_again(argosy, argo):
    first = argosy("submit", "greeting.yaml").run
    argo.faults["create"].append(loses_the_answer)
    assert argosy("submit", "greeting.yaml", "--again").run == f"{first}-2"
    assert list(argo.workflows) == [first, f"{first}-2"]


def test_a_run_that_was_made_is_told_though_the_server_goes_away_afterwards(argosy, argo):
    argo.faults["get"] += [lambda _: True, *[resets] * 4]
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert " submitted to " in done.stdout
    assert f"argosy watch {done.run}\n" in done.stdout


def test_what_argo_says_of_a_manifest_is_told_as_argo_said_it(argosy, argo):
    message = "spec.entrypoint: templates.main.tasks.a errors in entrypoint: [x] %s"
    argo.faults["create"].append(says(400, {"code": 3, "message": message}))
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"argosy: http://{argo.address}/: {message}\n"


# ---------------------------------------------------------------------------------------------- the revision


@pytest.mark.parametrize("file", ["greeting.yaml", "new.py"])
def test_files_that_differ_from_the_commit_are_refused(argosy, argo, project, file):
    with (project / file).open("a") as changed:
        changed.write("\n# changed\n")
    done = argosy("submit", "greeting.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "files differ from " in done.stderr
    assert "commit them, or `git stash -u`" in done.stderr
    assert argo.asked == []


def test_a_project_without_a_commit_is_refused_with_the_remedy(argosy, project):
    subprocess.run(["rm", "-rf", ".git"], check=True, cwd=project)
    assert (
        "has no commit, and a run on a cluster is of one; commit the files" in argosy("submit", "greeting.yaml").stderr
    )


def test_a_manifest_takes_another_commit_whole_or_by_any_name(argosy, argo, commit, project, git):
    git("commit", "-q", "--allow-empty", "-m", "y")
    (project / "new.py").touch()
    foreign = "0123456789" * 4
    for given, expected in [("HEAD~1", commit), (commit[:8], commit), (foreign, foreign)]:
        assert argosy("submit", "greeting.yaml", "-p", f"revision={given}").returncode == 0
        assert parameters(created(argo)[-1])["revision"] == expected
    assert "has no commit nope; give all 40 digits" in argosy("submit", "greeting.yaml", "-p", "revision=nope").stderr


def test_what_is_compiled_here_is_of_the_commit_that_is_checked_out(argosy, argo, project, git):
    (project / "greet.py").write_text(
        "from hera.workflows import Container, Workflow\n"
        "with Workflow(generate_name='greet-', entrypoint='main', labels={'argosy/pipeline': 'greet'},\n"
        "              arguments={'revision': ''}) as workflow:\n"
        "    Container(name='main', image='x', command=['true'])\n"
    )
    git("add", "-A")
    git("commit", "-q", "-m", "y")
    done = argosy("submit", "greet", "-p", "revision=HEAD~1")
    assert "`git checkout HEAD~1`, or `git worktree add FOLDER HEAD~1` and submit there" in done.stderr
    assert argo.asked == []
    assert argosy("submit", "greet", "-p", "revision=HEAD").returncode == 0
    assert parameters(created(argo)[0])["revision"] == git("rev-parse", "HEAD")


def test_a_commit_that_pods_fetch_and_nobody_pushed_is_warned_of(argosy, project, git, tmp_path_factory):
    text = (project / "greeting.yaml").read_text().replace("{name: say,", "{name: say, initContainers: [FETCH],")
    text = text.replace("FETCH", "{name: fetch-code, image: x, command: [git]}")
    assert "is on no remote's branch that is known here" in argosy("submit", "-", input=text).stderr
    remote = tmp_path_factory.mktemp("remote")
    git("init", "-q", "--bare", str(remote))
    git("push", "-q", str(remote), "HEAD:main")
    git("remote", "add", "origin", str(remote))
    git("fetch", "-q", "origin")
    done = argosy("submit", "-", input=text)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_token_is_told_nobody_but_the_server(argosy, argo):
    done = argosy("submit", "greeting.yaml")
    assert {one.headers.get("Authorization") for one in argo.asked} == {TOKEN}
    argo.stop()
    failed = argosy("submit", "greeting.yaml")
    assert "planted-secret" not in done.stdout + done.stderr + failed.stdout + failed.stderr


LOCKED = '["greet:1"]\nreference = "x"\nrevision = "{}"\n'


def test_the_commit_that_records_the_image_runs_the_one_that_the_image_holds(argosy, argo, commit, project, git):
    (project / "images.lock").write_text(LOCKED.format(commit))
    git("add", "-A")
    git("commit", "-q", "-m", "Record the image")
    assert argosy("submit", "greeting.yaml").returncode == 0
    (made,) = created(argo)
    assert parameters(made)["revision"] == commit


def test_a_commit_that_is_not_known_here_is_not_taken_for_the_images(argosy, argo, commit, project, git):
    (project / "images.lock").write_text(LOCKED.format(commit))
    git("add", "-A")
    git("commit", "-q", "-m", "Record the image")
    done = argosy("submit", "greeting.yaml", "-p", f"revision={'0123456789' * 4}")
    assert done.returncode == 2
    assert "is not known here, and images.lock names an image of " in done.stderr
    assert created(argo) == []


def test_what_a_lock_calls_a_commit_is_no_option_of_gits(argosy, project, git):
    (project / "images.lock").write_text(LOCKED.format("--output=written"))
    git("add", "-A")
    git("commit", "-q", "-m", "Record the image")
    assert (
        "names an image of commit --output=written, which is not known here" in argosy("submit", "greeting.yaml").stderr
    )
    assert not (project / "written").exists()


def test_files_that_the_recorded_image_does_not_hold_are_refused_by_name(argosy, argo, commit, project, git):
    (project / "images.lock").write_text(LOCKED.format(commit))
    (project / "task.py").write_text("changed = True\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Change the task")
    done = argosy("submit", "greeting.yaml")
    assert done.returncode == 2
    assert "task.py" in done.stderr
    assert "`argosy images build`" in done.stderr
    assert created(argo) == []
