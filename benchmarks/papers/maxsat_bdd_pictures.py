"""Pictures of the MaxSAT-BDD benchmarks: boxes of accuracy, and scatter plots of two learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Points = Mapping[tuple[str, int], tuple[float, float]]
"""Two values for a data set and a depth."""

_MARKERS = "o^sDvPX*<>phdH8"
_COLOURS = ("#1b6ca8", "#2a9d5c", "#8a5aa8", "#c1562d", "#b58b00", "#5c6b73", "#c2447d", "#3c8dbc")


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def boxes(values: Mapping[str, Mapping[int, Sequence[float]]], title: str, path: Path) -> None:
    """One box per learner and depth over the data sets: white line the median, green triangle the mean."""
    figure, axes = _figure(8.6, 4.2)
    axis = axes[0, 0]
    depths = sorted({depth for per_depth in values.values() for depth in per_depth})
    width = 0.8 / max(1, len(values))
    handles = []
    for place, (name, per_depth) in enumerate(values.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        drawn = axis.boxplot(
            [list(per_depth[depth]) for depth in depths],
            positions=[index + (place - (len(values) - 1) / 2) * width for index in range(len(depths))],
            widths=0.82 * width,
            patch_artist=True,
            showmeans=True,
            boxprops={"facecolor": colour, "edgecolor": "0.2", "linewidth": 0.7},
            medianprops={"color": "white", "linewidth": 1.6},
            meanprops={"marker": "^", "markerfacecolor": "#7bd389", "markeredgecolor": "0.2", "markersize": 4},
            whiskerprops={"linewidth": 0.7},
            capprops={"linewidth": 0.7},
            flierprops={"marker": ".", "markersize": 3},
        )
        drawn["boxes"][0].set_label(name)
        handles.append(drawn["boxes"][0])
    axis.set_xticks(range(len(depths)), [f"H = {depth}" for depth in depths])
    axis.set_ylabel("mean test accuracy of a data set, %")
    axis.set_title(title, fontsize=10)
    axis.grid(axis="y", color="0.9")
    axis.set_axisbelow(True)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(values), fontsize=8)
    figure.savefig(path, dpi=100)


def scatters(panels: Sequence[tuple[str, str, str, Points]], title: str, columns: int, path: Path) -> None:
    """Scatter plots ``(title, horizontal, vertical, points)``: colour and marker tell the set, the area the depth."""
    from matplotlib.lines import Line2D

    rows = -(-len(panels) // columns)
    figure, axes = _figure(3.9 * columns + 1.5, 3.7 * rows + 0.6, rows, columns)
    names = sorted({name for *_, points in panels for name, _ in points})
    depths = sorted({depth for *_, points in panels for _, depth in points})
    style = {name: (_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]) for i, name in enumerate(names)}
    for axis, (what, horizontal, vertical, points) in zip(axes.flat, panels, strict=False):
        both = np.array(list(points.values()))
        low, high = float(np.floor(both.min() - 1)), 100.8
        axis.plot([low, high], [low, high], color="0.6", linewidth=0.8, zorder=1)
        for (name, depth), (x, y) in points.items():
            colour, marker = style[name]
            axis.scatter(x, y, s=8 + 9 * (depth - 2), color=colour, marker=marker, alpha=0.75, linewidths=0, zorder=2)
        axis.set(xlim=(low, high), ylim=(low, high), xlabel=f"{horizontal}, %", ylabel=f"{vertical}, %")
        axis.set_aspect("equal")
        axis.set_title(what, fontsize=9)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    dots = [
        Line2D([], [], color=style[name][0], marker=style[name][1], linestyle="none", markersize=5, label=name)
        for name in names
    ]
    dots += [
        Line2D([], [], color="0.4", marker="o", linestyle="none", markersize=np.sqrt(8 + 9 * (d - 2)), label=f"H = {d}")
        for d in depths
    ]
    figure.legend(handles=dots, loc="outside right center", fontsize=7.5)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=100)
