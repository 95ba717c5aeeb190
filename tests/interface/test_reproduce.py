"""One command measures the tables of the papers: what is there, what is missing, what is stale, and its pages."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from benchmarks import cases, harness, reproduce
from benchmarks.papers import APART, EXPERIMENTS, Experiment, contree, odd, odd_runs, rfxpl, rfxpl_anchor
from benchmarks.papers.changes import NO_FIGURE, first_change, git, meaning
from benchmarks.papers.claims import CLAIMS
from benchmarks.papers.measuring import Claim, Pass
from benchmarks.papers.rfxpl_claims import rfxpl_claims
from benchmarks.papers.verdicts import at_least, below, equal, figure
from benchmarks.reproduce import Chosen

CONTREE = {one.name: one for one in EXPERIMENTS if one.paper == "contree"}


@pytest.fixture
def chosen(tmp_path: Path) -> Chosen:
    """Table 2 of ConTree on a generated set."""
    return Chosen(("contree",), ("table2",), out=tmp_path, isolate=False, generated=True, hours=0.1)


def test_every_table_is_named_once() -> None:
    names = [(one.paper, one.name) for one in EXPERIMENTS]
    assert len(names) == len(set(names))
    assert {paper for paper, _ in names} == {"contree", "inferdt", "maxsat_bdd", "odd", "rfxpl", "beyond"}
    assert all((harness.ROOT / path.removeprefix(":!")).exists() for one in EXPERIMENTS for path in one.code)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: f"{one.paper}-{one.name}")
def test_every_table_has_a_page_on_sets_that_need_no_files(experiment: Experiment, tmp_path: Path) -> None:
    page = experiment.make(Pass(tmp_path), **experiment.generated)
    assert page.title
    assert page.blocks


def test_a_commit_that_changes_no_figure_makes_no_row_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(NO_FIGURE))
    if git("cat-file", "-t", name) is None:
        pytest.skip("needs the history of the repository (git fetch --unshallow)")
    code = ("src/proofwood/engines/trees/solve.py", ":!src/proofwood/engines/trees/fair.py")
    assert all(git("cat-file", "-t", other) == "commit" for other in NO_FIGURE)
    said = first_change(f"{name}^", code)
    assert said is None or not said[1].startswith(name)
    monkeypatch.setattr("benchmarks.papers.changes.NO_FIGURE", {})
    first_change.cache_clear()
    told = first_change(f"{name}^", code)
    first_change.cache_clear()
    assert told is not None
    assert told[1].startswith(name)


def test_the_search_of_one_tree_does_not_use_what_makes_no_row_of_it_stale() -> None:
    apart = {(harness.ROOT / path).with_suffix("").relative_to(harness.ROOT / "src") for path in APART}
    assert len(apart) == len(APART)
    trees = harness.ROOT / "src/proofwood/engines/trees"
    needed, read = [trees / f"{name}.py" for name in ("solve", "over_ranks", "front")], set()
    while needed:
        file = needed.pop()
        read.add(file)
        names = re.findall(r"(?:from|import) proofwood\.engines\.trees\.(\w+)", file.read_text(encoding="utf-8"))
        needed += [path for name in names if (path := trees / f"{name}.py") not in read]
    assert len(read) > 3
    assert not {file.with_suffix("").relative_to(harness.ROOT / "src") for file in read} & apart
    native = harness.ROOT / "src/proofwood/native"
    including = [file for file in native.rglob("*.?pp") if re.search(r'"trees/(near|fair)/', file.read_text("utf-8"))]
    assert including
    assert {file.parent.relative_to(native).as_posix() for file in including} <= {"trees/near", "trees/fair"}


def test_what_is_missing_is_measured_and_the_page_says_how_much_there_is(chosen: Chosen) -> None:
    (experiment,) = chosen.experiments
    assert chosen.state(experiment).done == "not started"
    reproduce.measure(dataclasses.replace(chosen, hours=0.0))
    assert chosen.state(experiment).done == "not started"  # no time for any
    reproduce.measure(chosen)
    state = chosen.state(experiment)
    assert not state.missing
    head = (chosen.out / "contree" / "table2.md").read_text().splitlines()[:7]
    assert head[2] == "`python -m benchmarks.reproduce --paper contree --table table2`"
    assert head[4].startswith("Measured with: commits ")
    assert head[6] == "3 of 3 rows are measured."
    stored = (chosen.out / "contree" / "fits.csv").read_text()
    reproduce.measure(chosen)
    assert (chosen.out / "contree" / "fits.csv").read_text() == stored


def test_rows_are_stale_once_their_code_has_changed(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce.measure(chosen)
    monkeypatch.setattr(reproduce, "first_change", lambda commit, code: (7, "abc1234 A faster kernel"))
    state = chosen.state(CONTREE["table2"])
    assert state.done == "done; 3 stale since abc1234 A faster kernel"
    assert not list(chosen.wanted(state))
    again = list(dataclasses.replace(chosen, stale=True).wanted(state))
    assert [cell.key["depth"] for cell in again] == [3, 4, 4]


def test_stored_cells_are_measured_again_and_what_differs_is_named(
    chosen: Chosen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "ROOT", tmp_path)  # no data but generated sets
    monkeypatch.delenv("PROOFWOOD_DATA", raising=False)
    reproduce.measure(chosen)
    path = chosen.out / "contree" / "fits.csv"
    stored = path.read_text()
    again = reproduce.repeat(chosen, 2, 0)
    assert len(again) == 2
    assert not any(one.differ for one in again)
    assert all(one.ratio > 0 for one in again)
    assert path.read_text() == stored
    (row,) = (one.cell.stored for one in again[:1])
    assert row is not None
    path.write_text(stored.replace(f",{row['errors']},", ",999,"))
    asked = ["--paper", "contree", "--table", "table2", "--out", str(chosen.out), "--in-process", "--repeat", "3"]
    with pytest.raises(SystemExit) as ended:
        reproduce.main(asked)
    assert ended.value.code
    assert f"errors 999 / {row['errors']}" in capsys.readouterr().out
    lines = [line.split(",") for line in stored.splitlines()]
    limit = lines[0].index("limit")
    for line in lines[1:]:
        line[limit] = ""  # as in rows of earlier pages
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    (one,) = reproduce.repeat(chosen, 1, 0)
    assert one.row["status"] == "optimal"
    path.unlink()
    with pytest.raises(SystemExit, match="--stale draws from all"):
        reproduce.main(asked)


def test_a_commit_that_is_not_there_is_named() -> None:
    if not (harness.ROOT / ".git").exists():
        pytest.skip("this is no clone: commits are not known")
    told = first_change("0000000", CONTREE["table2"].code)
    assert told == (0, "an unknown commit 0000000")


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("a.py", 'def f(x):\n    """Other words."""\n    raise ValueError("No.")  # why', True),
        ("a.py", "def f(x):\n    raise ValueError", True),
        ("a.py", 'def f(x):\n    raise TypeError("x")', False),
        ("a.py", 'def f(y):\n    raise ValueError("x")', False),
        ("a.cpp", "int f(\n    char x) { // other words\n  return x == '\"'; }", True),
        ("a.cpp", "/* a\nb */ int f(char x) { return x == '\"'; }", True),
        ("a.cpp", "int f(char x) { return x != '\"'; }", False),
        ("CMakeLists.txt", "set(A 1) # other words", False),
    ],
)
def test_words_and_layout_make_no_row_stale(name: str, other: str, same: bool) -> None:
    first = {
        "a.py": 'def f(x):\n    raise ValueError("x")',
        "a.cpp": "int f(char x) { return x == '\"'; }",
        "CMakeLists.txt": "set(A 1)",
    }
    assert (meaning(name, first[name]) == meaning(name, other)) == same


def test_a_failed_cell_is_tried_once_a_call(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fail(task: str, values: object, **_: object) -> dict[str, object]:
        asked.append(task)
        return {"status": "failed", "error": "exit code 1: no engine", "took": 0.1}

    monkeypatch.setattr("benchmarks.papers.measuring.run", fail)
    reproduce.measure(chosen)
    assert len(asked) == 3
    assert len(chosen.state(CONTREE["table2"]).missing) == 3


def test_several_cells_run_at_a_time_where_seconds_are_not_the_point(chosen: Chosen) -> None:
    many = dataclasses.replace(chosen, tables=("figure2",), processes=3)
    reproduce.measure(many)
    assert not many.state(CONTREE["figure2"]).missing


def test_data_that_is_absent_is_named(chosen: Chosen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROOFWOOD_DATA", str(tmp_path))
    papers = dataclasses.replace(chosen, generated=False)
    state = papers.state(CONTREE["table2"])
    assert len(state.absent) == len(state.missing) == 48
    assert not list(papers.wanted(state))
    assert "48 need data" in reproduce.listed(papers)


def test_a_claim_stands_on_the_summary(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    def claims(reading: Pass) -> list[Claim]:
        return [Claim("a tree of depth 2 takes .1 s", "0.002 s", "exceeds")]

    monkeypatch.setattr(reproduce, "CLAIMS", {"contree": claims})
    text = reproduce.summary(chosen).read_text()
    assert "Of 1 claims: 1 exceeded." in text
    assert "| a tree of depth 2 takes .1 s | 0.002 s | exceeds | – |" in text


def test_the_command_resumes_and_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "ROOT", tmp_path)
    monkeypatch.delenv("PROOFWOOD_DATA", raising=False)
    monkeypatch.setattr(reproduce, "_refuse_changes", lambda: None)
    out = ["--out", str(tmp_path / "pages"), "--in-process"]
    with pytest.raises(SystemExit, match="2"):
        reproduce.main(["--resume", *out])
    assert "no earlier call" in capsys.readouterr().err
    reproduce.main(["--paper", "contree", "--table", "table2", "--budget", "0.1", *out])
    assert "Generated sets take the place" in capsys.readouterr().err
    reproduce.main(["--resume", "--budget", "0.1", *out])
    printed = capsys.readouterr().out
    assert "table2.md" in printed
    assert "table1.md" not in printed
    reproduce.main(["--list", *out])
    assert "| contree table2 | 100 % | done" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        reproduce.main(["--paper", "rfxpl", "--table", "figure3", *out])


def test_what_is_said_of_a_claim_follows_the_rows(tmp_path: Path) -> None:
    def told(begin: str) -> Claim:
        return next(claim for claim in rfxpl_claims(Pass(tmp_path)) if claim.says.startswith(begin))

    below_one = "with three exceptions the mean time of an explanation is below 1 s (engine auto"
    seconds = "mean CPU seconds of an explanation, set by set (engine auto"
    longest = "the longest explanations are those of sets with many classes (engine auto"
    assert told(below_one).verdict == "not measured"
    table = Pass(tmp_path).table("table1.csv", rfxpl.KEY, rfxpl.COLUMNS)
    for name in rfxpl.SETS:
        row = {"set": name, "vote": "majority", "engine": "auto", "asked": "paper", "status": "done", "limit": 30}
        classes = 26 if name in rfxpl.SETS[:3] else 2
        table.add({**row, "mean": 0.001, "classes": classes, "most": classes / 1000, "variables": 10, "clauses": 99999})
    assert told(below_one).verdict == "exceeds"
    assert told(seconds).verdict == "exceeds"
    assert told(longest).verdict == "holds"
    assert told("variables of the formula").verdict == "exceeds"
    assert "ann-thyroid (100,000 against 29,200)" in told("clauses of the formula").why
    kept = list(table.rows)
    table.keep({**row, "mean": "5"} if row["set"] in rfxpl.SETS[:4] else row for row in kept)
    assert told(below_one).verdict == "contradicts"
    assert told(below_one).why.count(" (5 s)") == 4
    assert told(seconds).verdict == "contradicts"
    for name in rfxpl.SETS:
        row = {"set": name, "vote": "majority", "engine": "paper", "asked": "paper", "status": "done", "limit": 30}
        table.add({**row, "mean": 7})
    assert told(seconds).why.count(" (5 against ") == 4
    assert told(seconds).why.count(f"{rfxpl.SETS[0]} 7") == 1
    table.keep({**row, "most": "9"} if row["set"] == "ring" else row for row in kept)
    assert told(longest).why == "two classes: ring"


def test_seconds_of_anchor_are_compared_as_the_paper_does() -> None:
    rows = [
        {"set": "iris", "rows": "150", "mean": "2", "own_mean": "0.1", "slower": "3", "explained": "4"},
        {"set": "letter", "rows": "20000", "mean": "1", "own_mean": "1", "slower": "1", "explained": "4"},
    ]
    times = rfxpl_anchor.Faster.of(rows)
    assert times.ratio == pytest.approx((60 * 2 + 398 * 1) / (60 * 0.1 + 398 * 1))
    assert times.ratio_there == pytest.approx((60 * 0.21 + 398 * 2.48) / (60 * 0.03 + 398 * 1.61))
    assert times.middle == pytest.approx(20**0.5)
    assert (times.slower, times.rows) == (4, 8)
    assert times.share_there == pytest.approx((60 * 100 + 398 * 70) / 458)


def test_a_row_of_another_protocol_does_not_stand(tmp_path: Path) -> None:
    plan = dataclasses.replace(odd.PROTOCOL, sets=("generated-tiny",), skeletons=("I",), alphas=(1.0,))
    table = Pass(tmp_path).table("runs.csv", odd_runs.KEY, odd_runs.COLUMNS)
    for kind, norm in (("univariate", None), ("oblique", "l1")):
        (one,) = (cell for cell in plan.cells() if cell.splits == kind)
        key = dataclasses.asdict(one)
        table.add({**key, "norm": norm, "start_limit": plan.start_seconds, "limit": 5, "status": "optimal"})
    reading = Pass(tmp_path)
    assert [one.splits for one in odd_runs.runs(reading, plan, plan.cells())] == ["univariate"]
    assert [cell.stands for cell in reading.cells.values()] == [True, False]


def test_shares_of_diagrams_are_those_at_the_limit_of_the_plan() -> None:
    late = {"status": "optimal", "improved": "1", "seconds": "40", "best_seconds": "30", "objective": "1", "start": "2"}
    early = {**late, "seconds": "2", "best_seconds": "1"}
    found_early = {**late, "best_seconds": "1"}
    tally = odd_runs.Tally.of([late, early, found_early], 5.0)
    assert (tally.runs, tally.proved, tally.improved) == (3, 1, 1)
    assert odd_runs.Tally.of([late, early, found_early]).proved == 3


def test_a_set_is_chosen_by_either_of_its_names(chosen: Chosen, capsys: pytest.CaptureFixture[str]) -> None:
    cells = chosen.state(CONTREE["table2"]).cells
    assert {name for cell in cells for name in cell.sets} == {"generated-tiny"}
    folds = next(one for one in EXPERIMENTS if (one.paper, one.name) == ("inferdt", "table3"))
    named = {name for cell in dataclasses.replace(chosen, generated=False).state(folds).cells for name in cell.sets}
    assert {"iris", "iris.train0", "balance-scale"} <= named
    with pytest.raises(SystemExit, match="2"):
        reproduce.main(["--paper", "inferdt", "--table", "table3", "--sets", "irsi", "--list"])
    if "Generated sets" not in (told := capsys.readouterr().err):
        assert "no cell has it; there are balance-scale" in told


def test_what_none_of_our_code_made_is_not_stale(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = dataclasses.replace(chosen, tables=("table6",))
    done = {"status": "done", "accuracy": 0.9, "took": 0.1}
    monkeypatch.setattr("benchmarks.papers.measuring.run", lambda task, values, **_: done)
    reproduce.measure(tables)
    monkeypatch.setattr(reproduce, "first_change", lambda commit, code: (7, "abc1234 A faster kernel"))
    stale = tables.state(CONTREE["table6"]).stale
    assert {cell.key["method"] for cell in stale} == {"proofwood"}


def test_a_cell_is_expected_to_take_what_cells_like_it_took(tmp_path: Path) -> None:
    table = Pass(tmp_path).table("fits.csv", contree.KEY, contree.COLUMNS)
    for case, depth, took, limit in (("bank", 3, 2.0, 300), ("skin", 3, 9.0, 300), ("bank", 6, 7.0, 8)):
        key = {"set": case, "learner": "proofwood", "depth": depth, "max_gap": 0, "variant": "", "run": 0}
        table.add({**key, "status": "optimal", "limit": limit, "took": took})
    reading = Pass(tmp_path)
    for case, depth in (("bank", 3), ("wilt", 3), ("wilt", 6)):
        contree.fits(reading, case, depth, limit=300.0)
    assert [cell.expected for cell in reading.cells.values()] == [2.0, 9.0, 302.0]


def test_figures_in_print_have_sides() -> None:
    assert [figure(text) for text in ("<0.1", ">4h", "12.5", "TO")] == [0.1, float("inf"), 12.5, float("inf")]
    bounded = below("seconds", [("iris", figure("<0.1"), 0.001), ("wine", 8.0, 2.0)], 2, "time")
    assert bounded.ours == "4 times less time in the geometric mean of the 1 of 2 with two figures"
    assert below("seconds", [("iris", 2.0, 3.9)], 1, "time", noise=2.0).verdict == "exceeds"
    assert below("seconds", [("iris", 2.0, 4.1)], 1, "time", noise=2.0).verdict == "contradicts"
    told = below("seconds", [("iris", 2.0, 1.0), ("wine", 1.0, 4.0)], 2, "time")
    assert (told.verdict, told.why) == ("contradicts", "wine (4 against 1)")
    assert below("seconds", [("iris", 2.0, 1.0)], 2, "time").verdict == "not measured"
    absent, endless = float("nan"), float("inf")
    for compare in (at_least, equal):
        assert compare("accuracy", [("iris", 2.0, 2.0), ("wine", 1.0, absent)], 2).verdict == "not measured"
    assert below("seconds", [("iris", 2.0, 1.0), ("wine", 1.0, absent)], 2, "time").verdict == "not measured"
    assert below("seconds", [("iris", 2.0, 1.0), ("wine", endless, endless)], 2, "time").verdict == "holds"
    assert below("seconds", [("iris", 2.0, 1.0), ("wine", endless, 3.0)], 2, "time").verdict == "exceeds"


@pytest.mark.parametrize("paper", CLAIMS)
def test_without_rows_no_claim_is_measured(paper: str, tmp_path: Path) -> None:
    claims = CLAIMS[paper](Pass(tmp_path))
    assert claims
    assert {claim.verdict for claim in claims} == {"not measured"}
