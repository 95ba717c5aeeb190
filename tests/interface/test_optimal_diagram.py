from __future__ import annotations

import dataclasses
import json
import math
import pickle
import re
import warnings
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController

from proofwood import (
    DataError,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    InfeasibleError,
    MaxSplits,
    MinSamples,
    ModelFileError,
    OptimalDiagramClassifier,
    OptimalityWarning,
    PredictiveEquality,
    Result,
    Stats,
    Status,
    load,
)
from proofwood.engines.diagram.oblique.bounds import BY_MARGIN
from proofwood.estimators import optimal_diagram

pytestmark = pytest.mark.filterwarnings("ignore::proofwood.OptimalityWarning")  # most proofs here would take too long


@pytest.fixture(scope="module")
def credit():
    """Incomes, debts, a group that earns less, and loans that were granted by income alone."""
    random = np.random.default_rng(7)
    sex = np.where(random.random(300) < 0.5, "f", "m")
    income = random.normal(30 + 8 * (sex == "m"), 8)
    X = np.column_stack([income, 20 * random.random(300)])
    y = np.where(income + random.normal(0, 4, 300) > 34, "yes", "no")
    return X, y, sex


def small(**parameters) -> OptimalDiagramClassifier:
    return OptimalDiagramClassifier(**{"widths": (1, 2), "alpha": 0.05, "time_limit": 0.25, **parameters})


# ---------------------------------------------------------------------------------------------- the fitted diagram


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
@pytest.mark.parametrize("topology", ["diagram", "tree"])
def test_the_fitted_attributes(iris, splits, topology):
    X, y = iris
    diagram = small(widths=(1, 2, 2), splits=splits, topology=topology).fit(X, y)
    model, result = diagram.model_, diagram.result_
    wrong = np.mean(diagram.predict(X) != y)
    assert diagram.objective_ == pytest.approx(wrong + 0.05 * max(0, model.n_splits - 1) / 4)
    assert diagram.objective_ == diagram.recount(X, y) == result.objective
    assert 0 <= diagram.lower_bound_ <= diagram.objective_
    assert diagram.status_ in ("optimal", "feasible")
    assert result.unit == "share"
    assert model.depth <= 3
    assert model.n_leaves == (model.n_splits + 1 if topology == "tree" else len(set(diagram.predict(X))))
    assert model.is_tree or topology == "diagram"
    assert diagram.fairness_ == {}
    assert diagram.flow_.shape == (model.n_nodes, 2)
    np.testing.assert_array_equal(diagram.flow_.sum(axis=1)[list(model.splits())], model.rows[list(model.splits())])
    np.testing.assert_allclose(diagram.predict_proba(X).sum(axis=1), 1)
    last = diagram.trace_[-1]
    assert (last.objective, last.lower_bound) == (diagram.objective_, diagram.lower_bound_)


def test_equal_calls_give_equal_answers(iris):
    X, y = iris
    fits = [small(alpha=0.5, time_limit=20.0, random_state=seed).fit(X, y) for seed in (None, 0, np.int64(0), 1)]
    assert {fit.status_ for fit in fits} == {"optimal"}
    assert fits[0].model_ == fits[1].model_ == fits[2].model_
    assert fits[0].objective_ == fits[3].objective_


def test_depth_one_and_constant_data():
    stump = OptimalDiagramClassifier((1,), alpha=0).fit([[1], [2], [3]], ["a", "b", "b"])
    assert (stump.model_.n_splits, stump.objective_, stump.status_) == (1, 0, stump.status_)
    for splits in ("univariate", "oblique"):
        flat = small(splits=splits).fit([[5], [5], [5]], ["a", "b", "b"])
        assert flat.predict([[4]]).tolist() == ["b"]
        assert flat.objective_ == pytest.approx(1 / 3)
        assert small(splits=splits).fit([[5], [6]], ["a", "a"]).model_.n_nodes == 1


