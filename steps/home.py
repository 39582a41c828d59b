"""A home for a process that has none: a pod's user is a number without a passwd entry, and its root is read-only.

Caches (DVC, matplotlib, Triton) lie below HOME unless told otherwise. torch asks for the user's name, and takes the
temporary folder for its own (torch/_inductor/runtime/cache_dir_utils.py, default_cache_dir).
"""

import getpass
import os
import tempfile

NAME = "argosy"


def ensure() -> None:
    """The environment names a home that can be written, and a user."""
    if not os.access(os.path.expanduser("~"), os.W_OK | os.X_OK):  # noqa: PTH111 - Path.home() fails without an entry
        os.environ["HOME"] = tempfile.gettempdir()
    try:
        getpass.getuser()
    except (KeyError, OSError):  # KeyError before Python 3.13
        os.environ["USER"] = NAME
