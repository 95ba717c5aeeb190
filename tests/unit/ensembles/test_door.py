"""The check at the door: what it asks, what it says of a row that is read otherwise, and where it cannot ask."""

from __future__ import annotations

import json
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from proofwood import Explainer, OptimalTreeClassifier, born_again, proved_rules, register_reader
from proofwood.cli import app
from proofwood.ensembles.explained import explained
from proofwood.ensembles.readers import register as readers
from proofwood.ensembles.readers.sklearn import from_forest
from proofwood.ensembles.readers.voting import votes
from proofwood.exceptions import DataError, MisreadError
from proofwood.explain.table.records import read_explanations
from tests.frames import in_polars

ROWS = 120


def _read_as_its_base(kind: type) -> type:
    """A class that predicts in a way of its own, registered by its user to be read as its base class all the same."""
    entry = readers._ENTRIES[readers.kind_of(kind.__mro__[1])]
    register_reader(kind, entry.read, votes=entry.votes, outputs=entry.outputs)
    return kind


def _people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "job": pd.Series(rng.choice(np.array(["cook", "clerk", None], dtype=object), ROWS), dtype=object),
            "age": rng.integers(18, 80, ROWS),
        }
    )
    return frame, np.where((frame["job"] == "cook") ^ (frame["age"] > 50), "yes", "no")


def _learned_from_nan() -> tuple[Any, pd.DataFrame]:
    """A model to which nan is a category, and that answers otherwise where None stands in its place."""
    frame, y = _people()
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), ("passthrough", ["age"]))
    model = make_pipeline(steps, RandomForestClassifier(10, random_state=0))
    return Picky(model.fit(frame.assign(job=frame["job"].fillna(np.nan)), y)), frame


class Picky:
    """A model that says the contrary of another one where a job is None, as no reading could know."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def predict(self, X: Any) -> Any:
        jobs = list(X["job"])
        known = pd.Series([np.nan if job is None else job for job in jobs], dtype=object)
        found = self.inner.predict(pd.DataFrame({"job": known, "age": list(X["age"])}))
        other = np.where(found == "yes", "no", "yes")
        return np.where([job is None for job in jobs], other, found)


register_reader(Picky, lambda model, asked: asked.read(model.inner))


@_read_as_its_base
class Blind(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn has no types
    """Predicts rows of integers as they are, and takes floats for others: as no reading could know."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        found = super().predict(X, check_input)
        return found if np.asarray(X).dtype.kind == "f" else 1 - found


@pytest.fixture(scope="module")
def blind() -> tuple[Any, Any]:
    X = np.random.default_rng(0).integers(0, 9, (60, 3))
    return Blind(max_depth=3, random_state=0).fit(X.astype(float), (X[:, 0] > 4).astype(int)), X


# ------------------------------------------------------------------------------------------------------------- refusals


def test_the_error_names_the_row_both_classes_the_column_the_cause_and_the_way_out() -> None:
    model, frame = _learned_from_nan()
    with pytest.raises(MisreadError) as refused:
        Explainer(model).explain(frame)
    error = refused.value
    assert error.row is not None
    assert frame["job"].iloc[error.row] is None
    assert error.column == "job"
    assert error.predicted == model.predict(frame)[error.row]
    assert {error.predicted, error.read} == {"yes", "no"}
    text = str(error)
    assert text.startswith(f"row {error.row} of the table is not explained: the model predicts {error.predicted!r}")
    assert f"have the class {error.read!r}. The column 'job' makes the difference: it holds None (NoneType)" in text
    assert text.endswith("for example X['job'] = X['job'].fillna(numpy.nan)")
    mended = frame.assign(job=frame["job"].fillna(np.nan))
    assert [e.prediction for e in Explainer(model).explain(mended)] == model.predict(mended).tolist()


def test_the_error_is_a_data_error_and_can_be_sent_to_another_process() -> None:
    error = MisreadError("why", row=3, predicted="a", read="b", column="c")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, DataError)
    assert (str(again), again.row, again.predicted, again.read, again.column) == ("why", 3, "a", "b", "c")


