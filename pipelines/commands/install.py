"""`argosy install`: all that a namespace needs, for kubectl or GitOps."""

from typing import Any

import click


@click.command(epilog="Example: argosy install -n vision --mlflow https://mlflow.example.org | kubectl apply -f -")
@click.option("-n", "--namespace", default="argosy", show_default=True, help="The namespace.")
@click.option(
    "--cache", type=click.Choice(["node", "claim", "scratch"]), default="node", show_default=True,
    help="Where datasets are cached: a folder of each node, a claim, or a folder of each pod.",
)  # fmt: skip
@click.option("--node-folder", metavar="PATH", help="The folder of each node.  [default: /var/lib/argosy/cache]")
@click.option("--image", metavar="IMAGE", help="Image with Python, for a DaemonSet that gives that folder to the pods.")
@click.option("--storage-class", metavar="NAME", help="Storage class of the claims.")
@click.option(
    "--access-mode", type=click.Choice(["ReadWriteMany", "ReadWriteOnce"]), default="ReadWriteMany", show_default=True,
    help="Of the claims. ReadWriteOnce is enough where all pods share a node.",
)  # fmt: skip
@click.option("--models-size", metavar="SIZE", help="Of the claim for checkpoints and models.  [default: 50Gi]")
@click.option("--registry-size", metavar="SIZE", help="Of the claim for MLflow's files.  [default: 10Gi]")
@click.option("--cache-size", metavar="SIZE", help="Of the claim for datasets.  [default: 100Gi]")
@click.option("--staging-limit", metavar="PODS", type=int, help="Of pods that stage at a time.  [default: 4]")
@click.option("--queue", metavar="NAME", help="LocalQueue of Kueue, which starts trainings on several nodes.")
@click.option("--mlflow", metavar="URL", help="MLflow server. Without one, MLflow's files lie on a claim.")
@click.option("--s3-endpoint", metavar="URL", help="S3 server.")
@click.option("--artifact-bucket", metavar="NAME", help="Bucket for reports that the Argo UI shows.")
@click.option("--git", metavar="URL", help="Git server that code is fetched from.")
@click.option("--kubernetes-api", metavar="NETWORK:PORT", multiple=True, help="Where the Kubernetes API is.")
@click.option("--egress", metavar="NETWORK:PORT", multiple=True, help="Where the stores are; or namespace/NAME.")
def install(**options: Any) -> None:  # noqa: ANN401 - checked by the noun
    """Print all objects that a namespace needs.

    They are printed as YAML, the same bytes for the same options: apply them by kubectl, or commit them for GitOps. No
    secret is among them; what is left to do, secrets among it, is told on standard error.
    """
    from argosy.pipelines.errors import Problem, SpecError
    from argosy.pipelines.install.everything import objects
    from argosy.pipelines.install.notes import notes
    from argosy.pipelines.install.objects import printed
    from argosy.pipelines.install.settings import Installation

    try:
        settings = Installation(**{name: value for name, value in options.items() if value is not None})
    except SpecError as error:
        raise SpecError([Problem(_option(one.where), one.what, one.remedy) for one in error.problems]) from None
    click.echo(printed(objects(settings)), nl=False)
    for paragraph in notes(settings):
        click.echo(f"\n{paragraph}", err=True)


def _option(field: str) -> str:
    """`Installation.egress[0]` is `--egress` on the command line."""
    return "--" + field.rpartition(".")[2].partition("[")[0].replace("_", "-")
