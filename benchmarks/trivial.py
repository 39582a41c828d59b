"""A workflow of STEPS steps that do nothing, each after the one before (SHAPE=chain) or all at once (SHAPE=fan)."""

import os
from itertools import pairwise

from hera.workflows import DAG, Container, Task, Workflow
from hera.workflows.models import Sequence

SHAPE, STEPS, PYTHON = (os.environ[name] for name in ("SHAPE", "STEPS", "PYTHON"))

with Workflow(generate_name=f"{SHAPE}-{STEPS}-", entrypoint="main") as workflow:
    nothing = Container(name="nothing", image="python:3.11", command=[PYTHON, "-c", "pass"])
    with DAG(name="main"):
        if SHAPE == "chain":
            tasks = [Task(name=f"step-{number}", template=nothing) for number in range(int(STEPS))]
            for before, after in pairwise(tasks):
                before >> after
        else:
            Task(name="step", template=nothing, with_sequence=Sequence(count=STEPS))
