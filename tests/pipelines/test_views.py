"""What a person reads of a run, to the letter."""

import itertools
import re
import threading
import time

import msgspec
import pytest
from rich.text import Text

from argosy.pipelines import status as s
from argosy.pipelines.runs import view
from argosy.pipelines.status import INTERRUPTED, Node, Status
from argosy.pipelines.views import structured, tree, words
from argosy.pipelines.views.answers import note
from argosy.pipelines.views.lines import Lines
from argosy.pipelines.views.live import LiveTree, Rates
from argosy.pipelines.views.run import explanation, summary
from argosy.pipelines.views.table import table
from argosy.pipelines.views.watcher import Watcher
from argosy.pipelines.views.words import coloured, plain
from argosy.steps import contracts, gates, registry

STAGED = {"dataset-hash": "d41d.dir", "files": "1797", "bytes": "1234567", "fetched-bytes": "0"}
TRAINED = {
    "model-hash": "ab",
    "steps": "1200",
    "loss": "0.031234",
    "validation-accuracy": "0.97",
    "samples-per-second": "2310.4",
    "resumed-at-step": "0",
}
JUDGED = {"answer": "pass", "summary": "pass: accuracy 0.97 reaches 0.9", "verdict": '{"answer": "pass"}'}
PUBLISHED = {"registered-model": "digits", "version": "3", "model-uri": "models:/digits/3", "created": "true"}


class NoLogs:
    def tail(self, _node, _lines):
        return []

    def place(self, _node):
        return ""


class Printed(NoLogs):
    def tail(self, node, lines):
        return [f"{node.display_name} says {number}" for number in (1, 2)][-lines:]

    def place(self, node):
        return f"pods/{node.display_name}/main.log"


def text(run):
    return "\n".join(tree.text(tree.rows(run), plain))


@pytest.fixture
def trained(node, workflow):
    return workflow(
        node("run.stage", end=2, outputs=STAGED),
        node("run.train", start=2, end=75, outputs=TRAINED),
        node("run.accuracy-gate", start=75, end=80, outputs=JUDGED),
        node("run.publish", start=80, end=84, outputs=PUBLISHED),
        parameters={"epochs": "20", "revision": ""},
    )


def test_a_run_that_succeeded_ends_with_its_numbers_its_version_and_the_next_commands(trained):
    assert (
        summary(view(trained), NoLogs(), plain, ["argosy show run", "mlflow ui"])
        == """\
✔ run succeeded in 1m 00s

  ✔ stage          succeeded        2s  1,797 files, 1.2 MB, 0 B of it fetched
  ✔ train          succeeded    1m 13s  1,200 steps, loss 0.03123, validation accuracy 0.97, 2,310 samples/s
  ✔ accuracy-gate  succeeded        5s  pass: accuracy 0.97 reaches 0.9
  ✔ publish        succeeded        4s  digits version 3

  registered  digits version 3, models:/digits/3

  next  argosy show run
        mlflow ui"""
    )


def test_what_a_script_has_not_said_of_its_training_is_left_out(node, workflow):
    unsaid = dict.fromkeys(("loss", "validation-accuracy", "samples-per-second"), "null")
    told = summary(view(workflow(node("run.train", outputs=TRAINED | unsaid))), NoLogs(), plain, [])
    assert "1s  1,200 steps\n" in told + "\n"


def test_an_explanation_tells_parameters_data_and_folder_too(trained):
    told = explanation(view(trained), NoLogs(), plain, ["argosy logs run"], {"folder": ".argosy/runs/run"})
    assert told.startswith("""\
✔ run succeeded in 1m 00s

  started   2026-01-01T00:00:00Z
  finished  2026-01-01T00:01:00Z
  dataset   d41d.dir
  folder    .argosy/runs/run

  parameters
    epochs    20
    revision  (empty)

  steps
    ✔ stage""")