def test_a_node_has_a_price(iris):
    X, y = iris
    dear = OptimalDiagramClassifier((1, 2, 4), alpha=1.0, time_limit=1.0).fit(X, y)
    assert dear.objective_ <= 1 / 3 + 1 / 6  # setosa and two others: one split beyond the root
    assert "beyond the root" in dear.summary()


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
def test_weights(iris, splits):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 3, 150)
    weighted = small(splits=splits).fit(X, y, weight)
    repeated = small(splits=splits).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.objective_ == weighted.recount(X, y, weight)
    wrong = np.average(weighted.predict(X) != y, weights=weight)
    assert weighted.objective_ == pytest.approx(wrong + 0.05 * max(0, weighted.model_.n_splits - 1) / 2)
    if weighted.status_ == repeated.status_ == "optimal":
        assert weighted.objective_ == repeated.objective_
    balanced = small(splits=splits, class_weight="balanced").fit(X, y)
    assert balanced.objective_ == balanced.recount(X, y)
    heavy = small(splits=splits, class_weight={2: 50}).fit(X, y)
    assert np.all(heavy.predict(X[y == 2]) == 2)


def test_text_columns():
    colour = ["red", "red", "green", "blue", "blue", "green"] * 5
    frame = pl.DataFrame({"colour": colour, "size": list(range(30))})
    y = [c == "red" for c in colour]
    diagram = small(alpha=0.01, time_limit=60).fit(frame, y)  # one split is enough, and proved at once
    assert diagram.score(frame, y) == 1
    assert "colour in {red}" in diagram.export_text()
    with pytest.raises(DataError, match=r"column 'colour' has categories \(such as 'blue'\).*OneHotEncoder"):
        small(splits="oblique").fit(frame, y)
    with pytest.raises(DataError, match="column 0 has categories"):
        small(splits="oblique").fit(frame.to_numpy(), y)
    ordered = pd.DataFrame({"c": pd.Categorical(colour, ["red", "green", "blue"], ordered=True)})
    assert small(alpha=0).fit(ordered, y).objective_ == 0
    with pytest.raises(DataError, match="column 'c' has categories"):
        small(splits="oblique").fit(ordered, y)


def test_linear_algebra_gets_no_more_threads_than_the_user_gives_it():
    # one more would be started, and where memory lacks it looks for its buffer until the process is killed
    pools = ThreadpoolController().select(user_api="blas")
    seen = []

    def note(*_: object) -> None:
        seen.append({pool["num_threads"] for pool in pools.info()})

    X, y = load_iris(return_X_y=True)
    for blas, jobs, most in ((1, 4, 1), (2, 1, 1)):
        with pools.limit(limits=blas):
            OptimalDiagramClassifier((1, 2), splits="oblique", n_jobs=jobs, callback=note).fit(X, y)
            assert {pool["num_threads"] for pool in pools.info()} == {blas}
        assert seen
        assert all(threads <= {most} for threads in seen)
        seen.clear()


def test_oblique_splits_in_the_unit_of_the_columns():
    random = np.random.default_rng(1)
    X = random.random((60, 2)) * [1e-3, 1e6] + [5.0, -1e7]
    y = (X[:, 0] - 5) / 1e-3 + (X[:, 1] + 1e7) / 1e6 > 1
    diagram = OptimalDiagramClassifier((1, 2, 4), alpha=0.01, splits="oblique", time_limit=1.0).fit(X, y)
    assert diagram.score(X, y) > 0.9
    assert diagram.recount(X, y) == diagram.objective_
    frame = pl.DataFrame(X, schema=["tiny", "huge"])
    named = OptimalDiagramClassifier((1, 2, 4), alpha=0.01, splits="oblique", time_limit=1.0).fit(frame, y)
    assert "*tiny" in named.export_text() or "*huge" in named.export_text()
    assert named.export_graphviz().startswith("digraph")
    assert "Predicted: " in named.explain(frame[0])


def test_limited_thresholds_are_said(iris):
    X, y = iris
    diagram = small(max_thresholds=2).fit(X, y)
    assert len(diagram.result_.scope) == 1
    assert diagram.result_.scope[0].startswith("at most 2 thresholds a column in ")
    assert f"proved optimal for these tests ({diagram.result_.scope[0]}): objective" in diagram.summary()
    assert small(max_thresholds=1000).fit(X, y).result_.scope == ()
    assert "widths (1, 2)" in diagram._claim()


