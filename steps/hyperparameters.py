"""What argosy's training loop asks of every task's hyperparameters. Needs pydantic only: pipelines import it too."""

from pydantic import BaseModel, ConfigDict, Field


class Hyperparameters(BaseModel):
    """The two that the loop itself reads. A task adds its own: scalar fields with defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: int = Field(default=10, ge=1, description="passes over the training samples")
    batch_size: int = Field(default=64, ge=1, description="samples in an optimiser step, all ranks together")
