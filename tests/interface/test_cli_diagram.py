"""The command line for diagrams of a skeleton."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import proofwood
from tests.command_line import failed, worked

QUICK = ("--model", "diagram", "--widths", "1,2", "--time-limit", 0.4)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Loans: text and numbers, and a group that earns less."""
    random = np.random.default_rng(5)
    sex = np.where(random.random(200) < 0.5, "f", "m")
    income = np.round(random.normal(30 + 8 * (sex == "m"), 8), 1)
    frame = pl.DataFrame(
        {
            "income": income,
            "debt": np.round(20 * random.random(200), 1),
            "housing": random.choice(["own", "rent"], 200),
            "sex": sex,
            "ok": np.where(income + random.normal(0, 3, 200) > 34, "good", "bad"),
            "a:b": sex,
        }
    )
    path = tmp_path_factory.mktemp("odd") / "loans.csv"
    frame.write_csv(path)
    return path


def test_a_fair_and_stable_diagram(table, tmp_path):
    out = tmp_path / "odd.json"
    told = worked(
        *(
            "fit",
            table,
            "--target",
            "ok",
            "--model",
            "diagram",
            "--widths",
            "1,2,4",
            "--alpha",
            0.02,
            "--time-limit",
            0.6,
        ),
        *("--splits", "univariate", "--max-splits", 3, "--min-samples", "0.05", "--demographic-parity", "sex:0.7"),
        *("--drop", "a:b", "--random-state", 3, "--max-thresholds", 20, "--out", out),
    )
    assert re.search(r"depth-\d (diagram|tree), \d splits?, \d+ of 200 training rows wrong", told)
    objective, recounted = (
        re.search(pattern, told)[1] for pattern in (r"objective +([\d.]+) share", r"recounted +([\d.]+)")
    )
    assert objective == recounted
    assert re.search(r"constraint +MaxSplits\(3\): [0-3] in use", told)
    assert re.search(r"constraint +MinSamples\(0.05\): ", told)
    assert float(re.search(r"DemographicParity\('sex', ratio=0.7\): worst ratio ([\d.]+)", told)[1]) >= 0.7
    model = proofwood.load(out)
    assert model.widths == (1, 2, 4)
    assert (model.alpha, model.splits, model.random_state, model.max_thresholds) == (0.02, "univariate", 3, 20)
    assert model.feature_names_in_.tolist() == ["income", "debt", "housing"]  # without the sensitive column
    assert model.constraints == [
        proofwood.MaxSplits(3),
        proofwood.MinSamples(0.05),
        proofwood.DemographicParity("sex", ratio=0.7),
    ]
    assert "constraint: DemographicParity('sex', ratio=0.7): worst ratio" in worked("show", out)
    assert worked("predict", out, table).splitlines()[1] in ("good", "bad")


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        ("--demographic-parity", proofwood.DemographicParity),
        ("--equal-opportunity", proofwood.EqualOpportunity),
        ("--predictive-equality", proofwood.PredictiveEquality),
        ("--equalized-odds", proofwood.EqualizedOdds),
    ],
)
def test_every_kind_of_fairness(table, tmp_path, option, kind):
    out = tmp_path / "odd.json"
    worked(
        "fit", table, "--target", "ok", *QUICK, option, "sex", "--positive", "bad", "--min-samples", 20, "--out", out
    )
    assert proofwood.load(out).constraints == [proofwood.MinSamples(20), kind("sex", pos_label="bad")]


@pytest.mark.parametrize("column", ["sex", "a:b"])
def test_a_penalty_instead_of_a_constraint(table, tmp_path, column):
    out = tmp_path / "odd.json"
    asked = f"{column}:0.9:1.5"
    told = worked("fit", table, "--target", "ok", *QUICK, "--demographic-parity", asked, "--out", out)
    constraint = proofwood.DemographicParity(column, ratio=0.9, penalty=1.5)
    assert proofwood.load(out).constraints == [constraint]
    assert re.search(r"constraint +" + re.escape(repr(constraint)) + r": worst ratio [\d.]+, \d+ rows short", told)
    objective, recounted = (
        re.search(pattern, told)[1] for pattern in (r"objective +([\d.]+) share", r"recounted +([\d.]+)")
    )
    assert objective == recounted


