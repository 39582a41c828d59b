"""`argosy doctor`: whether a cluster is as argosy needs it."""

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.output import print_json


@click.command(cls=arguments.OnCluster, epilog="Example: argosy doctor")
@arguments.cluster("The cluster")
@arguments.as_json("the findings")
def doctor(cluster: str | None, *, as_json: bool) -> int:
    """Tell whether a cluster is ready for pipelines.

    Argo's server is asked for its version and its workflows, it is sent a push that nobody signed, and kubectl, where
    there is one, looks for what `argosy install` prints.

    Exit code: 0 nothing is wrong, 1 something is, 2 no cluster is known.
    """
    from dataclasses import asdict

    from argosy.pipelines.commands import anywhere
    from argosy.pipelines.install.examination import examine

    findings = []
    for finding in examine(anywhere.server(cluster).connection):
        findings.append(finding)
        if not as_json:
            click.echo(f"{finding.state:<8} {finding.question:<10} {finding.message}")
    is_well = all(finding.state != "failed" for finding in findings)
    if as_json:
        print_json({"ok": is_well, "findings": [asdict(finding) for finding in findings]})
    return 0 if is_well else 1
