"""Hyperparameters of the reference task. Needs pydantic only: its pipeline imports it too."""

from pydantic import Field

from argosy.steps.hyperparameters import Hyperparameters


class DigitsHyperparameters(Hyperparameters):
    epochs: int = Field(default=20, ge=1, le=1000, description="passes over the training samples")
    batch_size: int = Field(default=64, ge=1, le=1024, description="samples in an optimiser step, all ranks together")
    learning_rate: float = Field(default=0.003, gt=0, le=1, description="AdamW's step size")
    weight_decay: float = Field(default=0.01, ge=0, le=1, description="AdamW's decoupled weight decay")
    channels: int = Field(default=16, ge=1, le=256, description="channels of the first convolution")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="share of features dropped while training")
