"""Answers that are pickled without their model, and get it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from proofwood.ensembles.explained import Explained, model_of
from proofwood.ensembles.outline import Outline
from proofwood.model.node_table import FloatArray


class Kept(ABC):
    """An answer that is pickled with the outline of its model. A copy is the answer itself: nothing changes it."""

    model: Any

    @abstractmethod
    def _outlined(self) -> dict[str, Any]:
        """The attributes that are pickled in place of those that lean on the whole model, ``model`` among them."""

    def __getstate__(self) -> dict[str, Any]:
        other = {} if isinstance(self.model, Outline) else self._outlined()
        return {**self.__dict__, **other}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Rejoined(Kept):
    """An answer that gets the model back that a pickle did not keep."""

    def with_model(self, model: Any) -> Self:
        """The same answer with its model, after it was loaded from a pickle, which does not keep the model.

        Parameters
        ----------
        model : the Explainer that gave the answer, or one of the same model with the same options

        Raises
        ------
        TypeError, ValueError
            If it is something else, or another model.
        """
        whole = model_of(self.model, model, self._of_row())
        return self._joined(whole, self.model) if isinstance(self.model, Outline) else self

    def _of_row(self) -> FloatArray | None:
        """The row (n_inputs,) that the answer is about, if it is about one."""
        return None

    @abstractmethod
    def _joined(self, whole: Explained, outline: Outline) -> Self:
        """The same answer about the model, not about its outline."""
