"""`argosy diff`: what two runs or models differ in."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments, completion

if TYPE_CHECKING:
    from argosy.pipelines.comparison.differences import Difference
    from argosy.pipelines.comparison.origin import Origin


@click.command(cls=arguments.OnCluster, epilog="Example: argosy diff digits-1a2b3c4d models:/digits@champion")
@click.argument("left", shell_complete=completion.runs)
@click.argument("right", shell_complete=completion.runs)
@arguments.cluster("Runs are on a cluster")
@arguments.TRACKING_URI
@arguments.as_json("the differences")
def diff(left: str, right: str, *, cluster: str | None, tracking_uri: str | None, as_json: bool) -> int:
    """Tell what two runs or models differ in.

    Code, data, parameters, image, packages, machine and result.

    LEFT and RIGHT are runs, here or with -c on a cluster, or registered models: models:/NAME@ALIAS, models:/NAME/3.
    Data is compared file by file, by its hashes; no data is read.

    Exit code: 0 nothing differs, 1 something does, 2 a mistake in the command.
    """
    from dataclasses import asdict

    from argosy.pipelines.commands.output import print_json
    from argosy.pipelines.comparison.differences import differences

    one, other = (_origin(name, cluster, tracking_uri) for name in (left, right))
    found = differences(one, other, itemised)
    if as_json:
        print_json({"left": left, "right": right, "differences": [asdict(difference) for difference in found]})
    else:
        click.echo("\n".join(lines(found, left, right)) or f"{left} and {right} differ in nothing that is known")
        _tell_of_code(found)
    return 1 if found else 0


def itemised(pin: object) -> dict[str, str]:
    """The files of pinned data, path -> md5. Raises Mistake."""
    from argosy.pipelines.commands import place, stepping
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.steps.contracts import Step

    fields = {"project": str(place.project()), "dataset_pin": pin}
    try:
        files: dict[str, str] = stepping.outputs(Step.ITEMISE, fields, "asking the remote for its files")["files"]
    except stepping.StepBrokenError as error:
        raise Mistake(f"the files of the data are not known: {error}") from None
    return files


def lines(found: "list[Difference]", left: str, right: str) -> list[str]:
    """A table under its headings."""
    told: list[str] = []
    heading = None
    for one in found:
        if one.heading != heading:
            told.append(one.heading)
            heading = one.heading
        told += [f"  {one.what}".rstrip() or f"  {one.heading}", f"    - {one.left}", f"    + {one.right}"]
    return [f"- {left}", f"+ {right}", "", *told] if told else []


def _origin(name: str, cluster: str | None, tracking_uri: str | None) -> "Origin":
    from argosy.pipelines.commands import anywhere, registered
    from argosy.pipelines.comparison import origin

    if name.startswith(registered.SCHEME):
        return origin.of_recipe(name, registered.recipe(name, tracking_uri))
    run = anywhere.find(cluster, name)
    return origin.of_run(run.workflow(), run.view())


def _tell_of_code(found: "list[Difference]") -> None:
    """Which command shows what the commits differ in, where both are here."""
    from argosy.pipelines.commands import place, revision
    from argosy.pipelines.comparison.differences import Heading

    for one in (one for one in found if one.heading is Heading.CODE):
        left, right = one.left.removesuffix(revision.DIRTY), one.right.removesuffix(revision.DIRTY)
        if told := revision.stat(left, right, place.project()):
            click.echo(f"\ngit diff {left[:12]} {right[:12]}\n{told}")
