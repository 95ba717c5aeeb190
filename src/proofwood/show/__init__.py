"""Models for people: text, Graphviz and pictures. Pure functions of a node table and the names of its parts."""

from proofwood.show.graphviz import export_graphviz
from proofwood.show.labels import Labels
from proofwood.show.plot import plot_tree, save_plot
from proofwood.show.text import explain_path, export_text
from proofwood.show.trace import plot_trace

__all__ = ["Labels", "explain_path", "export_graphviz", "export_text", "plot_trace", "plot_tree", "save_plot"]
