"""`argosy logs` on a cluster: every line once, and a reason where there is none."""

import pytest
from fakeargo import resets

from argosy.pipelines.names import pod_name

EXECUTORS = 'time=2026-11-29T20:59:26.582Z level=INFO msg="waiting for signals" argo=true signalPath=/x'


@pytest.fixture
def printed(argo):
    """`printed(node, *lines)`: what a node's pod printed."""

    def print_(name, *lines, container="main", template="work"):
        argo.logs[pod_name("run", name, template), container] += lines
        argo.logs[pod_name("run", name, template), "init"] = ["Starting"]

    return print_


@pytest.fixture
def three(running, node, printed):
    """A run of three pods, one of which was tried twice, with their logs."""
    attempts = [node("run.train(0)", "Failed", start=1), node("run.train(1)", start=2)]
    running(node("run.stage"), node("run.train", kind="Retry", start=1, end=3), *attempts, phase="Succeeded")
    printed("run.stage", EXECUTORS, "staged", "")
    printed("run.train(0)", "broke {{x}}")
    printed("run.train(1)", "went on")


@pytest.mark.usefixtures("three")
def test_logs_name_the_step_and_the_attempt_and_leave_out_argos_own_lines(argosy):
    assert argosy("logs", "run", "-c").stdout == (
        "stage | staged\nstage | \ntrain attempt 1 | broke {{x}}\ntrain attempt 2 | went on\n"
    )
    assert argosy("logs", "stage", "-c").stdout == argosy("logs", "-c", "run", "stage").stdout == "staged\n\n"


def test_a_pod_that_is_gone_is_said_to_be_and_one_that_printed_nothing_too(argosy, running, node, printed):
    quiet, gone = node("run.quiet"), node("run.gone", "Failed", hostNodeName="n")
    never = node("run.never", "Error", message="Invalid 'when' expression")
    skipped = node("run.skipped", "Skipped", kind="Skipped", message="when 'a == b' evaluated false")
    running(quiet, gone, never, skipped, phase="Succeeded")
    printed("run.quiet", EXECUTORS)
    assert argosy("logs", "run", "-c").stdout.splitlines() == [
        "quiet: it printed nothing",
        "gone: logs unavailable: pod deleted",
        "never: logs unavailable: it ended before its pod had started (Invalid 'when' expression)",
        "skipped: logs unavailable: it did not run (when 'a == b' evaluated false)",
    ]


def test_what_was_archived_is_told_once_the_pod_is_gone(argosy, argo, running, node):
    gone = node("run.gone", outputs={"x": "y"})
    gone["outputs"]["artifacts"] = [{"name": "main-logs", "s3": {"key": "run/gone/main.log"}}]
    running(gone, phase="Succeeded")
    argo.artifacts[gone["id"]] = f"{EXECUTORS}\nkept\n"
    assert argosy("logs", "run", "gone", "-c").stdout == "kept\n"


def test_what_an_init_container_printed_is_told_and_ends_up_among_the_reasons(argosy, argo, running, node, printed):
    made = running(node("run.train", "Error", message="ensure-data: Error (exit code 10)"), phase="Error")
    made["spec"]["templates"] = [{"name": "work", "initContainers": [{"name": "ensure-data"}]}]
    argo.put(made)
    printed("run.train", "hash mismatch", container="ensure-data")
    assert argosy("logs", "run", "train", "-c").stdout == "hash mismatch\n"
    assert (
        "  train errored: ensure-data: Error (exit code 10)\n    hash mismatch\n" in argosy("show", "run", "-c").stdout
    )


def test_following_prints_every_line_once_over_a_broken_stream(argosy, argo, running, node, printed):
    running(node("run.stage"), node("run.train", "Running"), phase="Running")
    printed("run.stage", "staged", "again", "again")

    def breaks_off(handler):
        handler.begin_stream()
        for line in argo.logs[pod_name("run", "run.stage", "work"), "main"][:2]:
            handler.send({"content": line, "podName": pod_name("run", "run.stage", "work")})
        resets(handler)

    def comes_to_the_end(_):
        printed("run.train", "trained")
        running(node("run.stage"), node("run.train"), phase="Succeeded")
        return True

    argo.faults["log"] += [breaks_off, comes_to_the_end]
    done = argosy("logs", "run", "-f", "-c")
    assert done.stdout == "stage | staged\nstage | again\nstage | again\ntrain | trained\n"
    assert done.stderr == "connection lost, trying again\nrun run: succeeded\n"


@pytest.mark.usefixtures("three")
def test_following_one_step_prints_no_other(argosy):
    done = argosy("logs", "run", "stage", "--follow", "-c")
    assert (done.stdout, done.stderr) == ("staged\n\n", "run run: succeeded\n")
