"""The entries that several docstrings of the learners share; :mod:`proofwood.docstrings` fills them in."""

from __future__ import annotations

from typing import TypeVar

from proofwood.docstrings import filled_in

Documented = TypeVar("Documented")

SHARED = {
    # of fit
    "X": """\
X : (n_samples, n_features) an array, or a pandas or polars frame, of finite numbers, text, categories, dates or
    times; values may be missing""",
    "y": """y : (n_samples,) labels of any type that can be sorted""",
    "sample_weight": """\
sample_weight : (n_samples,) weight of each row, at least 0; rows of weight 0 are ignored""",
    # parameters
    "max_thresholds": """\
max_thresholds : int or None, default None
    Most thresholds per ordered column, chosen to divide the rows into nearly equal shares; None means all. If a column
    has more, the model is optimal only for the chosen thresholds, and ``result_.scope`` says so.""",
    "categorical_features": """\
categorical_features : list of indices or names, boolean mask, or None
    Columns of categories without order that are not recognised as such: numbers that are codes (whole numbers from
    0), or text with more levels than are accepted by default. Other text, and the categories of pandas and polars, need
    not be listed.""",
    "drop": """\
drop : list of indices or names, boolean mask, or None
    Columns that the learner ignores.""",
    "missing_values": """\
missing_values : value, list of values, dict from column to a list, or None
    Texts and numbers that mean a missing value, such as ``["unknown", 999]`` or ``{"age": [999]}``, in training
    and in new rows. All texts, claims and explanations are about the values after this reading: in them, a row with
    age 999 has no age. :meth:`notes` names such values of tested columns.""",
    "written_as": """\
written_as : dict from column to an example, or None
    How numbers or dates are written in a column of text, such as ``{"amount": "1.234,5", "day": "31/12/2020"}``.
    Columns of text that have only one reading, such as "12 %" or "31.01.2020", are recognised without it; a warning
    says so. None instead of an example: the texts stay text.""",
    "bands": """\
bands : int, list of edges, or None
    How to cut a target of numbers into classes: a number of bands with about equally many rows, or the edges of the
    bands. A number that equals an edge belongs to the band below. ``classes_`` has the names of the bands; ``score``
    and ``recount`` accept numbers or these names.""",
    "threshold_rule": """\
threshold_rule : {"shortest", "midpoint"}, default "shortest"
    How to choose a threshold between two neighbouring values of the training rows at a test. ``"shortest"``: the
    decimal with the fewest digits; a whole number in columns of whole numbers, a whole day in columns of dates if one
    separates them, and 0.5 in columns of 0 and 1. ``"midpoint"``: the middle. The proof does not depend on it.""",
    "unseen": """\
unseen : {"majority", "error"}, default "majority"
    How to predict a row with a category that training did not have. ``"majority"``: a test of this column sends the
    row to the side with more training weight. ``"error"``: ``predict`` raises an error.""",
    "class_weight": """\
class_weight : dict from label to weight, "balanced" or None
    Factor for the weight of each row of a class. ``"balanced"`` gives each class the same total weight.""",
    "time_limit": """\
time_limit : float or None, default 60.0
    Seconds for the fit. When they are over, the fit ends with the best model found and an
    :class:`OptimalityWarning`.""",
    "memory_limit": """\
memory_limit : int, str or None, default None
    Most memory that a fit may add to the process, in bytes or as text such as "4GB". Near the limit, caches are
    emptied; at the limit, the search ends with the best model found and a warning. None: 80 % of what the process may
    still use, by free memory, control groups and resource limits.""",
    "n_jobs": """\
n_jobs : int or None
    Number of threads, as in joblib: None means 1, or the value set by ``joblib.parallel_config``; -1 means all cores,
    -2 all but one. At most twice the number of cores, or eight if that is more.""",
    "callback": """\
callback : function of one ProgressEvent, or None
    Called at each improvement, and in most searches also about five times a second. An exception that it raises
    ends the fit.""",
    "verbose": """\
verbose : int, default 0
    1 shows progress: on a terminal and in a notebook one line that is updated, elsewhere lines on standard error,
    through ``logging``.""",
    # fitted attributes
    "classes_": """classes_ : (n_classes,) labels, sorted""",
    "bands_": """bands_ : Bands or None, how the numbers of the target were cut into classes""",
    "target_name_": """target_name_ : str or None, name of the target, from ``y``""",
    "n_features_in_": """n_features_in_ : int""",
    "feature_names_in_": """\
feature_names_in_ : (n_features_in_,) names, if the training data was a frame with text names""",
    "categories_": """categories_ : dict from column index to the :class:`Column` of categories""",
    "schema_": """\
schema_ : Schema
    Name and kind of each column of the training data, and which columns are ignored.""",
    "hints_": """\
hints_ : tuple of Hint
    The parts of the warning about the table: texts that were read as numbers or dates, columns that were left out,
    values that may mean a missing value.""",
    "validation_": """\
validation_ : Validation or None
    Scores of the chosen size on held-out rows, if an :class:`OptimalTreeCV` chose it.""",
    "model_": """\
model_ : NodeTable
    The tree or diagram, with thresholds in the units of the columns.""",
    "result_": """\
result_ : Result
    The full result of the search: model, objective, bound, status, statistics, trace. ``result_.scope`` lists further
    limits of the search, apart from the shape of the model and the table: levels that were put into an order, pooled or
    tested one by one, and thresholds and columns that were not used. Columns in ``drop`` are not part of the table.""",
    "objective_": """\
objective_ : float
    The cost of the model, which the fit minimises.""",
    "lower_bound_": """\
lower_bound_ : float
    A proved bound: no permitted model has a lower objective.""",
    "gap_": """\
gap_ : float
    ``objective_`` minus ``lower_bound_``.""",
    "status_": """\
status_ : Status
    ``"optimal"`` if proved, ``"within_gap"`` if proved up to the permitted gap or rounding, else ``"feasible"``. The
    claim is about all models of the shape on the table, with every threshold and every set of levels, unless
    ``result_.scope`` lists limits.""",
    "trace_": """\
trace_ : tuple of ProgressEvent
    Seconds, objective and lower bound at each improvement.""",
    "feature_importances_": """\
feature_importances_ : (n_features_in_,) float64
    Share of each column in the decrease of impurity, as in scikit-learn's trees.""",
    "tested_columns_": """\
tested_columns_ : (n_tested,) names of the columns that the model tests, or their indices
    Their order is that of the table. Another column has no influence on a prediction. The command line asks only for
    these, and ``predict``, like all of scikit-learn, for all columns of training.""",
    "loaded_": """\
loaded_ : bool
    Whether the model was read from a file, or from a pickle that another run wrote. Its status is then a claim of the
    file, not a proof.""",
}
"""Entries of docstrings, by the name of the parameter or attribute."""


