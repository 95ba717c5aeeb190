"""What docstrings of the learners have in common, written once; see :mod:`proofwood.docstrings`."""

from __future__ import annotations

from typing import TypeVar

from proofwood.docstrings import filled_in

Documented = TypeVar("Documented")

SHARED = {
    # of fit
    "y": """y : (n_samples,) labels of any type that can be sorted""",
    "sample_weight": """\
sample_weight : (n_samples,) weight of each row, not negative; rows of weight 0 count for nothing""",
    # parameters
    "max_thresholds": """\
max_thresholds : int or None, default None
    At most so many thresholds per ordered column, nearest to equal shares of the rows; None takes all. Where a column
    has more, the answer is optimal for these tests, and ``result_.scope`` says so.""",
    "categorical_features": """\
categorical_features : list of indices or names, boolean mask, or None
    Columns that hold categories without order: numbers that are codes (whole numbers from 0), or text with more
    levels than are tested by default. Other text, and the categories of pandas and polars, are recognised without
    it.""",
    "drop": """\
drop : list of indices or names, boolean mask, or None
    Columns that are not looked at.""",
    "missing_values": """\
missing_values : value, list of values, dict from column to a list, or None
    Texts and numbers that stand for a missing value, such as ``["unknown", 999]`` or ``{"age": [999]}``, in training
    and in new rows.""",
    "written_as": """\
written_as : dict from column to an example, or None
    How numbers or dates are written in a column of text, such as ``{"amount": "1.234,5", "day": "31/12/2020"}``.
    Columns of text that have only one reading, such as "12 %" or "31.01.2020", are recognised without it; a warning
    says so.""",
    "bands": """\
bands : int, list of edges, or None
    Cuts a target of numbers into classes: into so many bands of about equally many rows, or at edges; a number that
    equals an edge belongs to the band below it. ``classes_`` then holds the names of the bands, and ``score`` and
    ``recount`` take numbers too.""",
    "threshold_rule": """\
threshold_rule : {"shortest", "midpoint"}, default "shortest"
    Which number between two neighbouring values of the training rows at a test is its threshold. ``"shortest"``: the
    decimal of fewest digits; in columns of whole numbers a whole number, of dates a whole day where one separates
    them, of 0 and 1 the number 0.5. ``"midpoint"``: the middle. What is proved does not depend on it.""",
    "unseen": """\
unseen : {"majority", "error"}, default "majority"
    What becomes of a row with a category that training did not have. ``"majority"``: at a test of this category it
    goes the way that more of the training weight went. ``"error"``: ``predict`` refuses it.""",
    "class_weight": """\
class_weight : dict from label to weight, "balanced" or None
    Multiplies ``sample_weight``. ``"balanced"`` gives each class the same total weight.""",
    "time_limit": """\
time_limit : float or None, default 60.0
    Seconds for the search. Reaching it keeps the best model found and warns with :class:`OptimalityWarning`.""",
    "memory_limit": """\
memory_limit : int, str or None, default None
    What a fit may add to the memory of the process, in bytes or as text such as "4GB". Near it caches give back
    what they hold; at it the search ends, the best model found is kept, and a warning says so. None: 80 % of what
    the process may still use by free memory, control groups and resource limits.""",
    "n_jobs": """\
n_jobs : int or None
    Threads, as joblib counts them: None is 1, or what ``joblib.parallel_config`` says; -1 is all cores, -2 all but
    one. Never more than twice the cores, or eight.""",
    "callback": """\
callback : function of one ProgressEvent, or None
    Called at each improvement, and by most searches about five times a second; an exception it raises ends the
    fit.""",
    "verbose": """\
verbose : int, default 0
    1 shows progress: one line that renews itself on a terminal and in a notebook, else lines on standard error, by
    way of ``logging``.""",
    # fitted attributes
    "classes_": """classes_ : (n_classes,) labels, sorted""",
    "bands_": """bands_ : Bands or None, how the numbers of the target were cut into classes""",
    "n_features_in_": """n_features_in_ : int""",
    "feature_names_in_": """\
feature_names_in_ : (n_features_in_,) names, if the training data was a frame with text names""",
    "categories_": """categories_ : dict from column index to the :class:`Column` of categories""",
    "schema_": """\
schema_ : Schema
    What the columns of the training data are, and which are not looked at.""",
    "hints_": """\
hints_ : tuple of Hint
    What the warning about the table says: texts that were read as numbers or dates, columns that were left out, values
    that may stand for missing ones.""",
    "model_": """\
model_ : NodeTable
    The tree or diagram, in the unit of the columns.""",
    "result_": """\
result_ : Result
    All that the search found: model, objective, bound, status, statistics, trace. ``result_.scope`` says what limited
    the search beyond the shape of the model and the table: ordered sets of levels, levels that were pooled or tested
    one by one, thresholds and columns that were left out. Columns in ``drop`` are not part of the table.""",
    "objective_": """\
objective_ : float
    What the model costs.""",
    "lower_bound_": """\
lower_bound_ : float
    What no model of the scope can undercut.""",
    "gap_": """\
gap_ : float
    ``objective_`` minus ``lower_bound_``.""",
    "status_": """\
status_ : Status
    ``"optimal"`` if proved, ``"within_gap"`` if proved up to the gap that is permitted or rounding, else
    ``"feasible"``. It is about all models of the shape on the table, over every threshold and every set of levels;
    about fewer where ``result_.scope`` says so.""",
    "trace_": """\
trace_ : tuple of ProgressEvent
    Seconds, objective and lower bound at each improvement.""",
    "feature_importances_": """\
feature_importances_ : (n_features_in_,) float64
    Share of each column in the decrease of the Gini impurity, as in scikit-learn's trees.""",
    "loaded_": """\
loaded_ : bool
    Whether the model was read from a file; what is proved of it is then a claim of the file.""",
}
"""Entries by name, as they stand in a docstring."""


