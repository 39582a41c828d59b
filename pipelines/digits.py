"""The reference pipeline: handwritten digits, trained, judged and published. Copy it to begin one of your own."""

from argosy.pipelines import Accuracy, Checkpoints, Dataset, Latency, Pipeline, Registry, Resources, Training
from argosy.steps.digits_hyperparameters import DigitsHyperparameters

digits = Pipeline(
    name="digits",
    description="A small network that reads handwritten digits of 8 x 8 pixels",
    dataset=Dataset("data/digits"),
    training=Training(
        task="argosy.steps.digits:Digits",
        hyperparameters=DigitsHyperparameters(),
        ranks_per_node=2,
        resources=Resources(cpu=1.5, memory="4Gi"),
        checkpoints=Checkpoints(every="10s", keep=2),
    ),
    gates=[
        Accuracy(at_least=0.90, confidence=0.95),
        Latency(quantile=0.99, at_most_ms=50),
    ],
    registry=Registry("digits", alias="champion"),
    image="argosy/digits:0.1.0",
)

workflow = digits.workflow()
