"""A gang's Job, from its making to its end, in a cluster whose API server is a fake."""

import json
import os
import signal
import subprocess
import sys

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import Terminated
from argosy.steps.gang import account, cluster
from argosy.steps.gang.manifest import Manifest

# ---------------------------------------------------------------------------------------- the Job


def test_the_job_is_the_runs_and_goes_with_the_pod_that_made_it(train, fake):
    train(fake.completes)
    job = fake.job()
    template = job["spec"]["template"]
    assert job["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "launcher", "uid": "launcher-uid"}
    ]
    assert job["metadata"]["labels"]["argosy.dev/run"] == "r"
    assert template["metadata"]["labels"] == {"argosy.dev/gang": "true", "argosy.dev/run": "r"}
    assert job["metadata"]["name"].startswith("r-train-")


def test_every_attempt_has_a_gang_id_and_a_name_of_its_own(job):
    manifest = Manifest("r", json.dumps(job("pass", preparations=[("ensure-data", "pass")])), "", {})
    seen = set()
    for _ in range(2):
        made, _ = manifest.attempt(manifest.name(), {})
        pod = made["spec"]["template"]["spec"]
        ids = {one["env"][0]["value"] for one in (*pod["containers"], *pod["initContainers"])}
        assert len(ids) == 1
        seen |= {*ids, made["metadata"]["name"]}
    assert len(seen) == 4


@pytest.mark.parametrize("run", ["A_b.c", "x" * 90, "9-", "v1.2-" * 20])
def test_a_pod_of_any_run_has_a_host_name(job, run):
    host = f"{Manifest(run, json.dumps(job('pass', nodes=128)), '', {}).name()}-127"
    assert len(host) <= 63
    assert host.replace("-", "a").isalnum()
    assert host == host.lower()


def test_the_kubelet_expands_nothing_in_a_value(job):
    made = job("pass", "--x={{inputs.parameters.x}}", "$(JOB_NAME)")
    made["metadata"]["labels"] = {"x": "{{inputs.parameters.x}}"}
    filled = Manifest("r", json.dumps(made), "", {"x": "$(HOME) $$"}).job
    assert filled["spec"]["template"]["spec"]["containers"][0]["args"][2:] == ["--x=$$(HOME) $$$$", "$(JOB_NAME)"]
    assert filled["metadata"]["labels"] == {"x": "$(HOME) $$"}


def test_a_group_is_made_first_and_the_pods_name_it(train, fake):
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "spec": {"minMember": 2}}
    train(fake.completes, group=json.dumps(group))
    name = fake.job()["metadata"]["name"]
    annotations = fake.job()["spec"]["template"]["metadata"]["annotations"]
    assert annotations["scheduling.k8s.io/group-name"] == name
    assert fake.objects["podgroups"][name]["spec"] == {"minMember": 2}
    made = [path for method, path in fake.asked if method == "POST"]
    assert [path.rpartition("/")[2] for path in made] == ["podgroups", "jobs"]


# ---------------------------------------------------------------------------------------- an earlier attempt


def earlier(fake):
    fake.put("jobs", "r-train-old", metadata={"labels": {"argosy.dev/run": "r"}}, spec={})
    fake.put("jobs", "s-train-old", metadata={"labels": {"argosy.dev/run": "s"}}, spec={})
    return fake.pod(0, "r-train-old", phase="Running")


def test_no_gang_begins_before_the_pods_of_an_earlier_one_have_ended(train, fake):
    fake.keeps_pods = True
    pod = earlier(fake)

    def scenario():
        fake.await_asked("DELETE", "/jobs/r-train-old?propagationPolicy=Foreground")
        fake.drop("jobs", "r-train-old")
        fake.await_asked("GET", "/pods?", 2)
        assert fake.count("POST", "/jobs") == 0
        fake.drop("jobs", "s-train-old")
        fake.drop("pods", pod)
        fake.await_asked("POST", "/jobs")
        fake.completes()

    train(scenario)


def test_pods_of_an_earlier_gang_that_do_not_end_are_named_and_waited_for_another_time(fails, fake):
    fake.keeps_pods = True
    pod = earlier(fake)
    failure = fails(lambda: None)
    assert failure.exit_code == ExitCode.TEMPORARY
    assert f"{pod} on machine-0" in failure.message
    assert fake.count("POST", "/jobs") == 0


def test_another_runs_gang_is_let_be(train, fake):
    earlier(fake)

    def scenario():
        fake.await_asked("POST", "/jobs")
        assert "s-train-old" in fake.objects["jobs"]
        fake.drop("jobs", "s-train-old")
        fake.completes()

    train(scenario)


# ---------------------------------------------------------------------------------------- how it ends


def test_the_cause_is_the_nodes_own_fault_and_not_what_its_peers_made_of_it(fails, fake):
    def scenario():
        fake.ends(0, 75, "rank 0: peer closed", at=1)
        fake.ends(1, 65, "rank 2: shard 3 is torn", at=2)
        fake.fails()

    failure = fails(scenario)
    assert (failure.exit_code, failure.message) == (ExitCode.DATA, "node 1: rank 2: shard 3 is torn")


def test_among_failures_of_machines_the_first_is_the_cause_though_its_pod_is_gone(fails, fake):
    def scenario():
        fake.runs(0)
        fake.drop("pods", fake.ends(1, 137, at=1))
        fake.ends(0, 143, "stopped by SIGTERM", at=5)
        fake.fails()

    failure = fails(scenario)
    assert failure.exit_code == ExitCode.TEMPORARY
    assert failure.message == "node 1: ended with exit code 137 (SIGKILL), and said nothing"


