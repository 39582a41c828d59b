"""A fake of the Argo server, behind real sockets: workflows in memory, and faults as they are ordered.

It shows what no real server can be made to do at the right moment: lose an answer, break off a stream, answer with
garbage. What it does without faults is Argo's (server/workflow/workflow_server.go).
"""

import json
import re
import socket
import struct
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "Bearer planted-secret"
NAMESPACE = "ml"
RUN = re.compile(rf"/api/v1/workflows/{NAMESPACE}/([^/]+)(?:/(log|stop|retry|resume))?")


@dataclass
class Asked:
    """A request that came."""

    kind: str
    name: str
    query: dict
    body: dict | None
    headers: dict


class FakeArgo:
    """Workflows by name; `faults[kind]` are done one after another in place of the ordinary answer to such a request.

    Kinds: create, list, get, stop, retry, resume, events, log, artifact. A fault is called with the handler; one that
    returns True lets the ordinary answer follow.
    """

    def __init__(self):
        self.workflows = {}
        self.logs = defaultdict(list)  # (pod, container) -> lines
        self.artifacts = {}  # node -> text
        self.faults = defaultdict(deque)
        self.asked = []
        self.changed = threading.Condition()
        self.history = []  # (resource version, kind, workflow)
        self.on_create = lambda workflow: workflow.setdefault("status", {})
        self._start(0)

    def _start(self, port):
        handler = type("Handler", (Handler,), {"argo": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.is_up = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        """Streams break off, and nothing listens any more."""
        self._server.shutdown()
        self._server.server_close()
        with self.changed:
            self.is_up = False
            self.changed.notify_all()

    def restart(self):
        self._start(self.port)

    def put(self, workflow, kind="MODIFIED"):
        """A workflow is as given from now on, and whoever watches is told."""
        with self.changed:
            version = len(self.history) + 1
            workflow = json.loads(json.dumps(workflow))
            workflow["metadata"]["resourceVersion"] = str(version)
            self.history.append((version, kind, workflow))
            if kind == "DELETED":
                self.workflows.pop(workflow["metadata"]["name"], None)
            else:
                self.workflows[workflow["metadata"]["name"]] = workflow
            self.changed.notify_all()

    def of(self, kind):
        return [one for one in self.asked if one.kind == kind]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    argo: FakeArgo

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the client, or a fault, has closed the connection
            self.close_connection = True

    def _answer(self):
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        kind, name = self._kind(unquote(url.path))
        self.argo.asked.append(Asked(kind, name, query, body, dict(self.headers)))
        faults = self.argo.faults[kind]
        if faults and not faults.popleft()(self):
            return
        if self.headers.get("Authorization") != TOKEN:
            self.say(401, {"code": 16, "message": "token not valid"})
            return
        getattr(self, f"_{kind}")(name, query, body)

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - the names that http.server asks for

    def _kind(self, path):
        if path == f"/api/v1/workflows/{NAMESPACE}":
            return ("create" if self.command == "POST" else "list"), ""
        if found := RUN.fullmatch(path):
            return found[2] or "get", found[1]
        if path.startswith(f"/artifact-files/{NAMESPACE}/workflows/"):
            return "artifact", path.split("/")[5]
        return ("events" if path == f"/api/v1/workflow-events/{NAMESPACE}" else "elsewhere"), path

    def say(self, status, answer):
        content = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _elsewhere(self, *_):
        self.say(403, {"code": 7, "message": 'workflows is forbidden: User "x" cannot list in namespace "other"'})

    def _create(self, _name, _query, body):
        workflow = body["workflow"]
        name = workflow["metadata"]["name"]
        if name in self.argo.workflows:
            self.say(409, {"code": 6, "message": f'workflows.argoproj.io "{name}" already exists'})
            return
        workflow["metadata"] |= {"namespace": NAMESPACE, "creationTimestamp": "2026-01-01T00:00:00Z"}
        self.argo.on_create(workflow)
        self.argo.put(workflow, "ADDED")
        self.say(200, self.argo.workflows[name])

    def _list(self, _name, query, _body):
        label = query.get("listOptions.labelSelector")
        items = [one for one in self.argo.workflows.values() if not label or label in one["metadata"].get("labels", {})]
        self.say(200, {"metadata": {}, "items": items or None})

    def _get(self, name, *_):
        if name not in self.argo.workflows:
            self.say(404, {"code": 5, "message": f'workflows.argoproj.io "{name}" not found'})
        else:
            self.say(200, self.argo.workflows[name])

    def _stop(self, name, *_):
        workflow = self.argo.workflows[name]
        if workflow["status"].get("phase") in ("Succeeded", "Failed", "Error"):
            self.say(500, {"code": 13, "message": "cannot shutdown a completed workflow"})
            return
        workflow["status"] |= {"phase": "Failed", "message": "Stopped with strategy 'Stop'"}
        self.argo.put(workflow)
        self.say(200, workflow)

    def _retry(self, name, *_):
        workflow = self.argo.workflows[name]
        phase = workflow["status"].get("phase")
        if phase not in ("Failed", "Error"):
            self.say(400, {"code": 3, "message": f"Cannot retry a workflow in phase {phase}"})
            return
        workflow["status"]["phase"] = "Running"
        self.argo.put(workflow)
        self.say(200, workflow)

    def _resume(self, name, _query, body):
        workflow = self.argo.workflows[name]
        selector = (body or {}).get("nodeFieldSelector", "")
        paused = [node for node in workflow["status"]["nodes"].values() if _is_paused(node)]
        meant = [node for node in paused if not selector or selector == f"id={node['id']}"]
        if selector and not meant:
            self.say(
                400, {"code": 3, "message": "currently, set only targets suspend nodes: no suspend nodes matching"}
            )
            return
        for node in meant:
            node |= {"phase": "Succeeded", "message": "Resumed by: map[User:ada]", "finishedAt": "2026-01-01T00:00:09Z"}
        if len(meant) == len(paused):
            workflow["status"] |= {"phase": "Succeeded", "finishedAt": "2026-01-01T00:00:10Z"}
        self.argo.put(workflow)
        self.say(200, workflow)

    # ------------------------------------------------------------------------------------------ streams

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def send(self, result):
        self.chunk(b"data: " + json.dumps({"result": result}).encode() + b" \n\n")

    def break_off(self):
        self.close_connection = True
        self.connection.close()

    def _events(self, _name, query, _body):
        name = query["listOptions.fieldSelector"].removeprefix("metadata.name=")
        seen = int(query["listOptions.resourceVersion"])
        self.begin_stream()
        self.chunk(b":\n")
        while True:
            with self.argo.changed:
                while len(self.argo.history) == seen and self.argo.is_up:
                    self.argo.changed.wait()
                news, seen = self.argo.history[seen:], len(self.argo.history)
            if not self.argo.is_up:
                self.break_off()
                return
            for _, kind, workflow in news:
                if workflow["metadata"]["name"] == name:
                    self.send({"type": kind, "object": workflow})

    def _log(self, _name, query, _body):
        container = query["logOptions.container"]
        self.begin_stream()
        for (pod, where), lines in self.argo.logs.items():
            if where == container and query.get("podName") in (None, "", pod):
                for line in lines[-int(query.get("logOptions.tailLines", len(lines)) or 1) :]:
                    self.send({"content": line, "podName": pod})
        self.chunk(b"")

    def _artifact(self, node, *_):
        self.say(200, self.argo.artifacts[node].encode())


def _is_paused(node):
    return node["type"] == "Suspend" and node["phase"] == "Running"


def resets(handler):
    """A fault: the connection is reset before anything is done."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.break_off()
