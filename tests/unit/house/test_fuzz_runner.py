"""The runner of fuzz campaigns, on parts that pass, fail, raise, crash and hang."""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from tests.fuzz import _records, _runner

PARTS = {
    "passes": "return {'cases': 7, 'failures': 0, 'seed': seed}",
    "fails": "from tests.fuzz import _records\n"
    "    _records.record('fails', seed, 3, 'two is not three', repeat='fails.one_case(3)')\n"
    "    return {'cases': 5, 'failures': 1}",
    "raises": "raise ValueError('no such case')",
    "crashes": "os.abort()",
    "hangs": "time.sleep(600)",
    "idles": "return {}",
    "sums": "return {'read': 2, 'refused': 3}",
    "_helper": "return {}",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of parts, named anew for each test since Python remembers those it has seen."""
    name = f"parts_of_{tmp_path.name}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    for part, body in PARTS.items():
        text = f"import os, time\n\n\ndef campaign(seed, seconds):\n    {body}\n"
        (folder / f"{part}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[3]}")
    return name


def test_parts_are_found_by_listing(package: str) -> None:
    assert _runner.parts_of(package) == ["crashes", "fails", "hangs", "idles", "passes", "raises", "sums"]


def test_what_goes_wrong_is_told_apart_and_ends_nothing(package: str, tmp_path: Path) -> None:
    records = tmp_path / "records"
    lines: list[str] = []
    parts = ["crashes", "fails", "raises", "idles", "passes", "sums"]
    tallies = _runner.campaign(package, parts, seconds=0, seed=1, grace=60, records=records, say=lines.append)
    tallies |= _runner.campaign(package, ["hangs"], seconds=0, seed=1, grace=1.5, records=records, say=lines.append)
    assert {part: tally.turns for part, tally in tallies.items()} == dict.fromkeys([*parts, "hangs"], 1)
    assert {part: tally.failures for part, tally in tallies.items() if tally.failures == 0} == {"passes": 0, "sums": 0}
    assert tallies["passes"].counts == {"cases": 7, "failures": 0, "seed": _runner.derived(1, "passes", 0)}
    assert (tallies["fails"].counts["failures"], tallies["fails"].broken) == (1, [])
    assert tallies["crashes"].broken[0].startswith("crashed: SIGABRT: `python -m tests.fuzz._slice ")
    assert tallies["raises"].broken[0].startswith("raised: exit code 1")
    assert tallies["idles"].broken[0].startswith("tried nothing")
    assert tallies["sums"].counts["cases"] == 5
    assert tallies["hangs"].broken[0].startswith("hung: not back after 2 s")
    logs = {path.name.partition("-")[0]: path.read_text() for path in records.glob("*.log")}
    assert sorted(logs) == ["crashes", "hangs", "idles", "raises"]
    assert "ValueError: no such case" in logs["raises"]
    assert "in campaign" in logs["crashes"]  # where it was
    page = _runner.report(tallies, "command", records)
    assert "17 cases" in page
    assert "5 failures" in page
    assert f"record fails-{_runner.derived(1, 'fails', 0)}-3.json: `fails.one_case(3)`" in page
    assert len(lines) == 7


def test_turns_go_round_with_seeds_of_their_own(package: str, tmp_path: Path) -> None:
    tallies = _runner.campaign(package, ["passes", "fails"], seconds=0, least_turns=3, seed=2, records=tmp_path / "r")
    assert (tallies["passes"].turns, tallies["fails"].turns) == (3, 3)
    seeds = [_runner.derived(2, "passes", turn) for turn in range(3)]
    assert len({*seeds, _runner.derived(2, "fails", 0), _runner.derived(3, "passes", 0)}) == 5
    assert tallies["passes"].counts == {"cases": 21, "failures": 0, "seed": sum(seeds)}


def one_case(number: int) -> Counter[str]:
    """A case that fails at the second and third number of a seed."""
    place = number % _records.CASES
    with _records.about(f"place {place}"):
        if place == 1:
            assert number == 0, f"the number is {number}"
        if place == 2:
            raise LookupError("lost")
    if place == 3:
        sys.exit(4)
    return Counter({"passed": 1})


def test_a_failed_case_is_recorded_with_what_repeats_it_and_the_next_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_records.VARIABLE, str(tmp_path / "there"))
    counts = _records.cases(one_case, 5, 0.05)
    kinds = {name: number for name, number in counts.items() if name.startswith("failed")}
    assert kinds == {"failed: the number is": 1, "failed: lost": 1, "failed: SystemExit": 1}
    assert counts["failures"] == 3
    assert counts["passed"] == counts["cases"] - 3 > 0
    records = {path.name: json.loads(path.read_text()) for path in (tmp_path / "there").iterdir()}
    part = __name__.rpartition(".")[2]
    assert sorted(records) == [f"{part}-5-{place}.json" for place in (1, 2, 3)]
    first = records[f"{part}-5-1.json"]
    assert (first["part"], first["seed"], first["case"]) == (part, 5, 1)
    assert first["message"].startswith("AssertionError: the number is 5000001")
    assert first["message"].endswith("\nplace 1")
    assert "in one_case" in first["traceback"]
    with pytest.raises(LookupError, match="lost"):
        exec(records[f"{part}-5-2.json"]["repeat"])


def test_the_user_ends_a_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_records.VARIABLE, str(tmp_path))

    def stopped(number: int) -> Counter[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _records.cases(stopped, 1, 60)
    assert list(tmp_path.iterdir()) == []


def test_the_parts_have_one_form() -> None:
    for name in _runner.parts_of("tests.fuzz"):
        part = import_module(f"tests.fuzz.{name}")
        assert _records.cases(part.one_case, 1, 0) == {"cases": 0, "failures": 0}
        assert not hasattr(part, "campaign")
