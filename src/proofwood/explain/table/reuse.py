"""Explanations of earlier rows that hold for a new one, without a question to an engine.

Let the features ``S`` be an abductive explanation of a row, with a witness for each of them. A row that agrees on ``S``
lies in the same box, so ``S`` suffices for it; and each witness, which agrees with the first row on all of ``S`` but
one feature, agrees with the second one there too, so no feature can be spared.

Witnesses carry over as well, as known answers about other sets of features. That is not done: in forests on spambase
the search finds its own as fast as the many old ones are compared.
"""

from __future__ import annotations

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.explanation import Explanation
from proofwood.model.node_table import IntArray


class Reuse:
    """Abductive explanations so far, by class.

    Parameters
    ----------
    scores : ScoreModel
    """

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self._found: dict[int, list[tuple[IntArray, Explanation]]] = {}

    def explanation(self, cells: IntArray, label: int) -> Explanation | None:
        """An earlier explanation that holds for this row too, the one of fewest features; None if there is none."""
        fits = [e for columns, e in self._found.get(label, ()) if np.array_equal(e.cells[columns], cells[columns])]
        return min(fits, key=lambda found: len(found.features), default=None)

    def learn(self, explanation: Explanation) -> None:
        """Remember an explanation if it can hold for other rows: a minimal one that has all its witnesses.

        One that is minimal only up to rounding is left out: whether the model itself shows a change may differ.
        """
        if explanation.status == "minimal" and set(explanation.features) <= set(explanation.witness_cells):
            columns = [column for feature in explanation.features for column in self.scores.features[feature]]
            self._found.setdefault(explanation.label, []).append((np.array(columns, dtype=np.int64), explanation))