DIAGRAMS = {
    "time_limit": """\
time_limit : float, "auto" or None, default "auto"
    Seconds for the search. Reaching it keeps the best model found and warns with :class:`OptimalityWarning`.
    ``"auto"`` fits the table: 1.25 seconds and one more for each 250 values (rows times columns, a column of text as
    many as it has levels), at most 60. What is not proved over so few rows by then is hardly ever proved in a minute;
    set seconds to try.""",
}
"""Entries of the learners of diagrams."""

RESUMED = {
    "checkpoint": """\
checkpoint : str, path or None, default None
    A file to which the search writes what it has proved, every 30 seconds and at its end. The same fit with the same
    path goes on from there, also after its process was killed; threads and limits may be others. A file about other
    rows or other parameters is refused and left as it is. See the how-to on time limits.""",
}
"""Parameters of the learners whose search can be continued by a later fit."""

FAIRNESS = {
    "groups": """\
groups : values of ``sensitive_features`` to be compared, at least two; None for all that occur. Rows of other groups
    are free.""",
    "ratio": """\
ratio : float in [0, 1], default 0.8
    The rate of each group is at least ``ratio`` times that of each other: 0.8 is the four-fifths rule, 1 asks for
    equal rates, 0 only measures.""",
    "pos_label": """\
pos_label : label of the favourable class; ``classes_[1]`` by default, if there are two""",
    "penalty": """\
penalty : float from 0, or None
    None: the ratio must be met. A number: what a row that lacks costs, where a wrong row costs 1; 0 only measures.""",
}
"""Parameters of the constraints that compare groups."""


def documented(thing: Documented) -> Documented:
    """A class or function whose docstring has each line "names : as in every learner" (or diagram) written out."""
    filled_in(thing, FAIRNESS, "as in every constraint on rates")
    filled_in(thing, RESUMED, "as in every search that can go on")
    return filled_in(filled_in(thing, SHARED, "as in every learner"), DIAGRAMS, "as in every diagram")