def test_memory_comes_before_its_echo_and_names_the_limit(fails, fake):
    def scenario():
        fake.ends(0, 75, "peer closed", at=1)
        limits = [{"name": "main", "resources": {"limits": {"memory": "4Gi"}}}]
        fake.put("pods", fake.runs(1), spec={"containers": limits})
        fake.ends(1, 137, at=2, reason="OOMKilled")
        fake.fails()

    failure = fails(scenario)
    assert failure.exit_code == ExitCode.OUT_OF_MEMORY
    assert failure.message == "node 1: was killed: out of memory (limit 4Gi)"


def test_a_preparations_failure_names_the_preparation(fails, fake):
    def scenario():
        fake.ends(1, 78, "no space", container="ensure-data")
        fake.fails()

    failure = fails(scenario)
    assert (failure.exit_code, failure.message) == (ExitCode.CONFIGURATION, "node 1: ensure-data: no space")


@pytest.mark.parametrize("kind", ["evicted", "vanished"])
def test_a_pod_that_the_cluster_took_is_a_failure_of_the_machine(fails, fake, kind):
    def scenario():
        name = fake.runs(1)
        if kind == "evicted":
            fake.pod(1, phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
        else:
            fake.drop("pods", name)
        fake.fails()

    failure = fails(scenario)
    assert failure.exit_code == ExitCode.TEMPORARY
    said = {"evicted": "The node was low on resource: memory.", "vanished": "its pod was deleted"}
    assert failure.message == f"node 1: {said[kind]}"


def test_a_pod_says_why_the_cluster_ended_it(fails, fake):
    def scenario():
        drained = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "drained",
        }
        fake.ends(0, 143, "stopped by SIGTERM at step 8", conditions=[drained])
        fake.fails()

    assert fails(scenario).message == "node 0: stopped by SIGTERM at step 8 (EvictionByEvictionAPI: drained)"


def test_a_job_that_failed_without_a_pod_says_its_own_reason(fails, fake):
    failure = fails(fake.fails)
    assert failure.exit_code == ExitCode.TEMPORARY
    assert failure.message.endswith("failed: BackoffLimitExceeded: x")


def test_a_job_that_ran_out_of_time_is_not_tried_again(fails, fake):
    def scenario():
        fake.ends(0, 143, "stopped by SIGTERM")
        fake.job_is(("Failed", "DeadlineExceeded", "longer than its deadline"))

    assert fails(scenario).exit_code == ExitCode.CONFIGURATION


def test_a_failed_job_stays_for_whoever_wants_its_logs(fails, fake):
    def scenario():
        fake.ends(0, 1, "boom")
        fake.fails()

    fails(scenario)
    assert fake.count("DELETE", "") == 0


def test_a_job_that_somebody_deleted_may_work_another_time(fails, fake):
    failure = fails(lambda: fake.drop("jobs", fake.job()["metadata"]["name"]))
    assert failure.exit_code == ExitCode.TEMPORARY
    assert "somebody has deleted the Job r-train-" in failure.message


def test_the_last_words_of_the_nodes_that_were_admitted_are_enough(train, fake, job, monkeypatch):
    monkeypatch.setattr(cluster, "SETTLE_SECONDS", 600)

    def scenario():
        fake.job()
        for index in range(2):
            fake.ends(index)
        fake.job_is(("Complete", "", ""), parallelism=2)

    train(scenario, job("pass", nodes=4))


# ---------------------------------------------------------------------------------------- stopping


def test_a_stop_deletes_the_job_and_waits_for_its_pods(fake, train):
    fake.keeps_pods = True

    def scenario():
        pod = fake.runs(0)
        name = fake.job()["metadata"]["name"]
        os.kill(os.getpid(), signal.SIGUSR1)
        fake.await_asked("DELETE", f"/jobs/{name}?propagationPolicy=Foreground")
        fake.drop("pods", pod)
        fake.drop("jobs", name)

    def terminated(*_):
        raise Terminated

    signal.signal(signal.SIGUSR1, terminated)
    with pytest.raises(Terminated):
        train(scenario)
    assert not fake.objects["jobs"]


PROGRAM = """
import sys, pathlib
from argosy.steps import __main__
from argosy.steps.gang import account
account.FOLDER = pathlib.Path(sys.argv[1])
sys.exit(__main__.main(sys.argv[2:]))
"""


@pytest.fixture
def process(fake, job, tmp_path, models):
    """The step itself, as a pod starts it."""
    host, _, port = fake.address.removeprefix("https://").partition(":")
    started = subprocess.Popen(
        [
            *(sys.executable, "-c", PROGRAM, str(fake.account), "gang", "--run=r", f"--output={tmp_path / 'out'}"),
            *(f"--job={json.dumps(job('pass', grace=1))}", f"--models={models}", "--arguments.run=r"),
        ],
        env={**os.environ, account.HOST: host, account.PORT: port},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


def test_the_step_gives_what_the_nodes_trained(process, fake, tmp_path):
    fake.job()
    for index in range(2):
        fake.ends(index)
    fake.completes()
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert (tmp_path / "out" / "model").read_text() == "run/model"


def test_sigterm_ends_the_step_with_143_and_its_job(process, fake):
    fake.job()
    fake.runs(0)
    process.terminate()
    _, err = process.communicate(timeout=200)
    assert (process.returncode, err.strip()) == (143, "stopped by SIGTERM (node 0: its pod was deleted)")
    assert not fake.objects["jobs"]
    assert not fake.objects["pods"]
