"""What the summary says of ConTree and of decision diagrams follows the stored rows: other rows, another verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import cases
from benchmarks.harness import Row, number, text_of
from benchmarks.papers import contree, odd, odd_runs
from benchmarks.papers.contree_claims import contree_claims
from benchmarks.papers.contree_published import DEEP, TABLE_1, TABLE_2, TABLE_5
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.odd_claims import odd_claims
from benchmarks.papers.verdicts import figure

Changed = Callable[[Row], Row]


def _seconds(text: str) -> float:
    """A tenth of what the paper has; 250 s where it did not end."""
    return figure(text) / 10 if math.isfinite(figure(text)) else 250.0


def fits() -> list[Row]:
    """Rows of all fits that agree with all that the paper says."""
    rows = []

    def add(case: str, depth: int, seconds: float, memory: float, **more: object) -> None:
        key = {"set": case, "learner": "proofwood", "depth": depth, "max_gap": 0, "variant": "", "run": 0}
        told = {"limit": 300, "rows": 1000, "errors": 0, "status": "optimal", "cpu": seconds, "peak_mb": memory}
        rows.append({name: str(value) for name, value in {**key, **told, **more}.items()})

    for case in cases.QUANTBNB:
        add(case, 2, 0.01, figure(TABLE_5[case]["contree_d2"]) / 2)
        add(case, 3, _seconds(TABLE_2[case]["contree_d3"]), figure(TABLE_5[case]["contree_d3"]) / 2)
        add(case, 4, _seconds(TABLE_2[case]["contree_d4"]), figure(TABLE_5[case]["contree_d4"]) / 2)
        add(case, 4, _seconds(TABLE_2[case]["contree_d4_gap"]) / 2, 1, max_gap=0.01, status="within_gap")
        for which, depth in ((3, 5), (4, 6)):
            memory = min(figure(DEEP[which][case]["memory"]) / 2, 300)
            add(case, depth, _seconds(DEEP[which][case]["seconds"]), memory)
            add(case, depth, _seconds(DEEP[which][case]["gap_seconds"]), 1, max_gap=0.01, status="within_gap")
        engine = {"learner": "proofwood-engine", "counters": json.dumps({"stumps": 10})}
        fast = figure(TABLE_1[case]["contree"]) / 100
        add(case, 2, fast, 1, **engine)
        add(case, 2, 400 * fast, 1, **engine, variant="no depth-two routine")
        for name, count in (("none", 10000), ("NB", 800), ("IS", 200), ("SP", 30), ("NB + IS + SP", 25)):
            counters = json.dumps({contree.COUNTER: count})
            add(case, 2, 1, 1, learner="proofwood-engine", variant=f"rules of the paper: {name}", counters=counters)
    return rows


def held_out() -> list[Row]:
    """Rows of table 6, of which each set is another few points ahead."""
    rows = []
    for at, case in enumerate(cases.QUANTBNB):
        for method, behind in (("cart", 0.05 + at / 1000), ("streed", 0.008 + at / 10000), ("proofwood", 0.0)):
            for split in range(contree.SPLITS):
                key = {"set": case, "method": method, "max_depth": 3, "splits": 5, "inner": 5, "split": split}
                told = {**key, "accuracy": 0.9 - behind, "status": "done", "limit": 60}
                rows.append({name: str(value) for name, value in told.items()})
    return rows


def claims(folder: Path, change: Changed = lambda row: row) -> dict[str, Claim]:
    """What is said of all rows, each changed; by how the claim begins."""
    table = Pass(folder).table("fits.csv", contree.KEY, contree.COLUMNS)
    table.keep({**dict.fromkeys(table.fields, ""), **change(row)} for row in fits())
    curves = Pass(folder).table("traces.csv", ("set", "depth"), ("trace",))
    told = {"depth": "4", "status": "optimal", "limit": "3600"}
    traces = {
        case: json.dumps([[0.2, 10, 0], [8.0 if case == "fault" else 0.4, 8, 2], [9.0, 8, 8]])
        for case in contree.FIGURE_3_SETS
    }
    curves.keep(
        {**dict.fromkeys(curves.fields, ""), **change({"set": case, **told, "trace": trace})}
        for case, trace in traces.items()
    )
    key = ("set", "method", "max_depth", "splits", "inner", "split")
    tests = Pass(folder).table("held_out.csv", key, ("accuracy", "chosen"))
    tests.keep({**dict.fromkeys(tests.fields, ""), **change(row)} for row in held_out())
    return {claim.says: claim for claim in contree_claims(Pass(folder))}


def said(found: dict[str, Claim], begin: str) -> Claim:
    """The claim that begins so."""
    (one,) = (claim for says, claim in found.items() if says.startswith(begin))
    return one


def on(case: str, **values: object) -> Changed:
    """Other values for some rows of a set: those whose other columns are as named with a leading ``at_``."""
    at = {name.removeprefix("at_"): str(value) for name, value in values.items() if name.startswith("at_")}
    new = {name: str(value) for name, value in values.items() if not name.startswith("at_")}

    def change(row: Row) -> Row:
        chosen = row["set"] == case and all(row.get(name, "") == value for name, value in at.items())
        return {**row, **new} if chosen else row

    return change


def test_rows_that_agree_with_the_paper_contradict_nothing(tmp_path: Path) -> None:
    found = claims(tmp_path)
    assert {claim.verdict for claim in found.values()} == {"holds", "exceeds"}
    assert said(found, "ConTree proves 12 of 16 trees of depth 4").ours == "16 of 16"
    assert said(found, "all three evaluate 10 %").ours == "16.7 %"
    assert (
        said(found, "a good tree is there early").ours == "avila 0 over 8, fault 2 over 8, page 0 over 8, rice 0 over 8"
    )


@pytest.mark.parametrize(
    ("change", "begin", "why"),
    [
        (on("bank", at_depth=3, cpu=9.0), "seconds of ConTree at depth 3", "bank (9 against 0.1)"),
        (on("bank", at_depth=3, cpu=9.0), "seconds of Quant-BnB at depth 3", "bank (9 against 2)"),
        (
            on("bank", at_depth=2, at_learner="proofwood-engine", at_variant="", cpu=63),
            "seconds of SAT-Shati at depth 2",
            "bank (63 against 62)",
        ),
        (on("wilt", at_depth=5, status="feasible"), "ConTree proves 8 of 16 trees of depth 5", "300 s: wilt"),
        (on("wilt", at_depth=5, errors=9), "training accuracy at depth 5", "wilt (99.1 against 100)"),
        (on("rice", at_depth=3, peak_mb=20), "peak memory of ConTree at depth 3", "rice (20 against 6)"),
    ],
)
def test_a_row_that_disagrees_is_named(change: Changed, begin: str, why: str, tmp_path: Path) -> None:
    one = said(claims(tmp_path, change), begin)
    assert one.verdict == "contradicts"
    assert why in one.why


def test_memory_that_exceeds_all_of_print_is_named(tmp_path: Path) -> None:
    begin = "at depths 5 and 6 no set but skin"
    assert said(claims(tmp_path / "as in print"), begin).verdict == "holds"
    found = claims(tmp_path / "more", on("fault", at_depth=6, at_max_gap=0, peak_mb=707, status="feasible"))
    assert said(found, begin).why == "fault at depth 6 (707)"
    assert said(found, "peak memory of ConTree at depth 6").why == "fault (> 707 against 15)"


def test_what_a_shorter_limit_ended_does_not_contradict_an_accuracy(tmp_path: Path) -> None:
    found = claims(tmp_path, on("rice", at_depth=5, at_max_gap=0, errors=60, status="feasible"))
    accuracy = said(found, "training accuracy at depth 5")
    assert (accuracy.verdict, accuracy.why) == ("not measured", "a limit ended rice (94 against 95.6)")


def test_evaluations_that_a_rule_does_not_save_are_told(tmp_path: Path) -> None:
    more = on("eeg", at_variant="rules of the paper: NB", counters=json.dumps({contree.COUNTER: 9999}))
    assert said(claims(tmp_path / "as in print"), "NB alone saves").ours == "92.0 %"
    found = said(claims(tmp_path / "more", more), "NB alone saves")
    assert (found.ours, found.verdict) == ("86.3 %", "contradicts")
    assert found.why == "the least shares are those of eeg 0.0 %, avila 92.0 %, bank 92.0 %"


def test_rows_of_a_shorter_limit_do_not_count(tmp_path: Path) -> None:
    found = claims(tmp_path, on("skin", at_depth=6, status="feasible", limit=8))
    for begin in ("ConTree proves 7 of 16", "training accuracy at depth 6", "peak memory of ConTree at depth 6"):
        assert said(found, begin) == Claim(said(found, begin).says, "15 of 16 rows are measured", "not measured")


def test_a_fit_that_a_limit_stopped_tells_only_that_it_took_more_memory(tmp_path: Path) -> None:
    stopped = on("skin", at_depth=6, at_max_gap=0, status="feasible", peak_mb=1)
    one = said(claims(tmp_path, stopped), "peak memory of ConTree at depth 6")
    assert one.ours.endswith("of the 15 of 16 with two figures; ours does not end on 1")
    assert (one.verdict, one.why) == ("not measured", "a limit ended skin (> 1 against 20,100)")


def test_accuracy_on_other_rows_is_a_mean_over_sets_and_a_test(tmp_path: Path) -> None:
    cart, streed = "accuracy on other rows at depth 3 is 4.7", "accuracy on other rows at depth 3 is 0.7"
    found = claims(tmp_path)
    assert said(found, cart).ours.startswith("+5.8 points, p = 3.1e-05, the most on wilt")
    assert (said(found, cart).verdict, said(found, streed).verdict) == ("exceeds", "holds")
    behind = claims(tmp_path, lambda row: {**row, "accuracy": "0.901"} if row.get("method") == "streed" else row)
    assert said(behind, streed).verdict == "contradicts"
    assert "avila" in said(behind, streed).why


def test_the_routine_and_the_early_tree_are_judged(tmp_path: Path) -> None:
    def change(row: Row) -> Row:
        if row.get("variant") == "no depth-two routine":
            return {**row, "cpu": str(number(row["cpu"]) / 10)}
        return {**row, "trace": json.dumps([[0.2, 11, 0], [8.0, 8, 0], [9.0, 8, 8]])} if row.get("trace") else row

    found = claims(tmp_path, change)
    assert said(found, "the routine for depth two").ours == "40.0 times"
    assert "times less than the paper's (another machine)" in said(found, "the routine for depth two").why
    early = said(found, "a good tree is there early")
    assert early.verdict == "contradicts"
    assert early.why == "avila 3 over 8, fault 3 over 8, page 3 over 8, rice 3 over 8"
    assert said(found, "at depth 4 the last improvement").why == "otherwise on avila, page, rice"


def runs(folder: Path, change: Changed = lambda row: row) -> list[Claim]:
    """What is said of runs of all skeletons, of which those with a higher alpha are proved."""
    table = Pass(folder).table("runs.csv", odd_runs.KEY, odd_runs.COLUMNS)
    rows = []
    for cell in odd.PROTOCOL.cells():
        diagram, proved = cell.skeleton != "tree", cell.alpha >= 0.2
        told = {
            **{name: text_of(value) for name, value in asdict(cell).items()},
            "limit": "5",
            "start_limit": "2",
            "norm": odd_runs.norm_of(cell.splits),
            "n_splits": "2" if diagram else "3",
            "validation": "0.8",
            "test": ("0.9" if cell.splits == "oblique" else "0.855") if diagram else "0.85",
            "seconds": "1",
            "best_seconds": "1",
            "status": "optimal" if proved else "feasible",
            "improved": "1",
            "objective": "0.1",
            "start": "0.2",
        }
        rows.append({**dict.fromkeys(table.fields, ""), **change(told)})
    table.keep(row for row in rows if row["status"])
    return list(odd_claims(Pass(folder)))


@pytest.mark.parametrize(("many", "verdict"), [("rows", "holds"), ("features", "contradicts")])
def test_what_makes_diagrams_difficult_follows_the_runs(many: str, verdict: str, tmp_path: Path) -> None:
    sets = list(odd.PROTOCOL.sets)
    other = "features" if many == "rows" else "rows"

    def change(row: Row) -> Row:
        at = sets.index(row["case"])
        status = "optimal" if at < 20 or row["alpha"] == "1" else "feasible"
        return {**row, many: str(100 + at), other: str(7 * at % 53), "status": status}

    claim = runs(tmp_path, change)[4]
    assert claim.verdict == verdict
    assert f"-0.84 with {'rows' if many == 'rows' else 'columns'}" in claim.ours


def test_what_is_said_of_diagrams_follows_the_runs(tmp_path: Path) -> None:
    proved, improved, rises, effort, sizes, *others = runs(tmp_path)[:11]
    assert [one.verdict for one in (proved, improved, rises, effort)] == ["exceeds", "exceeds", "holds", "holds"]
    assert proved.ours == "60 %"
    assert (sizes.verdict, sizes.ours) == ("contradicts", "the share is the same on all sets")
    assert {one.verdict for one in others} == {"holds"}
    accurate = {one.says.rpartition(" splits (")[0]: one.ours for one in others}
    assert accurate["optimal diagrams and trees have comparable accuracy, univariate"].startswith("+0.50 points in the")
    oblique = accurate["optimal diagrams are more accurate than optimal trees, oblique"]
    assert oblique.startswith("+5.00 points in the mean of 54 sets")
    fewer = accurate["optimal diagrams have fewer nodes than optimal trees, oblique"]
    assert fewer == "2.00 against 3.00 in the mean of 54 sets"

    def worse(row: Row) -> Row:
        if row["skeleton"] == "tree":
            return {**row, "test": "0.95", "n_splits": "2"}
        return {**row, "status": "feasible", "improved": "0"}

    proved, improved, rises, effort, _, *others = runs(tmp_path, worse)[:11]
    assert (proved.verdict, proved.ours) == ("contradicts", "12 %")
    assert effort.why == "trees are proved more often"
    assert {one.verdict for one in others} == {"contradicts"}
    trivial = runs(tmp_path, lambda row: {**row, "n_splits": "1"})[5:11]
    assert {(one.verdict, one.ours) for one in trivial} == {("not measured", "no set has models of two nodes or more")}
    lacking = runs(tmp_path, lambda row: {**row, "status": ""} if row["case"] == "iris" else row)
    assert lacking[0].ours == "2650 of 2700 rows are measured"
    late = runs(tmp_path, lambda row: {**row, "limit": "60", "seconds": "40", "best_seconds": "30"})
    assert late[0].ours == "0 %"  # what a longer limit proved later does not count
