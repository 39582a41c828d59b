"""The S3 server of the tests: S3's own answers, and the faults that were asked for, no others."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import dvcremote
import objectstore
import obstore
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from obstore.store import S3Store

pytestmark = pytest.mark.skipif(bool(objectstore.missing()), reason=objectstore.missing())

KEY = "bucket/key"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("buckets")
    (folder / "bucket").mkdir()
    with objectstore.serving(folder) as server:
        yield folder, server


@pytest.fixture
def folder(served):
    return served[0]


@pytest.fixture
def store(served):
    """The server, which does everything right until it is told otherwise."""
    served[1].set()
    served[1].count_anew()
    return served[1]


@pytest.fixture
def put(folder):
    def write(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return write


def ask(store, method, path, body=None, **headers):
    """Status, headers and body; the body is what came before the connection ended."""
    connection = http.client.HTTPConnection(urlsplit(store.address).netloc, timeout=30)
    try:
        connection.request(method, path, body=body, headers={name.replace("_", "-"): v for name, v in headers.items()})
        answer = connection.getresponse()
        try:
            return answer.status, answer.headers, answer.read()
        except http.client.IncompleteRead as error:
            return answer.status, answer.headers, error.partial
    finally:
        connection.close()


def get(store, **headers):
    return ask(store, "GET", f"/{KEY}", **headers)


def boto(store):
    return boto3.client(
        "s3",
        endpoint_url=store.address,
        aws_access_key_id=objectstore.ACCESS,
        aws_secret_access_key=objectstore.SECRET,
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
    )


def native(store):
    return S3Store(
        "bucket",
        endpoint=store.address,
        access_key_id=objectstore.ACCESS,
        secret_access_key=objectstore.SECRET,
        region="us-east-1",
        client_options={"allow_http": True},
    )


# ---------------------------------------------------------------------------------------------- S3's own answers


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_what_a_client_puts_another_gets(size, store, folder):
    content = os.urandom(size)
    boto(store).put_object(Bucket="bucket", Key="of/boto", Body=content)
    obstore.put(native(store), "of/obstore", content)
    assert (folder / "bucket/of/boto").read_bytes() == (folder / "bucket/of/obstore").read_bytes() == content
    assert boto(store).get_object(Bucket="bucket", Key="of/obstore")["Body"].read() == content
    assert bytes(obstore.get(native(store), "of/boto").bytes()) == content
    assert obstore.head(native(store), "of/boto")["size"] == size


def test_a_body_in_signed_chunks_is_put_together(store, folder):
    chunks = b"".join(b"%x;chunk-signature=0\r\n%b\r\n" % (len(part), part) for part in (b"abc", b"d" * 20, b""))
    streaming = {"X_Amz_Content_Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X_Amz_Decoded_Content_Length": "23"}
    assert ask(store, "PUT", "/bucket/chunked", chunks, **streaming)[0] == 200
    assert (folder / "bucket/chunked").read_bytes() == b"abc" + b"d" * 20


def test_a_body_that_ends_early_leaves_no_object(store, folder):
    short = {"X_Amz_Content_Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X_Amz_Decoded_Content_Length": "9"}
    assert ask(store, "PUT", "/bucket/short/a", b"3\r\nabc\r\n0\r\n\r\n", **short)[0] == 400
    assert ask(store, "PUT", "/bucket/short/a", b"9\r\nabc", **short)[0] == 400
    assert list((folder / "bucket/short").iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=8-99", 206, b"89"),
        ("bytes=-3", 206, b"789"),
        ("bytes=4-", 206, b"456789"),
    ],
)
def test_a_range_is_answered_with_its_place_in_the_whole(asked, status, content, store, put):
    put(KEY, b"0123456789")
    answer = get(store, Range=asked)
    assert (answer[0], answer[2]) == (status, content)
    assert answer[1]["Content-Range"].endswith("/10")
    assert answer[1]["ETag"] == get(store)[1]["ETag"]


def test_a_range_beyond_the_end_or_of_nothing_is_refused(store, put):
    put(KEY, b"0123456789")
    assert get(store, Range="bytes=10-")[0] == 416
    put(KEY, b"")
    assert get(store, Range="bytes=0-9")[0] == 416
    assert get(store)[0] == 200


def test_an_object_that_changed_has_another_etag(store, put):
    put(KEY, b"before")
    before = get(store)[1]["ETag"]
    put(KEY, b"behind")
    assert get(store, If_Match=before)[0] == 412


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
def test_a_list_is_whole_and_in_the_order_of_s3_whatever_the_page(page, store, put):
    keys = sorted(["p/a/1", "p/a/2", "p/a-b", "p/a b+c", "p/b", "p/é", "q"], key=str.encode)
    for key in keys:
        put(f"listed/{key}", b"x")
    pages = list(
        boto(store).get_paginator("list_objects_v2").paginate(Bucket="listed", PaginationConfig={"PageSize": page})
    )
    assert [one["Key"] for each in pages for one in each.get("Contents", [])] == keys
    grouped = (
        boto(store)
        .get_paginator("list_objects_v2")
        .paginate(Bucket="listed", Prefix="p/a", Delimiter="/", PaginationConfig={"PageSize": page})
    )
    found = [(each.get("Contents", []), each.get("CommonPrefixes", [])) for each in grouped]
    assert [one["Key"] for contents, _ in found for one in contents] == ["p/a b+c", "p/a-b"]
    assert [one["Prefix"] for _, prefixes in found for one in prefixes] == ["p/a/"]


def test_several_objects_are_removed_at_once_and_no_others(store, folder):
    for name in ("gone/a", "gone/b c", "stays"):
        obstore.put(native(store), name, b"x")
    obstore.delete(native(store), ["gone/a", "gone/b c", "never/there"])
    assert not list((folder / "bucket/gone").iterdir())
    assert (folder / "bucket/stays").exists()


@pytest.mark.parametrize("path", ["/bucket/../../etc/passwd", "/../etc/passwd", "/bucket/a/%2e%2e/%2e%2e/x"])
def test_a_key_leads_out_of_no_bucket(path, store):
    assert ask(store, "GET", path)[0] == 400


def test_a_bucket_that_is_not_there_is_told_from_a_key(store):
    with pytest.raises(ClientError, match="NoSuchBucket"):
        boto(store).list_objects_v2(Bucket="nowhere")
    with pytest.raises(ClientError, match="NoSuchKey"):
        boto(store).get_object(Bucket="bucket", Key="nowhere")


def test_a_server_with_a_key_refuses_who_has_none(tmp_path):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket/key").write_bytes(b"content")
    with objectstore.serving(tmp_path, require_key=True) as store:
        assert get(store)[0] == 403
        assert bytes(obstore.get(native(store), "key").bytes()) == b"content"


# ---------------------------------------------------------------------------------------------- faults

CONTENT = bytes(range(256)) * 1000


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        ("slow-down", 503, b"<Error><Code>SlowDown</Code><Message>SlowDown</Message></Error>"),
        ("missing", 404, b"<Error><Code>NoSuchKey</Code><Message>NoSuchKey</Message></Error>"),
        ("forbidden", 403, b"<Error><Code>AccessDenied</Code><Message>AccessDenied</Message></Error>"),
        ("skewed", 403, b"<Error><Code>RequestTimeTooSkewed</Code><Message>RequestTimeTooSkewed</Message></Error>"),
        ("wrong", 200, b"\xff" + CONTENT[1:]),
        ("truncated", 200, CONTENT[: len(CONTENT) // 2]),
        ("cut", 200, CONTENT[: len(CONTENT) // 2]),
    ],
)
def test_a_fault_meets_the_object_that_it_was_set_for_as_often_as_was_said(kind, status, body, store, put):
    put(KEY, CONTENT)
    put("bucket/other", CONTENT)
    store.set(objects={KEY: {"kind": kind, "times": 2}})
    for _ in range(2):
        answer = get(store)
        assert (answer[0], answer[2]) == (status, body)
        assert ask(store, "GET", "/bucket/other")[2] == CONTENT
    assert get(store)[2] == CONTENT
    assert store.counters()["faults"] == {kind: 2}


def test_a_cut_body_was_announced_whole_and_a_truncated_object_is_consistent(store, put):
    put(KEY, CONTENT)
    store.set(objects={KEY: {"kind": "cut"}})
    assert get(store)[1]["Content-Length"] == str(len(CONTENT))
    store.set(objects={KEY: {"kind": "truncated"}})
    assert get(store, Range="bytes=0-9")[1]["Content-Range"].endswith(f"/{len(CONTENT) // 2}")


def test_wrong_bytes_are_in_every_range(store, put):
    put(KEY, CONTENT)
    store.set(objects={KEY: {"kind": "wrong"}})
    for start in (0, 1000):
        content = get(store, Range=f"bytes={start}-{start + 99}")[2]
        expected = CONTENT[start : start + 100]
        assert (content[0], content[1:]) == (expected[0] ^ 0xFF, expected[1:])


def test_a_stalled_answer_is_headers_and_then_nothing(store, put):
    put(KEY, CONTENT)
    store.set(objects={KEY: {"kind": "stall"}})
    with socket.create_connection(("127.0.0.1", urlsplit(store.address).port), timeout=30) as connection:
        connection.sendall(f"GET /{KEY} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = connection.recv(10_000)
        assert head.startswith(b"HTTP/1.1 200")
        assert head.endswith(b"\r\n\r\n")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        assert store.counters()["in_flight"] == 1


def statuses(store, count):
    return [ask(store, "GET", f"/bucket/{number}")[0] for number in range(count)]


def test_a_share_of_reads_fails_the_same_ones_for_the_same_seed(store, put):
    for number in range(200):
        put(f"bucket/{number}", b"x")
    seen = {}
    for seed in (1, 2):
        store.set(shares={"slow-down": 0.2}, seed=seed)
        store.count_anew()
        seen[seed] = statuses(store, 200)
        assert 20 <= Counter(seen[seed])[503] <= 60
        store.count_anew()
        assert statuses(store, 200) == seen[seed]
        assert statuses(store, 200) != seen[seed], "the second read of an object is another draw"
    assert seen[1] != seen[2]


def test_more_requests_at_a_time_than_allowed_are_told_to_slow_down_and_the_peak_is_counted(store, put):
    put(KEY, CONTENT)
    store.set(latency_ms=300, most_at_a_time=3)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(get(store)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = store.counters()
    assert answers.count(503) == counted["peak_in_flight"] - 3 == counted["faults"]["slow-down"] > 0
    assert (counted["requests"], counted["methods"], counted["reads"]) == (8, {"GET": 8}, {KEY: 8})
    assert counted["in_flight"] == 0


def test_latency_is_waited_for_before_each_answer(store, put):
    put(KEY, CONTENT)
    store.set(latency_ms=100)
    started = time.monotonic()
    assert get(store)[2] == CONTENT
    assert time.monotonic() - started >= 0.1


def test_bytes_of_bodies_are_counted(store, put):
    put(KEY, CONTENT)
    get(store)
    get(store, Range="bytes=0-99")
    assert store.counters()["bytes"] == len(CONTENT) + 100


@pytest.mark.parametrize("faults", [{"latency": 1}, {"shares": {"explode": 1}}, {"objects": {KEY: {"kind": "x"}}}])
def test_a_fault_that_there_is_not_is_refused(faults, store):
    with pytest.raises(ValueError, match=r"unknown field|there is no fault"):
        store.set(**faults)


# ---------------------------------------------------------------------------------------------- its life, and DVC's

CONFIG = """[core]
    remote = store
    no_scm = true
    analytics = false
