"""The share of the abductive explanations in which a feature occurs (formal feature attribution [1]_), at any time.

While the enumeration is not complete, only two bounds on the share are known. The explanations of one row form an
antichain: none contains another. By the inequality of Lubell, Yamamoto and Meshalkin, the sum of
``1 / binomial(m, size)`` over an antichain of subsets of ``m`` elements is at most 1. The part of this sum that the
explanations found do not use limits how many others can exist, with a feature and without it.

.. [1] Yu, Ignatiev, Stuckey (2023), On Formal Feature Attribution and Its Approximation, arXiv 2307.03380.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, floor
from random import Random
from typing import TYPE_CHECKING

from proofwood import arguments
from proofwood.engines.run import Clock
from proofwood.explain.search.enumerate import Enumeration
from proofwood.explain.search.extract import abductive
from proofwood.explain.search.questions import Questions, mask_of
from proofwood.markup import titled
from proofwood.printable import printable
from proofwood.show.plot import GREY, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NONE_FOUND = "no explanation was found within the limits, so shares are unknown: raise time_limit"


@dataclass(frozen=True)
class Attribution:
    """Shares of the abductive explanations of one row.

    Parameters
    ----------
    share : (n_features,) share of the explanations found in which each feature occurs
    lower, upper : (n_features,) bounds on the share among all explanations
    n_found : number of explanations found
    complete : whether these are all explanations; then ``lower == share == upper``
    names : (n_features,) names of the features, empty if they have none
    """

    share: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    n_found: int
    complete: bool
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = self._lines()
        wide = max((len(name) for name, *_ in lines), default=0)
        return "\n".join("  ".join([f"{name:{wide}}", share, *bounds]) for name, share, *bounds in lines)

    def _lines(self) -> list[tuple[str, ...]]:
        """Name and share of each feature as texts; then the bounds, unless all explanations are known."""
        return [
            (name, f"{share:.3f}")
            if self.complete
            else (name, f"{share:.3f}", f"[{floor(1000 * low) / 1000:.3f}, {ceil(1000 * high) / 1000:.3f}]")
            for share, low, high, name in self._ranked()
        ]

    def _repr_html_(self) -> str:
        if not self.n_found:
            return titled(_NONE_FOUND, "", (), ())
        head = ("feature", "share") if self.complete else ("feature", "share", "bounds on the share of all")
        return titled(self._about(), "", head, self._lines(), bars=[line[:3] for line in self._ranked()], scroll=True)

    def _about(self) -> str:
        """What the shares are shares of."""
        if self.complete:
            return f"share of all {self.n_found:,} explanations" if self.n_found > 1 else "the only explanation"
        explanations = "explanation" if self.n_found == 1 else "explanations"
        return f"share of the {self.n_found:,} {explanations} found; lines: bounds on the share of all"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        most: int = 20,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
    ) -> Axes:
        """Draw the shares: a bar for each feature, the greatest on top.

        If not all explanations are known, a line shows the bounds on the share among all of them. If it is proved that
        a feature is in all explanations, or in none, a text beside its bar says so.

        Parameters
        ----------
        ax : where to draw; None makes a new figure with pyplot
        most : most features to draw
        figsize : width and height of a new figure in inches
        title : line above the picture

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If no explanation was found.
        """
        if not self.n_found:
            raise ValueError(_NONE_FOUND)
        arguments.count(most, "most", least=1)
        drawn = self._ranked()[:most]
        ax = axes_for(ax, figsize, (6.0, 1.1 + 0.3 * len(drawn)))
        lines = range(len(drawn))
        ax.barh(lines, [share for share, *_ in drawn], color="0.75", height=0.6, zorder=2)
        for line, (share, low, high, _) in enumerate(drawn):
            if high > low:
                ax.plot([low, high], [line, line], color=GREY, linewidth=1.5, marker="|", markersize=8, zorder=3)
            proved = "in all" if low == 1 else "in none" if high == 0 else ""
            if proved:
                ax.text(share, line, f" {proved}", va="center", fontsize="small", color=GREY)
        ax.set_yticks(lines, [printable(name) for *_, name in drawn], parse_math=False)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.12)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        ax.set_xlabel(self._about())
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        if title is not None:
            ax.set_title(printable(title), parse_math=False)
        return ax

    def _ranked(self) -> list[tuple[float, float, float, str]]:
        """Share, bounds and name of each feature, the greatest share first."""
        names = self.names or tuple(map(str, range(len(self.share))))
        return sorted(zip(self.share, self.lower, self.upper, names, strict=True), key=lambda line: -line[0])


def attribution(q: Questions, *, limit: int | None = None) -> Attribution:
    """The share of the abductive explanations in which each feature occurs.

    Parameters
    ----------
    q : questions about the row; half of their time is for the enumeration
    limit : most abductive explanations to count
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit!r}: expected an integer from 1, the most explanations to count, or None")
    clock = q.clock
    if (left := clock.seconds_left) is not None:
        q.clock = clock.within(left / 2)
    found = Enumeration(q)
    for _ in found:
        if limit is not None and len(found.abductive) >= limit:
            break
    masks = list(found.abductive)
    if left is not None and not found.complete:
        # Too many to list: random orders of the features give explanations that the enumeration may not have reached.
        masks = _sampled(q, masks, limit=limit, clock=clock)
    # If a change of only this feature can change the class, the feature is in all explanations.
    certain = [q.follows(q.all & ~(1 << feature)) is True for feature in range(q.n)]
    return shares(masks, q.n, certain, complete=found.complete)


