"""What limited a search stands beside each claim of its proof, in every place where it is made."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from proofwood import (
    MaxSplits,
    MinimalTreeClassifier,
    MinSamples,
    OptimalBDDClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    load,
    write_report,
)
from proofwood.cli.answers import proof_answer
from proofwood.estimators import optimal_diagram, storage
from proofwood.estimators.proof_report import proof_report
from proofwood.exceptions import InfeasibleError, OptimalityWarning
from proofwood.result import Result, Stats, Status
from proofwood.show.trace import status_text
from tests.command_line import worked

ORDERED = "over ordered sets of levels of level, order fixed in advance"
THRESHOLDS = "at most 2 thresholds a column in x"


def table(n_levels=7):
    """Rows of a column of text and one of numbers."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": [f"l{v}" for v in rng.integers(0, n_levels, 120)]})
    return X.assign(x=rng.integers(0, 9, 120).astype(float)), rng.choice(["good", "bad"], 120)


LIMITED = [
    (OptimalTreeClassifier(2, min_samples_leaf=5, min_samples_level=1), {ORDERED}),
    (OptimalTreeCV(2, alpha=0.0, min_samples_leaf=5, min_samples_level=1, cv=2), {ORDERED}),
    (
        MinimalTreeClassifier(max_thresholds=2, on_conflict="majority", time_limit=None),
        {THRESHOLDS, "one level at a time of level"},
    ),
    (OptimalBDDClassifier(2, max_thresholds=2, drop=["level"]), {THRESHOLDS}),
    (OptimalDiagramClassifier((1, 2), max_thresholds=2, drop=["level"]), {THRESHOLDS}),
]
FREE = [
    (OptimalTreeClassifier(2, min_samples_level=1), set()),
    (OptimalBDDClassifier(2, drop=["level"], max_thresholds=8), set()),
]


@pytest.mark.parametrize(("model", "scope"), [*LIMITED, *FREE], ids=lambda value: type(value).__name__)
def test_every_place_says_it(model, scope, tmp_path):
    X, y = table()
    model.fit(X, y)
    assert model.status_ == "optimal"
    assert set(model.result_.scope) == scope
    write_report(model, tmp_path / "page.html", X, y, explain_seconds=0)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.result_.scope == model.result_.scope
    page = html.unescape((tmp_path / "page.html").read_text())
    claim = proof_report(model).claim
    places = {
        "summary": model.summary(),
        "loaded": again.summary(),
        "shown": worked("show", tmp_path / "model.json"),
        "shown as JSON": worked("show", tmp_path / "model.json", "--json"),
        "notebook": html.unescape(model._repr_html_()),
        "result in a notebook": html.unescape(model.result_._repr_html_()),
        "dict": json.dumps(model.result_.to_dict()),
        "claim": claim,
        "report": page,
    }
    for place, text in places.items():
        for limit in scope:
            assert limit in text, place
        if place != "dict":
            assert ("for these tests" in text) == bool(scope), place
    stated = claim.removesuffix(model.result_.within) + (" for these tests:" if scope else ":")
    assert stated[1:] in page
    assert ("The search was limited:" in page) == bool(scope)
    assert ("models with any test of these columns" in page) == (not scope)
    assert ("for these tests" in status_text(model.result_)) == bool(scope)
    unqualified = re.findall(r"(proved optimal|costs less|fewer errors|less depth)(?! for these tests)", page + claim)
    assert (not unqualified) == bool(scope)
    assert proof_answer(model)["scope"] == list(model.result_.scope)


def test_the_command_line_says_it(tmp_path):
    X, y = table()
    X.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    call = ("fit", tmp_path / "t.csv", "--target", "label", "--max-depth", 2)
    held = worked(*call, "--min-samples-leaf", 5)
    assert f"makes fewer errors for these tests ({ORDERED})" in held
    assert "for these tests" not in worked(*call)
    assert json.loads(worked(*call, "--min-samples-leaf", 5, "--json"))["proof"]["scope"] == [ORDERED]
    assert json.loads(worked(*call, "--json"))["proof"]["scope"] == []


