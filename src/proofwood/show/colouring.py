"""What the colours of a picture mean: classes, actions, or the numbers of leaves from the least to the greatest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proofwood.model.evaluate import node_probabilities
from proofwood.model.node_table import LEAF, FloatArray, IntArray, NodeTable
from proofwood.show.labels import Labels
from proofwood.show.palette import Colour, Palette, class_colours, gradient


@dataclass(frozen=True, eq=False)
class Colouring:
    """The colours of the nodes of a model.

    Parameters
    ----------
    colours : one per code
    shares : (n_nodes, n_codes) share of each code in the training weight of each node
    code : (n_nodes,) code of each leaf; of an inner node if it were one
    """

    colours: list[Colour]
    shares: FloatArray
    code: IntArray

    @classmethod
    def of(cls, table: NodeTable, labels: Labels, palette: Palette | None = None) -> Colouring:
        """The colours of a model.

        Parameters
        ----------
        palette : as in :func:`proofwood.show.palette.class_colours`; for numbers the colours of a scale, the first
            that of the least number
        """
        if table.values is None:
            colours = class_colours(table.n_classes, palette, labels.classes)
            return cls(colours, node_probabilities(table), table.label)
        if table.n_labels > 1:
            return cls(class_colours(table.n_labels, palette, labels.classes), _below(table, table.label), table.label)
        numbers, code = leaf_codes(table)
        reach = float(numbers[-1] - numbers[0]) or 1.0
        places = [float(one - numbers[0]) / reach for one in numbers]
        return cls(gradient(places, palette), _below(table, code), code)


def leaf_codes(table: NodeTable) -> tuple[FloatArray, IntArray]:
    """The distinct numbers of leaves, ascending, and (n_nodes,) place of the one that is nearest to each node's."""
    assert table.values is not None
    numbers = np.unique(table.values[table.feature == LEAF, 0])
    return numbers, nearest_codes(numbers, table.values[:, 0])


def nearest_codes(numbers: FloatArray, given: FloatArray) -> IntArray:
    """(n,) place in ascending ``numbers`` of the one that is nearest to each given one."""
    middles = numbers[:-1] / 2 + numbers[1:] / 2
    return np.searchsorted(middles, given, side="left").astype(np.int64)


def n_codes(table: NodeTable) -> int:
    """The number of codes: classes, actions, or distinct numbers of leaves."""
    return int(leaf_codes(table)[0].size) if table.values is not None and table.n_labels == 1 else table.n_labels


def _below(table: NodeTable, code: IntArray) -> FloatArray:
    """(n_nodes, n_codes) share of the leaves of each code in the training weight below each node."""
    found = np.zeros((table.n_nodes, n_codes(table)))
    weight = table.weight.sum(axis=1)
    for node in range(table.n_nodes - 1, -1, -1):
        if table.feature[node] == LEAF:
            found[node, code[node]] = weight[node]
        else:
            found[node] = found[table.low[node]] + found[table.high[node]]
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(found / np.where(total > 0, total, 1.0))
