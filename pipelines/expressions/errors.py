"""Errors of Argo's little languages: what is wrong, and the column where it was seen."""


class ExpressionError(ValueError):
    """Text that Argo would refuse. `column` counts characters from 1 and is None where no single place is to blame."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message if column is None else f"{message} (column {column})")
        self.message = message
        self.column = column

    def reworded(self, message: str, column: int | None = None) -> "ExpressionError":
        """An error of the same kind in other words."""
        return type(self)(message, column)


class UnresolvedTag(ExpressionError):  # noqa: N818 - it names the thing that is missing
    """A tag that must have a value by now has none. `tag` is its name, without braces."""

    def __init__(self, message: str, tag: str) -> None:
        super().__init__(message)
        self.tag = tag


class UnsupportedExpression(ExpressionError):  # noqa: N818 - it names what it is about
    """Argo might evaluate this, argosy cannot: it must never pass for an expression that has no value yet."""
