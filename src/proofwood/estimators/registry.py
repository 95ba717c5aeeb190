"""The table of learners, for the command line and for ``load``. To add a learner, add an entry here
and a file with its options in ``cli/learners``.

Each entry has the import path of the class, so that listing the learners does not import them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from proofwood.printable import nearest


@dataclass(frozen=True, slots=True)
class Learner:
    """One learner.

    Parameters
    ----------
    path : ``module:class`` of its scikit-learn estimator
    about : one line that says what it learns
    """

    path: str
    about: str

    @property
    def class_name(self) -> str:
        """The name of the estimator class, as in model files."""
        return self.path.partition(":")[2]

    def estimator(self) -> type[Any]:
        """Import the estimator class, and return it."""
        module, _, name = self.path.partition(":")
        found: type[Any] = getattr(import_module(module), name)
        return found


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "tree": Learner(
            "proofwood.estimators.optimal_tree:OptimalTreeClassifier",
            "the tree with the fewest errors within a depth; numeric columns need no binning",
        ),
        "regressor": Learner(
            "proofwood.estimators.optimal_regressor:OptimalTreeRegressor",
            "the tree of numbers with the least squared error within a depth",
        ),
        "survival": Learner(
            "proofwood.estimators.optimal_survival:OptimalSurvivalTree",
            "the tree of survival times with the least deviance within a depth",
        ),
        "policy": Learner(
            "proofwood.estimators.optimal_policy:OptimalPolicyTree",
            "the tree of actions with the greatest reward within a depth",
        ),
        "minimal": Learner(
            "proofwood.estimators.minimal_tree:MinimalTreeClassifier",
            "the smallest tree without training errors: least depth, then optionally fewest nodes",
        ),
        "bdd": Learner(
            "proofwood.estimators.optimal_bdd:OptimalBDDClassifier",
            "the decision diagram with the fewest errors over a limited number of tests",
        ),
        "diagram": Learner(
            "proofwood.estimators.optimal_diagram:OptimalDiagramClassifier",
            "the best decision diagram with given widths of its layers, with optional fairness constraints",
        ),
    }
)
"""The learners, by their names on the command line."""


def learner(name: str) -> Learner:
    """The learner called ``name`` on the command line. Raise ValueError, with the known names, if there is none."""
    if name not in LEARNERS:
        near = nearest(name, LEARNERS)
        hint = f"did you mean {near!r}? " if near else ""
        raise ValueError(f"no learner {name!r}: {hint}expected one of {', '.join(LEARNERS)}")
    return LEARNERS[name]


def learner_of_class(class_name: str) -> Learner:
    """The learner whose estimator class is ``class_name``. Raise ValueError if this version has none."""
    for entry in LEARNERS.values():
        if entry.class_name == class_name:
            return entry
    known = ", ".join(entry.class_name for entry in LEARNERS.values())
    raise ValueError(f"this version of proofwood has no learner of class {class_name!r}: expected one of {known}")
