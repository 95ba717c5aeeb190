"""One command measures the tables of the papers: what is there, what is missing, what is stale, and its pages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks import cases, harness, reproduce
from benchmarks.papers import EXPERIMENTS, rfxpl
from benchmarks.papers.changes import first_change, meaning
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
    assert all((harness.ROOT / folder).is_dir() for one in EXPERIMENTS for folder in one.code)


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
    assert "Of 1 claims: 1 exceeds." in text
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
    def told() -> dict[str, str]:
        return {claim.says: claim.verdict for claim in rfxpl_claims(Pass(tmp_path))}

    says = "with three exceptions the mean time of an explanation is below 1 s (auto)"
    assert told()[says] == "not measured"
    table = Pass(tmp_path).table("table1.csv", rfxpl.KEY, rfxpl.COLUMNS)
    for name in rfxpl.SETS:
        row = {"set": name, "vote": "majority", "engine": "auto", "asked": "paper", "status": "done", "limit": 30}
        table.add({**row, "mean": 0.001})
    assert told()[says] == "exceeds"
    assert told()["mean seconds of an explanation (auto)"] == "exceeds"
    table.keep({**row, "mean": "5"} if row["set"] in rfxpl.SETS[:4] else row for row in table.rows)
    assert told()[says] == "contradicts"
    assert told()["mean seconds of an explanation (auto)"] == "contradicts"
    for name in rfxpl.SETS:
        row = {"set": name, "vote": "majority", "engine": "paper", "asked": "paper", "status": "done", "limit": 30}
        table.add({**row, "mean": 7})
    whys = [
        claim.why for claim in rfxpl_claims(Pass(tmp_path)) if claim.says == "mean seconds of an explanation (auto)"
    ]
    assert whys[0].count(" (5 against ") == 4
    assert whys[0].count(f"{rfxpl.SETS[0]} 7") == 1


def test_figures_in_print_have_sides() -> None:
    assert [figure(text) for text in ("<0.1", ">4h", "12.5", "TO")] == [0.1, float("inf"), 12.5, float("inf")]
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
