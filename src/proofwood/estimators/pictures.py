"""Pictures of a fitted classifier, in its names and with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from proofwood.show.plot import plot_tree
from proofwood.show.plot_layers import plot_layers

if TYPE_CHECKING:
    from proofwood.estimators.fitted import FittedClassifier


def draw(
    model: FittedClassifier,
    ax: Any,
    *,
    X: Any,
    figsize: tuple[float, float] | None,
    title: str | None,
    palette: Any,
    legend: bool,
    proof: bool,
) -> Any:
    """Draw ``model``; the parameters are those of ``plot``. A diagram whose flow is known is drawn in its layers."""
    check_is_fitted(model)
    more: dict[str, Any] = {
        "X": None if X is None else model._rows(X),
        "figsize": figsize,
        "title": title,
        "palette": palette,
        "legend": legend,
        "note": proof_note(model) if proof else None,
    }
    flow = model._flow()
    if flow is not None:
        return plot_layers(model.model_, model._names(), ax, flow=flow, **more)
    return plot_tree(model.model_, model._names(), ax, dashed=model._dashed, **more)


def proof_note(model: FittedClassifier) -> str:
    """Two lines below a picture: what the model costs, and what is proved."""
    return f"{model._describe_model()}\n{model._proof_or_claim()}"
