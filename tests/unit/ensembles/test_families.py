"""Families of models: the class of the reading is that of the model; explanations hold; refusals are sentences."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the next import work
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proofwood import (
    Explainer,
    MinimalTreeClassifier,
    OptimalBDDClassifier,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeCV,
    OptimalTreeRegressor,
    born_again,
    proved_rules,
    register_reader,
)
from proofwood.ensembles.explained import explained, sample_rows
from proofwood.model.node_table import FloatArray

LABELS = np.array(["no", "yes", "zero"])


pytestmark = pytest.mark.usefixtures("one_thread")


def _rows(n_classes: int, seed: int) -> tuple[FloatArray, npt.NDArray[Any], FloatArray]:
    """Rows of three columns, labels, and the number behind these."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)).round(1)
    X[:, 1] = rng.integers(0, 5, 120)
    score = X[:, 0] + 0.6 * X[:, 1] - X[:, 2] * X[:, 0] + 0.4 * rng.normal(size=120)
    codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, LABELS[codes].astype(object), score


def forest(n: int = 4, **more: Any) -> Any:
    return RandomForestClassifier(n, max_depth=3, random_state=0, **more)


def tree() -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def own() -> Any:
    return OptimalTreeClassifier(max_depth=2)


def boosted() -> Any:
    return GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)


def histograms() -> Any:
    return HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=3)


def scaled(model: Any = None) -> Any:
    return make_pipeline(StandardScaler(), forest() if model is None else model)