# ---------------------------------------------------------------------------------------------------- constraints


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
@pytest.mark.parametrize("kind", [DemographicParity, EqualOpportunity, PredictiveEquality, EqualizedOdds])
def test_groups_are_treated_alike(credit, kind, splits):
    X, y, sex = credit
    free = small(alpha=0.01, splits=splits, constraints=[kind(ratio=0.0)]).fit(X, y, sensitive_features=sex)
    fair = small(alpha=0.01, splits=splits, constraints=kind(ratio=0.9)).fit(X, y, sensitive_features=sex)
    (ratio,) = fair.fairness_.values()
    assert ratio >= 0.9
    assert ratio == kind().measure(y, fair.predict(X), sex)
    assert list(free.fairness_.values()) == [kind().measure(y, free.predict(X), sex)]
    if kind is DemographicParity:
        assert next(iter(free.fairness_.values())) < 0.8
    assert f"constraint: {kind.__name__}(ratio=0.9): worst ratio {ratio:.4g}" in fair.summary()
    assert "that meets the constraints" in fair._claim()
    assert fair.recount(X, y) == fair.objective_


def lacking(predicted, group, ratio):
    """Rows that two groups f and m lack in all, by the formula of the documentation."""
    chosen = [int((predicted[group == name] == "yes").sum()) for name in "fm"]
    rows = [int((group == name).sum()) for name in "fm"]
    short = [Fraction(ratio) * rows[g] / rows[1 - g] * chosen[1 - g] - chosen[g] for g in (0, 1)]
    return sum(max(0, math.ceil(one)) for one in short)


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
def test_a_penalty_is_part_of_the_objective(credit, splits):
    X, y, sex = credit
    asked = {"alpha": 0.01, "splits": splits}
    if splits == "univariate":
        asked |= {"max_thresholds": 3, "time_limit": 20.0}
    objectives, short = [], []
    for penalty in (0, 0.25, 2.5, 100, None) if splits == "univariate" else (0, 2.5, None):
        constraint = DemographicParity(ratio=0.9, penalty=penalty)
        diagram = small(**asked, constraints=constraint).fit(X, y, sensitive_features=sex)
        predicted = diagram.predict(X)
        assert diagram.status_ == "optimal" or splits == "oblique"
        objectives.append(diagram.objective_)
        short.append(lacking(predicted, sex, "0.9"))
        nodes = Fraction("0.01") * max(0, diagram.model_.n_splits - 1) / 2
        expected = Fraction(int((predicted != y).sum()), 300) + nodes
        if penalty is None:
            assert diagram.shortfall_ == {}
            continue
        expected += Fraction(str(penalty)) * short[-1] / 300
        assert diagram.objective_ == float(expected) == diagram.recount(X, y, sensitive_features=sex)
        assert diagram.lower_bound_ <= diagram.objective_
        assert diagram.shortfall_ == {repr(constraint): short[-1]}
        assert f"{constraint!r}: worst ratio {diagram.fairness_[repr(constraint)]:.4g}, {short[-1]} rows short" in (
            diagram.summary()
        )
        assert f"+ penalties {penalty * short[-1] / 300:.4g}" in diagram.summary()
        assert "meets" not in diagram._claim()
        with pytest.raises(ValueError, match="compares groups: pass the group of each row"):
            diagram.recount(X, y)
    assert short[-1] == 0 < short[0]
    if splits == "univariate":
        free = small(**asked).fit(X, y)
        assert free.objective_ == objectives[0]
        assert objectives == sorted(objectives)
        assert short == sorted(short, reverse=True)
        assert objectives[-2] == objectives[-1]  # 100 is as good as a constraint


def test_penalties_and_weights(credit):
    X, y, sex = credit
    weight = np.random.default_rng(3).integers(0, 4, 300) / 4
    constraints = [EqualizedOdds(ratio=1, penalty=0.5), DemographicParity(ratio=0.3), MinSamples(0.05)]
    fitted = [
        small(alpha=0.01, max_thresholds=6, constraints=constraints).fit(X, y, factor * weight, sensitive_features=sex)
        for factor in (1, 8)
    ]
    assert fitted[0].objective_ == fitted[1].objective_ == fitted[1].recount(X, y, weight, sensitive_features=sex)
    (short,), (more,) = (diagram.shortfall_.values() for diagram in fitted)
    assert more == 8 * short
    assert fitted[0].fairness_["DemographicParity(ratio=0.3)"] >= 0.3
    assert "that meets the constraints" in fitted[0]._claim()


