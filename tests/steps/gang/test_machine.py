"""A gang outside a cluster: real processes, real signals."""

import json
import signal
from pathlib import Path

import psutil
import pytest

from argosy.steps import cores, values
from argosy.steps.contracts import ExitCode

TELL = """
import json, os, pathlib, sys
names = ("ARGOSY_NODE_RANK", "ARGOSY_LEADER", "ARGOSY_GANG", "ARGOSY_TERMINATION_LOG", "ARGO_PROGRESS_FILE", "MADE_OF")
print(json.dumps({"argv": sys.argv[1:], **{name: os.environ.get(name) for name in names}}))
"""
FAIL = """
import os, pathlib, sys, time
def end(code, word):
    pathlib.Path(os.environ["ARGOSY_TERMINATION_LOG"]).write_text(word)
    os._exit(code)
rank = int(os.environ["ARGOSY_NODE_RANK"])
"""
WAIT = """
import os, pathlib, signal, sys, time
def stop(*_):
    print("asked to stop", flush=True)
    pathlib.Path(os.environ["ARGOSY_TERMINATION_LOG"]).write_text("stopped at step 8")
    os._exit(143)
signal.signal(signal.SIGTERM, stop)
print("up", os.getpid(), flush=True)
time.sleep(600)
"""
STUBBORN = WAIT.replace("os._exit(143)", "pass")


def told(out: str) -> dict[int, dict]:
    lines = [line.partition(" | ") for line in out.splitlines() if line.startswith("node ")]
    return {int(whose.split()[1]): json.loads(line) for whose, _, line in lines}


def until_up(process, nodes: int = 2) -> tuple[list[int], str]:
    """Process ids of the nodes, once all of them run."""
    read, pids = "", []
    while len(pids) < nodes:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        read += line
        if "| up " in line:
            pids.append(int(line.split()[-1]))
    return pids, read


def ended(pids: list[int]) -> bool:
    """Whether these processes have ended, within a while."""
    there = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs([one for one in there if one.status() != psutil.STATUS_ZOMBIE], timeout=60)
    return not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


def test_each_node_knows_its_rank_and_all_know_one_leader_and_one_gang(run, job):
    code, out, err = run(job(TELL, nodes=3))
    nodes = told(out)
    assert code == 0, err
    assert {number: node["ARGOSY_NODE_RANK"] for number, node in nodes.items()} == {0: "0", 1: "1", 2: "2"}
    assert len({node["ARGOSY_LEADER"] for node in nodes.values()}) == 1
    assert nodes[0]["ARGOSY_LEADER"].startswith("127.0.0.1:")
    assert len({node["ARGOSY_GANG"] for node in nodes.values()}) == 1


def test_no_two_attempts_are_the_same_gang(run, job):
    first, second = (told(run(job(TELL, nodes=1))[1])[0] for _ in range(2))
    assert first["ARGOSY_GANG"] != second["ARGOSY_GANG"]


def test_each_node_has_an_output_folder_and_a_last_word_of_its_own(run, job, tmp_path):
    nodes = told(run(job(TELL))[1])
    assert [node["argv"][0] for node in nodes.values() if node] == [
        f"--output={tmp_path}/out/node-{number}" for number in nodes
    ]
    assert nodes[0]["ARGOSY_TERMINATION_LOG"] != nodes[1]["ARGOSY_TERMINATION_LOG"]


NASTY = [
    "null",
    "json:1",
    "a  b ",
    "$(HOME)",
    "$$(HOME)",
    "$x$",
    "{{inputs.parameters.other}}",
    "\"\\'",
    "ü\n☃",
    "",
    "-1",
]


def test_a_hyperparameter_of_any_text_arrives_as_it_was(run, job):
    texts = [*NASTY, *map(values.encode, NASTY)]
    names = [f"x{number}" for number in range(len(texts))]
    made = job(TELL, *(f"--{name}={{{{inputs.parameters.{name}}}}}" for name in names), nodes=1)
    came = [
        word.partition("=")[2] for word in told(run(made, **dict(zip(names, texts, strict=True)))[1])[0]["argv"][1:]
    ]
    assert came == texts
    assert [values.decode(text, str) for text in came[len(NASTY) :]] == NASTY


