"""An exported model as a folder that MLflow's pyfunc loads: without pickle, and where argosy is not installed."""

import importlib.util
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.steps.exported_model import ModelCard

if TYPE_CHECKING:
    from mlflow.entities import LoggedModel

LOADER = "argosy_serving"
"""Name of the copy of `argosy.steps.serving` inside the package."""
REQUIREMENTS = ("torch", "numpy")


def package(model: Path, card: ModelCard, logged: "LoggedModel", scratch: Path) -> Path:
    """Makes the folder inside the scratch folder: the files of this logged model."""
    import numpy as np
    from mlflow import pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import Schema, TensorSpec

    loader = scratch / f"{LOADER}.py"
    shutil.copyfile(_serving(), loader)
    pyfunc.save_model(
        scratch / "model",
        loader_module=LOADER,
        data_path=str(model),
        code_paths=[str(loader)],
        mlflow_model=Model(
            artifact_path=logged.artifact_location,
            model_uuid=logged.model_id,
            run_id=logged.source_run_id,
            model_id=logged.model_id,
        ),
        signature=ModelSignature(
            inputs=Schema([TensorSpec(np.dtype(card.input_dtype), (-1, *card.input_shape))]),
            outputs=Schema([TensorSpec(np.dtype(card.output_dtype), (-1, *card.output_shape))]),
        ),
        # Given, not inferred: MLflow infers by importing the model in a child process, for seconds.
        pip_requirements=[f"{name}=={version(name)}" for name in REQUIREMENTS],
    )
    return scratch / "model"


def _serving() -> Path:
    """The loader's source, found without importing it and torch."""
    found = importlib.util.find_spec("argosy.steps.serving")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin)
