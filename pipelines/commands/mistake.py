"""What a user can do wrong, told in one line with its remedy."""

import errno
from collections.abc import Iterable

import click

_ENVIRONMENT = {errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOTDIR}
"""No rights, no room, or a file in the way: nothing that a traceback would explain."""


class Mistake(click.ClickException):
    """Nothing was done; the message says what was wrong and what to do."""

    exit_code = 2


def unknown(kind: str, word: str, words: Iterable[str], otherwise: str) -> Mistake:
    """A name that names nothing."""
    from argosy.pipelines.names import suggestion  # difflib: only where a word was wrong

    return Mistake(f"there is no {kind} {word!r}; {suggestion(word, words, otherwise)}")


def told(error: Exception) -> str | None:
    """What to tell of an error; None for one that is no mistake of the user's, but one of argosy's."""
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "argosy"
        return f"{error.format_message()} `{command} --help` tells what can be given."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.errno in _ENVIRONMENT:
        return f"{error.filename or 'this machine'}: {error.strerror}; argosy must be able to write there"
    return str(error) if isinstance(error, _mistakes()) else None


def _mistakes() -> tuple[type[Exception], ...]:
    from argosy.pipelines.cluster.errors import ClusterError
    from argosy.pipelines.errors import Refusal
    from argosy.pipelines.identity import RunError
    from argosy.pipelines.local.store import DamagedError

    return Refusal, RunError, DamagedError, ClusterError
