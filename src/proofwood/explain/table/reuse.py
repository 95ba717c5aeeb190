"""Explanations of earlier rows that are also correct for a new row, so that no engine is needed.

Let the features ``S`` be an abductive explanation of a row, with a witness for each of them. A second row that agrees
with it on ``S`` lies in the same box, so ``S`` suffices for the second row, too. Each witness agrees with the first row
on all features of ``S`` except one; so it agrees with the second row on these, and no feature can be left out.

The old witnesses would also answer other questions about the second row. They are not used for this: in forests on
spambase, the search finds new witnesses as fast as it could compare the many old ones.
"""

from __future__ import annotations

import numpy as np

from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.explanation import Explanation
from proofwood.model.node_table import IntArray


class Reuse:
    """Store of the abductive explanations so far, by class.

    Parameters
    ----------
    scores : ScoreModel
    """

    def __init__(self, scores: ScoreModel) -> None:
        self.scores = scores
        self._found: dict[int, list[tuple[IntArray, Explanation]]] = {}

    def explanation(self, cells: IntArray, label: int) -> Explanation | None:
        """The earlier explanation with the fewest features that is also correct for this row; None if none is."""
        fits = [e for columns, e in self._found.get(label, ()) if np.array_equal(e.cells[columns], cells[columns])]
        return min(fits, key=lambda found: len(found.features), default=None)

    def learn(self, explanation: Explanation) -> None:
        """Store an explanation if it can be reused for other rows: if it is minimal and has all its witnesses.

        One that is minimal only up to rounding is not stored: for another row, the model itself may show a change.
        """
        if explanation.status == "minimal" and set(explanation.features) <= set(explanation.witness_cells):
            columns = [column for feature in explanation.features for column in self.scores.features[feature]]
            self._found.setdefault(explanation.label, []).append((np.array(columns, dtype=np.int64), explanation))
