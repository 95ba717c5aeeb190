"""The picture of shares of explanations: what it shows, and what it refuses."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from proofwood.explain.search.attribution import Attribution

WHOLE = Attribution((0.5, 1.0, 0.0), (0.5, 1.0, 0.0), (0.5, 1.0, 0.0), 2, True, ("age", "income $", "group"))
PART = Attribution((0.5, 0.9, 0.1), (0.2, 0.4, 0.0), (0.8, 1.0, 0.7), 717, False, ("age", "income", "group"))


def test_bars_are_ranked_and_what_is_proved_is_said() -> None:
    ax = WHOLE.plot(title="Why $denied$?")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["income $", "age", "group"]
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.5, 0.0]
    assert [text.get_text().strip() for text in ax.texts] == ["in all", "in none"]
    assert ax.get_xlabel() == "share of all 2 explanations"
    assert not ax.lines
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the greatest on top


def test_bounds_are_lines_where_more_explanations_may_exist() -> None:
    _, ax = plt.subplots()
    assert PART.plot(ax, most=2) is ax
    assert [tuple(line.get_xdata()) for line in ax.lines] == [(0.4, 1.0), (0.2, 0.8)]
    assert ax.get_xlabel() == "share of the 717 explanations found; lines: where that of all lies"
    assert not ax.texts


def test_wrong_pictures_are_refused() -> None:
    nothing = Attribution((float("nan"),), (0.0,), (1.0,), 0, False, ("age",))
    with pytest.raises(ValueError, match="no explanation was found within the limits"):
        nothing.plot()
    with pytest.raises(ValueError, match="most=0: expected an integer from 1"):
        WHOLE.plot(most=0)
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="figsize is for a new figure"):
        WHOLE.plot(ax, figsize=(3, 3))
