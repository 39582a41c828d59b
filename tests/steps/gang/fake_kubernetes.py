"""A fake of Kubernetes' API server: Jobs, pods, logs, events and workloads as a test sets them, over TLS.

It keeps objects, lists and watches them and says no on demand; nothing happens by itself, but that a deleted Job takes
its pods along.
"""

import base64
import datetime as dt
import ipaddress
import json
import re
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAMESPACE = "team"
JOB_NAME = "batch.kubernetes.io/job-name"


class FakeKubernetes:
    """`account` is what a pod of it has: token, ca.crt, namespace."""

    def __init__(self, folder: Path) -> None:
        self.account = folder
        claims = {"kubernetes.io": {"namespace": NAMESPACE, "pod": {"name": "launcher", "uid": "launcher-uid"}}}
        token = ".".join(
            base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in ("{}", json.dumps(claims), "x")
        )
        (folder / "token").write_text(token)
        (folder / "namespace").write_text(NAMESPACE)
        self.objects = {"jobs": {}, "pods": {}, "workloads": {}, "events": {}, "podgroups": {}}
        self.logs: dict[str, list[str]] = {}
        """POD/CONTAINER -> lines; a test that cuts the connection puts None."""
        self.asked: list[tuple[str, str]] = []
        self.refusals: list[tuple[str, str, int, str, int]] = []
        self.keeps_pods = False
        self.changed = threading.Condition()
        self._history: list[tuple[str, str, dict]] = []
        self._uids = 0
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a watch that the client has left
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"https://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    # ------------------------------------------------------------------------------------ what a test does

    def put(self, kind: str, name: str, /, **fields) -> dict:
        """An object with these fields, in place of what it had there."""
        with self.changed:
            is_new = name not in self.objects[kind]
            known = self.objects[kind].setdefault(name, {"metadata": {"name": name, "uid": self._uid()}})
            metadata = {**known["metadata"], **fields.pop("metadata", {})}
            self.objects[kind][name] = {**known, **fields, "metadata": metadata}
            self._tell("ADDED" if is_new else "MODIFIED", kind, self.objects[kind][name])
            return self.objects[kind][name]

    def drop(self, kind: str, name: str) -> None:
        with self.changed:
            if gone := self.objects[kind].pop(name, None):
                self._tell("DELETED", kind, gone)

    def job(self) -> dict:
        """The one Job, once it is there."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.objects["jobs"], 120)
            return next(iter(self.objects["jobs"].values()))

    def job_is(self, *conditions: tuple[str, str, str], **spec) -> None:
        """The Job has these conditions: type, reason, message."""
        job = self.job()
        listed = [{"type": kind, "status": "True", "reason": why, "message": said} for kind, why, said in conditions]
        self.put("jobs", job["metadata"]["name"], spec={**job["spec"], **spec}, status={"conditions": listed})

    def completes(self) -> None:
        self.job_is(("Complete", "", ""))

    def fails(self) -> None:
        self.job_is(("FailureTarget", "BackoffLimitExceeded", "x"), ("Failed", "BackoffLimitExceeded", "x"))

    def workload(self, *, active: bool = True, **conditions: tuple[str, str]) -> None:
        """Kueue's side of the Job: condition -> `True` or `False`, and its message."""
        listed = [
            {"type": kind, "status": status, "reason": "", "message": said}
            for kind, (status, said) in conditions.items()
        ]
        labels = {"kueue.x-k8s.io/job-uid": self.job()["metadata"]["uid"]}
        self.put("workloads", "w", metadata={"labels": labels}, spec={"active": active}, status={"conditions": listed})

    def pod(self, index: int, job: str = "", **status) -> str:
        """A pod of the Job has this status; its name."""
        made = (
            self.job() if not job else self.objects["jobs"].get(job, {"metadata": {"labels": {"argosy.dev/run": "r"}}})
        )
        name = f"{job or made['metadata']['name']}-{index}-x"
        labels = {**made["metadata"]["labels"], JOB_NAME: job or made["metadata"]["name"]}
        now = dt.datetime.now(dt.UTC).isoformat()
        known = self.objects["pods"].get(name, {"metadata": {}, "spec": {"nodeName": f"machine-{index}"}})
        metadata = {
            "labels": labels,
            "annotations": {"batch.kubernetes.io/job-completion-index": str(index)},
            "creationTimestamp": known["metadata"].get("creationTimestamp", now),
        }
        self.put("pods", name, metadata=metadata, spec=known["spec"], status=status)
        return name

    def runs(self, index: int) -> str:
        return self.pod(index, phase="Running", containerStatuses=[{"name": "main", "state": {"running": {}}}])

    def ends(
        self,
        index: int,
        code: int = 0,
        message: str = "",
        *,
        at: int = 0,
        reason: str = "",
        container: str = "main",
        **status,
    ) -> str:
        """A pod's container has ended, `at` seconds after midnight."""
        finished = f"2026-01-01T00:00:{at:02d}Z"
        state = {"terminated": {"exitCode": code, "message": message, "reason": reason, "finishedAt": finished}}
        of = "containerStatuses" if container == "main" else "initContainerStatuses"
        return self.pod(
            index, phase="Failed" if code else "Succeeded", **{of: [{"name": container, "state": state}]}, **status
        )

    def refuse(self, method: str, path: str, status: int, message: str = "", times: int = 1) -> None:
        """Requests whose path holds this get this answer, so many times."""
        self.refusals.append((method, path, status, message, times))

    def print(self, pod: str, *lines: str | None, container: str = "main") -> None:
        with self.changed:
            self.logs.setdefault(f"{pod}/{container}", []).extend(lines)
            self.changed.notify_all()

    def interrupt(self, how: str) -> None:
        """Every watch ends: `gone`, as for a resource version that is too old, or `cut`, as with the network."""
        with self.changed:
            self._tell("", how, {})

    def say_to_watches(self, line: str) -> None:
        with self.changed:
            self._tell(line, "line", {})

    def count(self, method: str, path: str) -> int:
        return sum(1 for one, where in self.asked if one == method and path in where)

    def await_asked(self, method: str, path: str, times: int = 1) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.count(method, path) >= times, 120), self.asked

    # ------------------------------------------------------------------------------------ what it does itself

    def create(self, kind: str, body: dict) -> bool:
        name = body["metadata"]["name"]
        if name in self.objects[kind]:
            return False
        self.put(kind, name, **body)
        return True

    def delete(self, kind: str, name: str) -> None:
        if kind == "jobs":
            pods = [pod for pod, one in self.objects["pods"].items() if one["metadata"]["labels"][JOB_NAME] == name]
            if self.keeps_pods and pods:
                return
            for pod in pods:
                self.drop("pods", pod)
        self.drop(kind, name)

    def refusal(self, method: str, path: str) -> tuple[int, str] | None:
        for number, (one, where, status, message, times) in enumerate(self.refusals):
            if one == method and where in path and times:
                self.refusals[number] = (one, where, status, message, times - 1)
                return status, message
        return None

    def _uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def _tell(self, type_: str, kind: str, found: dict) -> None:
        self._history.append((kind, type_, found))
        self.changed.notify_all()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeKubernetes
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self._begins():
            return
        path, query = self._path()
        if path == "/apis/kueue.x-k8s.io":
            self._answer(200, {"preferredVersion": {"version": "v1beta2"}})
        elif path.endswith("/log"):
            self._log(path.split("/")[-2], query)
        elif "watch" in query:
            self._watch(self._kind(path), query)
        else:
            with self.fake.changed:
                found = [one for one in self.fake.objects[self._kind(path)].values() if _matches(one, query)]
                self._answer(200, {"items": found, "metadata": {"resourceVersion": str(len(self.fake._history))}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, _ = self._path()
        # A lost answer: the object is made, and nobody is told.
        is_lost = self.fake.refusal("LOSE", path) is not None
        if not is_lost and not self._begins():
            return
        is_made = self.fake.create(self._kind(path), body)
        if is_lost:
            self._cut()
            return
        self._answer(*((201, body) if is_made else (409, {"message": "already exists"})))

    def do_DELETE(self) -> None:
        if self._begins():
            path, _ = self._path()
            *_, kind, name = path.split("/")
            self.fake.delete(kind, name)
            self._answer(200, {})

    def _begins(self) -> bool:
        with self.fake.changed:
            self.fake.asked.append((self.command, self.path))
            self.fake.changed.notify_all()
        token = (self.fake.account / "token").read_text()
        if self.headers["Authorization"] != f"Bearer {token}":
            self._answer(401, {"message": "Unauthorized"})
            return False
        if refusal := self.fake.refusal(self.command, self.path):
            self._answer(refusal[0], {"message": refusal[1]})
            return False
        return True

    def _path(self) -> tuple[str, dict[str, str]]:
        split = urlsplit(self.path)
        return split.path, {name: one[0] for name, one in parse_qs(split.query).items()}

    @staticmethod
    def _kind(path: str) -> str:
        return re.search(r"/(jobs|pods|workloads|events|podgroups)\b", path)[1]

    def _answer(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _watch(self, kind: str, query: dict[str, str]) -> None:
        at = int(query["resourceVersion"])
        self._chunks()
        while True:
            with self.fake.changed:
                self.fake.changed.wait_for(lambda at=at: len(self.fake._history) > at)
                events, at = self.fake._history[at:], len(self.fake._history)
            for of, type_, found in events:
                if of == "line":
                    self._chunk(f"{type_}\n")
                elif of == "gone":
                    self._chunk(json.dumps({"type": "ERROR", "object": {"code": 410}}) + "\n")
                elif of == "cut" or (of == kind and _matches(found, query)):
                    if of == "cut":
                        self._cut()
                        return
                    self._chunk(json.dumps({"type": type_, "object": found}) + "\n")

    def _log(self, pod: str, query: dict[str, str]) -> None:
        key, at = f"{pod}/{query['container']}", 0
        self._chunks()
        while True:
            with self.fake.changed:
                known = self.fake.objects["pods"].get(pod)
                is_over = known is None or known["status"]["phase"] in {"Failed", "Succeeded"}
                lines = self.fake.logs.get(key, [])[at:]
                if not lines and not is_over:
                    self.fake.changed.wait()
                    continue
            for line in lines:
                at += 1
                if line is None:
                    self.fake.logs[key][at - 1] = ""
                    self._cut()
                    return
                if line:
                    self._chunk(f"2026-01-01T00:00:00.{at:09d}Z {line}\n")
            if not lines:
                self.wfile.write(b"0\r\n\r\n")
                return


def _matches(found: dict, query: dict[str, str]) -> bool:
    labels = found["metadata"].get("labels", {})
    for term in filter(None, query.get("labelSelector", "").split(",")):
        name, equals, value = term.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    fields = dict(term.split("=") for term in query.get("fieldSelector", "").split(",") if term)
    uid = fields.get("involvedObject.uid")
    return uid is None or found["involvedObject"]["uid"] == uid


def _certificate(folder: Path) -> Path:
    """A certificate of 127.0.0.1, that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fake")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    (folder / "ca.crt").write_bytes(public)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(private + public)
    return folder / "server.pem"
