"""How far every value may move before the class can change."""

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
    """How far every value of a row may move before the class can change.

    Parameters
    ----------
    radius : proved: every row nearer than this has the row's class; inf if all rows have
    status : ``"exact"``: a row at this distance has another class, :attr:`nearest`; ``"constant"``: proved, no row has;
        ``"at least"``: a limit of time was reached, and the class may stay further than proved. In a table
        ``"impossible"``, with the radius nan, where the row has the class already that was asked for
    metric : what distance is, as for :meth:`proofwood.Explainer.counterfactual`
    nearest : the nearest row of another class that is known, as a counterfactual; its ``verify`` checks the radius
    """

    radius: float
    status: str
    metric: str
    nearest: Explanation

    @classmethod
    def of(cls, nearest: Explanation) -> Robustness:
        """What a search for the nearest row of another class says about the radius.

        Parameters
        ----------
        nearest : its answer, a counterfactual, such as an item of ``Explainer.explain(X, kind="robustness")``
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
        """Distance of :attr:`nearest`, inf without one: the radius is no greater."""
        return self.nearest.distance if self.nearest.witness_cells else math.inf

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The proof of the radius, if asked for: for ``proofs.certificate.write_certificate``."""
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
        """Everything but the model as plain values that JSON knows."""
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
    """The answer, with the options of :meth:`proofwood.Explainer.robustness`."""
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
