"""Ensembles of node tables that vote with weights: forests, boosted trees, and single models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from proofwood import arguments
from proofwood.model import evaluate
from proofwood.model.node_table import FloatArray, IntArray, NodeTable

Vote = Literal["majority", "mean", "sum"]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """An ensemble: its members, their weights, and its kind of vote. Ties go to the lowest class code.

    Parameters
    ----------
    members : node tables over the same columns and classes
    weights : (n_members,) finite, not negative, not all 0; ones by default
    vote : the score that a member adds to each class, times its weight

        - ``"majority"``: 1 for the class that it predicts
        - ``"mean"``: its class probabilities; scores are divided by the sum of weights
        - ``"sum"``: the class weights of the leaf, unchanged

    Raises
    ------
    ValueError
        If members are missing, members have different numbers of classes, or a weight is out of range.
    """

    members: tuple[NodeTable, ...]
    weights: FloatArray | None = None
    vote: Vote = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        given = np.ones(len(self.members)) if self.weights is None else self.weights
        weights = np.array(given, dtype=np.float64)
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)
        if not self.members:
            raise ValueError("an ensemble needs at least one member")
        classes = {member.n_classes for member in self.members}
        if len(classes) > 1:
            raise ValueError(f"members have {sorted(classes)} classes: expected the same classes in all of them")
        if weights.shape != (len(self.members),):
            raise ValueError(f"weights has shape {weights.shape}, expected ({len(self.members)},): one per member")
        if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
            raise ValueError("weights must be finite and not negative, and at least one of them positive")
        arguments.choice(self.vote, "vote", get_args(Vote))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.members[0].n_classes

    @property
    def n_columns(self) -> int:
        """The least number of columns that rows must have."""
        return max(member.n_columns for member in self.members)


def scores(ensemble: Ensemble, X: npt.ArrayLike) -> FloatArray:
    """(n_samples, n_classes) score of each class: the sum over the members, in their order.

    Parameters
    ----------
    X : (n_samples, n_features), NaN where missing; ValueError if it has fewer columns than a member tests
    """
    assert ensemble.weights is not None
    rows = np.asarray(X, dtype=np.float64)
    for member in ensemble.members:
        evaluate.check_rows(member, rows)
    total = np.zeros((rows.shape[0], ensemble.n_classes))
    for member, weight in zip(ensemble.members, ensemble.weights.tolist(), strict=True):
        total += weight * contributions(member, ensemble.vote)[evaluate.apply(member, rows)]
    return total / ensemble.weights.sum() if ensemble.vote == "mean" else total


def predict(ensemble: Ensemble, X: npt.ArrayLike) -> IntArray:
    """(n_samples,) class code with the largest score; ties go to the lowest code."""
    return np.asarray(scores(ensemble, X).argmax(axis=1), dtype=np.int64)


def contributions(member: NodeTable, vote: Vote) -> FloatArray:
    """(n_nodes, n_classes) score that each node adds to each class, not multiplied by the weight of the member."""
    if vote == "majority":
        return np.eye(member.n_classes)[member.label]
    return evaluate.node_probabilities(member) if vote == "mean" else member.weight
