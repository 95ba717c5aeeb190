"""The parts of the proof of a fitted model, from which other modules make their texts."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from proofwood.estimators.classifier import ProvedClassifier
from proofwood.result import Part


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What is proved about a fitted model, in parts from which texts are made.

    Parameters
    ----------
    claim : the statement that status "optimal" proves, in words, with the scope
    parts : the quantities of the result that the user asked for, each with its own proof; empty if the result has only
        one quantity, its objective
    facts : more about the model, as pairs of a short name and a text
    """

    claim: str
    parts: tuple[Part, ...]
    facts: tuple[tuple[str, str], ...]


def proof_report(model: ProvedClassifier) -> ProofReport:
    """Return the :class:`ProofReport` of ``model``; raise scikit-learn's NotFittedError before ``fit``."""
    check_is_fitted(model)
    model = model._as_fitted()
    return ProofReport(
        f"{model._claim()}{model.result_.within}", model._told_parts(model.result_), tuple(model._facts())
    )
