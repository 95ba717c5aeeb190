"""``proofwood evaluate``, ``proofwood compare`` and ``proofwood fit --cv``."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_score, recall_score

import proofwood
from proofwood import OptimalTreeCV
from proofwood.estimators import candidates
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer

# -------------------------------------------------------------------------------------------------------- evaluate


def test_measures_are_those_of_scikit_learn(folder):
    found = answer("evaluate", folder / "tree.json", folder / "iris.csv", "--target", "species")
    table = pl.read_csv(folder / "iris.csv")
    tree = proofwood.load(folder / "tree.json")
    y, predicted = table["species"].to_numpy(), tree.predict(table.drop("species"))
    assert found["rows"] == 150
    assert found["wrong"] == np.sum(y != predicted) == 6
    assert found["accuracy"] == pytest.approx(0.96)
    assert found["accuracy_interval"][0] < 0.96 < found["accuracy_interval"][1]
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found["confusion"] == [*confusion_matrix(y, predicted).tolist(), [0, 0, 0]]
    recalls, precisions = recall_score(y, predicted, average=None), precision_score(y, predicted, average=None)
    assert [one["recall"] for one in found["classes"]] == pytest.approx(recalls.tolist())
    assert [one["precision"] for one in found["classes"]] == pytest.approx(precisions.tolist())
    assert sum(one["rows"] for one in found["calibration"]) == 150


def test_what_is_printed(folder):
    text = worked("evaluate", folder / "tree.json", folder / "iris.csv", "--target", "species")
    assert "6 of 150 rows" in text
    assert "is \\ predicted" in text
    assert len([line for line in text.splitlines() if line.startswith("virginica")]) == 2


def test_classes_that_training_did_not_have_are_wrong(folder):
    table = pl.read_csv(folder / "iris.csv").head(4)
    table = table.with_columns(pl.Series("species", ["setosa", "setosa", "lily", "lily"])).select(
        reversed(table.columns)
    )
    table.write_csv(folder / "new.csv")
    found = answer("evaluate", folder / "tree.json", folder / "new.csv", "--target", "species")
    assert (found["rows"], found["wrong"], found["unknown_classes"], found["brier"]) == (4, 2, 2, None)
    assert found["balanced_accuracy"] == 0.5
    assert found["classes"][1]["recall"] is None
    text = worked("evaluate", folder / "tree.json", folder / "new.csv", "--target", "species")
    assert "2 rows with classes that training did not have" in text
    assert "(unknown)" in text


# --------------------------------------------------------------------------------------------------------- compare


def test_a_comparison(folder):
    given = ("compare", folder / "iris.csv", "--target", "species", "--cv", 2, "--time-limit", 2)
    found = answer(*given)
    assert (found["rows"], found["folds"], found["score"]) == (150, 2, "accuracy")
    names = [model["model"] for model in found["models"]]
    assert found["reference"] == names[0] == "optimal tree, size chosen"
    assert {"random forest", "boosted trees", "CART, depth 2", "most frequent class"} < set(names)
    assert all(0.3 < model["score"] <= 1 for model in found["models"])
    assert found["models"][0]["difference"] == 0


def test_a_comparison_as_a_table_and_a_picture(folder):
    picture = folder / "compared.svg"
    given = ("--cv", 2, "--time-limit", 2, "--scoring", "balanced_accuracy", "--drop", "petal width (cm)")
    text = worked("compare", folder / "iris.csv", "--target", "species", *given, "--plot", picture)
    assert text.splitlines()[0].split()[:3] == ["model", "balanced", "accuracy"]
    assert "boosted trees" in picture.read_text()


def test_scores_that_do_not_exist_are_refused(folder):
    said = failed("compare", folder / "iris.csv", "--target", "species", "--scoring", "acuracy")
    assert "Did you mean 'accuracy'?" in said


# -------------------------------------------------------------------------------------------------------- fit --cv


def test_the_size_by_cross_validation(folder):
    tree = folder / "chosen.json"
    found = answer("fit", folder / "iris.csv", "--target", "species", "--cv", 3, "--max-depth", 2, "--out", tree)
    table = pl.read_csv(folder / "iris.csv")
    expected = OptimalTreeCV((1, 2), cv=3).fit(table.drop("species"), table["species"])
    folds = found["cross_validation"]
    assert [one["accuracy"] for one in folds["candidates"]] == pytest.approx(
        expected.cv_results_["mean_test_score"].tolist()
    )
    assert (folds["chosen"], folds["best"], folds["folds"]) == (expected.best_index_, expected.top_index_, 3)
    assert {key: found["model"]["parameters"][key] for key in expected.best_params_} == expected.best_params_
    assert proofwood.load(tree).get_params()["max_depth"] == expected.best_params_["max_depth"]


def test_the_choice_is_printed(folder):
    text = worked("fit", folder / "iris.csv", "--target", "species", "--cv", 3, "--alpha", 0.01)
    (line,) = [line for line in text.splitlines() if line.startswith("chosen")]
    assert "alpha 0.01: accuracy" in line
    assert answer("fit", folder / "iris.csv", "--target", "species")["cross_validation"] is None


def test_fit_says_which_sizes_ctrl_c_kept_from_the_folds(folder, monkeypatch):
    real = candidates.CandidateRun._fits

    def press(run, fold, size):
        if size.max_depth == 2:
            raise KeyboardInterrupt
        return real(run, fold, size)

    monkeypatch.setattr(candidates.CandidateRun, "_fits", press)
    result = invoke("fit", folder / "iris.csv", "--target", "species", "--cv", 2, "--alpha", 0.01)
    assert result.exit_code == 0
    assert "chosen       depth 1" in result.stdout
    assert "warning: 2 of 3 candidates were not tried in every fold, for Ctrl-C ended the trying" in result.stderr


def test_what_one_tree_can_be_asked_for_goes_with_folds(tmp_path):
    rng = np.random.default_rng(0)
    income, group = rng.integers(0, 20, 90), rng.choice(["a", "b"], 90)
    paid = np.where(income + rng.integers(0, 9, 90) > 12, "yes", "no")
    table = tmp_path / "loans.csv"
    pl.DataFrame({"income": income, "group": group, "paid": paid}).write_csv(table)
    common = ("fit", table, "--target", "paid", "--max-depth", 2, "--cv", 3)
    few = answer(*common, "--max-leaf-nodes", 2)["cross_validation"]["candidates"]
    assert {one["max_leaf_nodes"] for one in few} == {2}
    assert max(one["leaves"] for one in few) <= 2
    ordered = worked(*common, "--monotonic", "income=1", "--drop", "group", "--out", tmp_path / "tree.json")
    assert "chosen" in ordered
    assert proofwood.load(tmp_path / "tree.json").monotonic_cst == {"income": 1}
    rates = ("--demographic-parity", "group:0.9", "--positive", "yes")
    assert "worst ratio" in worked(*common, "--alpha", 0, *rates)
    assert "neg mean cost" in worked(*common, "--alpha", 0, "--costs", "yes:no=5,no:yes=1")


@pytest.mark.parametrize("given", [("--cv", "--max-depth", 1), ("--max-depth", 1, "--cv")])
def test_five_folds_without_a_number(folder, given):
    result = invoke("fit", folder / "iris.csv", "--target", "species", *given, "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith("proofwood: --cv: 5 folds\n")
    assert json.loads(result.stdout)["cross_validation"]["folds"] == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--cv", "five"), "--cv five: expected a number of folds, such as --cv 5"),
        (("--cv", 1), "--cv 1: expected a number of folds from 2"),
        (("--cv", 3, "--max-depth", -1), "is not a depth"),
        (("--cv", 3, "--model", "bdd"), "--cv is not an option of --model bdd"),
    ],
)
def test_folds_that_make_no_sense_are_refused(folder, given, said):
    assert said in failed("fit", folder / "iris.csv", "--target", "species", *given)
