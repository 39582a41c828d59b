"""Runs from the command line, real ones, of manifests whose pods are shell commands."""

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

ARGOSY = Path(sys.executable).with_name("argosy")
GREETING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: greet-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: word, value: hello}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: say, template: say}
      - {name: tell, template: tell, depends: say, when: "{{workflow.parameters.word}} == tell"}
  - name: say
    nodeSelector: {disk: fast}
    container: {image: x, command: [sh, -c], args: ["echo {{workflow.parameters.word}}"]}
  - name: tell
    container: {image: x, command: ["true"]}
"""
FAILING = GREETING.replace('["echo {{workflow.parameters.word}}"]', '["echo last words; exit 7"]')
GATE = GREETING.replace('["echo {{workflow.parameters.word}}"]', '["exit 80"]')
# Each pod that waits tells that it has begun, and waits for the file `go` in the project.
WAITING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: wait-}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: first, template: first}
      - {name: second, template: second, depends: first}
  - name: first
    container: {image: x, command: [sh, -c], args: ["echo first >> $PROJECT/ran; echo done"]}
  - name: second
    container: {image: x, command: [sh, -c], args: [
      "echo second >> $PROJECT/ran; echo begun; while [ ! -e $PROJECT/go ]; do sleep 0.05; done; echo over"
    ]}
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    for name, text in {"greeting": GREETING, "failing": FAILING, "gate": GATE, "waiting": WAITING}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROJECT", str(tmp_path))  # not written out: a pod has a /tmp of its own
    monkeypatch.setenv("PATH", f"{ARGOSY.parent}:{os.environ['PATH']}")
    return tmp_path


def argosy(*words, **options):
    return subprocess.run([ARGOSY, *words], capture_output=True, text=True, check=False, timeout=60, **options)


def name_of(done):
    return re.search(r"run (\S+)", done.stdout + done.stderr)[1]


@pytest.fixture
def begun(project):
    """A run of `waiting.yaml` whose second pod waits for the file `go`."""
    process = subprocess.Popen(
        [ARGOSY, "run", "waiting.yaml"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_for(lambda: (project / "ran").exists() and "second" in (project / "ran").read_text())
    yield process
    (project / "go").touch()
    process.kill()
    process.communicate(timeout=30)


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


# ---------------------------------------------------------------------------------------------- run


def test_without_a_terminal_a_run_is_told_in_plain_lines_and_ends_with_a_summary():
    done = argosy("run", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.sub(r"^ +\d+\.\ds  ", "+ ", re.sub(r"\d+s\b", "0s", line)) for line in done.stdout.splitlines()]
    name = name_of(done)
    assert lines[:2] == [f"run {name}", "left out on one machine: nodeSelector"]
    assert "+ say: succeeded in 0s" in lines
    assert lines[-7:] == [
        "",
        f"✔ {name} succeeded in 0s",
        "",
        "  ✔ say   succeeded        0s",
        "  ↷ tell  skipped              when 'hello == tell' evaluated false",
        "",
        f"  next  argosy show {name}",
    ]


def test_the_same_run_asked_for_again_is_shown_and_not_run():
    first = argosy("run", "failing.yaml")
    second = argosy("run", "failing.yaml")
    assert (first.returncode, second.returncode) == (1, 1)
    assert second.stdout.startswith(
        f"run {name_of(first)} exists, with the same manifest and values; --again makes another"
    )
    assert "last words" in second.stdout
    assert len(json.loads(argosy("runs", "--json").stdout)) == 1


def test_again_makes_another_run():
    names = [name_of(argosy("run", "greeting.yaml", "--again")) for _ in range(2)]
    assert names[1] == f"{names[0]}-2"


def test_a_value_makes_a_run_of_its_own_and_reaches_the_pod():
    name = name_of(argosy("run", "greeting.yaml", "-p", "word=a=b"))
    assert argosy("logs", name, "say").stdout == "a=b\n"


def test_a_failure_is_told_with_its_log_and_ends_with_1():
    done = argosy("run", "failing.yaml")
    assert done.returncode == 1
    name = name_of(done)
    assert "  say failed: main: Error (exit code 7)\n    last words\n    log: .argosy/runs/" in done.stdout
    log = re.search(r"log: (\S+)", done.stdout)[1]
    assert Path(log).read_text() == "last words\n"
    assert done.stdout.endswith(
        f"  next  argosy logs {name} say\n        argosy resume {name}\n        argosy show {name}\n"
    )


def test_a_gate_that_said_no_ends_with_3_and_offers_no_resume():
    done = argosy("run", "gate.yaml")
    assert done.returncode == 3
    assert "a gate said no, nothing was published" in done.stdout
    assert "argosy resume" not in done.stdout


def test_json_stands_alone_on_standard_output():
    done = argosy("run", "greeting.yaml", "--json")
    told = json.loads(done.stdout)
    assert told["phase"] == "Succeeded"
    assert told["name"] == name_of(done)
    assert [(step["name"], step["phase"], step["exitCode"]) for step in told["steps"]] == [
        ("say", "Succeeded", "0"),
        ("tell", "Skipped", None),
    ]
    assert "say: succeeded" in done.stderr
    assert Path(told["folder"]).is_dir()


def test_a_manifest_comes_from_standard_input():
    assert argosy("run", "-", input=GREETING).returncode == 0


def test_a_python_pipeline_is_compiled_and_run(project):
    (project / "greet.py").write_text(
        "from hera.workflows import Container, Workflow\n"
        "with Workflow(generate_name='greet-', entrypoint='main') as workflow:\n"
        "    Container(name='main', image='x', command=['sh', '-c', 'echo compiled'])\n"
    )
    done = argosy("run", "greet")
    assert done.returncode == 0, done.stderr
    assert argosy("logs", "main").stdout == "compiled\n"


def test_a_reader_that_goes_away_leaves_no_traceback_and_the_run_goes_on(project):
    with subprocess.Popen([ARGOSY, "run", "waiting.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while b"first" not in process.stdout.readline():
            pass
        process.stdout.close()
        (project / "go").touch()
        assert b"Traceback" not in process.stderr.read()
    assert json.loads(argosy("runs", "--json").stdout)[0]["phase"] == "Succeeded"


def test_a_terminal_without_the_signs_gets_question_marks():
    done = argosy("run", "greeting.yaml", env=os.environ | {"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert "? say   succeeded" in done.stdout


# ---------------------------------------------------------------------------------------------- revision

WITH_REVISION = GREETING.replace(
    "{name: word, value: hello}", '{name: word, value: hello}, {name: revision, value: ""}'
)


@pytest.fixture
def repository(project):
    (project / "greeting.yaml").write_text(WITH_REVISION)
    (project / ".gitignore").write_text(".argosy/\n")
    git("init", "-q")
    git("add", "-A")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    return git("rev-parse", "HEAD")


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def revision_of_the_newest():
    parameters = json.loads(argosy("show", "--json").stdout)["spec"]["arguments"]["parameters"]
    return next(one["value"] for one in parameters if one["name"] == "revision")


def test_an_empty_revision_is_filled_with_the_commit(repository):
    assert argosy("run", "greeting.yaml").returncode == 0
    assert revision_of_the_newest() == repository
    assert " exists, " in argosy("run", "greeting.yaml").stdout


@pytest.mark.usefixtures("repository")
def test_a_revision_that_is_given_stays():
    assert argosy("run", "greeting.yaml", "-p", "revision=").returncode == 0
    assert revision_of_the_newest() == ""


def test_changed_files_are_dirty_and_each_run_of_them_is_its_own(repository, project):
    (project / "failing.yaml").write_text("changed")
    first, second = (name_of(argosy("run", "greeting.yaml")) for _ in range(2))
    assert revision_of_the_newest() == f"{repository}-dirty"
    assert second == f"{first}-2"


def test_without_git_the_revision_stays_empty(project):
    (project / "greeting.yaml").write_text(WITH_REVISION)
    assert argosy("run", "greeting.yaml").returncode == 0
    assert revision_of_the_newest() == ""


# ---------------------------------------------------------------------------------------------- runs, show


def test_runs_are_listed_newest_first_and_so_many():
    assert argosy("runs").stdout.startswith("no runs in ")
    first, second = name_of(argosy("run", "greeting.yaml")), name_of(argosy("run", "failing.yaml"))
    lines = argosy("runs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["RUN", second, first]
    assert lines[1].endswith("say: main: Error (exit code 7)")
    assert argosy("runs", "-n", "1").stdout.splitlines()[-1] == "1 older; -n 2 shows all"


def test_show_explains_the_newest_run_or_the_one_that_is_named():
    first = name_of(argosy("run", "greeting.yaml"))
    argosy("run", "failing.yaml")
    assert "last words" in argosy("show").stdout
    told = argosy("show", first).stdout
    assert told.startswith(f"✔ {first} succeeded")
    assert "  parameters\n    word  hello\n" in told


def test_show_as_json_is_the_whole_workflow_object():
    name = name_of(argosy("run", "greeting.yaml"))
    told = json.loads(argosy("show", name, "--json").stdout)
    assert told["kind"] == "Workflow"
    assert {node["phase"] for node in told["status"]["nodes"].values()} == {"Succeeded", "Skipped"}


# ---------------------------------------------------------------------------------------------- logs


def test_logs_of_all_steps_name_the_step_and_say_why_there_are_none():
    argosy("run", "greeting.yaml")
    assert argosy("logs").stdout == (
        "say | hello\ntell: logs unavailable: it did not run (when 'hello == tell' evaluated false)\n"
    )


def test_logs_that_were_deleted_are_said_to_be(project):
    argosy("run", "greeting.yaml")
    (log,) = project.glob(".argosy/runs/*/pods/*/main.log")
    log.write_text("")
    assert argosy("logs", "say").stdout == "say: it printed nothing\n"
    log.unlink()
    told = argosy("logs", "say").stdout
    assert told == f"say: logs unavailable: {log.relative_to(project)} was deleted\n"


def test_a_step_is_named_by_its_name_or_its_identifier_and_a_wrong_one_suggests_the_nearest():
    argosy("run", "greeting.yaml")
    nodes = json.loads(argosy("show", "--json").stdout)["status"]["nodes"]
    identifier = next(key for key, node in nodes.items() if node["displayName"] == "say")
    assert argosy("logs", "say").stdout == argosy("logs", identifier).stdout == "hello\n"
    done = argosy("logs", "sya")
    assert done.returncode == 2
    assert done.stderr.endswith("did you mean say?\n")


@pytest.mark.usefixtures("begun")
def test_following_prints_what_comes_and_ends_with_the_run(project):
    follower = subprocess.Popen([ARGOSY, "logs", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert follower.stdout.readline() == "first | done\n"
    assert follower.stdout.readline() == "second | begun\n"
    (project / "go").touch()
    rest, errors = follower.communicate(timeout=30)
    assert rest == "second | over\n"
    assert re.fullmatch(r"run wait-\w+: succeeded\n", errors)


# ---------------------------------------------------------------------------------------------- stop, resume


def test_an_interrupt_ends_the_pods_says_how_to_resume_and_exits_with_130(begun, project):
    begun.send_signal(signal.SIGINT)
    said, _ = begun.communicate(timeout=30)
    assert begun.returncode == 130
    name = re.search(r"run (\S+)", said)[1]
    assert said.endswith(f"  next  argosy resume {name}\n        argosy show {name}\n")
    (project / "go").touch()
    done = argosy("resume")
    assert done.returncode == 0
    assert (project / "ran").read_text().split() == ["first", "second", "second"]


def test_a_run_whose_runner_was_killed_is_interrupted_and_can_be_resumed(begun, project):
    begun.kill()
    begun.wait()
    told = argosy("show").stdout
    assert told.splitlines()[0].endswith(" interrupted: its runner was killed")
    assert "argosy resume" in told
    (project / "go").touch()
    assert argosy("resume").returncode == 0
    assert argosy("show").stdout.startswith("✔")


@pytest.mark.usefixtures("begun")
def test_a_run_that_goes_on_elsewhere_is_not_run_a_second_time():
    done = argosy("run", "waiting.yaml")
    assert done.returncode == 1
    assert " exists, " in done.stdout
    assert "  ● second  running" in done.stdout
    assert "argosy stop" in done.stdout
    again = argosy("resume", json.loads(argosy("runs", "--json").stdout)[0]["name"])
    assert again.returncode == 2
    assert "is running" in again.stderr


def test_stop_ends_the_newest_run_that_goes_on(begun):
    done = argosy("stop")
    assert done.returncode == 0
    assert "Stopped with strategy 'Stop'" in done.stdout
    assert begun.wait(30) == 1
    assert argosy("stop").stderr.startswith("argosy: there is no run to stop in ")


def test_the_shell_completes_runs_and_their_steps():
    name = name_of(argosy("run", "greeting.yaml"))

    def completed(*words):
        environment = {"_ARGOSY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["argosy", *words])}
        done = argosy(env=os.environ | environment | {"COMP_CWORD": str(len(words))})
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("show", "gre") == [name]
    assert completed("logs", name, "t") == ["tell"]


# ---------------------------------------------------------------------------------------------- on a terminal


def on_terminal(*words, interrupt_when=None, **environment):
    """What a terminal of 80 columns was sent, and the exit code. Ctrl-C is typed when the condition holds."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
    process = subprocess.Popen(
        [ARGOSY, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads here
        env={key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment,
    )
    os.close(theirs)
    if interrupt_when:
        wait_for(interrupt_when)
        os.write(ours, b"\x03")
    said = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not block:
            break
        said += block
    os.close(ours)
    return said.decode().replace("\r\n", "\n"), process.wait(30)


def test_on_a_terminal_the_tree_is_drawn_in_place_and_the_summary_stays():
    said, code = on_terminal("run", "greeting.yaml")
    assert code == 0
    assert "\x1b[2K" in said, "no line was drawn anew"
    assert "\x1b[32msucceeded" in said
    assert said.rstrip().splitlines()[-1].startswith("  next  argosy show greet-")


def test_a_user_who_wants_no_colours_gets_none():
    said, _ = on_terminal("run", "greeting.yaml", NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*m", said)


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines():
    said, _ = on_terminal("run", "greeting.yaml", TERM="dumb")
    assert "\x1b" not in said
    assert "say: succeeded" in said


def test_ctrl_c_typed_at_a_terminal_interrupts_the_run_once(project):
    (project / "ran").touch()
    said, code = on_terminal("run", "waiting.yaml", interrupt_when=lambda: "second" in (project / "ran").read_text())
    assert code == 130
    assert "argosy resume wait-" in said
    assert "Traceback" not in said
