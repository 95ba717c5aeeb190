"""What is proved about a fitted model, in pieces from which others make their texts."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from proofwood.estimators.base import ProvedClassifier
from proofwood.result import Part


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What is proved about a fitted model.

    Parameters
    ----------
    claim : what an optimal status says, in words, with the scope
    parts : the quantities of the result that the user asked for, each with its own proof; empty where the objective
        of the result says all
    facts : more about the model, as pairs of a short name and a text
    """

    claim: str
    parts: tuple[Part, ...]
    facts: tuple[tuple[str, str], ...]


def proof_report(model: ProvedClassifier) -> ProofReport:
    """What is proved about ``model``; scikit-learn's NotFittedError before ``fit``."""
    check_is_fitted(model)
    return ProofReport(
        f"{model._claim()}{model.result_.within}", model._told_parts(model.result_), tuple(model._facts())
    )
