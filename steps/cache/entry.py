"""One file of a dataset."""

from typing import NamedTuple


class Entry(NamedTuple):
    """Where a file lies in the data, and what is in it."""

    path: str
    """Relative to the data's folder; checked by whoever read it from a list: no `..`, none twice, no file as folder."""
    md5: str
