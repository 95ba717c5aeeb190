"""``proofwood ask``: what every tree of a depth must do, on the command line."""

from __future__ import annotations

import pytest

from proofwood.questions import flips
from tests.command_line import failed, invoke, worked
from tests.interface.test_cli_json import answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("ask")
    worked("data", "credit", "--out", made / "credit.csv")
    worked("fit", made / "credit.csv", "--target", "decision", "--max-depth", 2, "--out", made / "tree.json")
    lines = (made / "credit.csv").read_text().splitlines()
    (made / "now.csv").write_text("\n".join([*lines[:1], *lines[3:], *lines[1:20]]) + "\n")
    return made


def test_after_ctrl_c_the_rows_that_are_done_are_told(folder, monkeypatch):
    given = ("ask", folder / "tree.json", folder / "credit.csv", "--target", "decision", "--row", 7, "--row", 0)
    whole, flip = worked(*given), flips._Fit.flip

    def press(of, place, *more):
        if place == 1:
            raise KeyboardInterrupt
        return flip(of, place, *more)

    monkeypatch.setattr(flips._Fit, "flip", press)
    result = invoke(*given)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == whole.splitlines()[:2]
    assert "warning: stopped at a limit (interrupt): the answers are about the first 1 of 2 rows" in result.stderr


def test_all_three_questions(folder):
    given = ("ask", folder / "tree.json", folder / "credit.csv", "--target", "decision")
    text = worked(*given, "--row", 7, "--row", 0, "--now", folder / "now.csv")
    first, *flips, carried = text.splitlines()
    assert "every tree of depth at most 2 is wrong for at least" in first
    assert [line.split(",")[0] for line in flips] == ["row 7", "row 0"]
    assert carried.startswith("claimed when the file was written: the old tree has")
    assert "a new fit saves at most" in carried

    found = answer(*given, "--row", 7, "--now", folder / "now.csv")
    assert found["population"]["errors"] == 195
    assert found["refused"] is None
    (flip,) = found["flips"]
    assert (flip["row"], flip["status"]) == (7, "optimal")
    assert flip["decision"] != flip["other"]
    assert flip["tree"].startswith("debts")
    assert (found["carried"]["added"], found["carried"]["removed"]) == (17, 0)
    assert found["carried"]["lower_bound"] == 195


def test_a_refusal_is_part_of_the_answer(folder, tmp_path):
    model = tmp_path / "weighted.json"
    table = folder / "credit.csv"
    worked("fit", table, "--target", "decision", "--max-depth", 1, "--class-weight", "balanced", "--out", model)
    assert worked("ask", model, table, "--target", "decision").startswith("population: population_bound needs")
    found = answer("ask", model, table, "--target", "decision")
    assert found["population"] is None
    assert "rows have weights" in found["refused"]


def test_mistakes(folder, tmp_path):
    tree, table = folder / "tree.json", folder / "credit.csv"
    assert "--row 5000: expected the number of a row, from 0 to 999" in failed(
        "ask", tree, table, "--target", "decision", "--row", 5000
    )
    assert "are not those of the fit" in failed("ask", tree, folder / "now.csv", "--target", "decision", "--row", 1)
    worked("fit", table, "--target", "decision", "--model", "bdd", "--max-features", 1, "--out", tmp_path / "m.json")
    assert "ask is about trees of classes" in failed("ask", tmp_path / "m.json", table, "--target", "decision")
