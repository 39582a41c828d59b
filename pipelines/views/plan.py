"""What gates need to be worth having, a line each."""

from collections.abc import Sequence

from argosy.pipelines.manifest import Json

UNKNOWN = "-"


def table(gates: Sequence[Json], power: float) -> str:
    """A row for each gate that samples can be planned for, and what there is to say of each."""
    headings = ("GATE", "THRESHOLD", "EXPECTED", "CAN PASS FROM", f"{100 * power:g} % PASS FROM", "SAMPLES", "PASS")
    rows = [headings, *(_cells(gate) for gate in gates if "needed" in gate)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(headings))]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    notes = [f"{gate['name']}: {gate['note']}" for gate in gates]
    return "\n".join([*(lines if len(rows) > 1 else []), *([""] if len(rows) > 1 else []), *notes])


def _cells(gate: Json) -> tuple[str, ...]:
    samples = f"{gate['samples'][-1]:,}" if gate["samples"] else UNKNOWN
    passes = UNKNOWN if gate["power"] is None else f"{100 * gate['power']:.1f} %"
    fewest, needed = (UNKNOWN if gate[key] is None else f"{gate[key]:,}" for key in ("fewest", "needed"))
    return gate["name"], f"{gate['threshold']:g}", f"{gate['expected']:g}", fewest, needed, samples, passes
