"""Shards that are read one after the other: every sample comes, and what is approximate is said."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.data.stream import Stream, listed


@pytest.fixture
def stream(tasks):
    def made(folder, **settings):
        fields = {"batch_size": 4, "epochs": 5, "seed": 0, "rank": 0, "size": 1, "workers": 0}
        return Stream(tasks.Drawing(), folder, "train", **{**fields, **settings})

    return made


@pytest.fixture
def served(split):
    """`served(3, 4)`: a folder whose index lists shards of a web server; and how often each was read."""
    reads = Counter()

    class Handler(BaseHTTPRequestHandler):
        """Answers requests for a part of a file, as object stores do."""

        def do_HEAD(self):
            path = self.server.folder / self.path.lstrip("/")
            self.send_response(200 if path.exists() else 404)
            self.send_header("Content-Length", str(path.stat().st_size) if path.exists() else "0")
            self.end_headers()

        def do_GET(self):
            reads[self.path] += 1
            content = (self.server.folder / self.path.lstrip("/")).read_bytes()
            begin, end = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            part = content[begin : end + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    servers = []

    def serve(*lengths):
        folder = split(*lengths)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.folder = folder
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        elsewhere = folder / "listing"
        elsewhere.mkdir()
        address = f"http://127.0.0.1:{server.server_port}"
        listing(
            elsewhere,
            {f"{address}/{path.name}": n for path, n in zip(sorted(folder.glob("*.tar")), lengths, strict=True)},
        )
        return elsewhere, reads

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def listing(folder, shards):
    entries = [{"url": url, "nsamples": samples} for url, samples in shards.items()]
    (folder / "train.json").write_text(json.dumps({"wids_version": 1, "shardlist": entries}))


def numbers(batches):
    return [int(number) for batch in batches for number in batch.targets]


def refused(exit_code, act):
    with pytest.raises(StepError) as caught:
        act()
    assert caught.value.exit_code == exit_code
    return caught.value.message


@pytest.mark.parametrize(("size", "workers"), [(1, 0), (2, 0), (1, 2), (3, 1)])
def test_all_samples_come_and_every_rank_makes_the_same_number_of_steps(size, workers, split, stream):
    folder = split(3, 4, 5, 2)
    ranks = [list(stream(folder, rank=rank, size=size, workers=workers).batches(0)) for rank in range(size)]
    assert {len(rank) for rank in ranks} == {20}
    assert set(numbers([part for rank in ranks for part in rank])) == set(range(14))
    assert all(abs(sum(part.weight for part in step) - size) < 1e-9 for step in zip(*ranks, strict=True))


def test_the_same_seed_gives_the_same_stream_and_another_another(split, stream):
    folder = split(3, 4, 5)
    one, again, other = (numbers(stream(folder, seed=seed).batches(0)) for seed in (1, 1, 2))
    assert one == again != other


def test_a_resume_says_that_it_is_approximate_and_skips_what_was_read(split, stream, capfd):
    folder = split(*[10] * 4)
    assert len(list(stream(folder, epochs=1).batches(5))) == 5
    assert "streaming goes on at about step 5: some samples of this epoch come again" in capfd.readouterr().err
    list(stream(folder, epochs=1).batches(0))
    list(stream(folder, epochs=1, size=2, rank=1).batches(5))
    assert capfd.readouterr().err == ""


def test_shards_of_a_web_server_are_read_and_only_when_their_turn_comes(served, stream):
    folder, reads = served(*[600] * 5)
    assert listed(folder, "train")[1] == 3000
    assert len(set(numbers(islice(stream(folder, batch_size=10).batches(0), 3)))) == 30
    assert 1 <= len(reads) <= 2


def test_a_shard_that_a_web_server_lacks_is_named(served, stream, tmp_path):
    folder, _ = served(3)
    (tmp_path / "train-0000.tar").unlink()
    told = refused(ExitCode.DATA, lambda: next(stream(folder).batches(0)))
    assert "/train-0000.tar: is not there" in told


def test_a_web_server_that_does_not_answer_is_an_accident(tmp_path, stream):
    listing(tmp_path, {"http://127.0.0.1:9/train-0000.tar": 3})
    told = refused(ExitCode.TEMPORARY, lambda: next(stream(tmp_path).batches(0)))
    assert told.startswith("http://127.0.0.1:9/train-0000.tar: ")


class Refusing(BaseHTTPRequestHandler):
    """Answers every request as one who may not ask."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_web_server_that_refuses_is_a_matter_of_configuration_and_not_tried_for_ever(tmp_path, stream):
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/train-0000.tar"
        listing(tmp_path, {address: 3})
        told = refused(ExitCode.CONFIGURATION, lambda: next(stream(tmp_path).batches(0)))
        server.shutdown()
    assert told.startswith(f"{address}: may not be read: it answers 403; give ")


@pytest.mark.parametrize("text", ["", "[]", '{"shardlist": [{"url": "a.tar"}]}', '{"shardlist": 3}'])
def test_an_index_that_is_none_is_refused(text, tmp_path, stream):
    (tmp_path / "train.json").write_text(text)
    told = refused(ExitCode.DATA, lambda: stream(tmp_path))
    assert told.startswith(f"{tmp_path}/train.json: is no index of shards")


def test_no_address_is_run_as_a_command(tmp_path, stream):
    for address in (f"pipe:touch {tmp_path}/made", f"pipe://; touch {tmp_path}/made", "file:///etc/passwd"):
        listing(tmp_path, {address: 1})
        told = refused(ExitCode.DATA, lambda: next(stream(tmp_path).batches(0)))
        assert address in told
    assert not (tmp_path / "made").exists()


def test_more_readers_than_shards_are_refused(split, stream):
    told = refused(ExitCode.CONFIGURATION, lambda: stream(split(3, 3), size=2, workers=2))
    assert "has 2 shards, fewer than the 4 that read at once" in told


def test_a_cut_shard_is_named(tmp_path, split, stream):
    split(3, 3)
    cut = tmp_path / "train-0001.tar"
    cut.write_bytes(cut.read_bytes()[:1800])
    listing(tmp_path, {"train-0000.tar": 3, "train-0001.tar": 3})
    assert refused(ExitCode.DATA, lambda: numbers(stream(tmp_path).batches(0))).startswith(f"{cut}: ")
