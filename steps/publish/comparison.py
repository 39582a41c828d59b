"""A comparison with the champion, made again where another version has become champion since."""

from argosy.steps.errors import configuration_error
from argosy.steps.gates import ChampionInput, Verdict
from argosy.steps.registry import PublishInput


def again(inputs: PublishInput, gate: str) -> Verdict:
    """The gate's verdict on the version that holds the alias now.

    Raises StepError: CONFIGURATION when the data is not here, else as the gate does.
    """
    if inputs.cache is None:
        raise configuration_error(
            f"{gate}: another version is {inputs.alias} now; give --cache, whose data it takes to compare again"
        )
    # It needs torch, which publishing does not.
    from argosy.steps.gate.champion import run

    output = inputs.output / gate
    output.mkdir(parents=True, exist_ok=True)
    compared = ChampionInput(
        **inputs.comparisons[gate].model_dump(),
        output=output,
        gate=gate,
        task=inputs.task,
        cache=inputs.cache,
        dataset_hash=inputs.dataset_hash,
        models=inputs.models,
        model=inputs.model,
        model_hash=inputs.model_hash,
        revision=inputs.revision,
        registry=inputs.registry,
        alias=inputs.alias,
        tracking_uri=inputs.tracking_uri,
        folder=inputs.folder,
    )
    return run(compared).verdict