def test_a_failure_is_told_with_its_cause_the_end_of_its_log_and_where_the_log_lies(node, workflow):
    attempts = [
        node("run.train(0)", "Failed", code=1, message="main: Error (exit code 1)"),
        node("run.train(1)", "Failed", start=2, end=5, code=1, message="main: Error (exit code 1): a\n\nb"),
    ]
    whole = node("run.train", "Failed", kind="Retry", end=5, message="No more retries left")
    left_out = node("run.publish", "Omitted", kind="Skipped", message="omitted: depends condition not met", start=6)
    run = view(workflow(whole, *attempts, left_out, phase="Failed"))
    assert (
        summary(run, Printed(), plain, ["argosy retry run"])
        == """\
✖ run failed after 1m 00s

  ✖ train        failed           5s  2 attempts
    ✖ attempt 1  failed           1s  main: Error (exit code 1)
    ✖ attempt 2  failed           3s  main: Error (exit code 1): a … b
  · publish      not run              omitted: depends condition not met

  train failed: main: Error (exit code 1): a
    train(1) says 1
    train(1) says 2
    log: pods/train(1)/main.log

  next  argosy retry run"""
    )


def test_a_failed_step_without_a_log_tells_its_whole_message(node, workflow):
    run = view(workflow(node("run.a", "Error", message="first\nsecond"), phase="Error"))
    assert "\n  a errored: first\n    second\n" in summary(run, NoLogs(), plain, ["x"])


def test_many_failures_are_counted_and_not_all_told(node, workflow):
    run = view(workflow(*[node(f"run.s{index}", "Failed", start=index) for index in range(5)], phase="Failed"))
    assert "  2 more failed: s3, s4" in summary(run, NoLogs(), plain, ["x"])


def test_a_gate_that_said_no_is_the_reason_of_the_run(node, workflow):
    failed = node("run.gate", "Failed", code=80, outputs=JUDGED | {"summary": "fail: 0.8"}, message="main: Error")
    told = summary(view(workflow(failed, phase="Failed")), NoLogs(), plain, ["x"])
    assert told.startswith("✖ run failed after 1m 00s: a gate said no, nothing was published\n")
    assert "fail: 0.8" in told


def test_a_run_whose_runner_was_killed_says_so(node, workflow):
    run = view(workflow(node("run.a", "Running"), phase="Running"), is_abandoned=True)
    assert summary(run, NoLogs(), plain, ["x"]).startswith(
        "■ run interrupted: its runner was killed\n\n  ■ a  interrupted\n"
    )


def test_a_message_of_the_run_itself_is_told_where_no_step_failed(workflow):
    run = view(workflow(phase="Error", message="template 'x' not found"))
    assert summary(run, NoLogs(), plain, ["y"]).startswith("✖ run errored after 1m 00s: template 'x' not found\n")


def test_a_short_loop_is_shown_whole(node, workflow):
    items = [node(f"run.fan({index}:x)") for index in range(2)]
    assert (
        text(view(workflow(node("run.fan", kind="TaskGroup"), *items)))
        == """\
  ✔ fan 2/2     succeeded        1s
    ✔ fan(0:x)  succeeded        1s
    ✔ fan(1:x)  succeeded        1s"""
    )


def test_a_long_loop_is_one_line_with_counts_and_a_few_of_the_items_that_need_attention(node, workflow):
    phases = ["Failed"] * 7 + ["Running"] * 2 + ["Pending"] + ["Succeeded"] * 990
    items = [node(f"run.fan({index}:x)", phase) for index, phase in enumerate(phases)]
    rows = tree.rows(view(workflow(node("run.fan", "Running", kind="TaskGroup"), *items, phase="Running")))
    assert [row.name for row in rows] == ["fan 990/1000", *[f"fan({index}:x)" for index in range(5)]]
    assert rows[0].note == "7 failed, 2 running"


def test_a_tree_fits_a_small_terminal_by_leaving_out_what_is_settled(node, workflow):
    nodes = [node(f"run.s{index:02}", "Running" if index > 16 else "Succeeded", start=index) for index in range(20)]
    rows = tree.rows(view(workflow(*nodes, phase="Running")))
    assert tree.fitted(rows, 20) == rows
    assert [row.name for row in tree.fitted(rows, 5)] == ["16 more", "s16", "s17", "s18", "s19"]
    assert [row.name for row in tree.fitted(rows, 3)] == ["18 more", "s17", "s18"]