def test_a_penalty_of_too_many_digits_is_refused(credit):
    X, y, sex = credit
    with pytest.raises(ValueError, match="together have too many digits"):
        small(constraints=DemographicParity(penalty=1 / 3)).fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize(
    ("engine", "provers"),
    [
        ("auto", {"tests bound", "search", "layers", "tree bound"}),
        ("search", {"tests bound", "search", "layers", "tree bound"}),
        ("paper", {"tests bound", "search", "tree bound"}),
        ("heuristic", {None}),
    ],
)
def test_what_proved_the_answer_is_told(engine, provers, tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (24, 3))
    y = (X[:, 0] > 1) ^ (X[:, 1] > 0)
    y[:2] ^= True
    limit = 0.3 if engine == "heuristic" else 10.0
    diagram = small(widths=(1,), engine=engine, time_limit=limit).fit(X, y)
    by = diagram.result_.stats.proved_by
    assert by in provers
    assert (diagram.status_ == "optimal") == (by is not None)
    assert (f"\nproved by: {by}\n" in diagram.summary()) == (by is not None)
    diagram.save(tmp_path / "odd.json")
    assert load(tmp_path / "odd.json").result_.stats == diagram.result_.stats


def test_weights_and_dropped_rows_count_in_rates(credit):
    X, y, sex = credit
    weight = np.random.default_rng(3).integers(0, 4, 300)
    constraint = EqualOpportunity(("f", "m"), ratio=0.9, pos_label="no")
    fair = small(alpha=0.01, constraints=[constraint]).fit(X, y, weight, sensitive_features=pl.Series(sex))
    measured = constraint.measure(y, fair.predict(X), sex, sample_weight=weight)
    assert fair.fairness_ == {repr(constraint): measured}
    assert measured >= 0.9


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
@pytest.mark.parametrize("weights", ["balanced", {"no": 1, "yes": 4}])
def test_weights_of_classes_change_no_rate(credit, weights, splits):
    X, y, sex = credit
    people = np.random.default_rng(3).integers(1, 4, 300)
    asked = {"alpha": 0.01, "splits": splits, "class_weight": weights}
    constraint = DemographicParity(ratio=0.9)
    fair = small(**asked, constraints=constraint).fit(X, y, people, sensitive_features=sex)
    measured = constraint.measure(y, fair.predict(X), sex, sample_weight=people)
    assert fair.fairness_ == {repr(constraint): measured}
    assert measured >= 0.9
    priced = DemographicParity(ratio=0.9, penalty=0.5)
    leaning = small(**asked, constraints=priced).fit(X, y, sensitive_features=sex)
    predicted = leaning.predict(X)
    assert leaning.shortfall_ == {repr(priced): lacking(predicted, sex, "0.9")}
    assert leaning.objective_ == leaning.recount(X, y, sensitive_features=sex)
    of_class = {"no": 150 / (y == "no").sum(), "yes": 150 / (y == "yes").sum()} if weights == "balanced" else weights
    prices = np.array([of_class[label] for label in y])
    nodes = 0.01 * max(0, leaning.model_.n_splits - 1) / 2
    wrong = prices[predicted != y].sum() + 0.5 * lacking(predicted, sex, "0.9")
    assert leaning.objective_ == pytest.approx(wrong / prices.sum() + nodes, abs=1e-12)
    with pytest.raises(ValueError, match="a class has the weight 0, but rates count its rows"):
        small(constraints=constraint, class_weight={"no": 0}).fit(X, y, sensitive_features=sex)


def test_groups_that_are_not_compared_are_free(credit):
    X, y, sex = credit
    group = np.where(X[:, 1] > 15, "other", sex)
    fair = small(constraints=DemographicParity(("f", "m"), ratio=0.9)).fit(X, y, sensitive_features=group)
    inside = group != "other"
    assert DemographicParity().measure(y[inside], fair.predict(X)[inside], group[inside]) >= 0.9
    group[0] = "x"
    weight = np.ones(300)
    weight[0] = 0
    with pytest.raises(ValueError, match="group 'x' has no row"):
        small(constraints=DemographicParity(("f", "x"))).fit(X, y, weight, sensitive_features=group)


