"""The result of a comparison, as a table, a picture and HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proofwood.estimators.validation import Interval, corrected_interval
from proofwood.markup import table
from proofwood.model.node_table import FloatArray
from proofwood.printable import printable
from proofwood.show.comparison import plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """The results of one model on all folds.

    Parameters
    ----------
    name : name of the model
    scores : (n_folds,) scores on the rows that each fold holds out
    seconds : mean wall-clock seconds of a fit
    leaves : mean number of leaves in all its trees; None if they cannot be counted
    proof : what is proved about its fits, in words; empty for learners without proofs
    """

    name: str
    scores: FloatArray
    seconds: float
    leaves: float | None
    proof: str

    @property
    def mean(self) -> float:
        """The mean score over the folds."""
        return float(self.scores.mean())


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of several models on the same folds.

    Parameters
    ----------
    models : results of the models, in the order given
    reference : name of the model that the others are compared with
    score : name of the score; higher is better
    share : ratio of held-out rows to training rows, averaged over the folds
    n_rows : number of rows of the table
    within : least and greatest possible value of the score
    """

    models: tuple[ComparedModel, ...]
    reference: str
    score: str
    share: float
    n_rows: int
    within: tuple[float, float] = (-math.inf, math.inf)

    def __getitem__(self, name: str) -> ComparedModel:
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(f"no model {name!r}: expected one of {', '.join(repr(model.name) for model in self.models)}")

    def interval(self, name: str) -> Interval:
        """The mean score of a model and its 95 % confidence interval, cut to the possible values of the score."""
        found, (least, most) = corrected_interval(self[name].scores, self.share), self.within
        if math.isnan(found.low):
            return found
        return Interval(found.mean, max(least, found.low), min(most, found.high))

    def difference(self, name: str, other: str | None = None) -> Interval:
        """The mean difference of the scores of two models, fold by fold, with its 95 % confidence interval.

        Parameters
        ----------
        name : name of the model
        other : name of the model whose scores are subtracted; None for the reference
        """
        return corrected_interval(
            self[name].scores - self[self.reference if other is None else other].scores, self.share
        )

    def table(self) -> list[dict[str, Any]]:
        """One dict per model: name, score and difference with their intervals, leaves, seconds, proof."""
        rows = []
        for model in self.models:
            score, difference = self.interval(model.name), self.difference(model.name)
            rows.append(
                {
                    "model": model.name,
                    "score": score.mean,
                    "score_low": score.low,
                    "score_high": score.high,
                    "difference": difference.mean,
                    "difference_low": difference.low,
                    "difference_high": difference.high,
                    "leaves": model.leaves,
                    "seconds": model.seconds,
                    "proof": model.proof,
                }
            )
        return rows

    def to_frame(self) -> Any:
        """:meth:`table` as a polars frame."""
        # Start-up time: polars is slow to load.
        import polars as pl

        return pl.DataFrame(self.table(), infer_schema_length=None)

    def plot(
        self, ax: Axes | None = None, *, figsize: tuple[float, float] | None = None, title: str | None = None
    ) -> Axes:
        """Draw the scores with their intervals with matplotlib, the best model on top, and return the axes.

        Parameters
        ----------
        ax : axes to draw on; None makes a new figure
        figsize : width and height of a new figure in inches
        title : line above the picture
        """
        order = sorted(self.models, key=lambda model: -model.mean)
        found = [self.interval(model.name) for model in order]
        return plot_intervals(
            [model.name for model in order],
            [(interval.mean, interval.low, interval.high) for interval in found],
            notes=[_leaves(model) for model in order],
            marked=[bool(model.proof) for model in order],
            score=self.score,
            ax=ax,
            figsize=figsize,
            title=title,
        )

    # ------------------------------------------------------------------------------------------------------- text

    def _texts(self) -> tuple[list[str], list[list[str]]]:
        head = ["model", f"{self.score} (95 %)", f"against {self.reference}", "leaves", "seconds", "proof"]
        rows = []
        for model in self.models:
            own, other = self.interval(model.name), self.difference(model.name)
            rows.append(
                [
                    printable(model.name),
                    _shown(own),
                    "" if model.name == self.reference else _shown(other, signed=True),
                    "" if model.leaves is None else f"{model.leaves:,.1f}".removesuffix(".0"),
                    f"{model.seconds:.2f}",
                    model.proof,
                ]
            )
        return [printable(text) for text in head], rows

    def __str__(self) -> str:
        head, rows = self._texts()
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        left = (0, len(head) - 1)  # texts; the others are numbers

        def line(row: Sequence[str]) -> str:
            cells = [
                text.ljust(w) if k in left else text.rjust(w)
                for k, (text, w) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])

    def _repr_html_(self) -> str:
        head, rows = self._texts()
        return table(rows, head=head)


def _shown(interval: Interval, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    mean = f"{interval.mean:{sign}.4f}"
    return mean if math.isnan(interval.low) else f"{mean} [{interval.low:{sign}.4f}, {interval.high:{sign}.4f}]"


def _leaves(model: ComparedModel) -> str:
    if model.leaves is None:
        return ""
    return f"{model.leaves:,.0f} {'leaf' if np.isclose(model.leaves, 1) else 'leaves'}"
