"""Targets on the command line: classes, numbers, the rewards of actions, survival times; what is seen, and mistakes."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import proofwood
from proofwood.cli.learners import OPTIONS
from proofwood.estimators.registry import LEARNERS
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer

N = 200


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """A folder with tables, and models of them."""
    folder = tmp_path_factory.mktemp("targets")
    rng = np.random.default_rng(0)
    area, north = rng.integers(20, 160, N), rng.random(N) < 0.5
    price = np.round(100.0 * area + 3000.0 * ~north + rng.normal(0, 500, N), 2)
    features = {"area": area, "side": np.where(north, "north", "south")}
    german = [f"{one:,.2f} EUR".translate(str.maketrans(",.", ".,")) for one in price]
    gaps = [None, *german[1:-1], "n/a"]
    noise = np.round(rng.normal(size=N), 2)
    tables = {
        "flats": {"price": price},
        "german": {"price": german},
        "gaps": {"price": gaps},
        "request": {"price": [*german[:-1], "auf Anfrage"]},
        "stars": {"stars": rng.integers(1, 6, N)},
        "dates": {"day": np.datetime64("2020-01-01") + np.arange(N)},
        "same": {"price": np.full(N, 2.5)},
        "infinite": {"price": [np.inf, *price[1:]]},
        "campaign": {"none": noise, "mail": np.round(noise - 0.5 + 0.01 * (area - 80), 2), "call": noise - 1},
        "times": {"time": rng.exponential(area).round(1) + 0.1, "died": rng.random(N) < 0.7},
    }
    for name, columns in tables.items():
        pl.DataFrame({**features, **columns}).write_csv(folder / f"{name}.csv")
    worked("fit", folder / "flats.csv", "--target", "price", "--max-depth", 2, "--out", folder / "flats.json")
    actions = [word for name in ("none", "mail", "call") for word in ("--target", name)]
    worked("fit", folder / "campaign.csv", *actions, "--max-depth", 1, "--out", folder / "policy.json")
    return folder


def test_each_learner_has_options():
    assert list(OPTIONS) == list(LEARNERS)


def test_numbers_are_seen_and_the_way_back_is_told(at):
    result = invoke("fit", at / "flats.csv", "--target", "price", "--max-depth", 1)
    assert result.exit_code == 0
    assert "proofwood: price holds 200 different numbers: a tree of numbers; --bands 5 for classes" in result.stderr
    assert "no tree of depth at most 1 has a smaller squared error" in result.stdout
    assert "squared error if always the mean" in result.stdout
    few = invoke("fit", at / "stars.csv", "--target", "stars", "--max-depth", 1)
    assert "a tree of numbers" not in few.stderr
    assert "errors" in few.stdout
    for more in (("--bands", 3), ("--model", "tree", "--bands", 3)):
        assert "makes fewer errors" in worked("fit", at / "flats.csv", "--target", "price", "--max-depth", 1, *more)
    stars = worked("fit", at / "stars.csv", "--target", "stars", "--max-depth", 1, "--model", "regressor")
    assert "squared error" in stars
    assert "deviance" in worked(
        "fit", at / "stars.csv", "--target", "stars", "--criterion", "poisson", "--max-depth", 1
    )


def test_a_model_of_numbers_as_an_answer(at):
    found = answer("fit", at / "flats.csv", "--target", "price", "--max-depth", 2)
    assert found["model"]["learner"] == "regressor"
    assert found["model"]["predicts"] == "numbers"
    assert found["model"]["classes"] == []
    assert found["training"]["cart_errors"] is found["training"]["cart_cost"] is None  # of text
    shown = answer("show", at / "flats.json")
    assert shown["model"]["text"] == found["model"]["text"]
    found = answer("fit", at / "flats.csv", "--target", "price", "--drop", "side", "--max-depth", 2)
    training = found["training"]
    assert found["proof"]["objective"] == training["recounted"] <= training["cart_cost"] * (1 + 1e-9)
    assert training["cart_cost"] < training["baseline"]


def test_the_size_of_a_tree_of_numbers(at):
    arguments = ["fit", at / "flats.csv", "--target", "price", "--max-depth", 1, "--cv", 2, "--alpha", 0.01]
    found = answer(*arguments, "--out", at / "chosen.json")
    assert found["new_rows"]["score"] == "R²"
    assert found["cross_validation"]["candidates"][0]["accuracy"] == pytest.approx(found["new_rows"]["mean"])
    assert "new rows     R²" in worked(*arguments)


def test_text_of_numbers_is_read_with_gaps_and_cells_in_the_way(at):
    text = worked("fit", at / "german.csv", "--target", "price", "--max-depth", 2, "--out", at / "german.json")
    assert text.splitlines()[0] == worked("show", at / "flats.json").splitlines()[0]
    found = answer("evaluate", at / "german.json", at / "german.csv", "--target", "price")
    plain = answer("evaluate", at / "flats.json", at / "flats.csv", "--target", "price")
    assert found["r2"] == pytest.approx(plain["r2"])
    result = invoke("fit", at / "gaps.csv", "--target", "price", "--max-depth", 1, "--drop-missing-target")
    assert result.exit_code == 0
    assert "left out: 2 of 200 rows have no value in column 'price'" in result.stderr
    assert "198 training rows" in result.stdout
    assert "but for 'auf Anfrage', and was not read: correct the cells" in failed(
        "fit", at / "request.csv", "--target", "price"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gaps", "--target", "price"), "1 of 200 rows have no value in column 'price': drop these rows first"),
        (
            ("flats", "--target", "price", "--model", "tree"),
            "with fit --model regressor, or cut it into bands",
        ),
        (("flats", "--target", "price", "--cv", 1), "--cv 1: expected a number of folds from 2"),
        (("flats", "--target", "price", "--class-weight", "balanced"), "--model regressor"),
        (("flats", "--target", "price", "--model", "regressor", "--bands", 3), "--bands is for classes"),
        (("flats", "--target", "price", "--model", "regressor", "--class-weight", "a=1"), "--class-weight is for"),
        (("flats", "--target", "price", "--max-gap", 5), "--max-gap 5 is not a gap"),
        (("flats", "--target", "price", "--criterion", "poison"), "Did you mean 'poisson'?"),
        (
            ("flats", "--target", "side", "--model", "regressor"),
            "'south'.*learn classes with fit --model tree",
        ),
        (("dates", "--target", "day"), "turn it into numbers first, such as days"),
        (("dates", "--target", "day", "--model", "regressor"), "holds dates, and this learner predicts numbers"),
        (("infinite", "--target", "price"), r"no number in row 0 \(inf\)"),
        (("campaign", "--target", "none", "--target", "none"), "names a column twice"),
        (("campaign", "--target", "none", "--target", "side"), "the target 'side' holds 'north', 'south'"),
        (("campaign", "--target", "none,mail"), "repeat the option for each name"),
        (("campaign", "--target", "none", "--target", "mail", "--model", "tree"), "--model policy has several"),
        (("campaign", "--target", "none", "--target", "mail", "--drop", "mail"), "--drop mail would drop the target"),
        (("times", "--target", "time", "--model", "survival"), "two targets, the time, and whether the event happened"),
    ],
)
def test_mistakes_are_answered_with_options(at, arguments, message):
    table, *more = arguments
    result = invoke("fit", at / f"{table}.csv", *more)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert re.search(message, " ".join(result.stderr.split()))


def test_a_target_of_one_number_is_a_leaf(at):
    result = invoke("fit", at / "same.csv", "--target", "price")
    assert "all rows have one target, 2.5, so that there is nothing to learn" in result.stderr
    assert result.stdout.startswith("2.5  200 rows")


def test_evaluation_of_numbers(at):
    found = answer("evaluate", at / "flats.json", at / "flats.csv", "--target", "price")
    table = pl.read_csv(at / "flats.csv")
    tree, y = proofwood.load(at / "flats.json"), table["price"].to_numpy()
    off = y - tree.predict(table.drop("price"))
    assert found["r2"] == pytest.approx(tree.score(table.drop("price"), y))
    assert found["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(off**2)))
    assert found["mean_absolute_error"] == pytest.approx(np.mean(np.abs(off)))
    assert found["baseline"]["number"] == pytest.approx(y.mean())
    assert found["baseline"]["root_mean_squared_error"] == pytest.approx(y.std())
    text = worked("evaluate", at / "flats.json", at / "flats.csv", "--target", "price")
    assert "the mean of the training rows" in text
    assert "--target price" in failed("evaluate", at / "flats.json", at / "flats.csv")
    pl.read_csv(at / "flats.csv").head(1).write_csv(at / "one.csv")
    assert answer("evaluate", at / "flats.json", at / "one.csv", "--target", "price")["r2"] is None


def test_predictions_of_numbers_and_actions(at):
    tree, table = proofwood.load(at / "flats.json"), pl.read_csv(at / "flats.csv").drop("price")
    found = answer("predict", at / "flats.json", at / "flats.csv")
    assert [one["prediction"] for one in found["predictions"]] == tree.predict(table).tolist()
    assert found["classes"] == []
    assert "--proba is for a model of classes" in failed("predict", at / "flats.json", at / "flats.csv", "--proba")
    assert "--rewards is for a model of actions" in failed("predict", at / "flats.json", at / "flats.csv", "--rewards")
    policy, people = proofwood.load(at / "policy.json"), pl.read_csv(at / "campaign.csv").select("area", "side")
    found = answer("predict", at / "policy.json", at / "campaign.csv", "--rewards")
    assert found["classes"] == ["none", "mail", "call"]
    assert [one["prediction"] for one in found["predictions"]] == policy.predict(people).tolist()
    means = [one["mean reward of mail"] for one in found["predictions"]]
    assert means == policy.predict_rewards(people)[:, 1].tolist()


def test_policies(at):
    actions = [word for name in ("none", "mail", "call") for word in ("--target", name)]
    result = invoke("fit", at / "campaign.csv", *actions, "--max-depth", 1)
    assert "3 targets: a tree of actions, whose rewards they are" in result.stderr
    assert "no tree of depth at most 1 has a greater reward" in result.stdout
    assert "lost reward if always" in result.stdout
    policy, people = proofwood.load(at / "policy.json"), pl.read_csv(at / "campaign.csv")
    found = answer("evaluate", at / "policy.json", at / "campaign.csv")
    assert found["value"] == pytest.approx(policy.value_)
    rewards = people.select("none", "mail", "call").to_numpy()
    assert found["best_possible"] == pytest.approx(rewards.max(axis=1).mean())
    assert [one["value"] for one in found["actions"]] == pytest.approx(rewards.mean(axis=0).tolist())
    for one in found["actions"]:
        assert one["gain"] == pytest.approx(found["value"] - one["value"])
        assert one["gain_interval"][0] <= one["gain"] <= one["gain_interval"][1]
    assert sum(one["assigned"] for one in found["actions"]) == N
    turned = ["--target", "call", "--target", "none", "--target", "mail"]
    assert answer("evaluate", at / "policy.json", at / "campaign.csv", *turned) == found
    assert "gain of the policy" in worked("evaluate", at / "policy.json", at / "campaign.csv")
    assert "expected 3 columns, the rewards of 'none', 'mail', 'call', not 1" in failed(
        "evaluate", at / "policy.json", at / "campaign.csv", "--target", "mail"
    )
    single = ["--target", "mail", "--drop", "none", "--drop", "call", "--model", "policy", "--max-depth", 1]
    worked("fit", at / "campaign.csv", *single, "--out", at / "single.json")
    assert len(answer("evaluate", at / "single.json", at / "campaign.csv", "--target", "mail")["actions"]) == 2
    assert "expected 2 columns" in failed("evaluate", at / "single.json", at / "campaign.csv")


def test_a_budget_of_actions(at):
    actions = [word for name in ("none", "mail", "call") for word in ("--target", name)]
    out = at / "limited.json"
    worked("fit", at / "campaign.csv", *actions, "--max-depth", 1, "--budget", "mail=0.2,call=0.3", "--out", out)
    policy = proofwood.load(out)
    assert policy.budget == {"mail": 0.2, "call": 0.3}
    assert policy.shares_[1] <= 0.2
    assert policy.shares_[2] <= 0.3
    for share, words in (("mail=x", "such as treat=0.5"), ("post=0.2", "expected one of 'none', 'mail', 'call'")):
        assert words in failed("fit", at / "campaign.csv", *actions, "--budget", share)
    few = worked("fit", at / "campaign.csv", *actions, "--max-depth", 1, "--budget", "0", "--min-samples-action", 5)
    assert "mail or call for 0% of the training weight" in few


def test_survival_times(at):
    of_times = ["--target", "time", "--target", "died"]
    fit = ["fit", at / "times.csv", *of_times, "--model", "survival", "--max-depth", 1, "--out", at / "times.json"]
    assert answer(*fit)["model"]["predicts"] == "survival times"
    found = answer("evaluate", at / "times.json", at / "times.csv", *of_times)
    tree, table = proofwood.load(at / "times.json"), pl.read_csv(at / "times.csv")
    y = table.select("time", "died")
    assert found["concordance"] == pytest.approx(tree.score(table.drop("time", "died"), y))
    assert found["events"] == table["died"].sum()
    assert "0.5 is chance" in worked("evaluate", at / "times.json", at / "times.csv", *of_times)
    assert "name two columns" in failed("evaluate", at / "times.json", at / "times.csv", "--target", "time")


def test_survival_times_are_reported_compared_and_watched(at):
    of_times = ["--target", "time", "--target", "died"]
    fit = ["fit", at / "times.csv", *of_times, "--model", "survival", "--max-depth", 1, "--cv", 3]
    found = answer(*fit, "--scoring", "deviance", "--out", at / "chosen.json", "--report", at / "fit.html")
    assert found["cross_validation"]["folds"] == 3
    assert found["new_rows"]["score"] == "deviance"
    assert "What happens, leaf by leaf" in (at / "fit.html").read_text(encoding="utf-8")
    answer(
        "report",
        at / "chosen.json",
        at / "times.csv",
        *of_times,
        "--validation",
        at / "times.csv",
        "--out",
        at / "r.html",
    )
    assert "by the jackknife" in (at / "r.html").read_text(encoding="utf-8")
    drift = answer("drift", at / "chosen.json", at / "times.csv", *of_times)
    assert drift["numbers"]["what"] == "concordance"
    assert drift["numbers"]["now"] == drift["numbers"]["then"]
    pl.read_csv(at / "times.csv")[:80].write_csv(at / "few.csv")
    compared = answer("compare", at / "few.csv", *of_times, "--cv", 2, "--time-limit", "none")
    assert (compared["score"], compared["models"][-1]["score"]) == ("concordance", 0.5)
    for command in (["report", at / "chosen.json"], ["drift", at / "chosen.json"]):
        assert "name two columns" in failed(*command, at / "times.csv", "--target", "time")
    assert "expected one of 'concordance'" in failed(*fit, "--scoring", "accuracy")
    assert "expected one column, or two" in failed("compare", at / "times.csv", *of_times, "--target", "time")


def test_a_policy_is_reported_and_watched_by_the_columns_of_its_actions(at):
    answer("report", at / "policy.json", at / "campaign.csv", "--out", at / "policy.html")
    assert "What it earns" in (at / "policy.html").read_text(encoding="utf-8")


def test_the_path_of_a_row(at):
    tree, table = proofwood.load(at / "flats.json"), pl.read_csv(at / "flats.csv").drop("price")
    found = answer("explain", at / "flats.json", at / "flats.csv", "--row", 3)
    assert found["kind"] == "path"
    assert found["path"] == {"row": 3, "prediction": tree.predict(table)[3], "text": tree.explain(table[3])}
    assert worked("explain", at / "flats.json", at / "flats.csv", "--row", 3).strip() == tree.explain(table[3])
    assert "--row NUMBER" in failed("explain", at / "flats.json", at / "flats.csv", "--row", 3, "--verify")
    assert "the table has 200 rows" in failed("explain", at / "flats.json", at / "flats.csv", "--row", N)
    assert "--inflate cannot be combined" in failed(
        "explain", at / "flats.json", at / "flats.csv", "--row", 1, "--inflate"
    )
    rule = worked("explain", at / "flats.json", at / "flats.csv", "--row", 3, "--number", ">= 9000")
    assert "minimal" in rule
    assert (
        json.loads(worked("explain", at / "policy.json", at / "campaign.csv", "--row", 3, "--json"))["kind"]
        == "abductive"
    )
    assert "Predicted:" in worked("explain", at / "policy.json", at / "campaign.csv", "--row", 3, "--kind", "path")


def test_options_from_a_file(at):
    (at / "run.toml").write_text(
        '[fit]\ndata = "campaign.csv"\ntarget = ["none", "mail"]\nmax-depth = 1\n[evaluate]\ntarget = "price"\n'
    )
    done = invoke("fit", "--config", at / "run.toml", at / "campaign.csv", "--drop", "call")
    assert "2 targets: a tree of actions" in done.stderr
    assert "R²" in worked("evaluate", "--config", at / "run.toml", at / "flats.json", at / "flats.csv")


def test_values_of_options_are_completed():
    from proofwood.cli.completion import learners
    from proofwood.cli.learners.assembled import values_of

    assert {"regressor", "policy", "survival"} <= set(learners(""))

    context: Any = SimpleNamespace(params={"model": "regressor"})
    assert "poisson" in values_of("criterion")(context, "po")
