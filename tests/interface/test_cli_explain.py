"""Explanations from the command line: models from files, rows from tables, certificates."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from proofwood import OptimalTreeClassifier
from proofwood.certificates.content import digest
from proofwood.explain.proofs.certificate import NoCertificateError, write_certificate
from tests import forged, onnx_models
from tests.command_line import failed, invoke, worked
from tests.statements import signed

NAMES = ["income", "debt", "age"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with its target, a tree of ours in JSON, a forest in joblib, and one without names in a pickle."""
    path = tmp_path_factory.mktemp("explain")
    random = np.random.default_rng(3)
    X = np.column_stack([random.normal(30, 8, 120), 20 * random.random(120), random.integers(18, 80, 120)]).round(1)
    y = np.where(X[:, 0] - X[:, 1] > 20, "good", "bad")
    frame = pl.DataFrame(X, schema=NAMES)
    frame.with_columns(pl.Series("ok", y)).write_csv(path / "loans.csv")
    OptimalTreeClassifier(max_depth=2).fit(frame, y).save(path / "tree.json")
    forest = RandomForestClassifier(7, max_depth=3, random_state=0).fit(frame, y)
    joblib.dump(forest, path / "forest.joblib")
    bare = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    (path / "bare.pkl").write_bytes(pickle.dumps(bare))
    return path


def told(text: str) -> dict[str, str]:
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in text.splitlines()}


def test_a_rule_for_a_row_of_our_own_tree(folder):
    lines = told(worked("explain", folder / "tree.json", folder / "loans.csv", "--row", 3, "--verify"))
    label = pl.read_csv(folder / "loans.csv")["ok"][3]
    assert lines["rule"].endswith(f"-> {lines['prediction']}")
    assert lines["prediction"] == label
    assert lines["status"] == "minimal: no feature can be left out"
    assert lines["verified"] == "confirmed by a second check"


def test_constraints_and_plausible_rows_are_asked_for_and_told(folder):
    table = pl.read_csv(folder / "loans.csv").drop("ok")
    usual = IsolationForest(n_estimators=20, random_state=0).fit(table)
    joblib.dump(usual, folder / "usual.joblib")
    row = int(np.flatnonzero(usual.predict(table) == 1)[0])
    asked = ["explain", folder / "forest.joblib", folder / "loans.csv", "--drop", "ok", "--row", row, "--trust-pickle"]
    change = [*asked, "--kind", "counterfactual"]
    tied = told(worked(*change, "--constraint", "debt <= 0.5 * income", "--constraint", "age >= 18"))
    assert tied["with"] == "debt <= 0.5 * income and age >= 18"
    said = json.loads(worked(*change, "--constraint", "debt <= 0.5 * income", "--json"))["explanation"]
    assert said["constraints"] == ["debt <= 0.5 * income"]
    income, debt, _ = said["witness"]
    assert debt <= 0.5 * income
    sensible = told(worked(*asked, "--plausible", folder / "usual.joblib", "--least-score", "-0.6"))
    assert sensible["plausible"] == "the isolation forest gives a score of at least -0.6"
    assert (
        json.loads(worked(*asked, "--plausible", folder / "usual.joblib", "--json"))["explanation"]["plausible"] == -0.5
    )
    for options, words in {
        ("--constraint", "debt <= 3"): "--constraint cannot be combined",
        ("--kind", "counterfactual", "--constraint", "debt * age <= 3"): "multiplies columns",
        ("--least-score", "-0.5"): "--least-score needs --plausible",
        ("--plausible", folder / "forest.joblib"): "expected a fitted IsolationForest",
        ("--plausible", folder / "usual.joblib", "--certificate", folder / "c.json"): "leave out --plausible",
    }.items():
        assert words in failed(*asked, *options)


def test_a_pickle_is_loaded_only_on_trust_and_the_message_says_why(folder):
    for name in ("forest.joblib", "bare.pkl"):
        message = failed("explain", folder / name, folder / "loans.csv", "--row", 0)
        assert "runs any code in it" in message
        assert "--trust-pickle" in message
    (folder / "broken.pkl").write_bytes(b"no pickle at all")
    message = failed("explain", folder / "broken.pkl", folder / "loans.csv", "--row", 0, "--trust-pickle")
    assert "cannot be loaded as a pickle" in message