def voting(*models: Any, **more: Any) -> Any:
    return VotingClassifier([(str(k), model) for k, model in enumerate(models)], **more)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "optimal tree by cross-validation": lambda: OptimalTreeCV(max_depth=(1, 2), cv=2),
    "grid search": lambda: GridSearchCV(forest(), {"max_depth": [2, 3]}, cv=2),
    "grid search of a pipeline": lambda: GridSearchCV(scaled(), {"randomforestclassifier__max_depth": [2, 3]}, cv=2),
    "random search": lambda: RandomizedSearchCV(forest(), {"max_depth": [2, 3]}, n_iter=1, cv=2),
    "halving search": lambda: HalvingGridSearchCV(forest(), {"max_depth": [2, 3]}, cv=2, random_state=0),
    "bagged optimal trees": lambda: BaggingClassifier(own(), 3, random_state=0),
    "bagged forests": lambda: BaggingClassifier(forest(), 3, random_state=0),
    "bagged boosting": lambda: BaggingClassifier(boosted(), 2, random_state=0),
    "bagged forests of some columns": lambda: BaggingClassifier(
        forest(), 3, max_features=0.7, bootstrap_features=True, random_state=0
    ),
    "bagged pipelines of some columns": lambda: BaggingClassifier(scaled(), 2, max_features=0.7, random_state=0),
    "soft votes of optimal trees": lambda: voting(own(), own(), voting="soft"),
    "soft votes, weighted": lambda: voting(own(), forest(), tree(), voting="soft", weights=[1, 2, 0.5]),
    "soft votes of pipelines": lambda: voting(
        scaled(), make_pipeline(MinMaxScaler(), forest(3)), tree(), voting="soft"
    ),
    "hard votes of forests": lambda: voting(forest(3), forest(4), forest(5), voting="hard"),
    "hard votes, weighted": lambda: voting(own(), boosted(), histograms(), voting="hard", weights=[3, 2, 2]),
    "hard votes of pipelines": lambda: voting(scaled(), make_pipeline(MinMaxScaler(), forest(3)), tree()),
    "AdaBoost of optimal trees": lambda: AdaBoostClassifier(own(), n_estimators=3, random_state=0),
    "AdaBoost of forests": lambda: AdaBoostClassifier(forest(2), n_estimators=2, random_state=0),
    "calibrated optimal trees": lambda: CalibratedClassifierCV(own(), cv=3),
    "calibrated trees, isotonic": lambda: CalibratedClassifierCV(tree(), cv=3, method="isotonic"),
    "calibrated pipelines": lambda: CalibratedClassifierCV(scaled(tree()), cv=2),
    "a calibrated forest": lambda: CalibratedClassifierCV(forest(8), cv=2, ensemble=False),
    "a calibrated forest behind a scaler": lambda: CalibratedClassifierCV(scaled(), cv=2, ensemble=False),
    "calibrated small forests": lambda: CalibratedClassifierCV(forest(3), cv=2),
    "calibrated small boosting": lambda: CalibratedClassifierCV(boosted(), cv=2),
    "one against the rest": lambda: OneVsRestClassifier(forest()),
    "one against the rest, boosted": lambda: OneVsRestClassifier(boosted()),
    "one against the rest, behind scalers": lambda: OneVsRestClassifier(scaled()),
    "self-training": lambda: SelfTrainingClassifier(forest()),
    "frozen": lambda: GridSearchCV(scaled(), {}, cv=2),
    "recursive selection": lambda: RFE(forest(), n_features_to_select=2),
    "constant": lambda: DummyClassifier(strategy="most_frequent"),
    "prior": DummyClassifier,
    "exponential boosting": lambda: GradientBoostingClassifier(n_estimators=3, loss="exponential", random_state=0),
}
TWO_CLASSES: dict[str, Callable[[], Any]] = {
    "diagram in a bag": lambda: BaggingClassifier(OptimalBDDClassifier(max_features=2), 2, random_state=0),
    "smallest trees vote": lambda: voting(MinimalTreeClassifier(), own(), voting="soft"),
    "threshold of a forest": lambda: FixedThresholdClassifier(forest(), threshold=0.3),
    "threshold of ten pure trees": lambda: FixedThresholdClassifier(
        RandomForestClassifier(10, random_state=0), threshold=0.3
    ),
    "threshold of an optimal tree": lambda: FixedThresholdClassifier(own(), threshold=0.4),
    "threshold of the first class": lambda: FixedThresholdClassifier(forest(), threshold=0.6, pos_label="no"),
    "threshold by default": lambda: FixedThresholdClassifier(boosted()),
    "threshold of a decision function": lambda: FixedThresholdClassifier(
        boosted(), threshold=-0.1, response_method="decision_function"
    ),
    "threshold of AdaBoost": lambda: FixedThresholdClassifier(
        AdaBoostClassifier(n_estimators=4, random_state=0), threshold=0.45
    ),
    "threshold that is never reached": lambda: FixedThresholdClassifier(histograms(), threshold=1.5),
    "tuned threshold": lambda: TunedThresholdClassifierCV(forest(), cv=2),
    "tuned threshold of a search": lambda: TunedThresholdClassifierCV(GridSearchCV(scaled(), {}, cv=2), cv=2),
}


def _wide(model: Any, names: list[str], rows: FloatArray) -> FloatArray:
    """Rows over all three columns: those that do not reach the model are 0."""
    table = np.zeros((len(rows), 3))
    table[:, [int(name[1:]) for name in names]] = rows
    return table


