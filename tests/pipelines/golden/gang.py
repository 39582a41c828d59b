"""Two to four nodes from a queue of Kueue's, with a script of the project's own and checkpoints in a bucket."""

from argosy.pipelines import (
    Accelerator,
    Accuracy,
    Checkpoints,
    Dataset,
    Nodes,
    Pipeline,
    Placement,
    Queue,
    Registry,
    Resources,
    Toleration,
    Topology,
    Training,
)
from argosy.steps.digits_hyperparameters import DigitsHyperparameters

pipeline = Pipeline(
    name="segments-large",
    dataset=Dataset("data/segments"),
    training=Training(
        task="segments.task:Segments",
        script="segments/train.py",
        hyperparameters=DigitsHyperparameters(),
        nodes=Nodes(at_least=2, at_most=4),
        queue=Queue("train", priority="high", topology=Topology("cloud.provider.com/topology-rack", required=True)),
        ranks_per_node=8,
        resources=Resources(
            cpu=64,
            memory="512Gi",
            gpus=8,
            accelerator=Accelerator(product="NVIDIA-H100-80GB-HBM3", memory_at_least="75Gi"),
        ),
        more_memory="768Gi",
        shared_memory="64Gi",
        loader_workers=6,
        environment={"NCCL_SOCKET_IFNAME": "eth0"},
        checkpoints=Checkpoints(every=None, hours_between_failures=12, keep=3, store="s3://training/checkpoints"),
        grace="5m",
        hang_factor=50,
        hang_after="10m",
    ),
    gates=[Accuracy(at_least=0.8)],
    registry=Registry("segments", tracking_uri="https://mlflow.example.org"),
    image="registry.example.org/segments@sha256:" + 64 * "0",
    placement=Placement(
        node_selector={"disktype": "nvme"}, tolerations=[Toleration(key="nvidia.com/gpu", effect="NoSchedule")]
    ),
)

workflow = pipeline.workflow()