def test_numbers_of_a_regressor_are_explained(folder, tmp_path):
    table = pl.read_csv(folder / "loans.csv")
    rows = table.select("debt", "age")
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(rows, table["income"])
    joblib.dump(model, tmp_path / "numbers.joblib")
    rows.write_csv(tmp_path / "numbers.csv")
    given = ("explain", tmp_path / "numbers.joblib", tmp_path / "numbers.csv", "--row", 3, "--trust-pickle")
    cut = float(model.predict(rows[3:4])[0]) - 0.1
    assert told(worked(*given, "--number", f">= {cut!r}", "--verify"))["prediction"].startswith("at least")
    assert told(worked(*given, "--number", "within 5"))["prediction"] == "within 5"
    assert told(worked(*given, "--number", f"{cut - 1},{cut + 1}"))["prediction"].count(" to below ") == 1
    assert "say what to explain" in failed(*given)
    assert "expected a text such as" in failed(*given, "--number", ">= many")
    assert "confidence is for classifiers" in failed(*given, "--number", ">= 3", "--confidence", 0.8)


def test_an_untrusted_pickle_runs_nothing(folder):
    class Bomb:
        def __reduce__(self):
            return (folder / "ran").write_text, ("boom",)

    (folder / "bomb.pkl").write_bytes(pickle.dumps(Bomb()))
    failed("explain", folder / "bomb.pkl", folder / "loans.csv", "--row", 0)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (["--smallest"], "smallest"),
        (["--inflate"], "minimal"),
        (["--engine", "paper", "--vote", "majority"], "minimal"),
        (["--feature-order", "income,age"], "minimal"),
        (["--kind", "contrastive"], "minimal"),
        (["--kind", "contrastive", "--smallest"], "smallest"),
        (["--kind", "counterfactual", "--immutable", "age", "--integer", "age"], "optimal"),
    ],
)
def test_kinds_and_options(folder, options, first):
    forest = (folder / "forest.joblib", folder / "loans.csv", "--row", 5, "--trust-pickle")
    lines = told(worked("explain", *forest, *options))
    assert lines["status"].startswith(first)
    assert ("rule" in lines) is ("--kind" not in options)
    if "counterfactual" in options:
        assert "age" not in lines["change"]
        assert float(lines["distance"].split(",")[0]) > 0


def test_radii_and_distances_are_rounded_to_their_side(folder):
    for row in range(6):
        given = ("explain", folder / "forest.joblib", folder / "loans.csv", "--row", row, "--trust-pickle")
        given += ("--kind", "robustness")
        lines = told(worked(*given))
        exact = json.loads(worked(*given, "--json"))["explanation"]
        assert float(lines["radius"].split()[0]) <= exact["lower_bound"]
        distance, least = (float(part.rpartition(" ")[2]) for part in lines["distance"].split(","))
        assert exact["distance"] <= distance < exact["distance"] * 1.0001
        assert exact["lower_bound"] * 0.9999 < least <= exact["lower_bound"]


def test_columns_that_a_step_drops_need_not_be_there(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "id"])
    steps = make_column_transformer(("passthrough", ["a", "b"]))
    model = make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(frame, frame.a > 0)
    joblib.dump(model, tmp_path / "model.joblib")
    frame[["b", "a"]].to_csv(tmp_path / "rows.csv", index=False)
    asked = ("explain", tmp_path / "model.joblib", tmp_path / "rows.csv", "--row", 0, "--trust-pickle")
    assert "minimal" in worked(*asked)
    frame[["a", "id"]].to_csv(tmp_path / "rows.csv", index=False)
    assert "'b'" in failed(*asked)


def test_a_target_is_the_class_to_reach(folder):
    forest = (folder / "forest.joblib", folder / "loans.csv", "--trust-pickle", "--row", 5)
    label = told(worked("explain", *forest))["prediction"]
    other = {"good": "bad", "bad": "good"}[label]
    change = told(worked("explain", *forest, "--kind", "counterfactual", "--target", other))["change"]
    assert change.endswith(f"-> {other}")
    assert "predicts" in failed("explain", *forest, "--target", label)
    assert "good" in failed("explain", *forest, "--target", "maybe")