['remote "store"']
    url = s3://bucket/prefix
    verify = true
"""


def test_the_server_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path):
    code = f"""
import sys, time
sys.path.append({str(Path(objectstore.__file__).parent)!r})
import objectstore
from pathlib import Path
with objectstore.serving(Path({str(tmp_path)!r})) as store:
    print(store.address, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        port = urlsplit(parent.stdout.readline().strip()).port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/-/counters")
        connection.getresponse().read()  # the server has it now, and keeps it open
        parent.send_signal(signal.SIGKILL)
        assert connection.sock.recv(1) == b""
        connection.close()


def test_dvc_itself_pulls_a_dataset_that_was_written_without_it(store, folder, tmp_path):
    files = {"b/1.bin": b"one", "a.bin": b"", "b/é.bin": b"three"}
    dataset = dvcremote.write(folder / "bucket/prefix", files.items())
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text(CONFIG)
    (tmp_path / "data.dvc").write_text(dataset.dvc_file("data"))
    environment = {
        **os.environ,
        **store.environment,
        "HOME": str(tmp_path),
        "DVC_SITE_CACHE_DIR": str(tmp_path / "site"),
    }
    subprocess.run([sys.executable, "-m", "dvc", "pull", "--quiet"], cwd=tmp_path, env=environment, check=True)
    pulled = {str(path.relative_to(tmp_path / "data")): path for path in (tmp_path / "data").rglob("*.bin")}
    assert {name: path.read_bytes() for name, path in pulled.items()} == files
