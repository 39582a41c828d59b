"""JSON for scripts, on standard output."""

import click


def print_json(value: object) -> None:
    import json  # not needed by --help, whose time counts

    click.echo(json.dumps(value, indent=2))