def test_a_model_without_names_takes_those_of_the_table(folder):
    table = (folder / "bare.pkl", folder / "loans.csv", "--row", 1, "--trust-pickle")
    assert "--drop" in failed("explain", *table)
    lines = told(worked("explain", *table, "--drop", "ok"))
    assert any(name in lines["rule"] for name in NAMES)


def test_what_rounding_decides_is_not_proved_by_a_file_alone(folder):
    """By the margin of this file rounding might decide anything, of a column that no tree tests."""
    parts = {"without": [], "proofs": [], "sufficient": [], "size_proof": []}
    rows, witness = forged.space(forged.column("a"), forged.column("b")), {"label": 1, "values": [0.0, 5.0]}
    told = {"row": [0.0, 0.0], "features": [1], "witness": witness, **parts}
    content = forged.made("contrastive", "changing", rows, [forged.stump(0, 0.5)], [forged.cuts(0, 0.5)], **told)
    write_certificate(folder / "open.json", signed({**content, "model": {**content["model"], "margin": 10}}))
    result = invoke("verify", folder / "open.json")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].endswith(
        "NOT proved; a check depends on the rounding of the model: add --model FILE"
    )
    assert "FAILED" not in result.stdout


def test_a_certificate_is_checked_alone_and_against_the_model(folder):
    proof = folder / "proof.json"
    forest = (folder / "forest.joblib", folder / "loans.csv", "--trust-pickle", "--row", 5)
    lines = told(worked("explain", *forest, "--vote", "majority", "--certificate", proof))
    assert str(proof) in lines["certificate"]
    assert "proved for the trees in the file" in worked("verify", proof)
    against = ("verify", proof, "--model", folder / "forest.joblib")
    assert "proved for the model" in worked(*against, "--trust-pickle", "--vote", "majority")
    assert "--trust-pickle" in failed(*against)
    content = json.loads(proof.read_text())
    content["features"] = content["features"][1:]
    (folder / "changed.json").write_text(json.dumps(content))
    result = invoke("verify", folder / "changed.json", proof)
    assert result.exit_code == 1
    assert "FAILED" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--smallest"],
        ["--inflate"],
        ["--kind", "contrastive"],
        ["--kind", "contrastive", "--smallest"],
        ["--kind", "contrastive", "--immutable", "income", "--immutable", "debt", "--immutable", "age"],
        ["--kind", "enumeration"],
        ["--kind", "counterfactual"],
        ["--kind", "robustness", "--immutable", "age"],
    ],
)
def test_every_kind_of_certificate_is_checked_and_a_changed_one_is_refused(folder, options):
    proof = folder / "kind.json"
    forest = (folder / "forest.joblib", folder / "loans.csv", "--trust-pickle", "--row", 5, "--vote", "majority")
    lines = told(worked("explain", *forest, *options, "--certificate", proof))
    assert str(proof) in lines["certificate"]
    against = ("--model", folder / "forest.joblib", "--trust-pickle", "--vote", "majority")
    assert "proved for the model" in worked("verify", proof, *against)
    content = json.loads(proof.read_text())
    content["label"] = 1 - content["label"]
    proof.write_text(json.dumps({**content, "digest": digest(content)}))
    result = invoke("verify", proof)
    assert result.exit_code == 1
    assert "NOT proved" in result.stdout


def test_all_explanations_of_a_row(folder):
    forest = (folder / "forest.joblib", folder / "loans.csv", "--trust-pickle", "--kind", "enumeration")
    printed = worked("explain", *forest, "--row", 5).splitlines()
    assert printed[-1].split(maxsplit=1)[1] == "complete: there are no others"
    kinds = [line.split()[0] for line in printed[:-2]]
    assert printed[-2].endswith(f"{kinds.count('abductive')} abductive, {kinds.count('contrastive')} contrastive")
    stopped = invoke("explain", *forest, "--row", 5, "--time-limit", "0.000001")
    assert stopped.exit_code == (3 if "0 abductive, 0 contrastive" in stopped.stdout else 0)
    assert "there may be others" in stopped.stdout
    assert "enumeration needs one" in failed("explain", *forest, "--all", "--out", folder / "no.jsonl")
    assert "--smallest cannot be combined" in failed("explain", *forest, "--row", 5, "--smallest")
    assert "--verify checks one" in failed("explain", *forest, "--row", 5, "--verify")


