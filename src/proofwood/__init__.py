"""Decision trees and diagrams that are proved to be the best of their size.

Fit, print and save a model::

    from proofwood import OptimalTreeClassifier, load

    tree = OptimalTreeClassifier(max_depth=3).fit(X, y)
    print(tree.summary())       # size, training errors, what is proved
    print(tree.export_text())
    tree.save("tree.json")      # load("tree.json") gives it back

Every fitted model states what is proved: ``objective_``, ``lower_bound_``, ``gap_`` and ``status_``.

Contents of the package:

===================  =====================================================================================
``estimators``       scikit-learn estimators. Classifiers: :class:`OptimalTreeClassifier`, :class:`OptimalTreeCV`,
                     :class:`MinimalTreeClassifier`, :class:`OptimalBDDClassifier`,
                     :class:`OptimalDiagramClassifier` and its constraints:
                     :class:`DemographicParity`, :class:`EqualOpportunity`, :class:`PredictiveEquality`,
                     :class:`EqualizedOdds`, :class:`MaxSplits`, :class:`MinSamples`. Of numbers:
                     :class:`OptimalTreeRegressor`; of survival times: :class:`OptimalSurvivalTree`; of actions:
                     :class:`OptimalPolicyTree`
``certificates``     reads and checks certificates, with NumPy and the standard library only
``model``            :class:`NodeTable`, which represents every model, and functions that evaluate, reshape
                     and convert it
``result``           :class:`Result`, :class:`Status`, :class:`Limits`, :class:`ProgressEvent`
``data``             :func:`read_columns`, :class:`Binarizer`, :func:`load_dataset`
``ensembles``        converts models of other libraries into integer scores over thresholds;
                     :func:`register_reader` adds your own kind of model
``problem``          :class:`TreeProblem`: rows, integer weights, objective, limits on the model; recounts of results;
                     problems of smallest trees and of diagrams
``engines``          one folder of pure functions per learner: ``trees`` (fewest errors within a depth, with
                     :class:`SearchOptions`), ``minimal`` (smallest trees without errors), ``bdd`` (binary decision
                     diagrams), ``diagram`` (diagrams of given layers); ``run``: incumbent, bound and clock
``papers``           the methods of the papers as printed, for ``engine="paper"``: ``inferdt``, ``maxsat_bdd``, ``odd``,
                     ``rfxpl``
``parallel``         one interface to run tasks one by one, by joblib, or on a Dask cluster; checkpoints
``solvers``          SAT solvers that obey a time limit, and worker processes
``explain``          :class:`Explainer` and its :class:`Explanation`: why a model predicts a class, with proof;
                     :func:`born_again`: the smallest tree that predicts the same as a model;
                     :func:`proved_rules`: a few rules that are true of a model for all inputs
``show``             :func:`export_text`, :func:`export_graphviz`, :func:`plot_tree`, :func:`explain_path`;
                     :class:`Labels` has their names of columns and classes
``questions``        what every tree of a fit's scope must do: :class:`Flip`, :class:`PopulationBound`,
                     :class:`CarriedBound`, :class:`Fairest`
``near_optimal``     :func:`near_optimal_trees`: all trees that are nearly as good as the best one
``comparison``       :func:`compare`: an optimal tree compared with other classifiers, on the same folds
``drift``            :class:`Drift`: new rows beside the training rows, at leaves and in columns
``report``           :func:`write_report`: a model, its proof, its errors and explained rows in one HTML file
``language``         words of reports in the languages that have a catalogue, and their numbers and days
``cli``              the command ``proofwood``
===================  =====================================================================================

Names are imported when they are first used, so that ``import proofwood`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proofwood.comparison import Comparison, compare
    from proofwood.data.binarize import Binarizer
    from proofwood.data.catalog import load_dataset
    from proofwood.data.columns import read_columns
    from proofwood.drift import Drift
    from proofwood.engines.trees import SearchOptions
    from proofwood.ensembles.readers.supported import register_reader
    from proofwood.estimators.constraints import (
        DemographicParity,
        EqualizedOdds,
        EqualOpportunity,
        MaxSplits,
        MinSamples,
        PredictiveEquality,
    )
    from proofwood.estimators.date_parts import DateParts
    from proofwood.estimators.doubly_robust import doubly_robust_rewards
    from proofwood.estimators.minimal_tree import MinimalTreeClassifier
    from proofwood.estimators.optimal_bdd import OptimalBDDClassifier
    from proofwood.estimators.optimal_diagram import OptimalDiagramClassifier
    from proofwood.estimators.optimal_policy import OptimalPolicyTree
    from proofwood.estimators.optimal_regressor import OptimalTreeRegressor
    from proofwood.estimators.optimal_regressor_cv import OptimalTreeRegressorCV
    from proofwood.estimators.optimal_survival import OptimalSurvivalTree
    from proofwood.estimators.optimal_survival_cv import OptimalSurvivalTreeCV
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier
    from proofwood.estimators.optimal_tree_cv import OptimalTreeCV
    from proofwood.estimators.saving import load
    from proofwood.estimators.storage import ModelFileError
    from proofwood.estimators.tree_path import optimal_tree_path
    from proofwood.exceptions import DataError, DataWarning, InfeasibleError, OptimalityWarning
    from proofwood.explain.born_again import born_again
    from proofwood.explain.explainer import Explainer
    from proofwood.explain.explanation import Explanation
    from proofwood.explain.proved_rules import proved_rules
    from proofwood.model.node_table import NodeTable
    from proofwood.near_optimal import near_optimal_trees
    from proofwood.problem.tree import TreeProblem
    from proofwood.questions.carried import CarriedBound, RowFingerprints
    from proofwood.questions.fairest import Fairest
    from proofwood.questions.flips import Flip
    from proofwood.questions.population import PopulationBound
    from proofwood.report import write_report
    from proofwood.result import Limits, Part, ProgressEvent, Result, Stats, Status
    from proofwood.show.graphviz import export_graphviz
    from proofwood.show.labels import Labels
    from proofwood.show.plot import plot_tree
    from proofwood.show.text import explain_path, export_text

    __version__: str

__all__ = [
    "Binarizer",
    "CarriedBound",
    "Comparison",
    "DataError",
    "DataWarning",
    "DateParts",
    "DemographicParity",
    "Drift",
    "EqualOpportunity",
    "EqualizedOdds",
    "Explainer",
    "Explanation",
    "Fairest",
    "Flip",
    "InfeasibleError",
    "Labels",
    "Limits",
    "MaxSplits",
    "MinSamples",
    "MinimalTreeClassifier",
    "ModelFileError",
    "NodeTable",
    "OptimalBDDClassifier",
    "OptimalDiagramClassifier",
    "OptimalPolicyTree",
    "OptimalSurvivalTree",
    "OptimalSurvivalTreeCV",
    "OptimalTreeCV",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "OptimalTreeRegressorCV",
    "OptimalityWarning",
    "Part",
    "PopulationBound",
    "PredictiveEquality",
    "ProgressEvent",
    "Result",
    "RowFingerprints",
    "SearchOptions",
    "Stats",
    "Status",
    "TreeProblem",
    "__version__",
    "born_again",
    "compare",
    "doubly_robust_rewards",
    "explain_path",
    "export_graphviz",
    "export_text",
    "load",
    "load_dataset",
    "near_optimal_trees",
    "optimal_tree_path",
    "plot_tree",
    "proved_rules",
    "read_columns",
    "register_reader",
    "write_report",
]

_HOME = {
    "Binarizer": "data.binarize",
    "CarriedBound": "questions.carried",
    "Comparison": "comparison",
    "compare": "comparison",
    "DataError": "exceptions",
    "DateParts": "estimators.date_parts",
    "DemographicParity": "estimators.constraints",
    "Drift": "drift",
    "EqualOpportunity": "estimators.constraints",
    "EqualizedOdds": "estimators.constraints",
    "Explainer": "explain.explainer",
    "Explanation": "explain.explanation",
    "Flip": "questions.flips",
    "Fairest": "questions.fairest",
    "InfeasibleError": "exceptions",
    "Labels": "show.labels",
    "Limits": "result",
    "born_again": "explain.born_again",
    "doubly_robust_rewards": "estimators.doubly_robust",
    "MaxSplits": "estimators.constraints",
    "MinSamples": "estimators.constraints",
    "MinimalTreeClassifier": "estimators.minimal_tree",
    "ModelFileError": "estimators.storage",
    "near_optimal_trees": "near_optimal",
    "optimal_tree_path": "estimators.tree_path",
    "NodeTable": "model.node_table",
    "OptimalBDDClassifier": "estimators.optimal_bdd",
    "OptimalDiagramClassifier": "estimators.optimal_diagram",
    "OptimalTreeCV": "estimators.optimal_tree_cv",
    "OptimalPolicyTree": "estimators.optimal_policy",
    "OptimalSurvivalTree": "estimators.optimal_survival",
    "OptimalSurvivalTreeCV": "estimators.optimal_survival_cv",
    "OptimalTreeClassifier": "estimators.optimal_tree",
    "OptimalTreeRegressor": "estimators.optimal_regressor",
    "OptimalTreeRegressorCV": "estimators.optimal_regressor_cv",
    "DataWarning": "exceptions",
    "OptimalityWarning": "exceptions",
    "Part": "result",
    "PopulationBound": "questions.population",
    "PredictiveEquality": "estimators.constraints",
    "ProgressEvent": "result",
    "Result": "result",
    "RowFingerprints": "questions.carried",
    "SearchOptions": "engines.trees",
    "Stats": "result",
    "Status": "result",
    "TreeProblem": "problem.tree",
    "explain_path": "show.text",
    "export_graphviz": "show.graphviz",
    "export_text": "show.text",
    "load": "estimators.saving",
    "load_dataset": "data.catalog",
    "plot_tree": "show.plot",
    "proved_rules": "explain.proved_rules",
    "read_columns": "data.columns",
    "register_reader": "ensembles.readers.supported",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value: Any = version("proofwood")
        except PackageNotFoundError:  # a source tree on the path, not installed
            value = "0+unknown"
    elif name in _HOME:
        value = getattr(import_module(f"proofwood.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'proofwood' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
