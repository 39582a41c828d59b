"""Pods as processes: what they see, how they end, what they leave behind."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from argosy.pipelines.local import orphans
from argosy.pipelines.local.pod import Pod
from argosy.pipelines.local.process import Machine, ProcessPods
from argosy.pipelines.manifest import Container, Env, VolumeMount

UID = "3b2f5e1c-test"


@pytest.fixture
def run(tmp_path):
    """Run one container to its end; returns the pod and its result."""

    def start(container, stop_when=None, **fields):
        folder = tmp_path / "pod"
        folder.mkdir(exist_ok=True)
        pod = Pod(name="pod", node_id="node-1", folder=folder, main=container, **fields)

        async def whole():
            stop = asyncio.Event()
            running = asyncio.ensure_future(ProcessPods(Machine.of(UID, {})).run(pod, stop))
            if stop_when:
                await stop_when(folder)
                stop.set()
            return await running

        return pod, asyncio.run(whole())

    return start


def shell(script, **fields):
    return Container(command=["sh", "-c", script], **fields)


def log(pod):
    return (pod.folder / "main.log").read_text()


async def line_in_log(folder, line):
    """Wait until the log holds a line: the process has come that far."""
    log = folder / "main.log"
    while not (log.exists() and line in log.read_text()):  # noqa: ASYNC110 - another process writes the file
        await asyncio.sleep(0.01)


def test_output_and_errors_share_the_log_in_order(run):
    pod, result = run(shell("echo one; echo two >&2; echo three"))
    assert (log(pod), result.exit_code, result.message) == ("one\ntwo\nthree\n", 0, "")


def test_a_failure_is_told_in_argos_words(run):
    _, result = run(shell("echo lost the plot >&2; exit 3"))
    assert (result.exit_code, result.message) == (3, "main: Error (exit code 3)")


def test_the_termination_message_becomes_the_reason(run):
    _, result = run(shell("echo no such shard > /dev/termination-log; exit 65"))
    assert result.message == "main: Error (exit code 65): no such shard\n"


def test_the_logs_end_stands_in_for_a_termination_message_where_the_policy_says_so(run):
    container = shell("seq 1000; echo ValueError: boom >&2; exit 1", termination_message_policy="FallbackToLogsOnError")
    _, result = run(container)
    assert result.message.endswith("1000\nValueError: boom\n")
    assert len(result.message.splitlines()) == 80


def test_a_signal_is_128_and_its_number(run):
    _, result = run(Container(command=["sh"], source="kill -KILL $$$$"))
    assert result.exit_code == 137


def test_two_dollars_in_a_script_are_one_as_they_are_in_a_pod(run):
    pod, _ = run(Container(command=["cat"], source="$$HOME $(HOME)"))
    assert log(pod) == "$HOME $(HOME)"


def test_a_command_that_is_not_there_fails_as_argo_says_it(run):
    _, result = run(Container(command=["no-such-command"]))
    assert result.exit_code == 64
    assert 'failed to find name in PATH: exec: "no-such-command"' in result.message


def test_stop_sends_sigterm_and_waits_for_the_program(run):
    script = "trap 'echo saved; exit 143' TERM; echo ready; while :; do sleep 0.05; done"
    pod, result = run(shell(script), lambda folder: line_in_log(folder, "ready"))
    assert (result.exit_code, "saved" in log(pod)) == (143, True)


def test_who_ignores_sigterm_is_killed_after_the_grace(run):
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    _, result = run(shell(script), lambda folder: line_in_log(folder, "ready"), grace_seconds=0.2)
    assert result.exit_code == 137


def test_nothing_outlives_the_pod_not_even_in_a_session_of_its_own(run):
    starter = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '300'], start_new_session=True); print(child.pid)"
    )
    pod, _ = run(Container(command=["python", "-c", starter]))
    assert not psutil.pid_exists(int(log(pod)))


def test_a_later_runner_finds_what_a_killed_one_left_though_nobody_reaps_it():
    """The parent here never waits for its child, as a container's first process may not."""
    mark = UID + "-left"
    parent = (
        "import subprocess, sys, os; child = subprocess.Popen(['sleep', '300'], start_new_session=True,"
        f"env={{**os.environ, '{orphans.RUN_MARK}': '{mark}'}}); print(child.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as negligent:
        left = psutil.Process(int(negligent.stdout.readline()))
        assert orphans.kill_run(mark) == 1
        assert left.status() == psutil.STATUS_ZOMBIE
        negligent.stdin.close()


def test_declared_paths_lie_in_the_pods_own_folder(run):
    pod, _ = run(shell("mkdir -p /results && echo 42 > /results/answer"), private_paths=("/results/answer",))
    assert not Path("/results").exists()
    assert ProcessPods(Machine.of(UID, {})).path(pod, "/results/answer").read_text() == "42\n"


def test_a_mounted_volume_is_the_folder_that_stands_for_it(run, tmp_path):
    container = shell("echo here > /data/x", volume_mounts=[VolumeMount(name="work", mount_path="/data")])
    (tmp_path / "volume").mkdir()
    run(container, volumes={"work": tmp_path / "volume"})
    assert (tmp_path / "volume" / "x").read_text() == "here\n"


def test_environment_values_expand_as_kubernetes_does(run):
    environment = [Env(name="NAME", value="world"), Env(name="GREETING", value="hello $(NAME)")]
    pod, _ = run(Container(command=["echo"], args=["$(GREETING)", "$$(NAME)", "$(OTHER)", "$HOME"], env=environment))
    assert log(pod) == "hello world $(NAME) $(OTHER) $HOME\n"


def test_a_pod_of_this_machine_is_in_no_cluster_even_where_argosy_is(run, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    pod, _ = run(shell("echo in=$KUBERNETES_SERVICE_HOST"))
    assert log(pod) == "in=\n"


def test_an_init_container_that_fails_keeps_main_from_starting(run):
    pod, result = run(shell("echo main ran"), init=(Container(name="ensure", command=["sh", "-c", "exit 65"]),))
    assert (result.exit_code, result.message) == (None, "ensure: Error (exit code 65)")
    assert "main ran" not in log(pod)


def test_a_result_keeps_its_last_256_kib_and_loses_one_newline(run):
    _, result = run(shell("head -c 300000 /dev/zero | tr '\\0' a; echo; echo end; echo"), captures_result=True)
    assert len(result.result) == 256 * 1024 - 1
    assert result.result.endswith("a\nend\n")