def test_all_rows_as_json_lines(folder):
    out = folder / "all.jsonl"
    printed = worked("explain", folder / "tree.json", folder / "loans.csv", "--all", "--out", out)
    header, *lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert (header["kind"], header["n_rows"]) == ("abductive", 120)
    assert [line["row"] for line in lines] == list(range(120))
    assert {line["prediction"] for line in lines} == {"good", "bad"}
    assert "120 of 120" in printed


def test_wrong_usage_is_one_line(folder):
    tree = (folder / "tree.json", folder / "loans.csv")
    cases = {
        (): "--row",
        ("--row", 0, "--all"): "either --row",
        ("--all",): "belong together",
        ("--row", 0, "--out", "x"): "belong together",
        ("--row", 120): "120 rows",
        ("--row", -1): "120 rows",
        ("--row", 0, "--kind", "counterfactual", "--smallest"): "--smallest cannot be combined",
        ("--row", 0, "--immutable", "age"): "--immutable cannot be combined",
        ("--row", 0, "--kind", "robustness", "--smallest"): "--smallest cannot be combined",
        ("--row", 0, "--kind", "enumeration", "--target", "bad", "--certificate", "c"): "--certificate",
        ("--row", 0, "--smallest", "--feature-order", "age"): "cannot be combined",
        ("--row", 0, "--kind", "counterfactual", "--certificate", "c", "--constraint", "age <= 50"): "--constraint",
        (
            "--row",
            0,
            "--kind",
            "counterfactual",
            "--engine",
            "paper",
            "--constraint",
            "age <= 50",
        ): "--engine paper does not support",
        ("--row", 0, "--engine", "magic"): "--engine magic",
        ("--row", 0, "--feature-order", "agee"): "agee",
        ("--row", 0, "--integer", "agee"): "agee",
        ("--row", 0, "--time-limit", "soon"): "soon",
        ("--all", "--out", folder / "no" / "where"): "cannot write",
    }
    for options, message in cases.items():
        assert message in failed("explain", *tree, *options), options
    assert "no file" in failed("explain", folder / "none.json", folder / "loans.csv", "--row", 0)
    (folder / "list.pkl").write_bytes(pickle.dumps([1, 2]))
    assert "cannot explain" in failed(
        "explain", folder / "list.pkl", folder / "loans.csv", "--row", 0, "--trust-pickle"
    )
    assert "none.json" in failed("verify", folder / "none.json")


def test_an_explanation_is_printed_also_where_there_is_no_certificate(folder, monkeypatch):
    def too_late(*_, **__):
        raise NoCertificateError("no certificate: not in time")

    monkeypatch.setattr("proofwood.explain.answers.certified.certifier", too_late)
    monkeypatch.setattr("proofwood.explain.answers.listing.certifier", too_late)
    for kind in ("abductive", "contrastive", "counterfactual", "robustness", "enumeration"):
        call = ("explain", folder / "tree.json", folder / "loans.csv", "--row", 0, "--kind", kind, "--certificate", "c")
        result = invoke(*call)
        assert result.exit_code == 2
        assert "not in time" in result.stderr
        assert told(result.stdout)["status"].partition(":")[0] in ("minimal", "optimal", "complete")
        as_json = invoke(*call, "--json")
        answer = json.loads(as_json.stdout)
        assert as_json.exit_code == 2
        assert answer["explanation" if kind != "enumeration" else "enumeration"]["row"] == 0
        assert answer["certificate"] is None
    assert not Path("c").exists()


