"""The most memory that is held while the exported model is loaded and serves requests: a maximum, and no sample."""

import time
from itertools import islice

from argosy.steps.gate import exported
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.device import Device
from argosy.steps.gate.requests import requests
from argosy.steps.gate.verdict import AT_MOST, Measurement
from argosy.steps.gates import GateOutput, MemoryInput

MIB = 2**20


def run(inputs: MemoryInput) -> GateOutput:
    """Raises StepError (DATA) when the model or the data is missing or damaged."""
    started = time.monotonic()
    model = exported.load(inputs)
    for batch in islice(requests(model, inputs, inputs.batch_size), inputs.requests):
        model.request(batch)
    model.device.synchronise()
    return concluded(inputs, measurement(model.device, inputs), inputs.at_most_mib, AT_MOST, started)


def measurement(device: Device, inputs: MemoryInput) -> Measurement:
    peak = device.peak_bytes() / MIB
    metric = "peak memory" if device.name == "cpu" else "peak GPU memory"
    conditions = f"over loading and {inputs.requests} requests of {inputs.batch_size}"
    return Measurement.exact(metric, "MiB", peak, inputs.requests, conditions)