def _check_classifier(model: Any, X: FloatArray, seed: int) -> None:
    converted = explained(model, X=X)
    names = [given.name for given in converted.inputs]
    rows = np.concatenate([sample_rows(converted, 100, seed), converted.read(X)])
    predicted = np.asarray(model.predict(_wide(model, names, rows))).ravel()
    cells = converted.cells_of(rows)
    sums = np.sort(converted.sums_of(cells), axis=1)
    winners = converted.classes[[converted.scores.winner(row) for row in cells]]
    doubtful = np.zeros(len(rows), dtype=bool)
    if sums.shape[1] > 1 and converted.scores.margin > 0:
        doubtful = sums[:, -1] - sums[:, -2] <= converted.scores.margin
    assert (winners == predicted)[~doubtful].all()
    assert np.array_equal(converted.classes[converted.predict_codes(rows)], predicted)
    explainer = Explainer(converted)
    for row in (3, 40):
        found = explainer.abductive(X[[row]])
        assert found.prediction == np.asarray(model.predict(X[[row]])).ravel()[0]
        fixed = [int(names[j][1:]) for j in found.features]
        others = _wide(model, names, rows)
        others[:, fixed] = X[row, fixed]
        assert (np.asarray(model.predict(others)).ravel() == found.prediction).all()
    again = pickle.loads(pickle.dumps(converted))
    assert np.array_equal(again.predict_codes(rows[:20]), converted.predict_codes(rows[:20]))


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_of_classifiers_are_explained_as_they_predict(name: str, n_classes: int) -> None:
    if n_classes == 3 and name == "exponential boosting":
        return
    X, y, _ = _rows(n_classes, len(name))
    _check_classifier(CLASSIFIERS[name]().fit(X, y), X, len(name))


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_classifiers_of_two_classes_are_explained_as_they_predict(name: str) -> None:
    X, y, _ = _rows(2, len(name))
    _check_classifier(TWO_CLASSES[name]().fit(X, y), X, len(name))


def test_a_tie_at_a_threshold_is_decided_as_scikit_learn_compares() -> None:
    """Ten pure trees give tenths, and 0.3 is one of them: no margin is needed to say who wins."""
    X, y, _ = _rows(2, 5)
    model = FixedThresholdClassifier(RandomForestClassifier(10, random_state=0), threshold=0.3).fit(X, y)
    shares = model.predict_proba(X)[:, 1]
    assert (shares == 0.3).any()
    converted = explained(model, X=X)
    assert converted.scores.margin == 0
    winners = converted.classes[[converted.scores.winner(row) for row in converted.cells_of(X)]]
    assert np.array_equal(winners, np.where(shares >= 0.3, "yes", "no"))


METHODS = ["sigmoid", "isotonic"]
if "temperature" in str(CalibratedClassifierCV._parameter_constraints["method"]):  # from scikit-learn 1.8 on
    METHODS.append("temperature")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("inner", [tree, own, forest, boosted, histograms])
def test_calibrations_are_explained_as_they_predict(inner: Callable[[], Any], ensemble: bool, method: Any) -> None:
    for n_classes in (2, 3):
        X, y, _ = _rows(n_classes, 7)
        _check_classifier(CalibratedClassifierCV(inner(), method=method, cv=2, ensemble=ensemble).fit(X, y), X, 3)


# ------------------------------------------------------------------------------------------------------------- numbers

