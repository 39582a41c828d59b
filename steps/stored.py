"""A manifest as one word of an argument list: short, and free of anything that Argo substitutes."""

import base64
import bz2


def packed(manifest: str) -> str:
    """The manifest's text, compressed: letters, digits, `+`, `/` and `=`. The same text gives the same word.

    By bzip2, whose one library gives the same bytes on every machine; zlib's descendants (zlib-ng, Apple's) do not.
    """
    return base64.b64encode(bz2.compress(manifest.encode())).decode()


def unpacked(word: str) -> str:
    """The text of a packed manifest. Raises ValueError for a word that `packed` has not made."""
    try:
        return bz2.decompress(base64.b64decode(word, validate=True)).decode()
    except (OSError, ValueError) as error:  # of base64 and of UTF-8 they are ValueErrors
        raise ValueError(f"is no packed manifest: {error}") from None