def test_size_and_stability(iris):
    X, y = iris
    few = small(widths=(1, 2, 4), alpha=0.0, constraints=[MaxSplits(2)]).fit(X, y)
    assert few.model_.n_splits <= 2
    assert "constraint: MaxSplits(2): " in few.summary()
    for amount, least in ((0.3, 45), (40, 40)):
        stable = small(widths=(1, 2, 4), alpha=0.0, constraints=(MinSamples(amount),)).fit(X, y)
        assert stable.model_.rows[list(stable.model_.splits())].min() >= least
        assert f"MinSamples({amount}): least weight of a split" in stable.summary()
    with_weights = small(constraints=[MinSamples(100)], alpha=0.0).fit(X, y, np.full(150, 0.5))
    assert with_weights.model_.n_nodes == 1  # 75 in all
    assert "no split" in with_weights.summary()
    together = small(constraints=[MaxSplits(3), MaxSplits(1), MinSamples(2), MinSamples(0.5)]).fit(X, y)
    assert together.model_.n_splits <= 1


def test_sensitive_features_are_needed_where_groups_are_compared(credit):
    X, y, sex = credit
    with pytest.raises(ValueError, match=r"compares groups: pass the group of each row, fit\(X, y, sensitive"):
        small(constraints=[MaxSplits(3), DemographicParity()]).fit(X, y)
    with pytest.raises(ValueError, match="but no constraint compares groups"):
        small(constraints=[MaxSplits(3)]).fit(X, y, sensitive_features=sex)
    with pytest.raises(ValueError, match="299 values for 300 rows"):
        small(constraints=DemographicParity()).fit(X, y, sensitive_features=sex[1:])
    with pytest.raises(ValueError, match="no value in row 3"):
        small(constraints=DemographicParity()).fit(X, y, sensitive_features=[*sex[:3], None, *sex[4:]])
    with pytest.raises(ValueError, match="pos_label='maybe' is not a label"):
        small(constraints=DemographicParity(pos_label="maybe")).fit(X, y, sensitive_features=sex)
    with pytest.raises(TypeError):
        small(constraints=DemographicParity()).fit(X, y, None, sex)


def test_more_than_two_classes_need_a_favourable_one(iris):
    X, y = iris
    group = np.arange(150) % 2
    with pytest.raises(ValueError, match="it is not clear which one is favourable"):
        small(constraints=DemographicParity()).fit(X, y, sensitive_features=group)
    fair = small(constraints=DemographicParity(pos_label=2)).fit(X, y, sensitive_features=group)
    assert fair.fairness_["DemographicParity(ratio=0.8, pos_label=2)"] >= 0.8


def test_no_diagram_meets_the_constraints(credit, monkeypatch):
    X, y, sex = credit
    nothing = Result(None, np.inf, "share", 0.0, Status.INFEASIBLE, Stats(engine="test"))
    monkeypatch.setattr(optimal_diagram, "solve", lambda *_, **__: nothing)
    with pytest.raises(InfeasibleError, match=r"no diagram of widths \(1, 2\) meets DemographicParity") as caught:
        small(constraints=[DemographicParity(), MaxSplits(3)]).fit(X, y, sensitive_features=sex)
    assert isinstance(caught.value, ValueError)
    assert caught.value.result == nothing
    assert "MaxSplits(3)" in str(caught.value)
    assert "lower its ratio" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.result.status) == (str(caught.value), "infeasible")


@pytest.mark.parametrize("change", [{"objective": 0.0, "lower_bound": 0.0}, {}])
def test_an_answer_that_is_wrong_is_never_returned(iris, monkeypatch, change):
    X, y = iris
    true = optimal_diagram.solve

    def wrong(problem, **options):
        free = dataclasses.replace(problem, max_splits=99)
        return dataclasses.replace(true(free, **options), **change, status=Status.FEASIBLE)

    monkeypatch.setattr(optimal_diagram, "solve", wrong)
    with pytest.raises(AssertionError, match=r"the diagram (costs|has)"):
        small(alpha=0.0, constraints=MaxSplits(1)).fit(X, y)


# -------------------------------------------------------------------------------------------------- scikit-learn


