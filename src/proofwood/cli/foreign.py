"""Loading of models of any supported package from files, for explanations."""

# Imports inside functions are of modules that load numpy or joblib, so that --help starts at once.

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proofwood.exceptions import DataError

if TYPE_CHECKING:
    from proofwood.ensembles.explained import Explained
    from proofwood.ensembles.readers.reading import Adapted


def load_model(path: Path, *, trust_pickle: bool = False) -> Any:
    """Load a model: proofwood (JSON), ONNX, XGBoost, LightGBM, CatBoost, or any from a pickle if ``trust_pickle``.

    Raises
    ------
    DataError
        If the file does not exist, cannot be read, or is a pickle without ``trust_pickle``.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}: expected a model from 'proofwood fit --out', pickle or joblib")
    if path.suffix.lower() == ".onnx":
        return _onnx(path)
    native = _native(path)
    if native is not None:
        return native
    with path.open("rb") as file:
        is_json = file.read(64).lstrip()[:1] == b"{"
    if is_json:
        from proofwood.estimators.saving import load

        return load(path)
    if not trust_pickle:
        raise DataError(
            f"{path} is neither a JSON model of proofwood nor a model file of XGBoost, LightGBM, CatBoost or ONNX. If "
            "pickle or joblib wrote it, loading the file runs any code in it, with your rights, before anything can be "
            "checked. If you made the file, or trust the person who made it, add --trust-pickle."
        )
    import joblib

    try:
        return joblib.load(path)
    except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be loaded as a pickle ({type(error).__name__}: {error})") from error


def isolation_forest(path: Path | None, least_score: float | None, *, trust_pickle: bool) -> Any:
    """The value of ``plausible`` for an explainer: the isolation forest, with the least score if given, or None."""
    if path is None:
        if least_score is not None:
            raise DataError("--least-score needs --plausible FILE")
        return None
    forest = load_model(path, trust_pickle=trust_pickle)
    return forest if least_score is None else (forest, least_score)


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file with trees, and the names and number of its columns."""

    path: Path
    feature_names_in_: tuple[str, ...] | None
    n_features_in_: int


def _onnx(path: Path) -> OnnxFile:
    from proofwood.ensembles.readers.onnx import from_onnx

    try:
        forest = from_onnx(path, None).forest
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error
    return OnnxFile(path, forest.names, forest.n_columns)


def _native(path: Path) -> Any:
    """The model in a file of XGBoost, LightGBM or CatBoost; None for another file."""
    from proofwood.ensembles.readers.native_files import library_of, loaded

    try:
        library = library_of(path)
        return None if library is None else loaded(path, library)
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error


def columns_of(model: Any) -> tuple[tuple[str, ...] | None, int | None]:
    """The names and the number of the input columns of a model; each is None if the model does not store it.

    Default names that a booster makes up, such as ``Column_0``, count as no names.
    """
    model = getattr(model, "best_estimator_", model)  # a search around CatBoost may report no columns
    library = type(model).__module__.split(".")[0]
    names: Any = None
    n: Any = None
    if library == "catboost":
        names = model.feature_names_
        unnamed = [str(j) for j in range(len(names))]
    elif library == "lightgbm" and type(model).__name__ == "Booster":
        names = model.feature_name()
        unnamed = [f"Column_{j}" for j in range(len(names))]
    elif library == "xgboost" and type(model).__name__ == "Booster":
        names, n, unnamed = model.feature_names, model.num_features(), []
    else:
        names, n = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
        unnamed = [] if names is None else [f"Column_{j}" for j in range(len(names))]
    if names is None:
        return None, n
    found = tuple(str(name) for name in names)
    return (None if list(found) == unnamed else found), len(found)


def reading(model: Any, **settings: Any) -> Adapted:
    """Return ``reading_of(model)``; raise DataError if the model or a setting is not supported."""
    from proofwood.ensembles.explained import reading_of

    try:
        return reading_of(model.path if isinstance(model, OnnxFile) else model, **settings)
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error


def convert(model: Any, **settings: Any) -> Explained:
    """Return ``explained(model)``; raise DataError if the model or a setting is not supported."""
    from proofwood.ensembles.explained import explained

    try:
        return explained(model.path if isinstance(model, OnnxFile) else model, **settings)
    except (TypeError, ValueError, ImportError) as error:
        raise DataError(str(error)) from error