def _sampled(q: Questions, known: list[int], *, limit: int | None, clock: Clock) -> list[int]:
    """``known``, and explanations from random orders of the features, found until the time is over."""
    masks, chance = dict.fromkeys(known), Random(0)
    while not clock.over:
        if limit is not None and len(masks) >= limit:
            break
        order = list(range(q.n))
        chance.shuffle(order)
        # Known facts are not passed on: they would bias the answer towards the explanations found so far.
        anew = Questions(q.oracle, q.cells, q.label, targets=q.targets, clock=clock)
        found = abductive(anew, order=order)
        if found.complete:
            masks[mask_of(found.features)] = None
    return list(masks)


def shares(found: Sequence[int], n: int, certain: Sequence[bool], *, complete: bool) -> Attribution:
    """Compute the share of the explanations that contain each feature, with bounds.

    Parameters
    ----------
    found : masks of explanations
    n : number of features
    certain : (n,) whether a feature is known to be in all explanations
    complete : whether no other explanations exist
    """
    share, lower, upper = [], [], []
    others = n - sum(certain)
    with_all = sum(1 << feature for feature in range(n) if certain[feature])
    for feature in range(n):
        bit = 1 << feature
        having = [mask for mask in found if mask & bit]
        lacking = [mask for mask in found if not mask & bit]
        share.append(len(having) / len(found) if found else float("nan"))
        if complete:
            lower.append(share[-1])
            upper.append(share[-1])
        elif certain[feature]:
            lower.append(1.0)
            upper.append(1.0)
        else:
            # Without the feature itself and the certain ones both families are antichains of the other features.
            more = [_room([mask & ~with_all & ~bit for mask in part], others - 1) for part in (having, lacking)]
            least, most = len(found) + more[1], len(found) + more[0]
            lower.append(len(having) / least if least else 0.0)
            upper.append((len(having) + more[0]) / most if most else 1.0)
    return Attribution(tuple(share), tuple(lower), tuple(upper), len(found), complete)


def _room(antichain: Sequence[int], m: int) -> int:
    """Upper bound on the number of subsets of ``m`` elements that can still be added to an antichain."""
    used = sum((Fraction(1, comb(m, mask.bit_count())) for mask in antichain), Fraction(0))
    return int((1 - used) * comb(m, m // 2))