def test_searches_pipelines_and_routing(credit):
    X, y, sex = credit
    search = GridSearchCV(small(), {"alpha": [0.01, 0.3], "splits": ["univariate", "oblique"]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"alpha", "splits"}
    fair = GridSearchCV(small(constraints=DemographicParity()), {"alpha": [0.01, 0.3]}, cv=2)
    assert fair.fit(X, y, sensitive_features=sex).best_estimator_.fairness_
    pipeline = make_pipeline(StandardScaler(), small(constraints=DemographicParity()))
    assert pipeline.fit(X, y, optimaldiagramclassifier__sensitive_features=sex).score(X, y) > 0.5
    with config_context(enable_metadata_routing=True):
        routed = small(constraints=DemographicParity()).set_fit_request(sensitive_features=True)
        folds = cross_validate(
            routed, X, y, cv=2, params={"sensitive_features": sex}, return_estimator=True, error_score="raise"
        )
    # The rows of a fold get their own groups: each diagram knows how fair it is to them.
    assert all(fold.fairness_["DemographicParity(ratio=0.8)"] >= 0.8 for fold in folds["estimator"])


def test_a_time_limit_warns_and_keeps_the_best(credit):
    _, y, _ = credit
    noise = np.random.default_rng(0).random((300, 5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        diagram = OptimalDiagramClassifier(alpha=0.01, time_limit=0.05).fit(noise, y)
    assert 0 <= diagram.lower_bound_ <= diagram.objective_ <= 0.5
    told = [warning for warning in caught if issubclass(warning.category, OptimalityWarning)]
    assert bool(told) == (diagram.result_.stats.stopped_by is not None)
    assert all("raise time_limit" in str(w.message) and w.filename == __file__ for w in told)


# --------------------------------------------------------------------------------------------------------- saving


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
def test_save_and_load(credit, tmp_path, splits):
    X, y, sex = credit
    frame = pd.DataFrame(X, columns=["income", "debt"])
    constraints = [
        DemographicParity(("f", "m"), ratio=0.7),
        EqualizedOdds(ratio=0.2),
        EqualOpportunity(ratio=1, penalty=0.1),
        MaxSplits(3),
        MinSamples(0.02),
    ]
    diagram = small(splits=splits, constraints=constraints, alpha=0.01).fit(frame, y, sensitive_features=sex)
    diagram.save(tmp_path / "odd.json")
    again = load(tmp_path / "odd.json")
    assert again.widths == (1, 2)
    assert again.constraints == constraints
    assert again.get_params() == {**diagram.get_params(), "callback": None}
    assert again.model_ == diagram.model_
    assert again.fairness_ == diagram.fairness_
    assert again.shortfall_ == diagram.shortfall_ != {}
    np.testing.assert_array_equal(again.flow_, diagram.flow_)
    first, proof, *facts = diagram.summary().splitlines()
    claim = f"claimed when the file was written: {proof}"
    assert again.summary().splitlines() == [first, claim, *facts, "to check the claim, fit again on the training data"]
    assert (again.predict(frame) == diagram.predict(frame)).all()
    assert again.recount(frame, y, sensitive_features=sex) == diagram.objective_


@pytest.mark.parametrize("given", [(), MaxSplits(2), (MaxSplits(2),), [MaxSplits(2), MinSamples(3)]])
def test_constraints_keep_their_form(iris, tmp_path, given):
    small(constraints=given).fit(*iris).save(tmp_path / "odd.json")
    assert load(tmp_path / "odd.json").constraints == given


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["constraints"]["$tuple"][0].update(constraint="Kind"), "constraint 'Kind' is unknown"),
        (lambda p: p["constraints"]["$tuple"][0].update(n_splits=0), "integer from 1"),
        (lambda p: p["constraints"]["$tuple"][0].update(colour=0), "unexpected keyword argument 'colour'"),
        (lambda p: p.update(constraints="MaxSplits"), "expected a list of names with parameters"),
        (lambda p: p.update(shape=3), "unexpected keyword argument 'shape'"),
    ],
)
def test_a_file_of_another_version(iris, tmp_path, change, message):
    path = tmp_path / "odd.json"
    small(constraints=(MaxSplits(2),)).fit(*iris).save(path)
    content = json.loads(path.read_text())
    change(content["model"]["estimator"]["parameters"])
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        load(path, check=False)


