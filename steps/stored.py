"""A manifest as one word of an argument list: short, and free of anything that Argo substitutes."""

import base64
import binascii
import zlib


def packed(manifest: str) -> str:
    """The manifest's text, compressed: letters, digits, `+`, `/` and `=`. The same text gives the same word."""
    return base64.b64encode(zlib.compress(manifest.encode(), 9)).decode()


def unpacked(word: str) -> str:
    """The text of a packed manifest. Raises ValueError for a word that `packed` has not made."""
    try:
        return zlib.decompress(base64.b64decode(word, validate=True)).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"is no packed manifest: {error}") from None