def test_every_way_in_is_guarded(blind: tuple[Any, Any]) -> None:
    model, X = blind
    explainer = Explainer(model)
    row = X[0]
    for ask in (
        lambda: Explainer(model, X=X),
        lambda: explainer.abductive(row),
        lambda: explainer.contrastive(row),
        lambda: explainer.counterfactual(row),
        lambda: explainer.counterfactuals(row),
        lambda: explainer.robustness(row),
        lambda: explainer.is_sufficient(row, [0]),
        lambda: explainer.necessary(row),
        lambda: explainer.relevant(row),
        lambda: explainer.attribution(row),
        lambda: explainer.enumerate(row),
        lambda: explainer.enumeration_certificate(row),
        lambda: explainer.learn_knowledge(X),
        lambda: explainer.explain(X),
        lambda: explainer.explain(X, kind="robustness"),
        lambda: proved_rules(model, X),
        lambda: born_again(model, X=X),
        lambda: born_again(model).predict(X),
    ):
        with pytest.raises(MisreadError, match="is not explained: the model predicts"):
            ask()
    assert explainer.abductive(row.astype(float)).prediction == model.predict(row[np.newaxis].astype(float))[0]


def test_a_step_that_looks_at_the_whole_table_is_found() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    centred = FunctionTransformer(lambda given: np.asarray(given) - np.mean(given, axis=0))
    model = make_pipeline(centred, DecisionTreeClassifier(max_depth=3)).fit(X, X[:, 0] > 0)
    with pytest.raises((TypeError, MisreadError), match=r"monotone|disagrees|not explained"):
        Explainer(model).explain(X + 3)


