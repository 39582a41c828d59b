"""What a gang says while it lasts, and what becomes of it when its API server is in trouble; that is a fake."""

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.gang import api, cluster, picture

# ---------------------------------------------------------------------------------------- queues and waiting


def test_a_gang_that_kueue_ended_for_good_is_not_tried_again_and_leaves_no_job(fails, fake):
    def scenario():
        fake.workload(active=False, Evicted=("True", "exceeding the maximum execution time"))
        fake.job_is(suspend=True)

    failure = fails(scenario)
    assert failure.exit_code == ExitCode.CONFIGURATION
    assert failure.message == "Kueue has ended the gang for good: exceeding the maximum execution time"
    assert not fake.objects["jobs"]


def test_it_says_why_it_waits_that_it_is_admitted_and_that_it_is_preempted(train, fake, heard):
    def scenario():
        fake.workload(QuotaReserved=("False", "couldn't assign flavors: 400m more needed"))
        fake.job_is(suspend=True)
        heard.await_line("gang | waits for quota: couldn't assign flavors: 400m more needed")
        fake.job_is(suspend=False)
        heard.await_line("gang | is admitted")
        pod = fake.runs(0)
        fake.await_asked("GET", f"{pod}/log")
        fake.workload(Evicted=("True", "Preempted to accommodate a workload"), QuotaReserved=("False", "x"))
        fake.job_is(suspend=True)
        fake.drop("pods", pod)
        heard.await_line("gang | is pre-empted: Preempted to accommodate a workload")
        fake.job_is(suspend=False)
        heard.await_line("gang | is admitted", times=2)
        fake.completes()

    train(scenario)


def test_a_pod_from_before_a_preemption_is_no_cause(fails, fake):
    def scenario():
        old = fake.ends(0, 143, "stopped by SIGTERM", at=1)
        fake.put("pods", old, metadata={"deletionTimestamp": "2021-01-01T00:00:20Z", "deletionGracePeriodSeconds": 30})
        fake.drop("pods", old)
        fake.ends(1, 137, "lost", at=2)
        job = fake.job()
        failed = {"type": "Failed", "status": "True"}
        fake.put("jobs", job["metadata"]["name"], status={"startTime": "2021-01-01T00:00:00Z", "conditions": [failed]})

    assert fails(scenario).message == "node 1: lost"


def test_a_pod_that_was_made_before_its_job_started_is_a_cause(fails, fake):
    def scenario():
        raised = fake.ends(1, 1, "rank 1: ValueError: boom", at=2)
        fake.put("pods", raised, metadata={"creationTimestamp": "2020-12-31T23:59:59Z"})
        job = fake.job()
        failed = {"type": "Failed", "status": "True"}
        fake.put("jobs", job["metadata"]["name"], status={"startTime": "2021-01-01T00:00:00Z", "conditions": [failed]})

    assert fails(scenario).message == "node 1: rank 1: ValueError: boom"


def test_it_says_why_a_pod_waits(train, fake, heard):
    def scenario():
        unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"}
        fake.pod(0, phase="Pending", conditions=[unplaced])
        heard.await_line("gang | node 0 cannot be scheduled: 0/4 nodes")
        pulling = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
        fake.pod(1, phase="Pending", containerStatuses=[pulling])
        heard.await_line("gang | node 1 waits: main: ImagePullBackOff: no such image")
        fake.completes()

    train(scenario)


def test_it_says_why_a_job_has_no_pods(train, fake, heard):
    def scenario():
        event = {"involvedObject": {"uid": fake.job()["metadata"]["uid"]}, "message": "violates PodSecurity"}
        fake.put("events", "e", **event, lastTimestamp="2026-01-01T00:00:00Z")
        heard.await_line("gang | the Job waits: violates PodSecurity")
        fake.completes()

    train(scenario)


def test_a_right_that_only_explains_is_missed_once_and_ends_nothing(train, fake, heard):
    fake.refuse("GET", "/workloads", 403, "cannot list workloads", times=1000)

    def scenario():
        fake.job_is(suspend=True)
        fake.await_asked("GET", "/workloads", 3)
        fake.completes()

    train(scenario)
    assert sum("cannot list workloads" in line for line in heard.printed) == 1
    assert not [line for line in heard.printed if "somebody resumes" in line], "it may wait for Kueue"


@pytest.mark.parametrize("priority", ["", "urgent"])
def test_it_says_that_nobody_queues_it(train, fake, job, heard, priority):
    made = job("pass")
    made["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": priority} if priority else {}
    unclaimed = "is suspended, and Kueue has not taken it up; is there a WorkloadPriorityClass urgent?"
    said = unclaimed if priority else "is suspended, and waits until somebody resumes its Job"

    def scenario():
        fake.job_is(suspend=True)
        heard.await_line(f"gang | {said}")
        fake.completes()

    train(scenario, made)


# ---------------------------------------------------------------------------------------- logs