REGRESSORS: dict[str, Callable[[], Any]] = {
    "optimal tree of numbers": lambda: OptimalTreeRegressor(2),
    "bagged optimal trees of numbers": lambda: BaggingRegressor(OptimalTreeRegressor(2), 3, random_state=0),
    "votes with an optimal tree of numbers": lambda: VotingRegressor(
        [("a", OptimalTreeRegressor(2)), ("b", DecisionTreeRegressor(max_depth=3))]
    ),
    "bagged forests": lambda: BaggingRegressor(RandomForestRegressor(3, max_depth=3), 2, random_state=0),
    "bagged boosting of some columns": lambda: BaggingRegressor(
        GradientBoostingRegressor(n_estimators=3), 2, max_features=0.7, random_state=0
    ),
    "votes behind scalers": lambda: VotingRegressor(
        [("a", scaled(RandomForestRegressor(3, max_depth=3))), ("b", DecisionTreeRegressor(max_depth=3))],
        weights=[1, 3],
    ),
    "grid search": lambda: GridSearchCV(scaled(RandomForestRegressor(3, max_depth=3)), {}, cv=2),
    "constant": DummyRegressor,
    "poisson": lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=3),
    "target as it is": lambda: TransformedTargetRegressor(RandomForestRegressor(3, max_depth=3)),
    "logarithm": lambda: TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3), func=np.log, inverse_func=np.exp
    ),
    "logarithm of 1 more": lambda: TransformedTargetRegressor(
        RandomForestRegressor(3, max_depth=3), func=np.log1p, inverse_func=np.expm1
    ),
    "scaled target": lambda: TransformedTargetRegressor(
        GradientBoostingRegressor(n_estimators=3), transformer=StandardScaler()
    ),
    "target between 0 and 1": lambda: TransformedTargetRegressor(
        scaled(RandomForestRegressor(3, max_depth=3)), transformer=MinMaxScaler()
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_of_regressors_are_explained_as_they_predict(name: str) -> None:
    """Also within a distance that reaches below all numbers that a logarithm allows."""
    X, _, score = _rows(2, len(name))
    model = REGRESSORS[name]().fit(X, np.exp(score / 3))
    for distance in (0.1, 5.0):
        converted = explained(model, X=X, target=("within", distance))
        rows = np.concatenate([sample_rows(converted, 300, 1), X])
        assert np.array_equal(converted.outputs_of(rows), np.asarray(model.predict(rows)).ravel())
        found = Explainer(converted).abductive(X[[3]])
        others = rows.copy()
        others[:, list(found.features)] = X[3, list(found.features)]
        away = np.abs(np.asarray(model.predict(others)).ravel() - np.asarray(model.predict(X[[3]])).ravel()[0])
        assert (away <= distance * (1 + 1e-12)).all()
    level = float(np.median(model.predict(X)))
    above = Explainer(model, X=X, target=(">=", level))
    for row in (3, 9):
        assert (above.abductive(X[[row]]).prediction == above.model.outcome.labels[1]) is bool(
            np.asarray(model.predict(X[[row]])).ravel()[0] >= level
        )


def test_the_actions_of_a_policy_are_its_classes() -> None:
    X, _, score = _rows(2, 5)
    rewards = np.column_stack([np.zeros(score.size), score, X[:, 2]])
    model = OptimalPolicyTree(2).fit(X, rewards)
    converted = explained(model, X=X)
    rows = np.concatenate([sample_rows(converted, 300, 1), X])
    for row in range(0, 120, 30):
        found = Explainer(converted).abductive(X[[row]])
        others = rows.copy()
        others[:, list(found.features)] = X[row, list(found.features)]
        assert set(model.predict(others)) == {found.prediction} == set(model.predict(X[[row]]))
    with pytest.raises(TypeError, match="no probabilities"):
        Explainer(model, confidence=0.8)


@pytest.mark.needs("xgboost", "lightgbm")
def test_numbers_with_a_logarithm_are_explained_within_a_distance() -> None:
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    X, _, score = _rows(2, 3)
    positive = np.exp(score)
    for model in (
        XGBRegressor(objective="reg:gamma", n_estimators=4, n_jobs=1),
        LGBMRegressor(objective="tweedie", n_estimators=4, n_jobs=1, verbose=-1),
    ):
        model.fit(X, positive)
        found = Explainer(model, X=X, target=("within", 0.5)).abductive(X[[0]])
        others = X.copy()
        others[:, list(found.features)] = X[0, list(found.features)]
        assert (np.abs(model.predict(others) - model.predict(X[[0]])) <= 0.5 + 1e-6).all()


# ------------------------------------------------------------------------------------------------------ several targets


def test_models_of_several_targets_are_explained_one_target_at_a_time() -> None:
    X, _, _ = _rows(2, 11)
    both = np.column_stack([X[:, 0] > 0, X[:, 1] > 2]).astype(int)
    for model in (
        forest(),
        tree(),
        scaled(),
        GridSearchCV(scaled(), {}, cv=2),
        MultiOutputClassifier(scaled(own())),
        make_pipeline(StandardScaler(), MultiOutputClassifier(boosted())),
        OneVsRestClassifier(forest()),
        OneVsRestClassifier(boosted()),
    ):
        model.fit(X, both)
        with pytest.raises(TypeError, match=r"2 targets, .* one of output=0 .*, output=1 "):
            Explainer(model)
        with pytest.raises(ValueError, match="output=2: "):
            Explainer(model, output=2)
        for output in (0, 1):
            explainer = Explainer(model, X=X, output=output)
            found = [one.prediction for one in explainer.explain(X[:20])]
            assert found == np.asarray(model.predict(X[:20]))[:, output].tolist()
    small = forest(2).fit(X, both)
    assert born_again(small, X=X, output=1).check().ok
    assert proved_rules(small, X, output=1, max_rules=2).check().ok
    with pytest.raises(ValueError, match="output cannot be given here"):
        born_again(Explainer(small, output=1), output=0)
    with pytest.raises(ValueError, match="output=1"):
        Explainer(forest().fit(X, both[:, 0]), output=1)
    with pytest.raises(ValueError, match="predicts one target, so leave output out"):
        Explainer(boosted().fit(X, both[:, 0]), output=0)


def test_numbers_of_several_targets() -> None:
    X, _, score = _rows(2, 12)
    both = np.column_stack([score, -(score**2)])
    for model in (
        RandomForestRegressor(3, max_depth=3),
        MultiOutputRegressor(GradientBoostingRegressor(n_estimators=3)),
        DummyRegressor(),
    ):
        model.fit(X, both)
        for output in (0, 1):
            found = Explainer(model, X=X, output=output, target=(">=", 0.1)).explain(X[:20])
            above = [one.prediction == "at least 0.1" for one in found]
            assert above == (model.predict(X[:20])[:, output] >= 0.1).tolist()


def test_of_a_chain_the_first_target_is_explained() -> None:
    X, _, score = _rows(2, 13)
    both = np.column_stack([X[:, 0] > 0, X[:, 1] > 2]).astype(int)
    model = ClassifierChain(forest(), order=[1, 0]).fit(X, both)
    found = [one.prediction for one in Explainer(model, X=X, output=1).explain(X[:20])]
    assert found == model.predict(X[:20])[:, 1].tolist()
    with pytest.raises(TypeError, match=r"depends on its predictions for other outputs.*expected output=1"):
        Explainer(model, output=0)
    numbers = RegressorChain(DecisionTreeRegressor(max_depth=2)).fit(X, np.column_stack([score, score**2]))
    assert Explainer(numbers, X=X, output=0, target=(">=", 0)).abductive(X[[0]]).status == "minimal"


# ---------------------------------------------------------------------------------------------------------- constants


@pytest.mark.parametrize(
    "model",
    [
        tree(),
        forest(),
        own(),
        BaggingClassifier(own(), 2, random_state=0),
        voting(tree(), own()),
        scaled(),
        DummyClassifier(),
    ],
)
@pytest.mark.parametrize("labels", [["a"], ["a", "b"]])
def test_models_that_test_nothing_or_know_one_class(model: Any, labels: list[str]) -> None:
    X = np.zeros((20, 2))
    y = np.resize(labels, 20)
    try:
        model.fit(X, y)
    except ValueError:  # a learner that wants two classes
        assert len(labels) == 1
        return
    found = Explainer(model, X=X).abductive(X[[0]])
    assert found.features == ()
    assert found.prediction == model.predict(X[:1])[0]


def test_a_tie_that_rounding_decides_is_no_doubt_where_nothing_is_tested() -> None:
    X, y = np.zeros((20, 2)), np.resize(["a", "b"], 20)
    model = BaggingClassifier(own(), 2, random_state=3).fit(X, y)
    shares = [one.predict_proba(X[:1])[0, 0] for one in model.estimators_]
    assert shares == pytest.approx([0.6, 0.4])  # one for each class, and together a tie
    explainer = Explainer(model, X=X)
    for smallest, status in ((False, "minimal"), (True, "smallest")):
        found = explainer.abductive(X[[0]], smallest=smallest)
        assert (found.features, found.status) == ((), status)
        assert found.verify()
    assert explainer.contrastive(X[[0]]).status == "none"


# ---------------------------------------------------------------------------------------------------------- frames


def test_a_search_over_a_pipeline_takes_frames_as_the_pipeline_does() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"job": rng.choice(["cook", "clerk"], 120), "age": rng.integers(18, 80, 120)})
    y = np.where((table.age > 40) ^ (table.job == "cook"), "in", "out")
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    search = GridSearchCV(make_pipeline(columns, forest()), {"randomforestclassifier__max_depth": [2, 3]}, cv=2)
    for model in (search, FixedThresholdClassifier(search, threshold=0.4), OneVsRestClassifier(search)):
        model.fit(table, y)
        explainer = Explainer(model, X=table)
        assert explainer.feature_names == ("job", "age")
        found = [one.prediction for one in explainer.explain(table[:30])]
        assert found == model.predict(table[:30]).tolist()


