"""Weighted sums in words, and the picture of a diagram in its layers."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch

from proofwood.model.evaluate import edge_weights
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.model.reshape import refresh
from proofwood.show.graphviz import export_graphviz
from proofwood.show.labels import NO_LABELS, Labels, question
from proofwood.show.plot_layers import plot_layers
from proofwood.show.text import explain_path, export_text
from tests.tables import plane, table_of


def asked(table: NodeTable, terms: int | None = None) -> str:
    return question(table, 0, NO_LABELS, terms=terms)


def test_a_weighted_sum_as_it_is():
    table = plane([1.0, -0.123456789, 2 / 3], 1.23456789)
    whole = "x[0] - 0.123456789*x[1] + 0.6666666666666666*x[2]"
    assert asked(table) == f"{whole} <= 1.23456789"
    assert f"{whole} ≤ 1.23456789" in export_graphviz(table)
    assert export_text(table).startswith(whole)
    assert f"{whole} <= 1.23456789 is true" in explain_path(table, [0.0, 1.0, 0.0])


def test_long_sums_are_shortened_where_asked():
    table = plane([0.1, -3.0, 0.2, 0.3, 2.0], 1.0)
    assert asked(table, terms=2) == "-3*x[1] + 2*x[4] + 3\u00a0more <= 1"
    assert "more" not in asked(table, terms=4)  # a single one takes no more room than these words


# ------------------------------------------------------------------------------------------------------- pictures


@pytest.fixture
def shared():
    """Three layers; a node with two parents, a long edge from the root to a class, and rows."""
    X = np.random.default_rng(0).random((60, 3))
    table = table_of([0, 1, 2], [1, 2, 3], [4, 2, 4], [0, 1], [0.7, 0.5, 0.5])
    return refresh(table, X, (X[:, 2] > 0.5).astype(int)), X


def test_the_picture(shared):
    table, X = shared
    flow = edge_weights(table, X)
    axes = plot_layers(table, Labels(classes=["no", "yes"]), flow=flow)
    axes.figure.canvas.draw()
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("60 rows") == 1
    arrows = [patch for patch in axes.patches if type(patch) is PathPatch]
    assert len(arrows) == 6  # two edges for each of three splits
    widths = sorted(arrow.get_linewidth() for arrow in arrows)
    shares = sorted(flow[:3].ravel() / 60)
    np.testing.assert_allclose(widths, [72 * max(0.012, 0.42 * share) for share in shares])


def test_no_two_boxes_overlap(shared):
    table, X = shared
    axes = plot_layers(table, flow=edge_weights(table, X))
    axes.figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == 5
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    inside = axes.get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)


def test_a_picture_without_flow_and_a_lone_class(shared):
    plot_layers(shared[0])
    leaf = NodeTable([LEAF], [np.nan], [LEAF], [LEAF], [1], [[1.0, 2.0]], [3], [True])
    plot_layers(leaf, flow=np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"flow has shape \(2, 2\): expected \(5, 2\)"):
        plot_layers(shared[0], flow=np.zeros((2, 2)))
