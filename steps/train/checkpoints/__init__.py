"""Checkpoints that resume exactly: asynchronous, sharded, hashed, committed by a manifest, never trusted blindly."""

from argosy.steps.train.checkpoints.checkpoints import Checkpoints, Stateful
from argosy.steps.train.checkpoints.interval import Interval
from argosy.steps.train.checkpoints.store import Store, store

__all__ = ["Checkpoints", "Interval", "Stateful", "Store", "store"]
