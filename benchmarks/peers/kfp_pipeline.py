"""Runs a KFP pipeline of trivial steps on this machine: `kfp_pipeline.py chain|fan N`."""

import sys

from kfp import dsl, local

shape, steps = sys.argv[1], int(sys.argv[2])


@dsl.component(install_kfp_package=False)
def nothing() -> None:
    pass


@dsl.pipeline
def chain() -> None:
    before = nothing()
    for _ in range(steps - 1):
        after = nothing()
        after.after(before)
        before = after


@dsl.pipeline
def fan() -> None:
    with dsl.ParallelFor(list(range(steps))):
        nothing()


local.init(local.SubprocessRunner(use_venv=False))
{"chain": chain, "fan": fan}[shape]()
