"""Make the pictures of ``docs/images``: ``python docs/_site/gallery.py [NAME ...]``, from the root of the repository.

Pictures of a tutorial come from its own blocks, so that a picture shows what its page does. ``pip install ".[plot]"``
and pandas are needed. The pictures of ``docs/how-to/images`` are made elsewhere (see the pages they are on).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from proofwood import (
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    compare,
    load_dataset,
)
from proofwood.estimators.input import rows_and_codes
from proofwood.show.spread import spreads
from proofwood.show.svg import model_svg

ROOT = Path(__file__).resolve().parents[2]
DPI = 110


def page(name: str, blocks: int | None = None) -> dict[str, Any]:
    """What the Python blocks of a page leave behind, or the first ones; they run in a folder of their own."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    session: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:blocks]:
                exec(block, session)
        finally:
            os.chdir(before)
    return session


def loans_tree() -> Any:
    """The tree of the tutorial on a messy table."""
    made = page("tutorial/messy-table.md")
    return made["tree"].plot(X=made["X"], y=made["y"], title="Which loans are repaid?", figsize=(14.0, 6.6))


def first_tree() -> Any:
    """The tree of the first tutorial, and of the README."""
    made = page("tutorial/first-tree.md")
    return made["tree"].plot(X=made["X"], y=made["y"], figsize=(9.0, 5.4))


def readme_tree() -> str:
    """The tree of the README's first block, as reports show it, on white paper for readers of dark pages."""
    made = page("../README.md", blocks=1)
    tree = made["tree"]
    table, names = tree.model_, tree._names()
    spread = spreads(table, names, *rows_and_codes(tree, made["X"], made["data"].y, "y"))
    drawn = model_svg(table, names, spreads=spread)
    return drawn.replace("<svg ", '<svg style="background:#fff" ', 1) + "\n"


def choose_size() -> Any:
    """Candidates of a cross-validation."""
    data = load_dataset("breast_cancer")
    X = pd.DataFrame(data.X, columns=data.feature_names)
    return OptimalTreeCV(alpha=(0.0, 0.002, 0.005, 0.01, 0.02)).fit(X, data.y).plot_cv(title="How many leaves?")


def compared() -> Any:
    """Optimal trees beside other classifiers."""
    data = load_dataset("breast_cancer")
    return compare(pd.DataFrame(data.X, columns=data.feature_names), data.y).plot(title="Breast cancer")


def explanation() -> Any:
    """An inflated explanation of the tutorial on forests."""
    made = page("tutorial/audit-a-forest.md")
    return made["explainer"].abductive(made["applicant"], inflate=True).plot()


def trace() -> Any:
    """Objective and bound of a search."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=3000) > 0).astype(int)
    return OptimalTreeClassifier(max_depth=3, time_limit=None).fit(X, y).plot_trace(figsize=(7.0, 3.6))


def bdd() -> Any:
    """A decision diagram over three tests."""
    data = load_dataset("breast_cancer")
    X = pd.DataFrame(data.X, columns=data.feature_names)
    diagram = OptimalBDDClassifier(max_features=3, max_thresholds=8, tie_break="size", time_limit=60).fit(X, data.y)
    return diagram.plot(figsize=(7.0, 5.6), title="Three tests, asked in one order")


def oblique() -> Any:
    """A diagram of hyperplanes."""
    data = load_dataset("iris")
    X = pd.DataFrame(data.X, columns=data.feature_names)
    diagram = OptimalDiagramClassifier((1, 1), alpha=0.05, splits="oblique", time_limit=60).fit(X, data.y)
    return diagram.plot(figsize=(8.5, 4.6), title="Splits on weighted sums of columns")


def many_classes() -> Any:
    """A tree of ten classes."""
    X, y = load_digits(return_X_y=True, as_frame=True)
    tree = OptimalTreeClassifier(max_depth=3).fit(X, y)
    return tree.plot(X=X, y=y, figsize=(14.0, 6.4), title="Ten classes: written digits from single pixels")


PICTURES: dict[str, Callable[[], Any]] = {
    "loans-tree": loans_tree,
    "first-tree": first_tree,
    "readme-tree": readme_tree,
    "choose-size": choose_size,
    "compare": compared,
    "explanation": explanation,
    "trace": trace,
    "bdd": bdd,
    "oblique": oblique,
    "digits": many_classes,
}


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all: SVG where the text of one is made, else PNG."""
    mpl.use("Agg")
    warnings.simplefilter("ignore")  # tutorials show warnings on purpose
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    for name in names or PICTURES:
        drawn = PICTURES[name]()
        if isinstance(drawn, str):
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
            continue
        figure = drawn.get_figure()
        figure.savefig(folder / f"{name}.png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
