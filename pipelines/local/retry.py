"""Whether a failed step is tried again, and when (workflow/controller/operator.go:978: processNodeRetries)."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from argosy.pipelines import quantities
from argosy.pipelines import status as s
from argosy.pipelines.expressions import expr, tags
from argosy.pipelines.expressions.errors import ExpressionError
from argosy.pipelines.manifest import Backoff, RetryStrategy
from argosy.pipelines.status import Node

# Argo's own transient errors that a pod's message can show (util/errors/errors.go: IsTransientErr).
_TRANSIENT = re.compile(r"exceeded quota|connection reset|i/o timeout|TLS handshake timeout|connection refused|EOF")


class AmountError(ValueError):
    """A number or a duration in a manifest that is none."""


@dataclass(frozen=True)
class Again:
    """Try once more, after a pause."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Final:
    """The retried step ends as its last attempt did."""

    message: str


def decide(strategy: RetryStrategy, attempts: list[Node]) -> Again | Final:
    """What to do after the last attempt failed. Raises ExpressionError for an expression that cannot be evaluated."""
    last = attempts[-1]
    pause = 0.0
    if strategy.backoff:
        pause, futile = _backoff(strategy.backoff, attempts)
        if futile:
            return Final(futile)
    if not _policy_allows(strategy, last):
        return Final(last.message)
    limit = _limit(strategy)
    if limit is not None and len(attempts) > limit:
        return Final("No more retries left")
    if strategy.expression and not expr.evaluate(strategy.expression, tags.expand(_variables(attempts))):
        return Final("retryStrategy.expression evaluated to false")
    return Again(pause if limit is not None else 0.0)  # Argo waits only where there is a limit (operator.go:1088)


def attempt_variables(attempts: list[Node]) -> dict[str, str]:
    """What an attempt's template may name of the attempts before it (operator.go:2382)."""
    last = attempts[-1] if attempts else None
    exit_code = last.outputs.exit_code if last and last.outputs else None
    return {
        "retries": str(len(attempts)),
        "lastRetry.exitCode": exit_code or "0",
        "lastRetry.status": last.phase if last else "",
        "lastRetry.duration": f"{_duration(last):g}" if last else "0",
        "lastRetry.message": last.message if last else "",
    }


def _variables(attempts: list[Node]) -> dict[str, str]:
    """What a retry expression sees (operator.go:2050): an unknown exit code is -1 here."""
    last = attempts[-1]
    exit_code = last.outputs.exit_code if last.outputs else None
    return attempt_variables(attempts) | {"retries": str(len(attempts) - 1), "lastRetry.exitCode": exit_code or "-1"}


def _policy_allows(strategy: RetryStrategy, last: Node) -> bool:
    policy = strategy.retry_policy or ("Always" if strategy.expression else "OnFailure")
    if policy == "OnTransientError":
        return bool(_TRANSIENT.search(last.message))
    phases = {"Always": s.UNSUCCESSFUL, "OnFailure": {s.FAILED}, "OnError": {s.ERROR}}
    if policy not in phases:
        raise ExpressionError(f"{policy} is not a valid RetryPolicy")
    return last.phase in phases[policy]


def _limit(strategy: RetryStrategy) -> int | None:
    return None if strategy.limit is None else _whole(strategy.limit, "retryStrategy.limit")


def _backoff(backoff: Backoff, attempts: list[Node]) -> tuple[float, str]:
    """Seconds to wait, and why waiting is futile, if it is."""
    factor = _whole(backoff.factor or 1, "retryStrategy.backoff.factor")
    pause = seconds(backoff.duration) * factor ** (len(attempts) - 1)
    if backoff.cap:
        pause = min(pause, seconds(backoff.cap))
    if backoff.max_duration:
        spent = s.seconds_between(attempts[0].started_at or "", "")
        if spent > seconds(backoff.max_duration):
            return pause, "Max duration limit exceeded"
        if spent + pause > seconds(backoff.max_duration):
            return pause, "Backoff would exceed max duration limit"
    return pause, ""


def seconds(duration: str | int) -> float:
    """A duration as Argo reads it: a bare number is seconds (util/utils.go:9). Raises AmountError."""
    try:
        return quantities.pause_seconds(str(duration))
    except ValueError as error:
        raise AmountError(str(error)) from error


def time_limit(duration: str | int | None) -> float | None:
    """The seconds of a limit that may be left out; None for one that is. Raises AmountError."""
    return seconds(duration) if duration else None


def _whole(number: int | str, where: str) -> int:
    try:
        return int(number)
    except ValueError as error:
        raise AmountError(f"{where}: {number!r} is no whole number") from error


def _duration(node: Node) -> float:
    return s.seconds_between(node.started_at or datetime.now(UTC).isoformat(), node.finished_at or "")
