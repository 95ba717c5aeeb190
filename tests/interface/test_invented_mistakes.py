"""Mistakes that were invented by someone who had not read the code, and what people get, as in test_mistakes.

What is wanted was written before any row was run; where that was unreasonable, a comment says what it was.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split

from proofwood import (
    DateParts,
    Explainer,
    MinimalTreeClassifier,
    OptimalDiagramClassifier,
    OptimalTreeClassifier,
    OptimalTreeCV,
    compare,
    load,
    write_report,
)
from tests.mistakes import (
    ALL,
    FITTED,
    LATE,
    LOANS,
    NUMBERS,
    PAID,
    PRICE,
    ROW,
    ROWS,
    WHY,
    Want,
    check,
    command,
    days,
    error,
    fit_text,
    fit_with,
    hint,
    lines,
    page,
    quiet,
    rare,
    reads,
    row,
    saved,
    table,
    text_of,
    told,
    tree,
    with_model,
    with_table,
)

FITTED_NUMBERS = quiet(tree(2), NUMBERS)
WHY_CLASS = str(FITTED_NUMBERS.predict(ROW)[0])


def pickled(folder: Path) -> Path:
    path = folder / "tree.pkl"
    path.write_bytes(pickle.dumps(FITTED))
    return path


def records(folder: Path) -> Path:
    return table(folder, ALL.to_json(orient="records", date_format="iso"), "table.json")


OWN = [
    # wrong order, wrong shape, wrong place
    row("fit gets y before X", lambda at: tree().fit(PAID, LOANS), error("fit(X, y)|order")),
    row(
        "One column is passed as a Series",
        lambda at: tree().fit(LOANS["income"], PAID),
        error("[[|to_frame"),
    ),
    row(
        "The four parts of a split are taken in the wrong order",
        lambda at: tree().fit(*train_test_split(LOANS, PAID, random_state=0)[:2]),
        error("train_test_split|one column|labels"),
    ),
    row(
        "The target is a frame of one column",
        lambda at: tree().fit(LOANS, ALL[["paid"]]).export_text(),
        reads("income"),
    ),
    row("The target is one-hot", lambda at: tree().fit(LOANS, pd.get_dummies(PAID)), error("idxmax|one column")),
    row(
        "Rows with gaps were dropped in X and not in y",
        lambda at: tree().fit(LOANS[LOANS["age"] > 30], PAID),
        error(str((LOANS["age"] > 30).sum()), str(ROWS)),
    ),
    row("A row to predict is a Series", lambda at: FITTED.predict(LOANS.iloc[3]), error("iloc[[")),
    row(
        "A row to predict is a dict",
        lambda at: FITTED.predict(LOANS.iloc[3].to_dict()),
        error("DataFrame(["),
    ),
    row("A model is asked before it is fitted", lambda at: tree().predict(LOANS), error("not fitted", "fit")),
    row(
        "A filter left no row to learn from",
        lambda at: tree().fit(LOANS[LOANS["age"] > 99], PAID[:0]),
        error("row|sample"),
    ),
    row("A filter left no row to predict", lambda at: FITTED.predict(LOANS.head(0)), error("row|sample")),
    # targets
    # Was: an error. Texts are always classes, as the way out for numbers is to turn them into text.
    row(
        "An id is the target",
        lambda at: tree().fit(LOANS, [f"C{k}" for k in range(ROWS)]),
        hint("120 classes in 120 rows", "column"),
    ),
    row(
        "Labels differ by case and blanks",
        lambda at: tree().fit(LOANS, PAID.where(LOANS["age"] > 30, PAID.str.upper() + " ")),
        hint("classes", "blanks|case"),
    ),
    row(
        "A label is None",
        lambda at: tree().fit(LOANS, PAID.where(LOANS["age"] > 30)),
        error("paid|label", "drop|leave out|notna"),
    ),
    # Was: a list, of which NumPy makes texts, so that there is one kind of label.
    row(
        "Labels are texts and numbers",
        lambda at: tree().fit(LOANS, pd.Series(["yes", 1, "no"] * 40)),
        error("str|text", "int|number"),
    ),
    row("All labels are the same", lambda at: tree().fit(LOANS, ["yes"] * ROWS), hint("one class")),
    row(
        "The target is a date", lambda at: tree().fit(LOANS.drop(columns="since"), LOANS["since"]), error("bands|date")
    ),
    row("Bands are asked for a target of text", lambda at: tree(bands=3).fit(LOANS, PAID), error("bands", "numbers")),
    row(
        "Edges of bands go down",
        lambda at: tree(bands=[9000, 100]).fit(LOANS, PRICE),
        error("bands", "increas|ascend|order|rise"),
    ),
    row("One band is asked for", lambda at: tree(bands=1).fit(LOANS, PRICE), error("bands", "2|two")),
    row(
        "Labels to score are texts of numbers",
        lambda at: quiet(tree(), LOANS, PAID == "yes").score(LOANS, (PAID == "yes").astype(str)),
        error("true", "type|text|labels"),
    ),
    # Was: an error, which a fold without a known class must not be.
    row(
        "Accuracy is asked of labels in other words",
        lambda at: FITTED.score(LOANS, PAID.str.upper()),
        hint("yes", "no"),
    ),
    # parameters, from habit of other libraries
    row("max_depth is None, as in scikit-learn", lambda at: tree(None).fit(LOANS, PAID), error("max_depth", "alpha")),
    row("max_depth is a text", lambda at: tree("3").fit(LOANS, PAID), error("max_depth", "integer")),
    # Was: min_weight_fraction_leaf. The message shows how to make a number of rows of a share, which is simpler.
    row(
        "min_samples_leaf is a share",
        lambda at: tree(min_samples_leaf=0.05).fit(LOANS, PAID),
        error("number of rows", "share"),
    ),
    row(
        "min_samples_leaf is more than half of the rows",
        lambda at: told(tree(min_samples_leaf=100).fit(LOANS, PAID)),
        reads("note: ", "min_samples_leaf"),
    ),
    row("alpha is in per cent", lambda at: tree(alpha=5).fit(LOANS, PAID), error("alpha", "1")),
    row("max_gap is a whole float", lambda at: tree(max_gap=5.0).fit(LOANS, PAID), error("max_gap", "errors", "share")),
    row("n_jobs is 0", lambda at: tree(n_jobs=0).fit(LOANS, PAID), error("n_jobs", "-1")),
    row(
        "A time limit has a unit", lambda at: tree(time_limit="1 min").fit(LOANS, PAID), error("time_limit", "seconds")
    ),
    row(
        "A memory limit has a comma",
        lambda at: tree(memory_limit="1,5GB").fit(LOANS, PAID),
        error("memory_limit", "4GB"),
    ),
    row(
        "set_params has the name of another library", lambda at: tree().set_params(depth=3), error("depth", "max_depth")
    ),
    row(
        "A grid has a misspelt parameter",
        lambda at: GridSearchCV(tree(), {"max_dept": [1, 2]}).fit(NUMBERS, PAID),
        error("max_dept", "max_depth"),
    ),
    row("fit gets XGBoost's eval_set", lambda at: tree().fit(LOANS, PAID, eval_set=[(LOANS, PAID)]), error("eval_set")),
    row(
        "drop is a name and no list",
        lambda at: tree(drop="income").fit(LOANS, PAID).export_text(),
        reads("row", never="income"),
    ),
    row(
        "categorical_features is a name and no list",
        lambda at: tree(categorical_features="children").fit(LOANS, LOANS["children"] == 2).export_text(),
        reads("children in {2}|children in {0, 1, 3}"),
    ),
    row(
        "A column of real numbers is named categorical",
        lambda at: tree(categorical_features=["income"]).fit(LOANS, PAID),
        error("income", "whole"),
    ),
    row(
        "written_as names no column",
        lambda at: tree(written_as={"sinc": "31/12/2020"}).fit(LOANS, PAID),
        error("did you mean", "since"),
    ),
    row(
        "written_as has a pattern of strptime",
        lambda at: text_of(days("%d/%m/%Y"), LATE, written_as={"amount": "%d/%m/%Y"}),
        error("%d/%m/%Y", "31.12.2020"),
    ),
    row(
        "missing_values names no column",
        lambda at: tree(missing_values={"agge": [99]}).fit(LOANS, PAID),
        error("did you mean", "age"),
    ),
    # weights
    row(
        "Weights are the name of a column",
        lambda at: tree().fit(ALL, "paid", sample_weight="age"),
        error("weight", "column"),
    ),
    row("There are too few weights", lambda at: tree().fit(LOANS, PAID, [1.0] * 7), error("7", str(ROWS))),
    row("All weights are 0", lambda at: tree().fit(LOANS, PAID, [0] * ROWS), error("weight", "0")),
    row(
        "A weight is below 0",
        lambda at: tree().fit(LOANS, PAID, LOANS["age"] - 19),
        error("weight", "negative|below 0"),
    ),
    # Was: "did you mean". All labels are listed.
    row(
        "A class of class_weight is misspelt",
        lambda at: tree(class_weight={"Yes": 5}).fit(LOANS, PAID),
        error("labels are", "yes"),
    ),
    row(
        "class_weight is a list",
        lambda at: tree(class_weight=[1, 5]).fit(LOANS, PAID),
        error("class_weight", "dict|mapping"),
    ),
    # dates, categories, gaps, columns
    row(
        "Gaps are -999",
        lambda at: tree().fit(LOANS.assign(score=[-999, 3, 4, 5] * 30), PAID),
        hint("score", "-999", "missing_values"),
    ),
    row(
        "The end of time is 9999-12-31",
        lambda at: fit_text(at, ALL.assign(until=["9999-12-31", "2021-03-04", "2022-05-06"] * 40)),
        reads("income <="),
    ),
    row(
        "The index was written into the file",
        lambda at: tree().fit(pd.read_csv(table(at, ALL.reset_index())), "paid"),
        hint("index", "row number"),
    ),
    row(
        "A quotient is infinite",
        lambda at: tree().fit(LOANS.assign(rate=LOANS["income"] / LOANS["children"]), PAID),
        error("rate", "infinit"),
    ),
    row(
        "A cell holds a list",
        lambda at: tree().fit(LOANS.assign(tags=[["a"], ["a", "b"]] * 60), PAID),
        error("tags", "list"),
    ),
    row(
        "A column is empty",
        lambda at: tree().fit(LOANS.assign(note=None), PAID),
        hint("note", "without values|empty|no value"),
    ),
    row(
        "Only an id is left to learn from",
        lambda at: tree().fit(pd.DataFrame({"id": [f"C{k}" for k in range(ROWS)]}), PAID),
        hint("id", "identifier"),
    ),
    row(
        "Names of columns are numbers and texts",
        lambda at: tree().fit(LOANS.rename(columns={"age": 0}), PAID),
        error("str", "name"),
    ),
    row(
        "Oblique splits get text",
        lambda at: OptimalDiagramClassifier((1, 2), splits="oblique").fit(LOANS, PAID),
        error("city", "numbers|categories|text", "drop|univariate"),
    ),
    row(
        "Equal rows have different labels",
        lambda at: MinimalTreeClassifier().fit(LOANS[["city"]], PAID),
        error("on_conflict|max_errors"),
    ),
    row("Parts of dates are misspelt", lambda at: DateParts(["dayofweek"]).fit(LOANS), error("dayofweek", "weekday")),
    # a model on the wrong table
    row(
        "A column has another case",
        lambda at: FITTED.predict(LOANS.rename(columns={"income": "Income"})),
        error("Income", "income"),
    ),
    row(
        "The predictions are in the table, and the cell is run again",
        lambda at: FITTED.predict(LOANS.assign(predicted=PAID)),
        error("predicted"),
    ),
    # Was: an error. scikit-learn warns, and takes the columns by place, which is right here.
    row("New rows are an array", lambda at: FITTED.predict(LOANS.to_numpy()), hint("feature names")),
    row(
        "A column of numbers is text in new rows",
        lambda at: FITTED.predict(LOANS.assign(income="unknown")),
        error("income", "unknown"),
    ),
    row(
        "Dates of new rows have a time zone",
        lambda at: FITTED.predict(LOANS.assign(since=LOANS["since"].dt.tz_localize("UTC"))),
        error("since", "zone"),
    ),
    row(
        "Dates of new rows are days first",
        lambda at: FITTED.predict(LOANS.assign(since=days("%d.%m.%Y"))),
        error("since", "dates|date"),
    ),
    # saved models
    row(
        "A folder to save in is absent",
        lambda at: FITTED.save(at / "models" / "tree.json"),
        error("models", "folder|directory"),
    ),
    row("A model to load is a CSV file", lambda at: load(table(at)), error("model", "json|save")),
    row("A model to load is a pickle", lambda at: load(pickled(at)), error("pickle|json|save")),
    row("A model to load is not there", lambda at: load(at / "tre.json"), error("tre.json", "no such|not found")),
    # explanations
    row(
        "A linear model is to be explained",
        lambda at: Explainer(LogisticRegression().fit(NUMBERS, PAID)),
        error("logisticregression", "trees|forest"),
    ),
    row("A model to explain is not fitted", lambda at: Explainer(RandomForestClassifier()), error("fit")),
    row(
        "A whole table is one row to explain",
        lambda at: WHY.abductive(NUMBERS),
        error("120 rows", "expected one", "explain("),
    ),
    row("A row number is a row to explain", lambda at: WHY.abductive(3), error("iloc[[|[3:4]|row")),
    row(
        "The class to reach is misspelt",
        lambda at: WHY.counterfactual(ROW, target="Yes"),
        error("did you mean|yes", "no"),
    ),
    row(
        "The class to reach is the one that the row has",
        lambda at: WHY.counterfactual(ROW, target=WHY_CLASS),
        error("already|has the class|own class"),
    ),
    # Was: read as a list of one. That the message shows this list is enough; so for knowledge.
    row(
        "A feature that must not change is a name and no list",
        lambda at: WHY.counterfactual(ROW, immutable="age"),
        error("['age']"),
    ),
    row(
        "Prices are for a column that is not there",
        lambda at: WHY.counterfactual(ROW, weights={"incme": 2}),
        error("incme", "did you mean|income"),
    ),
    row("A region names no column", lambda at: WHY.possible({"salary": (0, 10)}), error("salary", "income")),
    row(
        "Knowledge is one text and no list",
        lambda at: Explainer(FITTED_NUMBERS, knowledge="age >= 18"),
        error("['age >= 18']"),
    ),
    # reports, pictures, exports
    row(
        "write_report gets its path last",
        lambda at: write_report(FITTED, LOANS, PAID, at / "report.html"),
        error("write_report(model, path"),
    ),
    row(
        "A report explains a row that is not there",
        lambda at: page(at, LOANS, PAID, rows=[500]),
        error("500", "119|120"),
    ),
    row("A picture gets the path of a file", lambda at: FITTED.plot("tree.png"), error("savefig")),
    row(
        "A palette has a class that is misspelt",
        lambda at: FITTED.plot(palette={"Yes": "red", "no": "blue"}),
        error("yes"),
    ),
    # Was: an error with the whole name. The short name is understood.
    row(
        "A database has a short name",
        lambda at: FITTED.to_sql("loans", dialect="postgres"),
        reads("double precision"),
        needs="sqlglot",
    ),
    # comparisons and cross-validation
    row(
        "Models to compare are a list",
        lambda at: compare(NUMBERS, PAID, [tree(), tree(2)]),
        error("dict|mapping", "name"),
    ),
    row(
        "A model to compare is a class",
        lambda at: compare(NUMBERS, PAID, {"tree": OptimalTreeClassifier}),
        error("instance"),
    ),
    row(
        "A score is misspelt",
        lambda at: OptimalTreeCV(scoring="acuracy").fit(NUMBERS, PAID),
        error("acuracy", "did you mean 'accuracy'"),
    ),
    row("There is one fold", lambda at: OptimalTreeCV(cv=1).fit(NUMBERS, PAID), error("cv", "2|two")),
    row(
        "A class has fewer rows than there are folds",
        lambda at: OptimalTreeCV(cv=5).fit(NUMBERS, rare(3)),
        hint("fault", "3", "5"),
    ),
    row(
        "f1 is asked of classes that are texts",
        lambda at: OptimalTreeCV(scoring="f1").fit(NUMBERS, PAID),
        error("f1_macro"),
    ),
    row(
        "roc_auc is asked of three classes",
        lambda at: OptimalTreeCV(scoring="roc_auc").fit(NUMBERS, LOANS["city"]),
        error("roc_auc_ovr"),
    ),
    row("No depth is given to choose from", lambda at: OptimalTreeCV([]).fit(NUMBERS, PAID), error("max_depth")),
    row(
        "Groups are the name of a column",
        lambda at: OptimalTreeCV().fit(ALL, "paid", groups="city"),
        error("groups", "column"),
    ),
    # the command line
    row("The target is forgotten", with_table("fit"), error("--target")),
    row("The target has no option before it", with_table("fit", "paid"), error("--target")),
    row("The target is misspelt", with_table("fit", "--target", "payed"), error("did you mean", "paid")),
    # Was: "did you mean". Blanks around names of columns are taken off.
    row(
        "The target is not there, but has a blank in the file",
        lambda at: fit_text(at, ALL.rename(columns={"paid": "paid "})),
        reads("income <="),
    ),
    row("An option has its name in another library", fit_with("--depth", 2), error("--max-depth")),
    row(
        "A command is misspelt",
        lambda at: command("evalute", saved(at), table(at), "--target", "paid"),
        error("evaluate"),
    ),
    row("A command is called train", lambda at: command("train", table(at), "--target", "paid"), error("proofwood -h")),
    row(
        "The table is misspelt",
        lambda at: command("fit", table(at).with_name("tabel.csv"), "--target", "paid"),
        error("tabel.csv", "table.csv"),
    ),
    row("A folder is the table", lambda at: command("fit", at, "--target", "paid"), error("folder|directory")),
    row("The file has no header", lambda at: fit_text(at, lines().split("\n", 1)[1]), error("header")),
    row(
        "A JSON file is a list of records",
        lambda at: command("fit", records(at), "--target", "paid"),
        reads("income <="),
    ),
    row("Lines end with a comma more", lambda at: fit_text(at, lines().replace("\n", ",\n")), reads("income <=")),
    row(
        "Model and table are swapped",
        lambda at: command("predict", table(at), saved(at)),
        error("model", "first|swap|order"),
    ),
    row(
        "Names to drop are joined by a comma",
        fit_with("--drop", "age,city"),
        error("--drop age --drop city|repeat|again"),
    ),
    row("A weight of a class has a colon", fit_with("--class-weight", "yes:5"), error("such as no=2")),
    row(
        "A report is to be a PDF file",
        lambda at: fit_with("--report", at / "report.pdf")(at),
        error(".html"),
    ),
    row(
        "A picture is to be a Word file",
        lambda at: fit_with("--plot", at / "tree.docx")(at),
        error(".png", ".svg", ".pdf"),
    ),
    row(
        "Predictions are to be a file of an unknown kind",
        with_model("predict", "--out", "predicted.doc"),
        error(".csv", ".parquet"),
    ),
    row("A column to keep is misspelt", with_model("predict", "--keep", "incom"), error("did you mean", "income")),
    row(
        "A row is counted from 1 to the end", with_model("explain", "--row", ROWS), error("120 rows", "first is row 0")
    ),
    row("Two rows are joined by a comma", with_model("explain", "--row", "1,2"), error("--row", "integer")),
    row("Groups are given without folds", fit_with("--groups", "city"), error("--cv")),
    row("A table is shown as a model", lambda at: command("show", table(at)), error("model", "fit --out|save")),
    row(
        "A database is the format of an export",
        lambda at: command("export", saved(at), "--to", "postgres"),
        error("sql"),
    ),
    row("Data of another library are asked for", lambda at: command("data", "titanic"), error("iris", "wine")),
    # Was: an error. The answer says it, and a few unknown labels are usual.
    row(
        "evaluate gets labels in other words",
        lambda at: command("evaluate", saved(at), table(at, ALL.assign(paid=PAID.str.upper())), "--target", "paid"),
        reads("120 rows with classes that training did not have"),
    ),
]


@pytest.mark.parametrize(("action", "want"), OWN)
def test_a_mistake_is_answered(action: Callable[[Path], Any], want: Want, tmp_path: Path) -> None:
    check(action, want, tmp_path)


def test_there_are_more_than_sixty() -> None:
    assert len(OWN) > 60