def test_every_line_of_every_node_is_printed_once_though_the_connection_breaks(train, fake, heard):
    def scenario():
        pods = [fake.runs(index) for index in range(2)]
        fake.print(pods[0], "a", None, "b")
        fake.print(pods[1], "c")
        fake.print(pods[1], "d")
        heard.await_line("node 0 | b")
        fake.print(pods[0], "e")
        for index in range(2):
            fake.ends(index)
        fake.completes()

    train(scenario)
    assert heard.printed[1:].count("node 0 | e") == 1


def test_lines_are_neither_lost_nor_doubled(train, fake, heard):
    def scenario():
        pod = fake.runs(0)
        fake.print(pod, "a", "b", None, "c", None, "d")
        fake.print(pod, "prepared", container="ensure-data")
        fake.await_asked("GET", f"{pod}/log", 3)
        fake.ends(0)
        fake.completes()

    train(scenario)
    assert [line for line in heard.printed if line.startswith("node")] == [
        "node 0 | a",
        "node 0 | b",
        "node 0 | c",
        "node 0 | d",
    ]


def test_node_0s_progress_is_argos(progress, train, fake):

    def scenario():
        for index in range(2):
            fake.print(fake.runs(index), f"step {index + 1},000/9,000, loss 1")
            fake.ends(index)
        fake.completes()

    train(scenario)
    assert progress.read_text() == "1000/9000\n"


def test_a_gang_whose_logs_are_not_to_be_had_trains_on_and_says_so(train, fake, heard):
    said = 'User "system:serviceaccount:team:steps" cannot get resource "pods/log"'
    fake.refuse("GET", "/log", 403, said, times=1000)

    def scenario():
        fake.runs(0)
        remedy = "give the pod's service account this right, as `argosy install` does"
        heard.await_line(f"gang | the log of node 0 is not to be had: {said}; {remedy}")
        fake.completes()

    train(scenario)


# ---------------------------------------------------------------------------------------- the API server


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_api_server_is_asked_again(train, fake, status):
    fake.refuse("POST", "/jobs", status, "busy", times=3)
    train(fake.completes)
    assert fake.count("POST", "/jobs") == 4


def test_a_job_whose_making_got_no_answer_is_not_made_twice(train, fake):
    fake.refuse("LOSE", "/jobs", 0)
    train(fake.completes)
    assert len(fake.objects["jobs"]) == 1


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_a_watch_that_ends_misses_nothing(train, fake, how):
    def scenario():
        fake.job()
        fake.await_asked("GET", "/jobs?labelSelector=argosy.dev%2Frun%3Dr&resourceVersion")
        fake.interrupt(how)
        fake.completes()

    train(scenario)


@pytest.mark.parametrize("line", ["<html>busy</html>", "[]", '{"type": "MODIFIED"}'])
def test_a_watch_that_tells_nonsense_is_begun_again(train, fake, line):
    def scenario():
        fake.job()
        fake.await_asked("GET", "/jobs?labelSelector=argosy.dev%2Frun%3Dr&resourceVersion")
        fake.say_to_watches(line)
        fake.completes()

    train(scenario)


def test_a_mistake_in_what_watches_ends_the_gang_instead_of_leaving_it_to_wait(train, fake, monkeypatch):
    def broken(*_):
        raise KeyError("items")

    monkeypatch.setattr(picture.Picture, "_listed", broken)
    with pytest.raises(KeyError):
        train(lambda: None)
    assert fake.count("POST", "/jobs") == 0


def test_what_forbids_a_job_but_a_missing_right_speaks_for_itself(fails, fake):
    said = 'admission webhook "policy.example.org" denied the request: requests are not set'
    fake.refuse("POST", "/jobs", 403, said)
    failure = fails(lambda: None)
    assert (failure.exit_code, failure.message) == (ExitCode.CONFIGURATION, said)


def test_a_right_that_is_missing_is_named_with_the_remedy(fails, fake):
    said = 'jobs.batch is forbidden: User "system:serviceaccount:team:steps" cannot create resource "jobs"'
    fake.refuse("POST", "/jobs", 403, said)
    failure = fails(lambda: None)
    assert failure.exit_code == ExitCode.CONFIGURATION
    assert failure.message == f"{said}; give the pod's service account this right, as `argosy install` does"


def test_an_api_server_of_another_authority_is_not_believed(fails, fake, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    stranger = type(fake)(other)
    (fake.account / "ca.crt").write_bytes((other / "ca.crt").read_bytes())
    stranger.close()
    failure = fails(lambda: None)
    assert failure.exit_code == ExitCode.CONFIGURATION
    assert "is not trusted by" in failure.message
    assert not fake.asked


def test_a_new_token_is_taken_as_soon_as_it_is_there(train, fake):
    def scenario():
        fake.job()
        (fake.account / "token").write_text((fake.account / "token").read_text() + "new")
        fake.interrupt("cut")
        fake.completes()

    train(scenario)


def test_an_api_server_that_stays_away_ends_the_gang_as_the_machine_would(fails, fake, monkeypatch):
    fake.refuse("GET", "", 503, "away", times=100_000)
    monkeypatch.setattr(cluster, "Api", lambda who, complain: api.Api(who, complain, patience_seconds=0.3))
    assert fails(lambda: None).exit_code == ExitCode.TEMPORARY
