"""Trees of scikit-learn as node tables, to test what is drawn, exported and reshaped."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from proofwood.model.convert import last_rounded_low
from proofwood.model.node_table import LEAF, NodeTable
from proofwood.model.reshape import preorder


def from_sklearn_tree(estimator: DecisionTreeClassifier) -> NodeTable:
    """A fitted classification tree as a node table over the same columns; labels are codes into ``classes_``.

    Weights are scikit-learn's class shares times the weight of the node; products within a relative 1e-9 of an integer
    become that integer, so that counts of unweighted rows are exact.
    """
    nodes: Any = estimator.tree_.__getstate__()["nodes"]
    shares = estimator.tree_.value[:, 0, :]
    weight = shares * nodes["weighted_n_node_samples"][:, np.newaxis]
    whole = np.rint(weight)
    weight = np.where(np.abs(weight - whole) <= 1e-9 * np.maximum(whole, 1.0), whole, weight)
    leaf = nodes["left_child"] == -1
    return preorder(
        NodeTable(
            feature=np.where(leaf, LEAF, nodes["feature"]),
            threshold=np.where(leaf, np.nan, last_rounded_low(nodes["threshold"])),
            low=np.where(leaf, LEAF, nodes["left_child"]),
            high=np.where(leaf, LEAF, nodes["right_child"]),
            label=shares.argmax(axis=1),
            weight=weight,
            rows=nodes["n_node_samples"],
            missing_low=leaf | nodes["missing_go_to_left"].astype(bool),
        )
    )