def test_votes_of_optimal_trees_over_text() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"job": rng.choice(["cook", "clerk", "pilot"], 120), "age": rng.integers(18, 80, 120) * 1.0})
    y = np.where((table.age > 40) ^ (table.job == "cook"), "in", "out")
    for kind in ("soft", "hard"):
        model = voting(own(), OptimalTreeClassifier(max_depth=1), voting=kind).fit(table, y)
        found = [one.prediction for one in Explainer(model, X=table).explain(table[:30])]
        assert found == model.predict(table[:30]).tolist()


# ------------------------------------------------------------------------------------------------------ missing values


def _filled(strategy: str) -> Any:
    return make_pipeline(SimpleImputer(strategy=strategy), StandardScaler(), forest(3))


GAPS: dict[str, Callable[[], Any]] = {
    "search": lambda: GridSearchCV(_filled("median"), {}, cv=2),
    "bagged forests": lambda: BaggingClassifier(forest(), 2, random_state=0),
    "bagged optimal trees": lambda: BaggingClassifier(own(), 2, random_state=0),
    "hard votes": lambda: voting(forest(), tree(), histograms()),
    "imputers that fill different numbers": lambda: voting(_filled("mean"), _filled("median"), tree(), voting="soft"),
    "calibrated imputers": lambda: CalibratedClassifierCV(make_pipeline(SimpleImputer(), tree()), cv=3),
    "threshold": lambda: FixedThresholdClassifier(forest(), threshold=0.4),
}