def test_a_name_that_is_nested_deeper_than_the_column_is_wide_is_told_whole():
    row = tree.Row(depth=30, name="deep", phase=s.SUCCEEDED, seconds=1.0, note="")
    (line,) = tree.text([row], plain)
    assert line == "  " + "  " * 30 + "✔ deep  succeeded        1s"


def test_every_phase_has_a_sign_and_a_word_of_its_own():
    phases = {s.PENDING, s.RUNNING, *s.FULFILLED, s.HELD, s.DAMAGED, INTERRUPTED}
    assert set(words.SIGNS) == phases
    assert len({word for _, word, _ in words.SIGNS.values()}) == len(phases)


def test_colours_change_no_character(trained):
    run = view(trained)
    painted = tree.text(tree.rows(run), coloured)
    assert "\x1b[32m" in painted[0]
    assert [Text.from_ansi(line).plain for line in painted] == tree.text(tree.rows(run), plain)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(None, ""), (0, "0s"), (59.9, "59s"), (60, "1m 00s"), (3599, "59m 59s"), (3600, "1h 00m"), (90061, "25h 01m")],
)
def test_durations(seconds, told):
    assert words.duration(seconds) == told


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1.5e9, "1.5 GB"), (2e15, "2000.0 TB")]
)
def test_sizes(count, told):
    assert words.size(count) == told


def test_nothing_that_a_pod_prints_acts_on_the_terminal():
    assert words.clean("a\x1b[2J\x1b]0;title\x07b\x9b1m\rc\td") == "ab1mc\td"


def test_outputs_that_only_look_like_argosys_are_told_as_they_are(node, workflow):
    strange = {"dataset-hash": "x", "files": "many"}
    (step,) = view(workflow(node("run.a", outputs=strange | {"long": "y" * 99}))).steps
    assert note(step) == f"dataset-hash=x, files=many, long={'y' * 60}…"


def test_the_outputs_that_are_told_are_those_of_the_contracts():
    for shown, contract in [
        (STAGED, contracts.StageOutput),
        (TRAINED, contracts.TrainOutput),
        (JUDGED, gates.GateOutput),
        (PUBLISHED, registry.PublishOutput),
    ]:
        assert set(shown) <= {contracts.option(name) for name in contract.model_fields}


def test_json_gives_numbers_as_numbers_and_verdicts_as_objects(trained):
    told = structured.whole(view(trained))
    assert told["models"] == {
        "publish": {"registered-model": "digits", "version": 3, "model-uri": "models:/digits/3", "created": True}
    }
    assert told["gates"]["accuracy-gate"]["verdict"] == {"answer": "pass"}
    assert told["datasets"]["stage"]["dataset-hash"] == "d41d.dir"
    assert [(step["name"], step["phase"], step["attempts"]) for step in told["steps"]][1] == ("train", "Succeeded", 1)


def test_a_table_tells_what_each_run_came_to(trained, node, workflow):
    failed = workflow(node("run.a", "Failed", message="main: Error (exit code 1): " + "x" * 99), phase="Failed", end=5)
    assert table([view(trained), view(failed)], plain) == (
        "RUN  PHASE        STEPS  STARTED                  TOOK    RESULT\n"
        "run  ✔ succeeded  4/4    2026-01-01 00:00:00 UTC  1m 00s  digits version 3, models:/digits/3\n"
        f"run  ✖ failed     0/1    2026-01-01 00:00:00 UTC  5s      a: main: Error (exit code 1): {'x' * 49}…"
    )


def test_a_step_that_was_left_out_does_not_count_as_done_in_a_table(node, workflow):
    left_out = node("run.b", "Omitted", kind="Skipped")
    by_choice = node("run.c", "Skipped", kind="Skipped")
    run = view(workflow(node("run.a", "Failed"), left_out, by_choice, phase="Failed"))
    assert "  1/3  " in table([run], plain)


# ---------------------------------------------------------------------------------------------- while it runs


def said(lines):
    return [line.split("s  ", 1)[1] for line in lines]