@_read_as_its_base
class Coarse(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn has no types
    """Computes with a digit only where rows are of float32."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        given = np.asarray(X)
        return super().predict(np.round(given, 1) if given.dtype == np.float32 else given, check_input)


@pytest.mark.parametrize("as_frame", [False, True])
def test_the_column_is_found_where_the_type_of_the_numbers_decides(as_frame: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    model = Coarse(max_depth=3, random_state=0).fit(X, (X[:, 1] > 0.12) ^ (X[:, 2] > 0.57))
    single = X.astype(np.float32)
    read = explained(model)
    wrong = np.flatnonzero(model.predict(single) != model.predict(single.astype(float)))
    assert wrong.size
    rows = pd.DataFrame(single, columns=[f"x{j}" for j in range(4)]) if as_frame else single
    with pytest.raises(MisreadError, match=r"of the type float32.*X.astype\('float64'\)") as refused:
        read.admit(rows)
    assert refused.value.row == wrong[0]
    column = int(refused.value.column[1:])  # the one that is read on another side of a threshold
    changed = single[wrong[0]].astype(float)
    changed[column] = np.round(single[wrong[0], column], 1)
    assert model.predict(changed[np.newaxis])[0] == model.predict(single)[wrong[0]]
    assert len(read.admit(single[np.setdiff1d(np.arange(400), wrong)]).values) == 400 - len(wrong)


# ------------------------------------------------------------------------------------------------------- what is asked


@_read_as_its_base
class Counting(RandomForestClassifier):  # type: ignore[misc] # scikit-learn has no types
    """Notes what it is asked about."""

    asked: list[Any] = []  # noqa: RUF012 - of all instances: scikit-learn clones them

    def predict(self, X: Any) -> Any:
        Counting.asked.append(X)
        return super().predict(X)


def test_a_table_is_asked_about_at_one_go_and_a_row_by_itself_as_they_are() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60).astype(np.float32), "b": rng.integers(0, 4, 60)})
    model = Counting(5, max_depth=3, random_state=0).fit(frame, frame["a"] > 0)
    explainer = Explainer(model)
    Counting.asked.clear()
    explainer.explain(frame)
    as_given = [X for X in Counting.asked if X is frame]
    assert len(as_given) == 1
    row = frame.iloc[[7]]
    Counting.asked.clear()
    assert explainer.abductive(row).reading == "checked"
    assert sum(X is row for X in Counting.asked) == 1
    single = frame.to_numpy(np.float32)
    Counting.asked.clear()
    explainer.abductive(single[7])
    assert Counting.asked[0].dtype == np.float32
    assert Counting.asked[0].shape == (1, 2)


def test_majority_votes_are_those_of_the_trees_for_the_rows_as_given() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4)).round(1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(int)
    for model in (
        RandomForestClassifier(7, max_depth=3, random_state=0).fit(frame, y),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 7, max_features=0.6, random_state=0).fit(frame, y),
        make_pipeline(StandardScaler(), RandomForestClassifier(7, max_depth=3, random_state=0)).fit(frame, y),
    ):
        read = explained(model, vote="majority")
        admitted = read.admit(frame)
        assert admitted.reading == "checked"
        assert admitted.codes.tolist() == read.predict_codes(read.read(X)).tolist()
        sure = explained(model, vote="majority", confidence=0.8)
        assert set(sure.classes[sure.admit(frame).codes]) == {0, 1, "unsure"}


def test_members_of_a_bag_vote_in_the_precision_that_they_compare_in() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    member = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, min_samples_leaf=5)
    model = BaggingClassifier(member, 3, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    roots = [one._predictors[0][0].nodes[0] for one in model.estimators_]
    rows = np.full((6, 3), 0.01)  # on both sides of each threshold: float32 does not tell them apart
    for k, root in enumerate(roots):
        cut = root["num_threshold"]
        rows[2 * k : 2 * k + 2, root["feature_idx"]] = cut, np.nextafter(cut, np.inf)
    read = explained(model, vote="majority")
    votes = np.sum([one.predict(rows).astype(int) for one in model.estimators_], axis=0)
    assert np.array_equal(read.admit(rows).codes, votes >= 2)
    assert len(set(votes.tolist())) > 1


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("family", [RandomForestClassifier, ExtraTreesClassifier])
def test_counted_votes_are_those_that_each_tree_predicts(family: Any, targets: int) -> None:
    generator = np.random.default_rng(targets)
    X = generator.integers(0, 9, (ROWS, 4)).astype(float)
    y = np.column_stack([np.array(["a", "b", "c"])[generator.integers(0, 3, ROWS)] for _ in range(targets)])
    model = family(n_estimators=9, max_depth=3, random_state=0).fit(X, y if targets > 1 else y[:, 0])
    rows = generator.integers(-1, 10, (50, 4)) + generator.choice([0.0, 0.5], (50, 4))
    for target in range(targets):
        said = np.array([one.predict(rows).reshape(len(rows), -1)[:, target] for one in model.estimators_]).astype(int)
        expected = np.array([np.bincount(column, minlength=3) for column in said.T])
        assert np.array_equal(votes(model, target if targets > 1 else None, 3, rows), expected)
        assert len(np.unique(expected.argmax(axis=1))) > 1


def test_numbers_and_probabilities_are_asked_for_as_given() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(150, 3)).round(1), columns=list("abc"))
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(frame, frame["a"])
    assert explained(model, target=("within", 0.1)).admit(frame).reading == "checked"

    @_read_as_its_base
    class Doubled(RandomForestRegressor):  # type: ignore[misc] # scikit-learn has no types
        def predict(self, X: Any) -> Any:
            return super().predict(X) * (2 if np.asarray(X).dtype.kind == "i" else 1)

    model = Doubled(5, max_depth=3, random_state=0).fit(frame.to_numpy(), frame["a"] + 5)
    whole = frame.round().astype(int).to_numpy()
    for target in (("within", 0.1), (">=", 7.0)):
        read = explained(model, target=target)
        with pytest.raises(MisreadError, match="is not explained"):
            read.admit(whole)
        assert len(read.admit(whole.astype(float)).values) == 150
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame, frame["a"] > 0)
    sure = explained(forest, confidence=0.9)
    admitted = sure.admit(frame)
    unsure = forest.predict_proba(frame).max(axis=1) < 0.9
    assert (sure.classes[admitted.codes] == "unsure").tolist() == unsure.tolist()


# --------------------------------------------------------------------------------------------------- what is not asked


def test_where_nothing_predicts_the_answer_says_that_the_reading_was_not_checked() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X[:, 0] > 0)
    tree = OptimalTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0)
    for model in (from_forest(forest, readers.Asked()), tree.model_):
        explainer = Explainer(model, feature_names=list("abc"))
        found = explainer.abductive(X[0])
        assert found.reading == "not checked: the object given cannot predict rows"
        assert found.to_dict()["reading"] == found.reading
        assert "reading not checked" in str(found)
        table = explainer.explain(X[:5])
        assert table[0].reading == table.reading == found.reading
        assert "reading not checked" in repr(table)
        rules = proved_rules(explainer, X)
        assert rules.reading == rules.to_dict()["reading"] == found.reading
        assert "reading not checked" in str(rules)
        assert born_again(explainer, X=X).reading == found.reading
    assert "reading" not in str(Explainer(forest).abductive(X[0]))


def test_a_file_of_explanations_is_read_with_its_check(tmp_path: Any) -> None:
    model, frame = _learned_from_nan()
    explainer = Explainer(model)
    mended = frame.assign(job=frame["job"].fillna(np.nan))[:10]
    explainer.explain(mended, path=tmp_path / "found.jsonl")
    assert read_explanations(tmp_path / "found.jsonl", explainer.model, mended)[0].reading == "checked"


# ------------------------------------------------------------------------------------------------- columns of a table


def test_columns_by_place_are_said_and_named_by_the_frame() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"annual income": rng.lognormal(size=90), "age": rng.integers(18, 80, 90)})
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame.to_numpy(), frame["age"] > 40)
    found = Explainer(model).abductive(frame[:1])
    assert found.reading == "checked; columns by place"
    assert "columns by place" in str(found)
    assert found.model.feature_names == ("x0", "x1")
    named = Explainer(model, X=frame)
    assert named.feature_names == ("annual income", "age")
    assert named.abductive(frame[:1]).reading == "checked"
    assert named.abductive(frame[:1].to_numpy()).reading == "checked"
    with pytest.raises(DataError, match="in another order than 'annual income', 'age'"):
        named.abductive(frame[["age", "annual income"]][:1])
    with pytest.raises(DataError, match="the frame lacks the columns 'age' and has the unknown columns 'Age'"):
        named.abductive(frame.rename(columns={"age": "Age"})[:1])
    with pytest.raises(DataError, match="does not store their names: give exactly these columns"):
        Explainer(model).abductive(frame.assign(more=1)[:1])
    with pytest.raises(DataError, match="more than one column 'age'"):
        Explainer(model).abductive(pd.concat([frame, frame], axis=1)[:1])


@pytest.mark.needs("lightgbm")
def test_names_whose_blanks_lightgbm_does_not_keep() -> None:
    import lightgbm

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"annual income": rng.lognormal(size=90), "age": rng.integers(18, 80, 90)})
    model = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(frame, frame["age"] > 40)
    assert Explainer(model).abductive(frame[:1]).prediction == model.predict(frame[:1])[0]
    assert Explainer(model, X=frame).feature_names == ("annual income", "age")
    with pytest.raises(DataError, match="this model takes columns by position"):
        Explainer(model).abductive(frame[["age", "annual income"]][:1])


def test_further_columns_and_those_that_no_step_needs() -> None:
    frame, y = _people()
    text = frame.assign(job=frame["job"].fillna("none"), note="x")
    steps = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["age"]))
    model = make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(text, y)
    read = explained(model)
    expected = read.admit(text).codes.tolist()
    for table in (text.assign(id=range(ROWS)), text[["age", "job"]], in_polars(text.drop(columns="note"))):
        assert read.admit(table).codes.tolist() == expected
    with pytest.raises(DataError, match="the frame lacks the columns 'job': the model takes"):
        read.admit(text[["age"]])
    plain = DecisionTreeClassifier(max_depth=3).fit(text[["age"]], y)
    assert explained(plain).admit(text).reading == "checked as a frame of pandas"


@pytest.mark.needs("xgboost")
def test_what_a_sparse_matrix_does_not_store() -> None:
    import xgboost

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    X[rng.random(X.shape) < 0.4] = 0
    stored = sp.csr_matrix(X)
    stored.data[:5] = 0  # zeros that are stored are numbers
    y = (X[:, 0] >= 0).astype(int)
    for model in (
        xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(stored, y),
        RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y),
    ):
        read = explained(model)
        assert read.classes[read.admit(stored).codes].tolist() == model.predict(stored).tolist()
        gaps = np.isnan(read.admit(stored).values).sum()
        assert gaps == (X.size - stored.nnz if isinstance(model, xgboost.XGBClassifier) else 0)
        assert Explainer(model).abductive(stored[[3]]).prediction == model.predict(stored[[3]])[0]


@pytest.mark.needs("xgboost")
def test_a_booster_predicts_with_all_its_trees() -> None:
    import xgboost

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0).astype(int)
    early = {"max_depth": 3, "n_jobs": 1, "early_stopping_rounds": 4, "n_estimators": 60, "learning_rate": 0.5}
    wrapped = xgboost.XGBClassifier(**early).fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    booster = wrapped.get_booster()
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    of_all = explained(booster).admit(X).codes
    assert of_all.tolist() == (booster.predict(xgboost.DMatrix(X)) > 0.5).astype(int).tolist()
    of_best = explained(wrapped).admit(X).codes
    assert of_best.tolist() == wrapped.predict(X).tolist()
    assert (of_all != of_best).any()


@pytest.mark.needs("pyarrow", "duckdb")
def test_tables_of_arrow_and_relations_of_duckdb() -> None:
    import duckdb
    import pyarrow as pa

    frame, y = _people()
    text = frame.assign(job=frame["job"].fillna("none"))
    steps = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["age"]))
    model = make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(text, y)
    tree = OptimalTreeClassifier(max_depth=2).fit(text, y)
    expected = model.predict(text).tolist()
    for table in (pa.Table.from_pandas(text), pa.RecordBatch.from_pandas(text), duckdb.from_df(text)):
        read = explained(model, X=table)
        assert read.classes[read.admit(table).codes].tolist() == expected
        assert [given.whole for given in read.inputs] == [True, True]
        assert OptimalTreeClassifier(max_depth=2).fit(table, y).predict(table).tolist() == tree.predict(text).tolist()
    sums = duckdb.sql("select job, sum(age) as age from text group by job")  # which are of 128 bits
    assert Explainer(model).model.admit(sums).values.shape == (3, 2)


def test_rows_that_the_model_itself_refuses() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))

    @_read_as_its_base
    class Strict(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn has no types
        def predict(self, X: Any, check_input: bool = True) -> Any:
            if np.asarray(X)[0, 0] > 100:
                raise RuntimeError("too large\nby far")
            return super().predict(X, check_input)

    model = Strict(max_depth=2).fit(X, X[:, 0] > 0)
    with pytest.raises(DataError, match=r"does not predict these rows.* raises RuntimeError\('too large'\)"):
        Explainer(model).abductive([101.0, 0.0])


def test_the_command_line_tells_it(tmp_path: Any) -> None:
    model, frame = _learned_from_nan()
    joblib.dump(model, tmp_path / "model.joblib")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    row = int(np.flatnonzero(frame["job"].isna().to_numpy())[0])
    call = ["explain", str(tmp_path / "model.joblib"), str(tmp_path / "rows.csv"), "--trust-pickle", "--json"]
    known = int(np.flatnonzero(frame["job"].notna().to_numpy())[0])
    done = CliRunner().invoke(app, [*call, "--row", str(known)])
    assert json.loads(done.stdout)["explanation"]["reading"] == "checked"
    done = CliRunner().invoke(app, [*call, "--row", str(row)])  # an empty cell is the gap that the encoder knows
    as_learned = frame.assign(job=frame["job"].fillna(np.nan)).iloc[[row]]
    assert json.loads(done.stdout)["explanation"]["prediction"] == model.predict(as_learned)[0]
    assert json.loads(done.stdout)["explanation"]["reading"] == "checked"


@pytest.mark.parametrize("learned", [None, np.nan], ids=["None", "nan"])
@pytest.mark.parametrize("gaps", [True, False])
def test_a_gap_of_arrow_is_read_as_in_the_frame_that_the_model_takes(learned: Any, gaps: bool) -> None:
    """scikit-learn takes no table of Arrow here, so the model is asked about a frame, in which a gap is nan."""
    pa = pytest.importorskip("pyarrow")
    frame, y = _people()
    frame["job"] = frame["job"].where(frame["job"].notna(), learned) if gaps else frame["job"].fillna("smith")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    steps = make_column_transformer((encoder, ["job"]), ("passthrough", ["age"]))
    model = make_pipeline(steps, RandomForestClassifier(10, random_state=0)).fit(frame, y)
    table = pa.Table.from_pandas(_people()[0], preserve_index=False)
    read = explained(model)
    admitted = read.admit(table)
    assert admitted.reading == "checked as a frame of pandas"
    said = model.predict(_people()[0].assign(job=_people()[0]["job"].fillna(np.nan)))
    assert read.classes[admitted.codes].tolist() == said.tolist()


def test_no_column_is_blamed_where_a_table_of_arrow_is_another_one_to_the_model() -> None:
    """To the encoder a gap among the truth values of a dictionary of Arrow is True."""
    pa = pytest.importorskip("pyarrow")
    ok = pd.Series(pd.Categorical([True, False, None] * 30, categories=[False, True]))
    frame = pd.DataFrame({"ok": ok, "age": np.arange(90.0)})
    y = np.where(ok.astype(object).eq(True), "yes", "no")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    steps = make_column_transformer((encoder, ["ok"]), (MinMaxScaler(), ["age"]))
    model = make_pipeline(steps.set_output(transform="pandas"), RandomForestClassifier(5, random_state=0)).fit(frame, y)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    assert model.predict(table)[2] != model.predict(frame)[2] == "no"
    assert Explainer(model).abductive(frame.iloc[[2]]).prediction == "no"
    with pytest.raises(MisreadError, match="in another container than Table") as told:
        explained(model).admit(table)
    assert told.value.column is None


def test_the_first_category_of_a_column_of_dates_may_be_a_gap() -> None:
    days = pd.Series(pd.date_range("2021-03-26", periods=4, tz="Europe/Berlin")).take([0, 1, 2, 3] * 30)
    frame = pd.DataFrame({"day": days.reset_index(drop=True), "age": np.arange(ROWS)})
    frame.loc[::5, "day"] = pd.NaT
    y = (frame["day"] == frame["day"].min()) ^ (frame["age"] > 50)
    steps = make_column_transformer((OneHotEncoder(drop="first"), ["day"]), ("passthrough", ["age"]))
    model = make_pipeline(steps, RandomForestClassifier(10, random_state=0)).fit(frame, y)
    read = explained(model, X=frame)
    assert read.classes[read.admit(frame).codes].tolist() == model.predict(frame).tolist()


def test_sparse_rows_are_refused_where_the_steps_compute_otherwise_with_them() -> None:
    X = np.random.default_rng(0).lognormal(size=(ROWS, 3)) * (np.random.default_rng(1).random((ROWS, 3)) < 0.5)
    X = X[X.any(axis=1)]
    y = X[:, 0] > X[:, 1]
    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(StandardScaler(with_mean=False), forest).fit(sp.csr_matrix(X), y)
    with pytest.raises(DataError, match=r"is a sparse matrix, for which.*give X\.toarray\(\)"):
        Explainer(model, X=sp.csr_matrix(X))
    with pytest.raises(DataError, match="slightly other numbers than for an array"):
        Explainer(model).abductive(sp.csr_matrix(X[:1]))
    assert Explainer(model, X=X).abductive(X[:1]).prediction == model.predict(X[:1])[0]
    plain = make_pipeline("passthrough", forest).fit(sp.csr_matrix(X), y)
    assert Explainer(plain, X=sp.csr_matrix(X)).abductive(sp.csr_matrix(X[:1])).prediction == plain.predict(X[:1])[0]


def test_steps_are_asked_once_whether_they_compute_alike_with_sparse_rows() -> None:
    asked: list[int] = []

    class Counted(StandardScaler):
        def transform(self, X: Any, copy: Any = None) -> Any:
            asked.append(X.shape[0])
            return super().transform(X, copy)

    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.lognormal(size=(ROWS, 3)) * (rng.random((ROWS, 3)) < 0.5))
    scaler = StandardScaler(with_mean=False, with_std=False)
    model = make_pipeline(scaler, DecisionTreeClassifier(max_depth=3)).fit(X, np.arange(ROWS) % 2)
    explainer = Explainer(model)
    scaler.__class__ = Counted
    for at in range(5):
        assert explainer.abductive(X[[at]]).prediction == model.predict(X[[at]])[0]
    assert asked.count(200) == 2  # an array and a sparse matrix


@pytest.mark.needs("lightgbm", "pyarrow")
@pytest.mark.parametrize("form", ["polars", "arrow"])
def test_lightgbm_is_not_asked_about_what_it_refuses_on_the_terminal(form: str, capfd: Any) -> None:
    """Rows of numbers are given to it as they are, in any container."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=ROWS), "old": rng.random(ROWS) < 0.5, "n": rng.integers(0, 9, ROWS)})
    y = (frame["size"] > 0) ^ frame["old"]
    few = {"n_estimators": 3, "min_child_samples": 2, "verbose": -1, "n_jobs": 1}
    for job in (None, pd.Series(pd.Categorical(np.where(frame["n"] > 4, "smith", "baker")))):
        table = frame if job is None else frame.assign(job=job)
        model = LGBMClassifier(**few).fit(table, y)
        rows = pl.from_pandas(table)
        admitted = explained(model, X=table).admit(rows if form == "polars" else rows.to_arrow())
        assert admitted.reading == ("checked" if job is None else "checked as a frame of pandas")
        assert (admitted.codes == model.predict(table)).all()
    assert "[Fatal]" not in "".join(capfd.readouterr())
