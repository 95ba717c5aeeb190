"""Load model files of XGBoost, LightGBM and CatBoost with their library, and compare the result with the file.

A library ignores unknown fields: an older release loads the file of a later one, and may predict something else.
Therefore the file is also read here, where all fields must be known, and the library must have loaded the same trees.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from proofwood.ensembles.readers import catboost_file, lightgbm_file, xgboost_file
from proofwood.ensembles.readers.catboost import text_of as text_of_catboost
from proofwood.ensembles.readers.catboost_sizes import BINARY, bytes_of_cbm
from proofwood.ensembles.readers.lightgbm import text_of as text_of_lightgbm
from proofwood.files import bytes_of_json, read_permitted, require_room

FILES = "a file of trees in ONNX, or of XGBoost (.json, .ubj), LightGBM (.txt) or CatBoost (.cbm, .json)"
"""The kinds of files that can be read, for messages."""
MODULES = {"XGBoost": "xgboost", "LightGBM": "lightgbm", "CatBoost": "catboost"}
"""The Python module of each library."""
SIZES_OF_UBJSON = b"iUIlL"
"""Type bytes that may follow the first bracket of UBJSON; JSON has a quotation mark or a blank there."""


def library_of(path: Path) -> str | None:
    """The library that wrote a model file, recognised by its content; None if the library is not known.

    Raises
    ------
    ValueError
        If the file is a dump of trees, which no library can load.
    """
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(BINARY):
        return "CatBoost"
    if start.startswith((b"tree\nversion=", b"tree\r\nversion=")):
        return "LightGBM"
    if start[:1] == b"{" and start[1:2] in SIZES_OF_UBJSON and start[1:2]:
        return "XGBoost"
    if start.lstrip()[:1] not in (b"{", b"["):
        return None
    data = content_of(path)
    require_room(path, bytes_of_json(data), len(data))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):
        found = found[0] if found else {}
    keys = set(found) if isinstance(found, dict) else set()
    if "tree_info" in keys or "nodeid" in keys:
        raise ValueError(
            f"{path} is a dump of trees (dump_model), which no library can load: expected a file written by save_model"
        )
    if "learner" in keys:
        return "XGBoost"
    return "CatBoost" if keys & {"oblivious_trees", "features_info"} else None


def content_of(path: Path) -> bytes:
    """The bytes of a model file; ValueError if the file is larger than permitted."""
    data, refusal = read_permitted(path)
    if refusal is not None:
        raise ValueError(refusal)
    return data


def opened(model: Any) -> Any:
    """Load the model if ``model`` is the path of an XGBoost, LightGBM or CatBoost file; else return it unchanged.

    Raises
    ------
    ImportError
        If the library is not installed; the message names the library and the command that installs it.
    TypeError
        If the file has an unknown field, or the installed release reads it as a different model.
    ValueError
        If the file is damaged.
    """
    if not isinstance(model, str | Path):
        return model
    path = Path(model)
    library = library_of(path) if path.is_file() else None
    return model if library is None else loaded(path, library)


def loaded(path: Path, library: str) -> Any:
    """Load the model from a file of a library; see :func:`opened` for the errors.

    If XGBoost's scikit-learn class wrote the file, the result is of this class, and it predicts with the trees up to
    the best round if training stopped early. An XGBoost ``Booster`` predicts with all its trees.
    """
    try:
        module = importlib.import_module(MODULES[library])
    except ImportError as error:
        raise ImportError(
            f'{path} is a model of {library}, which is not installed: install it with pip install "proofwood[boost]"'
        ) from error
    loaders: dict[str, Callable[[ModuleType, Path], tuple[Any, bool, str]]] = {
        "XGBoost": _xgboost,
        "LightGBM": _lightgbm,
        "CatBoost": _catboost,
    }
    try:
        found, same, written_by = loaders[library](module, path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the file contains damaged text ({error})") from error
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from error
    if not same:
        raise TypeError(
            f"{path} was written by {library} {written_by}, and the installed version {module.__version__} "
            "reads it as a different model: install the version that wrote it, or a later one "
            f"(pip install --upgrade {module.__name__})"
        )
    return found


def _xgboost(xgboost: ModuleType, path: Path) -> tuple[Any, bool, str]:
    raw = content_of(path)
    given = xgboost_file.saved(raw)
    installed = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
    if installed < given.since or (given.before is not None and installed >= given.before):
        wanted = f"{'.'.join(map(str, given.since))} or later"
        if given.before is not None:
            wanted = f"before {'.'.join(map(str, given.before))}"
        raise TypeError(
            f"the file was written by XGBoost {given.written_by}. The installed XGBoost {xgboost.__version__} reads "
            f"this layout wrongly, or crashes on it: expected XGBoost {wanted}"
        )
    wrapper = json.loads(given.attributes.get("scikit_learn", "{}")).get("_estimator_type")
    kinds = {"classifier": "XGBClassifier", "regressor": "XGBRegressor", "ranker": "XGBRanker"}
    model = getattr(xgboost, kinds.get(wrapper, "Booster"))()
    try:
        model.load_model(bytearray(raw))
        booster = model if wrapper not in kinds else model.get_booster()
        again = xgboost_file.saved(bytes(booster.save_raw(raw_format="ubj")))
    except xgboost.core.XGBoostError as error:
        raise ValueError(f"XGBoost {xgboost.__version__} cannot load the file: {str(error).splitlines()[0]}") from error
    return model, again.same(given), given.written_by


def _lightgbm(lightgbm: ModuleType, path: Path) -> tuple[Any, bool, str]:
    given = lightgbm_file.saved(content_of(path).decode("utf-8").replace("\r\n", "\n"))
    try:
        model = lightgbm.Booster(model_file=path)
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"LightGBM {lightgbm.__version__} cannot load the file: {error}") from error
    return model, lightgbm_file.saved(text_of_lightgbm(model)).same(given), f"(format {given.version})"


def _catboost(catboost: ModuleType, path: Path) -> tuple[Any, bool, str]:
    data = content_of(path)
    binary = data.startswith(BINARY)
    if binary:
        require_room("the CatBoost model", bytes_of_cbm(data), len(data))
    given = None if binary else catboost_file.saved(data.decode("utf-8"))
    form = "cbm" if binary else "json"

    def load(kind: str) -> Any:
        try:
            return getattr(catboost, kind)().load_model(str(path), format=form)
        except catboost.CatBoostError as error:
            why = str(error).splitlines()[0]
            raise ValueError(f"CatBoost {catboost.__version__} cannot load the file: {why}") from error

    plain = load("CatBoost")
    again = catboost_file.saved(text_of_catboost(plain))
    try:
        kind = "CatBoostClassifier" if len(plain.classes_) else "CatBoostRegressor"
    except catboost.CatBoostError as error:
        raise ValueError(f"CatBoost cannot read the classes of the model: {str(error).splitlines()[0]}") from error
    return load(kind), given is None or again.same(given), again.written_by