def test_a_file_without_its_flow(iris, tmp_path):
    path = tmp_path / "odd.json"
    small().fit(*iris).save(path)
    content = json.loads(path.read_text())
    del content["model"]["columns"]["flow"]
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=r"model\.columns: flow must have two finite weights"):
        load(path, check=False)


# ------------------------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("splits", ["univariate", "oblique"])
@pytest.mark.parametrize("topology", ["diagram", "tree"])
def test_pictures(iris, splits, topology):
    X, y = iris
    diagram = small(widths=(1, 2, 2), alpha=0.0, splits=splits, topology=topology, time_limit=0.5).fit(X, y)
    axes = diagram.plot()
    told = " ".join(text.get_text() for text in axes.texts)
    assert "≤" in told
    assert ">" in told
    assert "150 rows" in told
    figure, given = plt.subplots()
    assert diagram.plot(given) is given
    figure.canvas.draw()


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"widths": (1, 3)}, "layer 1 has 3 nodes, but the 1 nodes above it have only 2 arcs"),
        ({"widths": (2, 4)}, "begin with 1"),
        ({"widths": ()}, "not widths of layers"),
        ({"widths": (1, 0)}, "not widths of layers"),
        ({"widths": (1, 2.0)}, "not widths of layers"),
        ({"widths": (True, 2)}, "not widths of layers"),
        ({"widths": 3}, "expected a sequence of integers"),
        ({"widths": "1,2"}, "expected a sequence of integers"),
        ({"engine": "cplex"}, "engine='cplex': expected one of 'auto'"),
        ({"engine": None}, "engine=None"),
        ({"splits": "linear"}, "splits='linear': expected one of 'univariate', 'oblique'"),
        ({"topology": "forest"}, "topology='forest': expected one of 'diagram', 'tree'"),
        ({"alpha": -0.1}, "alpha=-0.1 is not a price"),
        ({"alpha": 1.5}, "alpha=1.5 is not a price"),
        ({"alpha": float("nan")}, "alpha=nan is not a price"),
        ({"alpha": "cheap"}, "alpha='cheap' is not a price"),
        ({"constraints": "MaxSplits"}, "constraints='MaxSplits': expected a list of constraints"),
        ({"constraints": [3]}, "constraints has 3, which is not a constraint"),
        ({"constraints": [MaxSplits]}, "constraints has the class MaxSplits"),
        ({"constraints": None}, "constraints=None"),
        ({"constraints": MaxSplits(0)}, "integer from 1"),
        ({"engine": "search", "splits": "oblique"}, "engine='search' supports only univariate splits"),
        ({"engine": "search", "splits": "oblique"}, "pass one of 'auto', 'heuristic', 'paper'"),
        ({"max_thresholds": 3, "splits": "oblique"}, "pass None for splits='oblique'"),
        ({"max_thresholds": 0}, "max_thresholds=0"),
        ({"random_state": -1}, "random_state=-1: expected an integer from 0"),
        ({"random_state": np.random.default_rng(0)}, "random_state=Generator"),
    ],
)
def test_bad_parameters(iris, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        OptimalDiagramClassifier(**parameters).fit(*iris)


def test_bad_rows(iris):
    X, y = iris
    with pytest.raises(ValueError, match="column 0 has 12 missing values, but oblique splits"):
        small(splits="oblique").fit(np.where(X > 7, np.nan, X), y)
    with pytest.raises(ValueError, match="seen in training"):
        small().fit(X, y).recount(X, y + 1)
    with pytest.raises(DataError, match="too large for float64"):
        small(splits="oblique").fit([[-1e308], [1e308]], [0, 1])


# ----------------------------------------------------------------------------- claims with their conditions


def test_a_proof_by_the_margin_says_so():
    X = np.array([[0, 1], [1, 0], [0.5, 0.50001], [0.25, 0.75001], [0, 0], [1, 1], [0.3, 0.70002]])
    with pytest.warns(OptimalityWarning, match="among hyperplanes with .* that separate by at least 0.0001") as warned:
        diagram = OptimalDiagramClassifier((1,), alpha=0, splits="oblique").fit(X, [0, 0, 1, 1, 0, 1, 1])
    assert warned[0].filename == __file__  # the line that fits, not one of the package
    among = "hyperplanes with coefficients and offset between -1 and 1 that separate by at least 0.0001"
    assert f"proved optimal for these tests (over {among}" in diagram.summary()
    assert diagram.result_.scope[0].startswith(f"over {among}")


@pytest.mark.parametrize(
    ("status", "bound", "conflicts", "proved_by", "limited"),
    [
        ("optimal", 0.5, 1, "conflict bound", True),
        ("optimal", 0.5, 1, "search", False),
        ("optimal", 0.5, 0, "conflict bound", False),
        ("feasible", 0.25, 1, None, True),  # which bound it is from is not known
        ("feasible", 0.0, 1, None, False),
        ("feasible", 0.25, 0, None, False),
    ],
)
def test_a_bound_by_the_margin_has_a_scope(status, bound, conflicts, proved_by, limited, iris):
    model = small().fit(*iris).model_
    stats = Stats(counters={BY_MARGIN: conflicts}, proved_by=proved_by)
    result = Result(model, 0.5, "share", bound, Status(status), stats)
    assert optimal_diagram._margin_decides(result) == limited


def test_hyperplanes_nearer_than_the_margin_contradict_no_bound():
    """The exact search tells rows apart that the margin does not: its bounds are lower, its diagrams not offered."""
    rng = np.random.default_rng(14)
    for _ in range(3):
        x = rng.random(9)
        X = np.column_stack([x, 1 - x + 1e-5 * rng.integers(0, 2, 9)])
        y = (X.sum(axis=1) > 1 + 5e-6).astype(int) ^ (rng.random(9) < 0.2)
        y[:2] = 0, 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimalityWarning)
            diagram = OptimalDiagramClassifier((1, 2), alpha=0.01, splits="oblique", time_limit=3).fit(X, y)
        assert diagram.lower_bound_ <= diagram.objective_
        assert diagram.recount(X, y) == diagram.objective_


