"""XGBoost, LightGBM and CatBoost: several targets, early stopping, thresholds, degenerate models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from proofwood import Explainer
from proofwood.ensembles.explained import Explained, explained, sample_rows
from proofwood.ensembles.readers.supported import adapt
from proofwood.model.node_table import FloatArray, IntArray

XGB: dict[str, Any] = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "learning_rate": 0.5}
LGB: dict[str, Any] = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
CAT: dict[str, Any] = {"iterations": 8, "depth": 3, "learning_rate": 0.5, "verbose": 0, "thread_count": 1}
CAT |= {"allow_writing_files": False}


def _data(seed: int = 0, n: int = 300) -> tuple[FloatArray, FloatArray]:
    """Rows, and a number that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random((n, 4)) < 0.05] = np.nan
    filled = np.nan_to_num(X)
    return X, filled[:, 0] + filled[:, 1] * filled[:, 2] + 0.3 * rng.normal(size=n)


def _one(model: Any, output: int | None = None, X: Any = None, **asked: Any) -> Explained:
    """The model of one output, which the conversion compares with what the model itself predicts."""
    return explained(adapt(model, "auto", None, X, output).forest, **asked)


def _rows(result: Explained, X: FloatArray) -> FloatArray:
    return np.concatenate([X, sample_rows(result, 500, 1)])


def _clear(result: Explained, rows: FloatArray, codes: IntArray) -> None:
    """The integer sums win as the codes say wherever rounding does not matter, which is nearly everywhere."""
    wide = result.with_gaps_of(rows)
    sums = wide.sums_of(wide.cells_of(rows))
    top = np.sort(sums, axis=1)
    sure = top[:, -1] - top[:, -2] > wide.scores.margin
    assert sure.mean() > 0.95
    assert np.array_equal(sums.argmax(axis=1)[sure], np.asarray(codes).ravel()[sure])