def test_lines_tell_each_change_of_phase_once(node, workflow):
    document = workflow(node("run.a", "Running"), node("run.b", "Pending", start=1), phase="Running")
    written = []
    lines = Lines({**document, "status": {}}, written.append)
    status = view_status(document)
    lines.draw(status)
    lines.draw(status)
    status.nodes[node("run.a")["id"]].phase = "Failed"
    status.nodes[node("run.a")["id"]].message = "boom"
    lines.draw(status)
    assert said(written) == ["a: running", "a: failed, boom"]


def test_lines_of_a_long_loop_are_its_own_and_those_of_items_that_failed(node, workflow):
    items = [node(f"run.fan({index}:x)", "Failed" if index == 3 else "Succeeded") for index in range(1000)]
    document = workflow(node("run.fan", "Failed", kind="TaskGroup"), *items, phase="Failed")
    written = []
    Lines({**document, "status": {}}, written.append).draw(view_status(document))
    assert said(written) == ["fan(3:x): failed", "fan 999/1000: failed"]


def test_what_keeps_a_step_waiting_is_told_once_and_how_every_pod_begins_is_not(node, workflow):
    written = []
    lines = Lines({**workflow(), "status": {}}, written.append)
    for message in ("ContainerCreating", "Unschedulable: 0/1 nodes", "ErrImagePull: x", "Unschedulable: 0/1 nodes"):
        lines.draw(view_status(workflow(node("run.a", "Pending", message=message), phase="Running")))
    assert said(written) == ["a: waiting, Unschedulable: 0/1 nodes", "a: waiting, ErrImagePull: x"]


def test_lines_of_a_resumed_run_leave_out_what_it_keeps(node, workflow):
    document = workflow(node("run.a"), node("run.b", "Running", start=1), phase="Running")
    written = []
    Lines(document, written.append).draw(view_status(document))
    assert said(written) == ["b: running"]


def view_status(document):
    return msgspec.convert(document["status"], Status)


def test_an_observer_returns_at_once_however_slow_the_drawing_is_and_the_last_change_is_drawn():
    drawn = []

    def draw(status):
        time.sleep(0.05)
        drawn.append(status.message)

    with Watcher(draw) as watcher:
        began = time.monotonic()
        for number in range(200):
            watcher(Status(message=str(number)))
        took = time.monotonic() - began
    assert took < 2  # 200 drawings would take 10 s
    assert drawn[-1] == "199"
    assert len(drawn) <= 5


def test_a_clock_is_drawn_although_nothing_changes():
    ticked = threading.Semaphore(0)
    with Watcher(lambda _: ticked.release(), redraw_after_seconds=0.01) as watcher:
        watcher(Status())
        assert all(ticked.acquire(timeout=10) for _ in range(3))


def test_a_reader_that_went_away_ends_the_drawing_and_not_the_run():
    def draw(_status):
        raise BrokenPipeError

    with Watcher(draw) as watcher:
        watcher(Status())
        watcher._thread.join(10)
        watcher(Status())


def test_what_is_drawn_leaves_room_for_the_echo_of_two_ctrl_c(node, workflow, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    monkeypatch.setenv("COLUMNS", "80")
    going = workflow(node("run.a", "Running", message="x" * 200), phase="Running")
    with LiveTree(going, NoLogs(), plain) as live:
        live.draw(msgspec.convert(going["status"], Status))
    drawn = re.sub(r"\x1b\[[\d;?]*\w", "", capsys.readouterr().out).splitlines()
    assert max(map(len, drawn)) == 80 - len("^C^C")


def test_progress_is_told_with_its_rate_and_the_time_left():
    clock = itertools.count(0, 10)
    rates = Rates(lambda: next(clock))
    pod = Node(id="x", name="x", display_name="x", type="Pod", phase="Running", progress="0/1")
    assert rates.progress(pod) == ""
    pod.progress = "100/400"
    assert rates.progress(pod) == "━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 100/400"
    pod.progress = "200/400"
    assert rates.progress(pod) == "━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌ 200/400  10/s, 20s left"