def test_the_sensitive_column_may_stay(table, tmp_path):
    out = tmp_path / "odd.json"
    worked("fit", table, "--target", "ok", *QUICK, "--demographic-parity", "sex", "--keep-sensitive", "--out", out)
    assert "sex" in proofwood.load(out).feature_names_in_
    worked("fit", table, "--target", "ok", *QUICK, "--demographic-parity", "a:b", "--out", out)  # a name with a colon
    assert "a:b" not in proofwood.load(out).feature_names_in_
    worked("fit", table, "--target", "ok", *QUICK, "--demographic-parity", "a:b:0.5", "--equal-opportunity", "a:b")


@pytest.mark.parametrize("more", [["--demographic-parity", "a:b"], ["--max-depth", "2", "--max-depth", "3"]])
def test_an_option_of_one_value_is_given_once(table, more):
    told = failed("fit", table, "--target", "ok", "--demographic-parity", "sex:0.9", *more)
    assert f"Invalid value for '{more[0]}': it is given more than once" in told


def test_oblique_splits_and_trees(table):
    drop = [part for name in ("housing", "sex", "a:b") for part in ("--drop", name)]
    told = worked("fit", table, "--target", "ok", *QUICK, *drop, "--splits", "oblique", "--topology", "tree")
    assert "wrong" in told
    assert "diagram" not in told.splitlines()[-8]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "diagram", "--widths", "1,3"], "layer 1 has 3 nodes"),
        (["--model", "diagram", "--widths", "1;2"], "--widths '1;2': expected integers"),
        (["--model", "diagram", "--splits", "oblique"], "column 'housing' has categories"),
        (["--model", "diagram", "--splits", "curved"], "--splits curved"),
        (["--model", "diagram", "--engine", "magic"], "--engine magic"),
        (["--model", "diagram", "--max-splits", "0"], "MaxSplits(0): expected an integer from 1"),
        (["--model", "diagram", "--min-samples", "few"], "--min-samples 'few' is not a number"),
        (["--model", "diagram", "--min-samples", "0.9"], "MinSamples(0.9)"),
        (["--model", "diagram", "--demographic-parity", "sx"], "no column 'sx' in the table. Did you mean 'sex'?"),
        (
            ["--model", "diagram", "--demographic-parity", "sex:high"],
            "--demographic-parity 'sex:high': expected a column",
        ),
        (["--model", "diagram", "--demographic-parity", "sex:3"], "ratio must be a number from 0"),
        (["--model", "diagram", "--demographic-parity", "sex:0.8:dear"], "these and a penalty, such as sex:0.8:0.5"),
        (["--model", "diagram", "--demographic-parity", "sex:0.8:-1"], "penalty must be a number from 0"),
        (
            ["--model", "diagram", "--demographic-parity", "sx:0.8:1"],
            "no column 'sx' in the table. Did you mean 'sex'?",
        ),
        (["--model", "diagram", "--demographic-parity", "ok"], "no column 'ok'"),
        (["--model", "diagram", "--demographic-parity", "sex", "--equalized-odds", "a:b"], "compare different columns"),
        (["--model", "diagram", "--demographic-parity", "sex", "--positive", "fine"], "'fine' is not a label"),
        (["--model", "diagram", "--demographic-parity", "income"], "different values, too many groups"),
        (["--model", "diagram", "--positive", "good"], "is the favourable class of a fairness constraint: add one"),
        (["--model", "diagram", "--keep-sensitive"], "--keep-sensitive needs a fairness constraint"),
        (["--max-splits", "3"], "--max-splits is not an option of --model tree, only of diagram"),
        (["--model", "bdd", "--equal-opportunity", "sex"], "--equal-opportunity is not an option of --model bdd"),
        (["--model", "minimal", "--keep-sensitive"], "--keep-sensitive is not an option of --model minimal"),
        (["--model", "tree", "--widths", "1,2"], "--widths is not an option of --model tree, only of diagram"),
    ],
)
def test_wrong_usage(table, arguments, message):
    assert message in failed("fit", table, "--target", "ok", *arguments)
