"""Which sample a member of a shard belongs to, as webdataset says it (webdataset/tariterators.py)."""

import re

_METADATA = re.compile(rb"__[^/]*__($|/)")


def is_metadata(name: bytes) -> bool:
    """Whether webdataset passes over it (tar_file_iterator)."""
    return name.startswith(b"__") and _METADATA.match(name) is not None


def split(name: bytes) -> tuple[bytes, bytes] | None:
    """Key and extension: the name up to the first dot after its folders, and what follows. None: it has no extension.

    webdataset puts `folder/.hidden` into a sample named `folder/`; here it has no extension.
    """
    start = name.rfind(b"/") + 1
    dot = name.find(b".", start)
    if dot <= start or dot == len(name) - 1:
        return None
    return name[:dot], name[dot + 1 :]


def text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