FITS = {
    "Returns": """\
Returns
-------
self
""",
    "Raises": """\
Raises
------
ValueError
    On parameters or data that cannot be used; the message says what to do.
TimeoutError
    If the time limit ends before there is a problem to search, while rows are prepared.
""",
    "Warns": """\
Warns
-----
OptimalityWarning
    If a limit or Ctrl-C ended the search before the proof. The estimator then has the best model found so far.""",
}
"""Sections of the docstrings of ``fit``."""

TREES = {
    "min_samples_leaf": """\
min_samples_leaf : int, default 1
    Least number of rows per leaf, without weights.""",
    "min_weight_fraction_leaf": """\
min_weight_fraction_leaf : float in [0, 0.5], default 0.0
    Least share of the total weight per leaf.""",
    "min_samples_level": """\
min_samples_level : int or None, default None
    Levels of a text column with fewer rows are pooled: they go to the same side at every test. None: 30, or a
    fortieth of the rows if that is less. 1: no pooling.""",
}
"""Entries of docstrings for the learners of trees."""

CHOICES = {
    "max_depth": """\
max_depth : int or sequence of int, default (1, 2, 3)
    Depths to try.""",
    "random_state": """\
random_state : int or None, default 0
    Seed of the shuffling.""",
    "rule": """\
rule : {"one_se", "best"}, default "one_se"
    ``"one_se"``: the fewest leaves with a mean score within one standard error of the best. ``"best"``: the best
    mean score.""",
    "time_limit": """\
time_limit : float or None, default 60.0
    Seconds for the whole fit: a quarter is reserved for the last fit, the rest is divided among the fits on folds.""",
    "verbose": """\
verbose : int, default 0
    1 shows a line for every candidate, then the progress of the last fit.""",
}
"""Entries of docstrings for the learners whose size is chosen by cross-validation."""

DIAGRAMS = {
    "time_limit": """\
time_limit : float, "auto" or None, default "auto"
    Seconds for the fit. When they are over, the fit ends with the best model found and an
    :class:`OptimalityWarning`. ``"auto"`` depends on the size of the table: 1.25 seconds plus one second for each 250
    values (rows times columns, where a column of text counts once per level), at most 60. On a small table, a proof
    that takes longer is rarely complete after a minute either; pass a number of seconds to try.""",
}
"""Entries of docstrings for the learners of diagrams."""

RESUMED = {
    "checkpoint": """\
checkpoint : str, path or None, default None
    A file to which the search writes what it has proved, every 30 seconds and at its end. A later fit with the same
    rows, parameters and path continues from there, even if the first process was killed. Threads and limits may
    differ. A file of other rows or parameters raises an error and stays unchanged. See the how-to on time limits.""",
}
"""Entries of docstrings for the learners whose search can be continued by a later fit."""

FAIRNESS = {
    "groups": """\
groups : values of ``sensitive_features`` to compare, at least two; None for all values; or the name of the column of
    ``X`` whose values are the groups. Rows of other groups are not constrained.""",
    "ratio": """\
ratio : float in [0, 1], default 0.8
    The rate of each group must be at least ``ratio`` times the rate of each other group. 0.8 is the four-fifths rule,
    1 requires equal rates, and 0 requires nothing, so that the rates are only reported.""",
    "pos_label": """\
pos_label : label of the favourable class; ``classes_[1]`` by default, if there are two""",
    "penalty": """\
penalty : float from 0, or None
    None: the ratio must be met. A number: the price of each row that a group lacks to meet the ratio; a wrong row
    costs 1. With 0 the rates are only reported.""",
}
"""Entries of docstrings for the constraints that compare groups."""


PHRASES = (
    (SHARED, "as in every learner"),
    (FITS, "as in every fit"),
    (TREES, "as in every tree"),
    (CHOICES, "as in every choice of a size"),
    (DIAGRAMS, "as in every diagram"),
    (RESUMED, "as in every search that can go on"),
    (FAIRNESS, "as in every constraint on rates"),
)
"""Entries with the phrase that stands for them."""


def documented(thing: Documented) -> Documented:
    """Decorator: replace each line "names : as in every learner" (or similar) of a docstring by the shared entries."""
    for entries, phrase in PHRASES:
        filled_in(thing, entries, phrase)
    return thing
