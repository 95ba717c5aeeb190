"""The table of learners, read by the command line and by ``load``. A new learner is one entry here,
and a file with its options in ``cli/learners``.

Entries name their class by path, so that listing the learners imports none of them.
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
    about : what it learns, one line
    """

    path: str
    about: str

    @property
    def class_name(self) -> str:
        """Name of the estimator class, as model files record it."""
        return self.path.partition(":")[2]

    def estimator(self) -> type[Any]:
        """The estimator class, imported now."""
        module, _, name = self.path.partition(":")
        found: type[Any] = getattr(import_module(module), name)
        return found


LEARNERS: Mapping[str, Learner] = MappingProxyType(
    {
        "tree": Learner(
            "proofwood.estimators.optimal_tree:OptimalTreeClassifier",
            "fewest errors of any tree within a depth, on numeric columns as they are",
        ),
        "minimal": Learner(
            "proofwood.estimators.minimal_tree:MinimalTreeClassifier",
            "smallest tree that makes no error: least depth, or then fewest nodes",
        ),
        "bdd": Learner(
            "proofwood.estimators.optimal_bdd:OptimalBDDClassifier",
            "fewest errors of any decision diagram over a number of tests",
        ),
        "diagram": Learner(
            "proofwood.estimators.optimal_diagram:OptimalDiagramClassifier",
            "best diagram of a given number of layers and widths, fair and stable if asked to be",
        ),
    }
)
"""Name on the command line -> learner."""


def learner(name: str) -> Learner:
    """The learner called ``name`` on the command line; ValueError with the names that exist."""
    if name not in LEARNERS:
        near = nearest(name, LEARNERS)
        hint = f"did you mean {near!r}? " if near else ""
        raise ValueError(f"no learner {name!r}: {hint}There are {', '.join(LEARNERS)}.")
    return LEARNERS[name]


def learner_of_class(class_name: str) -> Learner:
    """The learner whose estimator class is ``class_name``; ValueError if this version has none."""
    for entry in LEARNERS.values():
        if entry.class_name == class_name:
            return entry
    known = ", ".join(entry.class_name for entry in LEARNERS.values())
    raise ValueError(f"no learner of class {class_name!r} in this version, which has {known}")
