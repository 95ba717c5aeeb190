"""Models as text, Graphviz and pictures, made by pure functions of a node table and its names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofwood.show.graphviz import export_graphviz
    from proofwood.show.labels import Labels
    from proofwood.show.plot import plot_tree, save_plot
    from proofwood.show.text import explain_path, export_text
    from proofwood.show.trace import plot_trace

__all__ = ["Labels", "explain_path", "export_graphviz", "export_text", "plot_trace", "plot_tree", "save_plot"]

# Start-up time: printing a tree does not need pictures.
_HOME = {
    "Labels": "labels",
    "explain_path": "text",
    "export_graphviz": "graphviz",
    "export_text": "text",
    "plot_trace": "trace",
    "plot_tree": "plot",
    "save_plot": "plot",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'proofwood.show' has no attribute {name!r}")
    value = getattr(import_module(f"proofwood.show.{_HOME[name]}"), name)
    globals()[name] = value
    return value