@pytest.mark.needs("onnx")
def test_trees_from_an_onnx_file(folder, tmp_path):
    path = tmp_path / "trees.onnx"
    path.write_bytes(
        onnx_models.classifier(np.random.default_rng(0), n_classes=3, inputs=tuple(NAMES)).SerializeToString()
    )
    text = worked("explain", path, folder / "loans.csv", "--row", 3)
    assert told(text)["prediction"] in ("0", "10", "20")
    turned = tmp_path / "turned.csv"  # columns are found by name
    pl.read_csv(folder / "loans.csv").select("ok", "age", "debt", "income").write_csv(turned)
    assert told(worked("explain", path, turned, "--row", 3))["rule"] == told(text)["rule"]
    path.write_bytes(onnx_models.classifier(np.random.default_rng(0), n_classes=3).SerializeToString())
    assert "leave out columns that are not features" in failed("explain", path, folder / "loans.csv", "--row", 3)
    assert told(worked("explain", path, folder / "loans.csv", "--row", 3, "--drop", "ok"))["rule"] == told(text)["rule"]
    path.write_bytes(b"\xff\xff")
    assert "is not an ONNX file, or is damaged" in failed("explain", path, folder / "loans.csv", "--row", 3)


def _boosted(folder, library):
    """Names and files of a model of a library, learned from the table of loans with a blank in a name."""
    table = pl.read_csv(folder / "loans.csv")
    X = table.drop("ok").rename({"income": "annual income"})
    y = (table["ok"] == "good").to_numpy().astype(int)
    X.write_csv(folder / "blank.csv")
    frame = X.to_pandas()
    if library == "xgboost":
        import xgboost

        model = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(frame, y)
        for name in ("model.json", "model.ubj"):
            model.save_model(folder / name)
        return model, ["model.json", "model.ubj"]
    if library == "lightgbm":
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=4, num_leaves=4, n_jobs=1, verbose=-1).fit(frame, y)
        model.booster_.save_model(folder / "model.txt")
        return model, ["model.txt"]
    import catboost

    few = {"iterations": 4, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**few).fit(frame, y)
    model.save_model(str(folder / "model.cbm"))
    model.save_model(str(folder / "cat.json"), format="json")
    joblib.dump(model, folder / "cat.joblib")
    return model, ["model.cbm", "cat.json", "cat.joblib"]


@pytest.mark.filterwarnings("ignore:Found whitespace in feature_names")
@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("xgboost", "lightgbm", "catboost")]
)
def test_files_of_boosters_are_models(folder, library):
    model, files = _boosted(folder, library)
    expected = model.predict(pl.read_csv(folder / "blank.csv").to_pandas()).ravel()
    for name in files:
        for row in (0, 5, 9):
            trusted = ["--trust-pickle"] if name.endswith("joblib") else []
            given = [folder / name, folder / "blank.csv", "--row", row, *trusted]
            lines = told(worked("explain", *given, "--verify", "--certificate", folder / "why.json"))
            assert lines["prediction"] == str(expected[row])
            assert lines["verified"] == "confirmed by a second check"
            checked = worked("verify", folder / "why.json", "--model", folder / name, *trusted)
            assert "proved for the model" in checked


