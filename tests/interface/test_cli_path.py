"""``proofwood path``: the best tree of every number of leaves, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import proofwood
from proofwood.estimators import tree_path
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("path") / "iris.csv"
    worked("data", "iris", "--out", path)
    return path


def test_a_line_for_each_number_of_leaves(iris):
    *lines, last = worked("path", iris, "--target", "species", "--max-depth", 2).splitlines()
    assert [line.split(";")[0] for line in lines] == [
        " 1 leaf:   100 wrong, proved",
        " 2 leaves: 50 wrong, proved",
        " 3 leaves: 6 wrong, proved",
    ]
    assert last == " 4 leaves: 6 wrong, proved"


def test_folds_choose_a_tree_which_is_printed_and_saved(iris, tmp_path):
    saved = tmp_path / "tree.json"
    text = worked("path", iris, "--target", "species", "--max-depth", 2, "--cv", 3, "--out", saved)
    tree = proofwood.load(saved)
    assert (tree.get_n_leaves(), tree.max_leaf_nodes, tree.target_name_) == (3, 3, "species")
    assert text.endswith(tree.export_text() + "\n")
    found = answer("path", iris, "--target", "species", "--max-depth", 2, "--cv", 3)
    assert (found["rows"], found["chosen"]) == (150, 3)
    assert [tree["objective"] for tree in found["trees"]] == [100, 50, 6, 6]
    assert all(0 < tree["held_out"] < 1 and tree["standard_error"] is not None for tree in found["trees"])


@pytest.mark.needs("matplotlib")
def test_the_path_is_drawn(iris, tmp_path):
    picture = tmp_path / "path.svg"
    worked("path", iris, "--target", "species", "--max-depth", 1, "--plot", picture)
    assert picture.read_text().startswith("<?xml")


def test_the_tree_of_a_number_of_leaves_is_printed(iris, tmp_path):
    saved = tmp_path / "tree.json"
    text = worked("path", iris, "--target", "species", "--max-depth", 2, "--leaves", 2, "--out", saved)
    assert text.endswith(proofwood.load(saved).export_text() + "\n")


def test_the_table_is_read_as_by_fit(iris):
    of_bands = answer("path", iris, "--target", "petal length (cm)", "--bands", 3, "--cv", 2, "--max-depth", 1)
    assert (of_bands["chosen"], len(of_bands["trees"])) == (2, 2)
    without = ("--drop", "petal length (cm)", "--drop", "petal width (cm)")
    found = answer("path", iris, "--target", "species", "--max-depth", 1, *without)
    assert found["trees"][1]["objective"] > 50
    weighted = answer("path", iris, "--target", "species", "--max-depth", 1, "--class-weight", "setosa=3")
    assert weighted["trees"][0]["objective"] == 100
    few = answer("path", iris, "--target", "species", "--max-leaf-nodes", 3, "--min-samples-leaf", 51)
    assert [tree["n_leaves"] for tree in few["trees"]] == [1, 2, 2]


def test_numbers(iris, tmp_path):
    given = ("path", iris, "--target", "petal length (cm)", "--max-depth", 2)
    found = answer(*given, "--cv", 2)
    assert [tree["status"] for tree in found["trees"]] == ["within_gap"] * 4
    assert found["trees"][3]["objective"] < 0.1 * found["trees"][0]["objective"]
    gamma = worked(*given, "--criterion", "gamma", "--leaves", 2, "--out", tmp_path / "tree.json")
    assert "gamma deviance, proved" in gamma
    assert proofwood.load(tmp_path / "tree.json").criterion == "gamma"


@pytest.mark.needs("matplotlib")
def test_after_ctrl_c_in_the_folds_nothing_is_said_to_be_saved(iris, tmp_path, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tree_path, "_on_folds", press)
    given = ("path", iris, "--target", "species", "--max-depth", 1, "--cv", 2)
    saved, picture = tmp_path / "tree.json", tmp_path / "path.svg"
    result = invoke(*given, "--out", saved, "--plot", picture)
    assert result.exit_code == 130
    assert "100 wrong, proved" in result.stdout
    assert "no number of leaves is chosen" in result.stderr
    assert f"saved to {picture}" in result.stderr
    assert f"nothing is saved to {saved}" in result.stderr
    assert picture.exists()
    assert not saved.exists()
    told = invoke(*given, "--out", saved, "--json")
    assert (told.exit_code, json.loads(told.stdout)["saved"]) == (130, None)
    alone = invoke(*given)
    assert alone.exit_code == 0
    assert "warning: Ctrl-C ended the path before its trees were tried on folds" in alone.stderr
    worked(*given, "--out", saved, "--leaves", 2)
    assert saved.exists()


def test_a_limit_that_ended_the_search_is_told(tmp_path):
    rng, table = np.random.default_rng(0), tmp_path / "noise.csv"
    rows = np.column_stack([rng.normal(size=(3000, 8)).round(3), rng.integers(0, 2, 3000)])
    np.savetxt(table, rows, "%g", ",", header="a,b,c,d,e,f,g,h,y", comments="")
    result = invoke("path", table, "--target", "y", "--max-depth", 4, "--time-limit", 0.5)
    assert result.exit_code == 0
    assert "warning: stopped by the time limit" in result.stderr
    assert "raise --time-limit (none for no limit), or take a smaller --max-depth" in result.stderr


def test_mistakes(iris, tmp_path):
    given = ("path", iris, "--target", "species")
    assert "add --leaves N, or --cv FOLDS" in failed(*given, "--out", tmp_path / "tree.json")
    assert "--leaves 9: expected an integer from 1 to 8" in failed(*given, "--leaves", 9)
    assert "--drop species would drop the target column" in failed(*given, "--drop", "species")
    assert "--groups species is the target" in failed(*given, "--groups", "species", "--cv", 2)
    assert "--groups applies to folds: give their number with --cv" in failed(*given, "--groups", "petal width (cm)")
    assert "--max-depth" in failed(*given, "--max-depth", -1)
    assert "criterion" in failed(*given, "--criterion", "squared")
