"""Models of any package from files, as explanations take them."""

# Imports inside functions are of modules that load numpy or joblib, so that --help starts at once.

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.exceptions import DataError

if TYPE_CHECKING:
    from proofwood.explain.model.explained import Explained


def load_model(path: Path, *, trust_pickle: bool = False) -> Any:
    """A model of proofwood from JSON, trees from ONNX, or, if its file is trusted, any model from a pickle.

    Raises
    ------
    DataError
        If there is no such file, it is a pickle that nobody vouched for, or it cannot be read.
    """
    if not path.is_file():
        raise DataError(f"no file {path}: expected a model, as 'proofwood fit --out', pickle or joblib write it")
    if path.suffix.lower() == ".onnx":
        return _onnx(path)
    with path.open("rb") as file:
        is_json = file.read(64).lstrip()[:1] == b"{"
    if is_json:
        from proofwood.estimators.saving import load

        return load(path)
    if not trust_pickle:
        raise DataError(
            f"{path} is no JSON model of proofwood. If it is a model that pickle or joblib wrote: loading such a file "
            "runs whatever code is in it, with your rights, before anything can be checked. If you made it yourself, "
            "or trust who did, add --trust-pickle."
        )
    import joblib

    try:
        return joblib.load(path)
    except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be loaded as a pickle ({type(error).__name__}: {error})") from error


def isolation_forest(path: Path | None, least_score: float | None, *, trust_pickle: bool) -> Any:
    """What says which rows are plausible, as an explainer takes it; DataError if it cannot be read."""
    if path is None:
        if least_score is not None:
            raise DataError("--least-score is for --plausible FILE")
        return None
    forest = load_model(path, trust_pickle=trust_pickle)
    return forest if least_score is None else (forest, least_score)


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file that could be read, with what it says of its columns."""

    path: Path
    feature_names_in_: tuple[str, ...] | None
    n_features_in_: int


def _onnx(path: Path) -> OnnxFile:
    from proofwood.explain.model.adapters.onnx import from_onnx

    try:
        forest = from_onnx(path, None).forest
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error
    return OnnxFile(path, forest.names, forest.n_columns)


def convert(model: Any, **settings: Any) -> Explained:
    """``explained(model)``; DataError where the model is of no supported kind, or is asked something else."""
    from proofwood.explain.model.explained import explained

    try:
        return explained(model.path if isinstance(model, OnnxFile) else model, **settings)
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error
