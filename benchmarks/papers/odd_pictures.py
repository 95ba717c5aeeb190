"""Pictures of the decision diagram benchmarks: distributions of accuracy, sorted accuracies, and rows through nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Values = Mapping[str, Mapping[str, Sequence[float]]]
"""Accuracies of each model ("ODT", "ODD"), by kind of splits."""

Shape = Mapping[str, Sequence[Sequence[float]]]
"""What ``odd_tasks.flows`` returns: ``nodes`` (layer, share) and ``arcs`` (node, next node or ~class, share)."""

COLOURS = {"ODT": "#c1562d", "ODD": "#1b6ca8"}
_CLASSES = (
    "#2a9d5c",
    "#8a5aa8",
    "#b58b00",
    "#c2447d",
    "#3c8dbc",
    "#5c6b73",
    "#7a9e3f",
    "#a0522d",
    "#444444",
    "#d08770",
)


def _figure(width: float, height: float, columns: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, columns, squeeze=False, sharey=True)[0]


def distributions(values: Values, title: str, path: Path) -> None:
    """One violin per model and kind of splits, with a box of the quartiles and a white line at the median."""
    figure, axes = _figure(3.4 * len(values) + 0.6, 3.8, len(values))
    for axis, (kind, models) in zip(axes, values.items(), strict=True):
        for place, (name, accuracies) in enumerate(models.items()):
            drawn = axis.violinplot([list(accuracies)], positions=[place], widths=0.8, showextrema=False)
            drawn["bodies"][0].set(facecolor=COLOURS[name], alpha=0.35)
            axis.boxplot(
                [list(accuracies)],
                positions=[place],
                widths=0.18,
                patch_artist=True,
                boxprops={"facecolor": COLOURS[name], "edgecolor": "0.2", "linewidth": 0.7},
                medianprops={"color": "white", "linewidth": 1.6},
                whiskerprops={"linewidth": 0.7},
                capprops={"linewidth": 0.7},
                flierprops={"marker": ".", "markersize": 3},
            )
        axis.set_xticks(range(len(models)), list(models))
        axis.set_title(f"{kind} splits", fontsize=9)
        axis.grid(axis="y", color="0.9")
        axis.set_axisbelow(True)
    axes[0].set_ylabel("test accuracy of a run, %")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=100)


def ascending(values: Values, title: str, path: Path) -> None:
    """Accuracies of each model in ascending order, one curve per model."""
    figure, axes = _figure(3.8 * len(values) + 0.6, 3.6, len(values))
    for axis, (kind, models) in zip(axes, values.items(), strict=True):
        for name, accuracies in models.items():
            axis.plot(range(1, len(accuracies) + 1), sorted(accuracies), ".-", ms=3, color=COLOURS[name], label=name)
        axis.set_xlabel("runs (set and seed), in ascending order of each model")
        axis.set_title(f"{kind} splits", fontsize=9)
        axis.grid(color="0.9")
        axis.set_axisbelow(True)
        axis.legend(fontsize=8, loc="lower right")
    axes[0].set_ylabel("test accuracy, %")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=100)


# ------------------------------------------------------------------ rows through each node


def fragmentation(models: Mapping[str, Shape], title: str, path: Path) -> None:
    """The models side by side: bars are nodes, as wide as their share of the rows; discs are ends, one colour a class.

    The thickness of an arc and the area of a disc tell the share of the rows as well.
    """
    deepest = max((int(layer) for shape in models.values() for layer, _ in shape["nodes"]), default=0)
    figure, axes = _figure(4.6 * len(models), 1.0 * deepest + 1.8, len(models))
    for axis, (name, shape) in zip(axes, models.items(), strict=True):
        _one(axis, shape)
        axis.set_title(name, fontsize=9)
        axis.set_ylim(-deepest - 0.85, 0.45)
        axis.axis("off")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=100)


def _one(axis: Any, shape: Shape) -> None:
    from matplotlib.patches import Rectangle

    across = places(shape)
    nodes = shape["nodes"]
    size = 0.62
    ends: dict[int, list[tuple[int, float]]] = {}
    for start, target, share in shape["arcs"]:
        a, b = int(start), int(target)
        if b < 0:
            ends.setdefault(a, []).append((~b, share))
            continue
        line = [across[a], across[b]], [-nodes[a][0] - 0.1, -nodes[b][0] + 0.1]
        axis.plot(*line, color="0.65", linewidth=0.6 + 9 * share, solid_capstyle="butt", zorder=1)
    for node, leaving in ends.items():
        for turn, (code, share) in enumerate(leaving):
            x = across[node] + (turn - (len(leaving) - 1) / 2) * 0.13 + (0.13 if len(leaving) == 1 else 0)
            y = -nodes[node][0]
            colour = _CLASSES[code % len(_CLASSES)]
            axis.plot([across[node], x], [y - 0.1, y - 0.42], color=colour, linewidth=0.6 + 9 * share, zorder=1)
            axis.scatter([x], [y - 0.42], s=25 + 500 * share, color=colour, zorder=2, linewidths=0)
    for x, (layer, share) in zip(across, nodes, strict=True):
        width = max(0.012, size * share)
        axis.add_patch(Rectangle((x - width / 2, -layer - 0.1), width, 0.2, facecolor="#1b6ca8", zorder=3))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axis.text(x, -layer + 0.14, f"{100 * share:.0f} %", ha="center", va="bottom", fontsize=7.5, bbox=box, zorder=4)
    axis.set_xlim(-0.05, 1.05)


def places(shape: Shape) -> list[float]:
    """Where each node stands across, from 0 to 1: layers are spread evenly, nodes ordered by the mean of their parents.

    Of two nodes of one parent, the one that comes first in the model stands to the left.
    """
    layers = [int(layer) for layer, _ in shape["nodes"]]
    across = [0.5] * len(layers)
    parents: dict[int, list[int]] = {}
    for start, target, _ in shape["arcs"]:
        if target >= 0:
            parents.setdefault(int(target), []).append(int(start))
    for layer in range(1, max(layers, default=0) + 1):
        nodes = [node for node, where in enumerate(layers) if where == layer]
        mean = {node: float(np.mean([across[parent] for parent in parents.get(node, [0])])) for node in nodes}
        for place, node in enumerate(sorted(nodes, key=lambda one: (mean[one], one))):
            across[node] = (place + 0.5) / len(nodes)
    return across
