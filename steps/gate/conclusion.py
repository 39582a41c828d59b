"""How each gate ends: judged, reported, and given as the step's output."""

import time

from argosy.steps.gate import report, verdict
from argosy.steps.gate.verdict import Direction, Measurement
from argosy.steps.gates import GateInput, GateOutput


def concluded(
    inputs: GateInput, measured: Measurement, threshold: float, direction: Direction, started: float
) -> GateOutput:
    """What the gate's step gives, its report being there already; `started` is on the monotonic clock.

    The record comes last, so a gate that is killed leaves a whole report or none, and has decided nothing.
    """
    judged = verdict.judge(inputs, measured, threshold, direction)
    report.write(inputs, measured, judged)
    return GateOutput(
        summary=f"{judged.answer}: {judged.reason}",
        seconds=time.monotonic() - started,
        answer=judged.answer,
        verdict=judged,
    )
