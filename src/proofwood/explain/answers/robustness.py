"""How far values may move before the class can change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proofwood.ensembles.considered import among_rows
from proofwood.ensembles.space import Key
from proofwood.explain.answers.contrastive import counterfactual
from proofwood.explain.explanation import Explanation
from proofwood.explain.nearest.measure import Metric
from proofwood.explain.nearest.tariffs import Weights
from proofwood.explain.proofs.refute import NoCertificateError
from proofwood.explain.question import Question
from proofwood.markup import titled
from proofwood.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def _stays(self) -> str:
        """How far the class stays, as text."""
        if self.status == "impossible":
            return self.nearest.message
        stays = f"the class stays {self.nearest.prediction}"
        if self.status == "constant":
            limits = self.nearest.permitted
            where = f"with {limits}" if limits else "wherever the values are"
            return f"{stays} {where}{among_rows(self.nearest.model)}"
        radius = self.nearest.bounds_text[0]
        return f"{stays} within less than {'0' if radius == 'nan' else radius} ({self.metric})"

    def _reached(self) -> str:
        """The distance of :attr:`nearest` with its changes, as text; empty if no such row is known."""
        return f"at {self.nearest.bounds_text[1]}: {self.nearest.rule()}" if self.nearest.witness_cells else ""

    def __str__(self) -> str:
        return f"{'; '.join(filter(None, (self._stays(), self._reached())))}  [robustness, {self.status}]"

    def _repr_html_(self) -> str:
        told = "; ".join(filter(None, (f"robustness, {self.status}", self._reached())))
        return titled(printable(self._stays()), told, *self.nearest._table())

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the nearest row of another class as changes of this row, with the radius in the title.

        Parameters
        ----------
        ax : where to draw; None makes a new figure with pyplot
        options : those of :meth:`proofwood.Explanation.plot`

        Raises
        ------
        ValueError
            If no row of another class is known.
        """
        if not self.nearest.witness_cells:
            raise ValueError(f"there is no row of another class to draw: {self}. Print the answer instead")
        return self.nearest.plot(ax, **{"title": self._stays(), **options})

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
