"""Models with several targets; an explanation is about one of these targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class OneTarget:
    """A fitted model with several targets, used as a model of one of them.

    Parameters
    ----------
    model : the fitted model
    output : number of the target
    classes : labels of the target; empty if the target is a number

    Attributes
    ----------
    classes_ : (n_classes,) labels of the target
    """

    def __init__(self, model: Any, output: int, classes: npt.NDArray[Any]) -> None:
        self._model, self._output, self.classes_ = model, output, np.asarray(classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def whole(self) -> Any:
        """The model of all targets."""
        return self._model

    @property
    def output(self) -> int:
        """Number of the target."""
        return self._output

    @property
    def n_features_in_(self) -> int:
        """Number of columns that the model takes."""
        return int(self._model.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns; AttributeError if the model does not store them."""
        return np.asarray(self._model.feature_names_in_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n_rows,) the labels or numbers that the model predicts for the target."""
        given = self._model.predict(X)
        every = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
        return np.asarray(every.reshape(len(every), -1)[:, self._output])

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """(n_rows, n_classes) the probabilities that the model predicts for the classes of the target."""
        given = self._model.predict_proba(X)
        return np.asarray(given[self._output] if isinstance(given, list) else given)


def one_target(model: Any, output: int | None, classes: npt.NDArray[Any]) -> Any:
    """The model itself if ``output`` is None, else the model of the target with this number."""
    return model if output is None else OneTarget(model, output, classes)