def test_variables_are_made_of_others_as_the_kubelet_makes_them(run, job):
    ranked = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
    env = [{"name": "RANK", "valueFrom": ranked}, {"name": "MADE_OF", "value": "$(RANK)/$(NONE)/$$(RANK)"}]
    nodes = told(run(job(TELL, "$(RANK)", env=env))[1])
    assert nodes[1]["MADE_OF"] == "1/$(NONE)/$(RANK)"
    assert nodes[1]["argv"][1] == "1"


def test_a_text_that_no_argument_gives_is_a_mistake_in_the_arguments(run, job):
    code, _, err = run(job(TELL, "{{inputs.parameters.speed}}", "{{inputs.parameters.x}}"), x="1")
    assert (code, err.strip()) == (ExitCode.USAGE, "--arguments.speed: is missing; the Job names it")


def test_what_is_no_job_of_a_gang_is_a_mistake_in_the_arguments(run, job):
    made = job(TELL)
    made["spec"]["template"]["spec"]["containers"] = []
    code, _, err = run(made)
    assert code == ExitCode.USAGE
    assert err.startswith("--job: is no Job of a gang: spec.template.spec.containers:")


def test_progress_is_that_of_node_0(run, job, tmp_path):
    lines = "import os; n = os.environ['ARGOSY_NODE_RANK']; print(f'step 1,00{n}/2,000, loss 1'); print('step 5 / 6')"
    progress = tmp_path / "progress"
    code, out, _ = run(job(lines), env={"ARGO_PROGRESS_FILE": str(progress)})
    assert code == 0
    assert progress.read_text() == "1000/2000\n"
    assert "node 1 | step 1,001/2,000, loss 1" in out


@pytest.fixture
def turns(tmp_path):
    """A program whose first node ends before its second, and not before that is there; each ends as is said here."""

    def make(first: int, first_ends: str, second_ends: str) -> str:
        return (
            FAIL
            + f"""
here, over = (pathlib.Path({str(tmp_path)!r}) / name for name in ("here", "over"))
def until(file):
    while not file.exists():
        time.sleep(0.02)
if rank == {first}:
    until(here)
    over.touch()
    {first_ends}
here.touch()
until(over)
time.sleep(0.5)
{second_ends}
"""
        )

    return make


def test_a_nodes_own_fault_is_the_cause_though_its_echo_came_first(run, job, turns):
    code, _, err = run(job(turns(0, "end(75, 'rank 0: peer closed')", "end(65, 'shard 3 is torn')")))
    assert (code, err.strip()) == (ExitCode.DATA, "node 1: shard 3 is torn")


def test_among_failures_of_the_machine_the_first_is_the_cause(run, job, turns):
    code, _, err = run(job(turns(1, "os.kill(os.getpid(), 9)", "end(75, 'peer closed')")))
    assert code == ExitCode.TEMPORARY
    assert err.strip() == "node 1: ended with exit code 137 (SIGKILL), and said nothing"


def test_a_crash_is_a_fault_of_the_code(run, job):
    code, _, err = run(job(FAIL + "os.kill(os.getpid(), 11)"))
    assert code == ExitCode.CODE
    assert "exit code 139 (SIGSEGV)" in err


def test_a_node_that_fails_ends_the_others_even_one_that_will_not(run, job):
    program = FAIL + "end(1, 'boom') if rank == 1 else None\n" + STUBBORN
    code, _, err = run(job(program, grace=1))
    assert (code, err.strip()) == (ExitCode.CODE, "node 1: boom")


def test_sigterm_reaches_every_node_and_the_gang_ends_with_143(start, job):
    process = start(job(WAIT))
    pids, _ = until_up(process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=200)
    assert process.returncode == 143
    assert err.strip() == "stopped by SIGTERM (node 0: stopped at step 8)"
    assert sorted(line for line in out.splitlines() if "asked" in line) == [
        "node 0 | asked to stop",
        "node 1 | asked to stop",
    ]
    assert ended(pids)


