"""`argosy data`: datasets, before they are put under DVC."""

import click

from argosy.pipelines.commands import arguments
from argosy.pipelines.commands.mistake import Mistake

SPLITS = ("train", "validation", "test")


@click.group(epilog="Example: argosy data pack raw/train --out data/digits")
def data() -> None:
    """Prepare datasets for training."""


@data.command(epilog="Example: argosy data pack raw/train --out data/digits && dvc add data/digits")
@click.argument("folder", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Folder for the shards; it keeps those of other splits.")
@click.option(
    "--split", type=click.Choice(SPLITS), default="train", show_default=True, help="What the samples are for."
)
@click.option(
    "--bytes",
    "most_bytes",
    default="256M",
    show_default=True,
    callback=arguments.byte_count,
    help="Most bytes of a shard.",
)
def pack(folder: str, out: str, split: str, most_bytes: int) -> int:
    """Pack a folder of many small files into WebDataset shards.

    Writes SPLIT-000000.tar and so on, all of them or none, and reads them back. Files with the same path up to the
    first dot of their name are one sample, and stay together: img/0001.jpg and img/0001.cls are img/0001. The same
    files give the same bytes.

    An object store serves few large objects far quicker than many small ones.

    Exit code: 0 packed, 2 nothing was written, 130 interrupted.
    """
    import json
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    from argosy.steps import values

    with tempfile.TemporaryDirectory(prefix="argosy-") as output:
        folders = {"folder": str(Path.cwd() / folder), "out": str(Path.cwd() / out), "output": output}
        fields = {**folders, "split": split, "bytes": most_bytes}
        words = [f"--{name}={values.encode(value)}" for name, value in fields.items()]
        # -P: the user's modules in the working directory must not come before the libraries that it imports.
        done = subprocess.run([sys.executable, "-P", "-m", "argosy.steps.pack", *words], check=False)
        record = Path(output, "record.json")
        if done.returncode != 0 or not record.exists():
            return Mistake.exit_code
        click.echo(f"{out}: {json.loads(record.read_bytes())['summary']}; `dvc add {out}` puts it under DVC")
    return 0
