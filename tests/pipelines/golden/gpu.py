"""Every noun with something other than its default."""

from argosy.pipelines import (
    Accuracy,
    Checkpoints,
    Claim,
    Dataset,
    Git,
    Latency,
    Memory,
    Pipeline,
    Placement,
    Registry,
    Resources,
    Storage,
    Toleration,
    Training,
)

pipeline = Pipeline(
    name="segments",
    description="Four GPUs, code from git and an MLflow server",
    dataset=[
        Dataset("data/segments", only=["train-*.tar", "labels.csv"], resources=Resources(cpu="500m", memory="2Gi")),
        Dataset("data/hard/segments", name="hard-cases", resources=Resources(cpu=1.5, memory="512Mi")),
    ],
    training=Training(
        task="segments.task:Segments",
        ranks_per_node=4,
        resources=Resources(cpu=32, memory="256Gi", gpus=4),
        checkpoints=Checkpoints(every="10m", keep=3),
        grace="5m",
    ),
    gates=[
        Accuracy(at_least=0.8, confidence=0.99, split="validation"),
        Accuracy(name="hard-cases-gate", at_least=0.6),
        Latency(
            quantile=0.95, at_most_ms=12.5, batch_size=8, requests=500, resources=Resources(cpu=4, memory="8Gi", gpus=1)
        ),
        Memory(at_most_mib=4096),
    ],
    registry=Registry("segments", alias="candidate", tracking_uri="https://mlflow.example.org"),
    image="registry.example.org/segments@sha256:" + 64 * "0",
    seed=20200219,
    labels={"team": "vision", "branch": "feature/A_b"},
    placement=Placement(
        node_selector={"disktype": "nvme"},
        tolerations=[Toleration(key="nvidia.com/gpu", effect="NoSchedule"), Toleration(key="pool", value="training")],
    ),
    storage=Storage(
        cache=Claim("segments-cache", at_most="1.5Ti", at_most_files=2_000_000),
        staging="segments-staging",
        connections=64,
        at_most_mb_per_second=200,
        models_claim="models",
        data_environment="segments-data",
    ),
    code=Git("https://git.example.org/team/segments.git"),
    reports=True,
)

template = pipeline.workflow_template()
