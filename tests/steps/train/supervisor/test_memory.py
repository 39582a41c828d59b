"""The kernel's counter of processes killed for want of memory: faked in both versions, and real where it can be."""

import os
import re
import uuid
from pathlib import Path

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.train import memory

V1 = Path("/sys/fs/cgroup/memory")
LIMIT = 1 << 30


def laid_out(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return memory.of_this_pod(root)


@pytest.mark.parametrize("folder", ["", "pods/p1/"])
def test_version_2_is_read_where_the_group_is_or_at_the_top_of_what_a_container_sees(folder, tmp_path):
    found = laid_out(
        tmp_path,
        {
            "proc/self/cgroup": "0::/pods/p1\n",
            f"sys/fs/cgroup/{folder}memory.events": "low 0\noom 4\noom_kill 3\noom_group_kill 9\n",
            f"sys/fs/cgroup/{folder}memory.max": f"{4 << 30}\n",
        },
    )
    assert (found.kills(), found.limit_words()) == (3, " (limit 4Gi)")


@pytest.mark.parametrize("folder", ["", "pods/p1/"])
def test_version_1_is_read_too(folder, tmp_path):
    found = laid_out(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu:/\n4:hugetlb,memory:/pods/p1\n0::/\n",
            f"sys/fs/cgroup/memory/{folder}memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            f"sys/fs/cgroup/memory/{folder}memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert (found.kills(), found.limit_words()) == (2, "")


@pytest.mark.parametrize(
    ("limit", "words"),
    [(900 << 20, "900Mi"), (1536 << 20, "1536Mi"), (8 << 30, "8Gi"), (500_000_000 // 4096 * 4096, "477Mi")],
)
def test_a_limit_is_said_as_it_was_written(limit, words, tmp_path):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.events": "oom_kill 0\n",
        "sys/fs/cgroup/memory.max": f"{limit}\n",
    }
    assert laid_out(tmp_path, files).limit_words() == f" (limit {words})"


def test_where_nothing_counts_nothing_was_killed(tmp_path):
    found = memory.of_this_pod(tmp_path)
    assert (found.kills(), found.limit_words()) == (0, "")


@pytest.fixture
def limited():
    """A real control group with a limit, to be entered by a process before it runs."""
    folder = V1 / f"argosy-{uuid.uuid4().hex}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control group of its own can be had here: {error}")
    yield folder / "cgroup.procs"
    folder.rmdir()


@pytest.mark.skipif(not V1.exists() or os.getuid() != 0, reason="needs cgroup v1 and root")
def test_a_rank_that_the_kernel_kills_for_the_limit_is_out_of_memory(limited, trainings):
    # So many steps that the other rank, which waits for nobody, does not end with a model first.
    ended = trainings.end(event="eat", total=100_000, environment={"CONTROL_GROUP": str(limited)})
    assert ended.exit_code == ExitCode.OUT_OF_MEMORY, ended.stderr
    words = r"rank 1 was killed: out of memory \(limit 1Gi\); give the pod more; at step 12, .*"
    assert re.fullmatch(words, ended.last_word), ended.last_word
