"""The tags under which argosy finds its own versions in MLflow, and what they say of one.

No lock guards a registry. The tags are written so that any of them may be the last before a kill.
"""

from enum import StrEnum

RUN_UID = "argosy.run_uid"
"""The run's unique id, under which its version is found again: what makes publishing happen once."""
RUN = "argosy.run"
"""The run's name, under which its training's metrics are found."""
ALIAS = "argosy.alias"
"""The alias that the version is published for."""
MODEL_HASH = "argosy.model_sha256"
GATE = "argosy.gate."
"""How the tag of a gate's reason begins."""
LEASE = "argosy.lease"
"""Changes while the version's publisher lives."""
DECISION = "argosy.decision"
"""What became of the version, one of `Decision`; none: it still waits for its turn."""
REASON = "argosy.decision_reason"
REPLACES = "argosy.replaces"
"""The version that the alias was at before: what a rollback goes back to."""
LONGEST = 8000  # mlflow/utils/validation.py, MAX_TAG_VAL_LENGTH


class Decision(StrEnum):
    CHAMPION = "champion"
    CHALLENGER = "challenger"
    """It is worse than the champion, or nobody can tell: it has the alias `challenger`."""
    SUPERSEDED = "superseded"
    """When its turn came, the alias was at a later version."""
    PASSED_OVER = "passed-over"
    """Its publisher fell silent before its turn; should it speak again, it decides as if nothing had been."""
    ROLLED_BACK = "rolled-back"
    """The alias was taken from it."""