def test_a_bound_of_a_search_that_was_stopped_has_its_scope():
    rng = np.random.default_rng(0)
    X = rng.random((400, 12))
    model = OptimalBDDClassifier(8, max_thresholds=20, time_limit=0.3)
    with pytest.warns(OptimalityWarning, match=r"lower bound .* for these tests \(at most 20 thresholds a column in "):
        model.fit(X, rng.integers(0, 2, 400))
    assert "not proved best" in model.summary()
    assert re.search(r"lower bound [\d,]+ for these tests\)", model.summary())
    assert (
        "the tests: at most 20 thresholds a column in column 0, column 1, column 2, column 3 and 8 more"
        in model.summary()
    )


def test_no_diagram_is_said_of_these_tests(monkeypatch):
    nothing = Result(None, np.inf, "share", 0.0, Status.INFEASIBLE, Stats(engine="test"))
    monkeypatch.setattr(optimal_diagram, "solve", lambda *_, **__: nothing)
    X, y = table()
    diagram = OptimalDiagramClassifier(
        (1, 2), max_thresholds=2, drop=["level"], constraints=[MaxSplits(1), MinSamples(9)]
    )
    said = r"is proved that no .* meets MaxSplits.* for these tests \(at most 2 thresholds a column in x\)\."
    with pytest.raises(InfeasibleError, match=said) as caught:
        diagram.fit(X, y)
    assert caught.value.result.scope == (THRESHOLDS,)


@pytest.mark.parametrize("proved_by", ["search", "leaves only"])
def test_no_oblique_diagram_is_said_of_hyperplanes_that_keep_the_margin(monkeypatch, proved_by):
    """Programs find no others; where no split is permitted there are none."""
    nothing = Result(None, np.inf, "share", 0.0, Status.INFEASIBLE, Stats(engine="test", proved_by=proved_by))
    monkeypatch.setattr(optimal_diagram, "solve", lambda *_, **__: nothing)
    X, y = table()
    diagram = OptimalDiagramClassifier((1, 2), splits="oblique", drop=["level"], constraints=[MaxSplits(1)])
    with pytest.raises(InfeasibleError) as caught:
        diagram.fit(X, y)
    margin = proved_by != "leaves only"
    assert ("for these tests (over hyperplanes with" in str(caught.value)) is margin
    assert bool(caught.value.result.scope) is margin
    said = "proved: no model meets the constraints" + " for these tests" * margin
    assert status_text(caught.value.result) == said


def test_one_threshold_and_many_columns_in_words():
    X = np.random.default_rng(0).integers(0, 3, (60, 7)).astype(float)
    X[:, 1] = X[:, 1] > 1  # one threshold, which is kept
    model = OptimalBDDClassifier(1, max_thresholds=1).fit(X, X[:, 0] > 0)
    assert model.result_.scope == ("at most 1 threshold a column in column 0, column 2, column 3, column 4 and 2 more",)


@pytest.mark.parametrize("name", ["client\u00a0no", "\u5730\u3000\u533a", "soft\u00adhyphen", "two\nlines", "\x1b[2J"])
def test_a_model_with_any_name_in_its_scope_is_read_back(name, tmp_path):
    X, y = table()
    model = OptimalBDDClassifier(1).fit(X.rename(columns={"level": name}), y)
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.result_.scope == model.result_.scope != ()
    assert not set("\n\t\x1b") & set("".join(model.result_.scope))


def test_an_old_file_does_not_tell_the_scope(tmp_path):
    X, y = table()
    OptimalTreeClassifier(2, min_samples_level=1).fit(X, y).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["model"]["result"].pop("scope") == []
    (tmp_path / "old.json").write_text(json.dumps(document))
    old = load(tmp_path / "old.json", check=False)
    assert "proved optimal for these tests (the file does not tell which)" in old.summary()
    for wrong in ("all", [1], ["two\nlines"]):
        document["model"]["result"]["scope"] = wrong
        (tmp_path / "old.json").write_text(json.dumps(document))
        with pytest.raises(storage.ModelFileError, match=r"scope is .*, expected a list of printable strings"):
            load(tmp_path / "old.json", check=False)