def test_nodes_that_finish_though_asked_to_stop_have_finished(start, job):
    process = start(job(WAIT.replace("os._exit(143)", "os._exit(0)")))
    until_up(process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=200)
    assert process.returncode == 0


def test_a_killed_gang_leaves_no_process(start, job):
    process = start(job(STUBBORN))
    pids, _ = until_up(process)
    guards = [child.pid for child in psutil.Process(process.pid).children()]
    process.kill()
    assert ended([*pids, *guards])


def test_preparations_run_once_in_order_before_the_nodes(run, job, tmp_path):
    note = f"import pathlib; pathlib.Path({str(tmp_path / 'notes')!r}).open('a').write('%s ')"
    made = job(note % "main", nodes=2, preparations=[("fetch-code", note % "code"), ("ensure-data", note % "data")])
    assert run(made)[0] == 0
    assert (tmp_path / "notes").read_text().split() == ["code", "data", "main", "main"]


def test_a_preparation_that_fails_is_the_gangs_failure(run, job):
    fails = FAIL.replace("rank =", "#") + "end(78, 'no space')"
    code, out, err = run(job(TELL, preparations=[("ensure-data", fails)]))
    assert (code, err.strip()) == (ExitCode.CONFIGURATION, "node 0: ensure-data: no space")
    assert not out


def test_sigterm_ends_a_preparation(start, job):
    process = start(job(TELL, preparations=[("ensure-data", WAIT)]))
    pids, _ = until_up(process, 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=200)
    assert process.returncode == 143
    assert ended(pids)


def test_a_node_that_leaves_a_process_behind_holds_up_nobody(run, job):
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    assert run(job(program))[0] == 0


def test_finished_nodes_without_a_result_are_a_mistake_in_the_configuration(run, job, models):
    (models / "r" / "result.json").unlink()
    code, _, err = run(job(TELL))
    assert code == ExitCode.CONFIGURATION
    assert err.startswith(f"{models}/r/result.json: is missing though every node has finished")


def test_it_gives_what_the_training_gave(run, job, tmp_path):
    assert run(job(TELL))[0] == 0
    assert Path(tmp_path / "out" / "model").read_text() == "run/model"
    assert json.loads((tmp_path / "out" / "record.json").read_text())["steps"] == 8


def test_nodes_share_the_machines_gpus_and_none_is_of_two(run, job):
    made = job("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])")
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 2}}
    out = run(made, env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"})[1]
    assert sorted(out.splitlines()) == ["node 0 | 4,5", "node 1 | 6,7"]


def test_the_gang_needs_no_torch(run, job):
    loud = {"PYTHONPROFILEIMPORTTIME": "1"}
    _, _, err = run(job("pass"), env=loud)
    assert "argosy.steps.gang.machine" in err
    assert not [line for line in err.splitlines() if line.split("|")[-1].strip() in {"torch", "requests", "mlflow"}]


THREADS = "import os; print(os.environ.get('OMP_NUM_THREADS'))"


def threads(out: str) -> set[str]:
    return {line.partition(" | ")[2] for line in out.splitlines()}


@pytest.mark.parametrize(
    ("nodes_and_ranks", "share"), [((2, 1), max(1, cores.usable() // 2)), ((2, 64), 1), ((1, 1), None)]
)
def test_nodes_share_the_machines_cores(run, job, monkeypatch, nodes_and_ranks, share):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    nodes, ranks = nodes_and_ranks
    assert threads(run(job(THREADS, f"--ranks={ranks}", nodes=nodes))[1]) == {str(share)}


def test_threads_that_somebody_asked_for_are_as_many(run, job):
    asked = {"OMP_NUM_THREADS": "7"}
    assert threads(run(job(THREADS), env=asked)[1]) == {"7"}
    assert threads(run(job(THREADS, env=[{"name": "OMP_NUM_THREADS", "value": "5"}]), env=asked)[1]) == {"5"}
