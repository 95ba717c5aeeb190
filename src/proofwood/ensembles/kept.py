"""Answers, such as explanations, that are pickled without their model and can be joined with it again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from proofwood.ensembles.explained import Explained, model_of
from proofwood.ensembles.outline import Outline
from proofwood.model.node_table import FloatArray


class Kept(ABC):
    """An answer that is pickled with only an outline of its model. It never changes, so a copy is the same object."""

    model: Any

    @abstractmethod
    def _outlined(self) -> dict[str, Any]:
        """The attributes to pickle in place of ``model`` and of all others that need the whole model."""

    def __getstate__(self) -> dict[str, Any]:
        other = {} if isinstance(self.model, Outline) else self._outlined()
        return {**self.__dict__, **other}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Rejoined(Kept):
    """An answer to which its model can be attached again after unpickling."""

    def with_model(self, model: Any) -> Self:
        """Return the answer with its model, after loading the answer from a pickle, which does not contain the model.

        Parameters
        ----------
        model : the Explainer that gave the answer, or one of the same model with the same options

        Raises
        ------
        TypeError, ValueError
            If ``model`` is not an Explainer, or explains another model.
        """
        whole = model_of(self.model, model, self._of_row())
        return self._joined(whole, self.model) if isinstance(self.model, Outline) else self

    def _of_row(self) -> FloatArray | None:
        """The row (n_inputs,) that the answer is about; None if it is not about one row."""
        return None

    @abstractmethod
    def _joined(self, whole: Explained, outline: Outline) -> Self:
        """The same answer with the whole model in place of its outline."""