@pytest.mark.parametrize("engine", ["auto", "paper"])
def test_oblique_is_never_worse_than_univariate(engine):
    rng = np.random.default_rng(12)
    n_tables, limit = (4, 300) if engine == "auto" else (1, 12)
    for _ in range(n_tables):
        X = np.sort(rng.integers(0, 30, (12, 1)).astype(float), axis=0)
        X[-1] = 1e6  # neighbours are nearer than the margin
        y = rng.integers(0, 2, 12)
        y[:2] = 0, 1
        both = [
            OptimalDiagramClassifier((1, 2), alpha=0.01, splits=splits, engine=engine, time_limit=limit).fit(X, y)
            for splits in ("univariate", "oblique")
        ]
        assert both[0].status_ == both[1].status_ == "optimal"
        assert both[0].objective_ == both[1].objective_


def test_a_column_of_names_fits_a_time_limit():
    rng = np.random.default_rng(13)
    n = 3000
    names = np.array([f"c{number}" for number in range(n)], dtype=object)
    X = np.column_stack([names, np.array(["p", "q", "r"], dtype=object)[rng.integers(0, 3, (n, 2))]])
    y = (X[:, 1] == "p").astype(int) ^ (rng.random(n) < 0.1)
    with pytest.warns(OptimalityWarning):
        diagram = OptimalDiagramClassifier((1, 2), time_limit=1.0).fit(X, y)
    assert diagram.status_ == "feasible"
    assert diagram.lower_bound_ == 0
    assert diagram.objective_ <= min(y.mean(), 1 - y.mean())
    assert diagram.recount(X, y) == diagram.objective_


def test_a_file_without_a_norm_was_proved_under_absolute_sums(tmp_path):
    X, y = load_iris(return_X_y=True)
    diagram = OptimalDiagramClassifier((1,), alpha=0.5, splits="oblique", time_limit=5).fit(X, y)
    diagram.save(tmp_path / "new.json")
    assert load(tmp_path / "new.json").norm == "box"
    text = (tmp_path / "new.json").read_text(encoding="utf-8")
    assert text.count('"norm":"box"') + text.count('"norm": "box"') == 1
    old = re.sub(r'"norm": ?"box",\s*', "", text)
    (tmp_path / "old.json").write_text(old, encoding="utf-8")
    assert load(tmp_path / "old.json", check=False).norm == "l1"
