"""Pictures of a fitted model, with its column and class names and its proof."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from proofwood.markup import escaped, scrolled
from proofwood.show.layout import MOST_PLACES, places
from proofwood.show.plot import plot_tree
from proofwood.show.plot_layers import plot_layers
from proofwood.show.spread import spreads
from proofwood.show.svg import model_svg


def draw(model: Any, ax: Any, X: Any, y: Any, *, proof: bool, **more: Any) -> Any:
    """Draw ``model`` with the parameters of its method ``plot``. A diagram with a known flow is drawn in layers."""
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: pass both, or neither")
    more["note"] = proof_note(model) if proof else None
    flow = model._flow()
    if flow is not None:
        return plot_layers(model.model_, model._names(), ax, flow=flow, **more)
    spread = None if X is None else spreads(model.model_, model._names(), *model._coloured_rows(X, y, "y"))
    return plot_tree(model.model_, model._names(), ax, dashed=model._dashed, spreads=spread, **more)


def proof_note(model: Any) -> str:
    """The two lines below a picture: the model with its errors, and what is proved."""
    return f"{model._describe_model()}\n{model._proof_or_claim()}"


MOST_NODES = 400
"""The most nodes of a model that a notebook draws."""


def notebook(model: Any) -> str:
    """The HTML that a notebook shows below the parameters of a model: the picture and the proof; empty before ``fit``.

    The background is white in dark notebooks too, because the code cannot know which notebooks are dark.
    """
    if not hasattr(model, "model_"):
        return ""
    said = "<br>".join(escaped(line) for line in model.summary().splitlines())
    table = model.model_
    picture = ""
    if table.n_nodes <= MOST_NODES and places(table) <= MOST_PLACES:
        kind = "tree" if table.is_tree else "diagram"
        drawn = model_svg(table, model._names(), dashed=model._dashed, name=f"{kind} of {table.n_nodes} nodes")
        picture = scrolled(drawn, f"picture of the {kind}")
    box = "background:#fff;color:#1a1a1a;padding:.5em;border:1px solid #d5d8dc;border-radius:.4em;margin-top:.4em"
    return f'<div class="proofwood" style="{box}"><p style="margin:0 0 .4em">{said}</p>{picture}</div>'
