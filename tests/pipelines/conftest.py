"""Runs as Argo writes them, without running anything."""

import zlib

import pytest

RUN = "run"
CLOCK = "2026-01-01T00:{:02}:{:02}Z"


def at(second):
    return CLOCK.format(*divmod(second, 60))


def identifier(name):
    return name if name == RUN else f"{RUN}-{zlib.crc32(name.encode())}"


@pytest.fixture
def node():
    """A node of a run as JSON. `name` is Argo's whole name; `start` and `end` are seconds; `outputs` are parameters."""

    def make(name, phase="Succeeded", kind="Pod", *, start=0, end=1, outputs=None, code=None, children=(), **fields):
        boundary = fields.pop("boundary", RUN if name != RUN and not name.endswith("run.onExit") else None)
        made = {
            "id": identifier(name),
            "name": name,
            "displayName": name.removeprefix(f"{boundary}.").rpartition("].")[2],
            "type": kind,
            "phase": phase,
            "templateName": fields.pop("template", "work"),
            "startedAt": at(start),
            "children": [identifier(child) for child in children],
            **fields,
        }
        if boundary:
            made["boundaryID"] = identifier(boundary)
        if phase not in ("Running", "Pending"):
            made["finishedAt"] = at(end)
        if outputs or code is not None:
            parameters = [{"name": key, "value": value} for key, value in (outputs or {}).items()]
            made["outputs"] = {"parameters": parameters} | ({} if code is None else {"exitCode": str(code)})
        return made

    return make


@pytest.fixture
def workflow(node):
    """A run as an Argo Workflow object; the entrypoint's own node comes first unless it is among the nodes."""

    def make(*nodes, phase="Succeeded", message="", parameters=None, end=60, kind="DAG"):
        own = [] if any(one["name"] == RUN for one in nodes) else [node(RUN, phase, kind, end=end)]
        status = {"phase": phase, "message": message, "startedAt": at(0)}
        if phase != "Running":
            status["finishedAt"] = at(end)
        status["nodes"] = {one["id"]: one for one in (*own, *nodes)}
        arguments = {"parameters": [{"name": key, "value": value} for key, value in (parameters or {}).items()]}
        return {"metadata": {"name": RUN}, "spec": {"arguments": arguments, "templates": []}, "status": status}

    return make
