"""Every kind of gate, a person who decides where one cannot, and one who lets the model be published."""

from argosy.pipelines import (
    Accuracy,
    CustomGate,
    Dataset,
    Git,
    Latency,
    Memory,
    ModelSize,
    NotWorseThanChampion,
    Parity,
    Pipeline,
    Registry,
    Slices,
    Training,
)

pipeline = Pipeline(
    name="wards",
    dataset=Dataset("data/wards"),
    training=Training(task="wards.tasks:Wards"),
    gates=[
        Accuracy(metric="f1", at_least=0.8, cluster="patient", samples=500, looks=3, inconclusive="hold"),
        Slices(by="hospital", at_least=0.7, support=50),
        NotWorseThanChampion(margin=0.01, cluster="patient", inconclusive="pass"),
        Latency(quantile=0.99, at_most_ms=50, looks=2, arrivals_per_second=20),
        Memory(at_most_mib=2048),
        ModelSize(at_most_mib=100),
        Parity(at_most=1e-4),
        CustomGate(name="calibration-gate", function="wards.gates:calibration", at_most=0.05),
    ],
    registry=Registry("wards", approval=True),
    image="registry.example.org/wards:1",
    code=Git("https://git.example.org/team/wards.git"),
)

workflow = pipeline.workflow()
