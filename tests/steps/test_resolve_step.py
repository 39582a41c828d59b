"""The step `resolve`: what a submission is told of a run's data, and how soon."""

import hashlib
import json
import time

import pytest

from argosy.steps import values
from argosy.steps.contracts import ExitCode, ResolveInput
from argosy.steps.errors import StepError
from argosy.steps.pins import Pin
from argosy.steps.stage import resolving

CONFIG = "[core]\n    remote = store\n['remote \"store\"']\n    url = ../store\n"


@pytest.fixture
def resolve(tmp_path, git):
    """Resolves a dataset whose list is given, at the commit that records it."""
    project = tmp_path / "project"
    (project / ".dvc").mkdir(parents=True)
    (project / ".dvc/config").write_text(CONFIG)
    git(project, "init", "--quiet")

    def record(entries, **fields):
        md5 = add(project / "store", json.dumps(entries).encode(), ".dir")
        out = {"md5": md5, "hash": "md5", "path": "x", **fields}
        (project / "x.dvc").write_text(json.dumps({"outs": [out]}))
        git(project, "add", "x.dvc", ".dvc")
        git(project, "commit", "--quiet", "--message=x")
        return ResolveInput(dataset="x", revision="HEAD", project=project, output=tmp_path / "output")

    return record


def add(remote, content, suffix=""):
    md5 = hashlib.md5(content).hexdigest() + suffix
    target = remote / "files/md5" / md5[:2] / md5[2:]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return md5


def test_the_pin_is_written_as_a_parameter_and_reads_the_same(resolve, tmp_path, run_step):
    inputs = resolve([{"md5": add(tmp_path / "project/store", b"a"), "relpath": "{{a"}], size=1, nfiles=1)
    fields = inputs.model_dump(exclude={"output"})
    done = run_step("resolve", **fields, output=tmp_path / "output")
    assert (done.exit_code, done.stderr) == (ExitCode.OK, "")
    text = (tmp_path / "output/dataset-pin").read_text()
    pin = Pin.model_validate_json(values.decode(text, str))
    assert pin == resolving.run(inputs).dataset_pin
    assert (tmp_path / "output/dataset-hash").read_text() == pin.hash
    assert (tmp_path / "output/unverified").read_text() == ""


def test_what_the_remote_lacks_is_refused(resolve):
    inputs = resolve([{"md5": "0" * 32, "relpath": "a"}], size=1, nfiles=1)
    with pytest.raises(StepError) as caught:
        resolving.run(inputs)
    assert caught.value.exit_code == ExitCode.DATA
    assert "0" * 32 in caught.value.message


def test_a_hundred_thousand_files_cost_a_few_times_what_it_takes_to_read_their_names(resolve, tmp_path):
    md5, files = add(tmp_path / "project/store", b"a"), 100_000
    entries = [{"md5": md5, "relpath": f"{number % 100:02}/{number:06}.bin"} for number in range(files)]
    inputs, listing = resolve(entries, size=files, nfiles=files), json.dumps(entries)
    assert resolving.run(inputs).unverified == ""
    reading, whole = [], []
    for _ in range(5):
        reading.append(seconds(lambda: json.loads(listing)))
        whole.append(seconds(lambda: resolving.run(inputs)))
    assert min(whole) < 8 * min(reading)


def seconds(call):
    """Of the processor, which others on this machine lengthen less than those of the clock."""
    started = time.process_time()
    call()
    return time.process_time() - started