@pytest.mark.parametrize("name", GAPS)
def test_missing_values_are_read_as_each_member_reads_them(name: str) -> None:
    X, y, _ = _rows(2, 14)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    model = GAPS[name]().fit(X, y)
    converted = explained(model, X=X)
    winners = converted.classes[[converted.scores.winner(row) for row in converted.cells_of(converted.read(X))]]
    predicted = model.predict(X)
    if converted.scores.margin == 0:
        assert np.array_equal(winners, predicted)
    assert [one.prediction for one in Explainer(converted).explain(X[:30])] == predicted[:30].tolist()


def test_ada_boost_takes_no_gap_whatever_its_trees_do() -> None:
    X, y, _ = _rows(2, 15)
    model = AdaBoostClassifier(tree(), n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="the model does not accept them there"):
        explained(model, missing=[0])


# --------------------------------------------------------------------------------------------- what is refused, and how

WAYS_OUT: dict[str, tuple[Callable[[], Any], str]] = {
    "stacking": (lambda: StackingClassifier([("a", tree()), ("b", forest())], cv=2), r"voting='soft'"),
    "stacking of numbers": (lambda: StackingRegressor([("a", DecisionTreeRegressor())], cv=2), "VotingRegressor"),
    "one against one": (lambda: OneVsOneClassifier(forest()), "OneVsRestClassifier"),
    "output codes": (lambda: OutputCodeClassifier(forest(), random_state=0), "OneVsRestClassifier"),
    "AdaBoost of numbers": (lambda: AdaBoostRegressor(n_estimators=2), "BaggingRegressor"),
    "hard votes of large forests": (
        lambda: voting(RandomForestClassifier(60, random_state=0), tree(), voting="hard"),
        r"voting='soft'",
    ),
    "soft votes with large boosting": (
        lambda: voting(GradientBoostingClassifier(max_depth=5, random_state=0), tree(), voting="soft"),
        "estimators_",
    ),
    "calibrated large forests": (lambda: CalibratedClassifierCV(RandomForestClassifier(60), cv=2), "ensemble=False"),
    "search without a model": (lambda: GridSearchCV(tree(), {}, cv=2, refit=False), "refit=True"),
    "bagged linear models": (lambda: BaggingClassifier(LogisticRegression(), 2), "cannot explain a LogisticRegression"),
    "random guesses": (lambda: DummyClassifier(strategy="uniform"), "most_frequent"),
    "a target of a root": (
        lambda: TransformedTargetRegressor(DecisionTreeRegressor(), func=np.sqrt, inverse_func=np.square),
        "regressor_",
    ),
}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_what_is_refused_says_what_to_do(name: str) -> None:
    make, way = WAYS_OUT[name]
    X, y, score = _rows(3, 4)
    model = make()
    model.fit(X, score**2 if is_regressor(model) else y)
    with pytest.raises(TypeError, match=way):
        Explainer(model, target=None)


