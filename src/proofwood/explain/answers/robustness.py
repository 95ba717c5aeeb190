"""How far values may move before the class can change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proofwood.ensembles.considered import among_rows
from proofwood.ensembles.space import Key
from proofwood.explain.answers.contrastive import counterfactual
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.measure import Metric
from proofwood.explain.nearest.tariffs import Weights
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.explain.question import Question


@dataclass(frozen=True, eq=False)
class Robustness:
    """How far the values of a row may move before the class can change.

    Parameters
    ----------
    radius : proved: every row nearer than this has the class of the row; inf if all rows have it
    status : ``"exact"``: the row :attr:`nearest`, at this distance, has another class; ``"constant"``: it is proved
        that no row has another class; ``"at least"``: the time limit was reached, and the true radius may be greater.
        In a table ``"impossible"``, with radius nan, if the row already has the ``target`` class
    metric : how distance is measured, as for :meth:`proofwood.Explainer.counterfactual`
    nearest : the nearest known row of another class, as a counterfactual; its ``verify`` checks the radius
    """

    radius: float
    status: str
    metric: str
    nearest: Explanation

    @classmethod
    def of(cls, nearest: Explanation) -> Robustness:
        """The robustness that follows from the nearest row of another class.

        Parameters
        ----------
        nearest : this row as a counterfactual, such as an item of ``Explainer.explain(X, kind="robustness")``
        """
        metric = nearest.metric
        if nearest.status == "impossible":
            return cls(math.nan, "impossible", metric, nearest)
        if nearest.status == "none":
            return cls(math.inf, "constant", metric, nearest)
        radius = 0.0 if math.isnan(nearest.lower_bound) else nearest.lower_bound
        return cls(radius, "exact" if nearest.status == "optimal" else "at least", metric, nearest)

    @property
    def upper(self) -> float:
        """Upper bound on the radius: the distance of :attr:`nearest`, inf if no such row is known."""
        return self.nearest.distance if self.nearest.witness_cells else math.inf

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The proof of the radius, if asked for; see ``proofs.certificate.write_certificate``."""
        return self.nearest.certificate

    def __str__(self) -> str:
        if self.status == "impossible":
            return f"{self.nearest.message}  [robustness, impossible]"
        stays = f"the class stays {self.nearest.prediction}"
        if self.status == "constant":
            limits = self.nearest.permitted
            where = f"with {limits}" if limits else "wherever the values are"
            return f"{stays} {where}{among_rows(self.nearest.model)}  [robustness, constant]"
        radius, upper = self.nearest.bounds_text
        text = f"{stays} within less than {'0' if radius == 'nan' else radius} ({self.metric})"
        if self.nearest.witness_cells:
            text += f"; at {upper}: {self.nearest.rule()}"
        return f"{text}  [robustness, {self.status}]"

    def to_dict(self) -> dict[str, Any]:
        """Everything except the model, as plain values for JSON."""
        return {
            "kind": "robustness",
            "radius": self.radius if math.isfinite(self.radius) else None,
            "status": self.status,
            "metric": self.metric,
            "nearest": self.nearest.to_dict(),
        }


def robustness(
    q: Question, *, metric: Metric, weights: Weights, immutable: Iterable[Key], certificate: bool = False
) -> Robustness:
    """Return the answer; the options are those of :meth:`proofwood.Explainer.robustness`."""
    try:
        found = counterfactual(
            q,
            metric=metric,
            weights=None if metric == "changes" else weights,
            immutable=immutable,
            within=None,
            certificate=certificate,
        )
    except NoCertificateError as error:
        error.found = Robustness.of(error.found)
        raise
    return Robustness.of(found)