# ------------------------------------------------------------------------------------------------------ several targets


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_labels_of_xgboost_one_at_a_time(strategy: str) -> None:
    import xgboost

    X, number = _data()
    both = np.stack([number > 0, number > 1], axis=1).astype(int)
    model = xgboost.XGBClassifier(**XGB, multi_strategy=strategy).fit(X, both)
    for wrapped in (model, model.get_booster()):
        for output in (0, 1):
            result = _one(wrapped, output)
            rows = _rows(result, X)
            assert result.classes.tolist() == [0, 1]
            _clear(result, rows, model.predict(rows)[:, output])
            found = Explainer(wrapped, output=output).abductive(rows[:1])  # the way out that the refusal names
            assert found.prediction == model.predict(rows[:1])[0, output]
        with pytest.raises(TypeError, match=r"predicts 2 targets.*output=0, output=1"):
            Explainer(wrapped)
        for wrong in (2, -1, True, "a"):
            with pytest.raises(ValueError, match="has the targets output=0, output=1"):
                adapt(wrapped, "auto", None, None, wrong)  # type: ignore[arg-type]


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("kind", ["targets", "vectors", "quantiles"])
def test_numbers_of_xgboost_one_at_a_time(kind: str) -> None:
    import xgboost

    X, number = _data(1)
    y = np.stack([number, number**2], axis=1)
    parameters: dict[str, Any] = {}
    if kind == "vectors":
        parameters = {"multi_strategy": "multi_output_tree"}
    elif kind == "quantiles":
        y, parameters = number, {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    model = xgboost.XGBRegressor(**XGB, **parameters).fit(X, y)
    for wrapped in (model, model.get_booster()):
        for output in (0, 1):
            result = _one(wrapped, output, target=(">=", 0.5))
            rows = _rows(result, X)
            _clear(result, rows, model.predict(rows)[:, output] >= 0.5)


@pytest.mark.needs("xgboost")
def test_softmax_of_two_classes() -> None:
    import xgboost

    X, number = _data(2)
    model = xgboost.XGBClassifier(**XGB, objective="multi:softprob", num_class=2).fit(X, (number > 0).astype(int))
    with pytest.raises(TypeError, match=r"output=0 \(whether it is class 0\).*pass model.get_booster\(\)"):
        Explainer(model)
    whole = explained(model.get_booster())
    rows = _rows(whole, X)
    _clear(whole, rows, model.predict_proba(rows).argmax(axis=1))
    for output in (0, 1):
        _clear(_one(model, output), rows, model.predict(rows)[:, output])


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("parallel", [1, 3])
def test_vector_leaves_of_classes(parallel: int) -> None:
    import xgboost

    X, number = _data(3)
    y = np.searchsorted([-0.5, 0.8], number)
    model = xgboost.XGBClassifier(
        **XGB, multi_strategy="multi_output_tree", num_parallel_tree=parallel, subsample=0.7
    ).fit(X, y)
    result = explained(model)
    rows = _rows(result, X)
    _clear(result, rows, model.predict(rows))


@pytest.mark.needs("catboost")
@pytest.mark.parametrize(
    "loss", ["MultiLogloss", "MultiCrossEntropy", "MultiRMSE", "MultiQuantile", "RMSEWithUncertainty"]
)
def test_targets_of_catboost_one_at_a_time(loss: str) -> None:
    import catboost

    X, number = _data(4)
    y: Any = number
    kind = catboost.CatBoostRegressor
    asked: dict[str, Any] = {"target": (">=", 0.5)}
    if loss in ("MultiLogloss", "MultiCrossEntropy"):
        y, kind, asked = np.stack([number > 0, number > 1], axis=1).astype(int), catboost.CatBoostClassifier, {}
    elif loss == "MultiRMSE":
        y = np.stack([number, number**2], axis=1)
    model = kind(**CAT, loss_function=f"{loss}:alpha=0.2,0.8" if loss == "MultiQuantile" else loss).fit(X, y)
    for output in (0, 1):
        result = _one(model, output, **asked)
        rows = _rows(result, X)
        given = np.asarray(model.predict(rows))[:, output]
        _clear(result, rows, given >= 0.5 if asked else given)
    with pytest.raises(TypeError, match="the mean" if loss == "RMSEWithUncertainty" else "predicts 2 targets"):
        adapt(model, "auto", None)


# ------------------------------------------------------------------------------------------------------- early stopping


@pytest.mark.needs("xgboost")
def test_a_booster_of_xgboost_has_all_its_trees_and_a_wrapper_those_up_to_the_best_round() -> None:
    import xgboost

    X, number = _data(5)
    y = (number > 0).astype(int)
    model = xgboost.XGBClassifier(**{**XGB, "n_estimators": 60}, early_stopping_rounds=4)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    booster = model.get_booster()
    assert model.best_iteration + 1 < booster.num_boosted_rounds()
    whole, best = explained(booster), explained(model)
    assert whole.scores.n_trees == booster.num_boosted_rounds()
    assert best.scores.n_trees == model.best_iteration + 1
    rows = _rows(whole, X)
    _clear(best, rows, model.predict(rows))
    _clear(whole, rows, booster.predict(xgboost.DMatrix(rows)) > 0.5)


@pytest.mark.needs("lightgbm")
@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")  # which releases before 4.7 need
def test_lightgbm_after_early_stopping() -> None:
    import lightgbm

    X, number = _data(6)
    y = (number > 0).astype(int)
    stop = lightgbm.early_stopping(4, verbose=False)
    model = lightgbm.LGBMClassifier(**{**LGB, "n_estimators": 60}, learning_rate=0.5)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], callbacks=[stop])
    parts = [lightgbm.Dataset(X[:200], y[:200])]
    parts.append(parts[0].create_valid(X[200:], y[200:]))
    asked = {"objective": "binary", "learning_rate": 0.5, "num_leaves": 6, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(asked, parts[0], 60, valid_sets=parts[1:], callbacks=[stop], keep_training_booster=True)
    assert booster.best_iteration < booster.current_iteration()
    for wrapped, best in ((model, model.best_iteration_), (booster, booster.best_iteration)):
        result = explained(wrapped)
        assert result.scores.n_trees == best
        rows = _rows(result, X)
        _clear(result, rows, np.asarray(wrapped.predict(rows)) > 0.5)
    again = pickle.loads(pickle.dumps(booster))
    assert explained(again).scores.n_trees == booster.best_iteration


@pytest.mark.needs("lightgbm")
def test_predictions_that_end_before_the_last_tree_are_refused() -> None:
    import lightgbm

    X, number = _data(7)
    model = lightgbm.LGBMClassifier(**LGB, pred_early_stop=True, pred_early_stop_margin=0.1).fit(X, number > 0)
    with pytest.raises(TypeError, match="predictions may stop before the last tree"):
        Explainer(model)
    assert explained(model.booster_).scores.n_trees == 6  # which knows nothing of it


# ------------------------------------------------------------------------------------------------ models of other kinds


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
def test_probability_thresholds_of_catboost(threshold: float) -> None:
    import catboost

    X, number = _data(8)
    model = catboost.CatBoostClassifier(**CAT).fit(X, number > 0)
    model.set_probability_threshold(threshold)
    result = explained(model)
    rows = _rows(result, X)
    predicted = [label in (True, "True") for label in model.predict(rows).ravel().tolist()]
    assert (len(set(predicted)) == 1) is (threshold in (0.0, 1.0))
    _clear(result, rows, np.array(predicted).astype(np.int64))
    if threshold != 0.5:
        with pytest.raises(TypeError, match="confidence is not supported for this model"):
            Explainer(model, confidence=0.9)


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sums_of_catboost_models(n_classes: int) -> None:
    import catboost

    X, number = _data(9)
    y = np.searchsorted([0.0, 1.0][: n_classes - 1], number)
    parts = [catboost.CatBoostClassifier(**CAT, random_seed=seed).fit(X, y) for seed in (1, 2)]
    whole = catboost.sum_models(parts, weights=[1.0, 0.7])
    model = catboost.to_classifier(whole)
    result = explained(model)
    rows = _rows(result, X)
    _clear(result, rows, model.predict(rows).ravel())
    if n_classes == 2:
        number_of = catboost.to_regressor(whole)
        result = explained(number_of, target=(">=", 0.5))
        _clear(result, rows, np.asarray(number_of.predict(rows)) >= 0.5)


@pytest.mark.needs("catboost")
def test_degenerate_and_unpickled_models_of_catboost() -> None:
    import catboost

    X, number = _data(10)
    constant = np.zeros_like(X)
    constant[:, 0] = X[:, 0] > 0
    model = catboost.CatBoostClassifier(**CAT, rsm=0.3).fit(constant, number > 0)
    Explainer(model)  # some of its trees test nothing
    again = pickle.loads(pickle.dumps(catboost.CatBoostClassifier(**CAT).fit(X, number > 0)))
    assert len(explained(again).inputs) == 4
    assert explained(again).feature_names == ("0", "1", "2", "3")
    with pytest.raises(NotFittedError, match="is not fitted"):
        Explainer(catboost.CatBoostClassifier())
    ranks = catboost.CatBoostRanker(**CAT, loss_function="YetiRank").fit(X, number > 0, group_id=np.repeat([0, 1], 150))
    result = explained(ranks, target=(">", 0.1))
    rows = _rows(result, X)
    _clear(result, rows, np.asarray(ranks.predict(rows)) > 0.1)


@pytest.mark.needs("catboost")
def test_texts_of_catboost_are_refused_in_a_sentence() -> None:
    import catboost

    X, number = _data(11)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": X[:, 0], "words": rng.choice(["a b", "b c d", "c a"], len(X))})
    model = catboost.CatBoostClassifier(**CAT, text_features=["words"]).fit(frame, number > 0)
    with pytest.raises(TypeError, match=r"cannot write this model as JSON.*without text or embeddings"):
        Explainer(model)


@pytest.mark.needs("xgboost")
def test_constant_and_linear_models_of_xgboost() -> None:
    import xgboost

    X, number = _data(12)
    same = xgboost.XGBClassifier(**XGB).fit(X, np.zeros(len(X), dtype=int))
    result = explained(same)
    assert set(result.predict_codes(X).tolist()) == {0}
    both = np.stack([number > 0, number > 99], axis=1).astype(int)  # no row has the second label
    never = _one(xgboost.XGBClassifier(**XGB).fit(X, both), 1)
    assert set(never.predict_codes(X).tolist()) == {0}
    none = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, number > 0), 0)
    with pytest.raises(TypeError, match="the model has no tree"):
        Explainer(none)
    linear = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(np.nan_to_num(X), number), 2)
    with pytest.raises(TypeError, match="the model has booster='gblinear': expected 'gbtree' or 'dart'"):
        Explainer(linear, target=(">", 0))


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("objective", ["survival:aft", "rank:pairwise"])
def test_further_numbers_of_xgboost(objective: str) -> None:
    import xgboost

    X, number = _data(13)
    data = xgboost.DMatrix(X, number > 0)
    if objective == "survival:aft":
        for end in ("label_lower_bound", "label_upper_bound"):
            data.set_float_info(end, np.exp(number))
    else:
        data.set_group([150, 150])
    booster = xgboost.train({"objective": objective, "max_depth": 3, "nthread": 1}, data, 5)
    different = np.unique(booster.predict(xgboost.DMatrix(X)).astype(np.float64))
    middle = different.size // 2
    value = float(different[middle - 1 : middle + 1].mean())  # no row is at it
    result = explained(booster, target=(">", value))
    rows = _rows(result, X)
    _clear(result, rows, booster.predict(xgboost.DMatrix(rows)) > value)


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("names", [["Zürich", "Bern", "Basel"], ["é", "è", "a"], ["a", "b", "c"]])
def test_categories_that_are_not_ascii(names: list[str]) -> None:
    import xgboost

    rng = np.random.default_rng(14)
    frame = pd.DataFrame({"city": pd.Categorical(rng.choice(names, 200), names), "v": rng.normal(size=200)})
    y = ((frame.city == names[0]) ^ (frame.v > 1)).astype(int)
    model = xgboost.XGBClassifier(**XGB, enable_categorical=True).fit(frame, y)
    release = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
    cut = (3, 1) <= release < (3, 4) and not "".join(names).isascii()
    if cut and names[0] == "é":  # the first byte of its three categories is one of two
        with pytest.raises(TypeError, match="and two of the truncated names are equal"):
            Explainer(model, X=frame)
        return
    if cut:
        with pytest.raises(
            TypeError, match=r"categories with non-ASCII names.*truncates.*expected X= with a pandas frame"
        ):
            Explainer(model)
        other = frame.assign(city=frame.city.cat.reorder_categories(names[::-1]))
        with pytest.raises(TypeError, match="categories with non-ASCII names"):
            Explainer(model, X=other)
    explainer = Explainer(model, X=frame)
    assert explainer.model.inputs[0].levels == tuple(names)
    assert np.array_equal(explainer.model.predict_codes(explainer.model.read(frame)), model.predict(frame))
    found = explainer.abductive(frame.iloc[:1])
    assert found.prediction == model.predict(frame.iloc[:1])[0]


def test_an_output_that_a_model_does_not_have_is_refused() -> None:
    X, number = _data()
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, number > 0)
    with pytest.raises(ValueError, match=r"output=1: the RandomForestClassifier has the targets output=0"):
        Explainer(forest, output=1)