@pytest.fixture(scope="module")
def hashed(folder):
    """CatBoost models with categories in files, the table as they learned it, and the same without a category."""
    from catboost import CatBoostClassifier

    path, random = folder / "hashed", np.random.default_rng(4)
    path.mkdir()
    frame = pd.DataFrame({"size": random.normal(size=200), "kind": random.integers(3, 7, 200)})
    frame["colour"] = random.choice(["red", "007", "Ü"], 200)
    frame["warm"] = random.random(200) < 0.5
    y = np.where((frame["size"] > 0) ^ frame.warm ^ (frame.colour == "007"), "good", "bad")
    few = {"iterations": 6, "depth": 3, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    few |= {"one_hot_max_size": 9, "learning_rate": 0.5}
    by_name = {"cat_features": ["colour", "kind", "warm"]}
    models = {"model.cbm": CatBoostClassifier(**few).fit(frame, y, **by_name)}
    words = frame.assign(warm=frame.warm.map({True: "True", False: "False"}))
    models["words.cbm"] = CatBoostClassifier(**few).fit(words, y, **by_name)
    for name, model in models.items():
        model.save_model(str(path / name))
    steps = make_column_transformer(("passthrough", list(frame)), verbose_feature_names_out=False)
    models["steps.joblib"] = make_pipeline(steps.set_output(transform="pandas"), CatBoostClassifier(**few, **by_name))
    models["steps.joblib"].fit(frame, y)
    models["search.joblib"] = GridSearchCV(CatBoostClassifier(**few), {"depth": [2]}, cv=2).fit(frame, y, **by_name)
    for name in ("steps.joblib", "search.joblib"):
        joblib.dump(models[name], path / name)
    frame.assign(ok=y).to_csv(path / "rows.csv", index=False)
    frame[frame.colour != "007"].to_csv(path / "fewer.csv", index=False)
    pl.from_dict({name: frame[name].to_list() for name in frame}).write_parquet(path / "rows.parquet")
    expected = {name: model.predict(words if name == "words.cbm" else frame).ravel() for name, model in models.items()}
    return path, expected


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("name", ["model.cbm", "words.cbm", "steps.joblib", "search.joblib"])
def test_categories_of_catboost_are_found_in_the_table(hashed, name):
    path, expected = hashed
    for table in ("rows.csv", "rows.parquet") if name != "words.cbm" else ("rows.csv",):
        for row in (0, 5, 9):
            given = [path / name, path / table, "--row", row, "--trust-pickle"]
            lines = told(worked("explain", *given, "--verify", "--certificate", path / "why.json"))
            assert lines["prediction"] == expected[name][row]
            assert lines["verified"] == "confirmed by a second check"
    asked = ["verify", path / "why.json", "--model", path / name, "--trust-pickle"]
    assert "proved for the model" in worked(*asked, "--data", path / table)
    if name != "steps.joblib":
        assert "X is not given" in failed(*asked)
    out = path / f"{name}.jsonl"
    worked("explain", path / name, path / "rows.csv", "--all", "--out", out, "--trust-pickle")
    said = [json.loads(line).get("prediction") for line in out.read_text(encoding="utf-8").splitlines()]
    assert [label for label in said if label is not None] == expected[name].tolist()


@pytest.mark.needs("catboost")
def test_a_table_without_a_category_that_catboost_tests_is_refused(hashed):
    path, _ = hashed
    message = failed("explain", path / "model.cbm", path / "fewer.csv", "--row", 0)
    assert "of the column 'colour', and CatBoost stores only their hashes: 1 of them do not occur in X" in message
    assert "(on the command line, a table that contains them)" in message
    assert "--data needs --model FILE" in failed("verify", path / "why.json", "--data", path / "rows.csv")


@pytest.mark.needs("xgboost")
def test_files_that_the_library_would_misread_are_refused(folder):
    _boosted(folder, "xgboost")
    saved = json.loads((folder / "model.json").read_text())
    saved["learner"]["gradient_booster"]["model"]["boost_more"] = [2.0]
    (folder / "strange.json").write_text(json.dumps(saved))
    message = failed("explain", folder / "strange.json", folder / "blank.csv", "--row", 0)
    assert "has the field 'boost_more' in model, written by XGBoost" in message
    (folder / "half.ubj").write_bytes((folder / "model.ubj").read_bytes()[:900])
    message = failed("explain", folder / "half.ubj", folder / "blank.csv", "--row", 0)
    assert "half.ubj: " in message
    assert "end inside a value" in message


def test_of_several_targets_one_is_asked_for(folder):
    table = pl.read_csv(folder / "loans.csv").drop("ok")
    both = np.column_stack([table["income"] > 30, table["age"] > 40]).astype(int)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(table, both)
    joblib.dump(model, folder / "both.joblib")
    asked = ["explain", folder / "both.joblib", folder / "loans.csv", "--drop", "ok", "--row", 3, "--trust-pickle"]
    for output in (0, 1):
        certificate = folder / f"both{output}.json"
        lines = told(worked(*asked, "--output", output, "--certificate", certificate))
        assert lines["prediction"] == str(model.predict(table[3:4])[0, output])
        worked("verify", certificate, "--model", folder / "both.joblib", "--output", output, "--trust-pickle")
    assert "expected one of output=0 (classes 0, 1), output=1 (classes 0, 1)" in failed(*asked)
