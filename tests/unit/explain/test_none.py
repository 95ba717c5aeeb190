"""The answer that nothing leads to another class is looked at anew, or said not to be."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier

from proofwood import Explainer
from proofwood.explain.proofs.certificate import check_certificate
from tests.command_line import invoke

RNG = np.random.default_rng(4)
X = pd.DataFrame({"a": RNG.integers(0, 9, 120), "b": RNG.integers(0, 9, 120), "c": RNG.integers(0, 9, 120)})
Y = np.where(X.a + X.b > 9, "high", np.where(X.a > 4, "middle", "low"))
FOREST = RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, Y)


def nones(explainer: Explainer, row: pd.DataFrame) -> list[Any]:
    """Answers of many questions with few changes allowed, some of them of status none."""
    asked = []
    for fixed in (["a"], ["a", "b"], ["a", "b", "c"], ["b"]):
        asked.append(explainer.contrastive(row, immutable=fixed))
        for metric in ("l1", "l2", "linf", "changes"):
            asked.append(explainer.counterfactual(row, immutable=fixed, metric=metric))
        asked.append(explainer.counterfactual(row, immutable=fixed, target="middle" if explained(asked) else "low"))
        asked.append(explainer.robustness(row, immutable=fixed).nearest)
        asked.append(explainer.counterfactual(row, immutable=fixed[1:], within={"a": "up", "b": "down"}))
        asked.append(explainer.counterfactual(row, immutable=fixed[1:], weights={"a": (math.inf, 1), "b": math.inf}))
    return asked


def explained(asked: list[Any]) -> bool:
    return asked[-1].prediction != "middle"


def test_none_is_confirmed_where_it_is_so_and_refuted_where_it_is_not() -> None:
    explainer, told = Explainer(FOREST, X=X), {"none": 0, "false": 0}
    for i in range(6):
        for found in nones(explainer, X.iloc[[i]]):
            if found.status == "none":
                told["none"] += 1
                checked = found.verify()
                assert (checked.status, checked.problems) == ("confirmed", ())
            else:
                told["false"] += 1
                false = replace(found, status="none", features=(), witness_cells={}, distance=math.nan)
                assert false.verify().status == "refuted", found
    assert min(told.values()) > 20


def test_none_in_a_table_and_of_gaps() -> None:
    table = X.astype(float).mask(RNG.random(X.shape) < 0.1)
    model = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5).fit(table, Y)
    explainer = Explainer(model, X=table)
    for kind, options in (
        ("contrastive", {}),
        ("counterfactual", {}),
        ("counterfactual", {"metric": "changes"}),
        ("counterfactual", {"within": {"c": (-math.inf, math.inf)}}),
        ("robustness", {}),
    ):
        rows = table[table.c.notna()][:30]
        answers = explainer.explain(rows, kind=kind, immutable=["a", "b"], **options)
        statuses = {answer.status for answer in answers}
        assert statuses >= {"none"}, kind
        for answer in answers:
            assert answer.verify().ok
    impossible = explainer.explain(table[:4], kind="counterfactual", target=str(Y[0]))[0]
    with pytest.raises(ValueError, match="makes no claim: there is nothing to verify"):
        impossible.verify()


def test_constraints_are_not_checked_and_it_says_so() -> None:
    explainer, row = Explainer(FOREST, X=X), X.iloc[[0]]
    stuck = explainer.counterfactual(row, constraints=["a < b", "b < a"])
    assert stuck.status == "none"
    checked = stuck.verify()
    assert (checked.ok, checked.status, checked.problems) == (False, "not checked", ())
    assert str(checked).startswith("not checked: that no row satisfies the constraints")
    fixed = explainer.counterfactual(row, constraints=["a < 99"], immutable=["a", "b", "c"])
    assert fixed.status == "none"
    assert fixed.verify().status == "confirmed"  # nothing may change, constraints or not
    free = explainer.counterfactual(row, constraints=["a >= 0"])
    assert replace(free, status="none", features=(), witness_cells={}).verify().status == "refuted"


def test_what_holds_of_plausible_rows_is_not_checked() -> None:
    beside = IsolationForest(n_estimators=5, random_state=0).fit(X)
    explainer = Explainer(FOREST, X=X, plausible=beside)
    found = explainer.counterfactual(X.iloc[[0]], immutable=["a", "b"])
    assert found.status == "none"
    assert found.verify().status == "not checked"


def test_certificates_of_none_are_proofs_that_are_checked() -> None:
    explainer, row = Explainer(FOREST, X=X), X.iloc[[0]]
    for found in (
        explainer.contrastive(row, immutable=["a", "b"], certificate=True),
        explainer.counterfactual(row, immutable=["a", "b"], certificate=True),
        explainer.robustness(row, immutable=["a", "b"], certificate=True),
    ):
        assert all(one.passed for one in check_certificate(found.certificate))


def test_the_command_line_says_what_was_looked_at(tmp_path: Path) -> None:
    joblib.dump(FOREST, tmp_path / "forest.joblib")
    X.to_csv(tmp_path / "rows.csv", index=False)
    call = ["explain", tmp_path / "forest.joblib", tmp_path / "rows.csv", "--row", 0, "--trust-pickle", "--verify"]
    call += ["--kind", "counterfactual"]
    fixed = [part for name in "abc" for part in ("--immutable", name)]
    done = invoke(*call, *fixed)
    assert done.exit_code == 0
    assert "confirmed by a second check" in done.stdout
    done = invoke(*call, "--constraint", "a < b", "--constraint", "b < a")
    assert done.exit_code != 0
    assert "not checked: that no row satisfies the constraints" in " ".join(done.stdout.split())
    said = json.loads(invoke(*call, "--constraint", "a < b", "--constraint", "b < a", "--json").stdout)
    assert (said["verified"]["confirmed"], said["verified"]["status"]) == (False, "not checked")


def test_what_limits_a_change_is_said() -> None:
    """Without its limits the sentence is false: here every class can be reached."""
    explainer, row = Explainer(FOREST, X=X), X[(FOREST.predict(X) == "low")].iloc[[0]]
    assert explainer.counterfactual(row).status == "optimal"
    every = {"a": math.inf, "b": math.inf, "c": math.inf}
    for found, words in (
        (explainer.contrastive(row, immutable=["a", "b"]), "a and b as they are"),
        (explainer.counterfactual(row, within={"a": (row.a.item(), row.a.item()), "b": "down"}), "b not higher"),
        (explainer.counterfactual(row, weights=every), "no change of infinite price"),
        (explainer.counterfactual(row, weights=dict.fromkeys("abc", lambda now, then: math.inf)), "infinite price"),
    ):
        assert found.status == "none", words
        assert words in found.rule()
        assert words in str(found)
    stays = explainer.robustness(row, weights=every)
    assert stays.status == "constant"
    assert "wherever" not in str(stays)
    assert "no change of infinite price" in str(stays)