class Strict(RandomForestClassifier):
    """A forest with a predict of its own."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.8).astype(int)]


class Renamed(RandomForestClassifier):
    """A forest that predicts as its kind does."""

    def importance(self) -> Any:
        return self.feature_importances_


def test_a_subclass_is_read_only_if_it_predicts_as_its_kind_does() -> None:
    X, y, _ = _rows(2, 6)
    with pytest.raises(TypeError, match=r"a Strict is a RandomForestClassifier that overrides the method predict"):
        Explainer(Strict(3, max_depth=2).fit(X, y), X=X)
    with pytest.raises(TypeError, match=r"a Strict is a RandomForestClassifier"):
        Explainer(GridSearchCV(scaled(Strict(3)), {}, cv=2).fit(X, y), X=X)
    changed = forest().fit(X, y)
    changed.predict = lambda X: np.full(len(X), "no")
    with pytest.raises(TypeError, match=r"this RandomForestClassifier .* that overrides the method predict"):
        Explainer(changed)
    model = Renamed(3, max_depth=2, random_state=0).fit(X, y)
    assert Explainer(model, X=X).abductive(X[[0]]).prediction == model.predict(X[[0]])[0]


def test_confidence_is_refused_where_the_class_is_not_the_most_probable_one() -> None:
    X, y, _ = _rows(2, 8)
    model = own().fit(X, y)
    sure = Explainer(model, X=X, confidence=0.6)
    shares = model.predict_proba(X[:30]).max(axis=1)
    assert [one.prediction == "unsure" for one in sure.explain(X[:30])] == (shares < 0.6).tolist()
    table = model.model_
    leaves = table.feature == -1
    model.model_ = table.changed(label=np.where(leaves, 1 - table.label, table.label))
    with pytest.raises(TypeError, match="does not predict the most probable class"):
        Explainer(model, confidence=0.6)


# --------------------------------------------------------------------------------------------------------- the register


class Champion:
    """A model of nobody's library that holds another one."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def test_readers_of_users_are_registered() -> None:
    X, y, _ = _rows(2, 9)
    model = Champion(scaled().fit(X, y))
    with pytest.raises(TypeError, match="cannot explain a Champion: expected a fitted tree, forest"):
        Explainer(model)
    register_reader(Champion, lambda model, asked: asked.read(model.model))
    assert Explainer(model, X=X).abductive(X[[0]]).prediction == model.predict(X[[0]])[0]
    bag = FrozenEstimator(model.model)
    assert Explainer(bag, X=X).abductive(X[[0]]).prediction == model.predict(X[[0]])[0]
    for kinds, reader in ((3, len), ((), len), ("Champion", len), (Champion, "read")):
        with pytest.raises(TypeError, match="expected"):
            register_reader(kinds, reader)  # type: ignore[arg-type]
