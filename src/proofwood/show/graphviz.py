"""A model in the DOT language of Graphviz; Graphviz itself is not needed to write it."""

from __future__ import annotations

from proofwood.model.node_table import LEAF, NodeTable
from proofwood.show.colouring import Colouring
from proofwood.show.labels import (
    NO_LABELS,
    Labels,
    question,
    rows_texts,
    tells_missing,
)
from proofwood.show.palette import Palette, hexadecimal, tint


def export_graphviz(
    table: NodeTable,
    labels: Labels = NO_LABELS,
    *,
    max_name: int | None = 32,
    dashed: bool | None = None,
    palette: Palette | None = None,
) -> str:
    """Return the model in the DOT language, for ``dot -Tsvg`` and viewers of Graphviz files.

    Shared nodes of a diagram appear once. The edge ``yes`` is for rows for which the test holds, ``no`` for the others.
    If missing values go high at some test, each test at which they go low says "or missing".

    Parameters
    ----------
    table : NodeTable
    labels : Labels
    max_name : most characters of a column or class name; longer names are shortened with an ellipsis. None: no limit
    dashed : whether the ``yes`` edges (the 0-edges of a diagram) are dashed; by default only in diagrams
    palette : as in :func:`proofwood.show.palette.class_colours`

    Returns
    -------
    str
        Text ending in a newline.
    """
    labels.check(table)
    shown = Colouring.of(table, labels, palette)
    tell = tells_missing(table)
    lines = [
        "digraph model {",
        '  graph [ordering="out"];',
        '  node [shape="box", style="rounded,filled", fontname="Helvetica", fillcolor="#ffffff", color="#555555"];',
        '  edge [fontname="Helvetica", color="#555555"];',
    ]
    for node in range(table.n_nodes):
        if table.feature[node] == LEAF:
            code = int(shown.code[node])
            parts = [labels.answer(table, node, max_name), *rows_texts(table, node, labels)]
            fill = (
                f', fillcolor="{hexadecimal(tint(shown.colours[code], 0.12 + 0.38 * float(shown.shares[node, code])))}"'
            )
        else:
            asks = question(table, node, labels, width=max_name, at_most="≤", missing=tell)
            parts, fill = [asks, *rows_texts(table, node, labels)], ""
        text = "\\n".join(_escaped(part) for part in parts)
        lines.append(f'  {node} [label="{text}"{fill}];')
    dash = ', style="dashed"' if (not table.is_tree if dashed is None else dashed) else ""
    for node in table.splits():
        lines.append(f'  {node} -> {table.low[node]} [label="yes"{dash}];')
        lines.append(f'  {node} -> {table.high[node]} [label="no"];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    """``text`` with escapes for a quoted string of the DOT language."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
