"""Mistakes that people made, and what they get: the right reading, a hint, or an error with the way out.

Each row is one mistake: its sentence, what is done, and what a reasonable user wants to read then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from proofwood import (
    Explainer,
    MinimalTreeClassifier,
    OptimalDiagramClassifier,
    OptimalTreeCV,
    compare,
)
from tests.mistakes import (
    ALL,
    FITTED,
    LATE,
    LOANS,
    NOISE,
    NUMBERS,
    PAID,
    PRICE,
    ROWS,
    WHY,
    Want,
    check,
    command,
    days,
    error,
    fit_text,
    hint,
    lines,
    page,
    quiet,
    rare,
    reads,
    row,
    saved,
    swapped,
    table,
    text_of,
    told,
    tree,
    with_model,
    with_table,
    written,
)


def same_choice() -> str:
    order = PAID.argsort(kind="stable")
    searches = [
        quiet(OptimalTreeCV((1, 2), alpha=0.0), NUMBERS.loc[rows], PAID[rows]) for rows in (order, NUMBERS.index)
    ]
    choices = [search.best_params_["max_depth"] for search in searches]
    return f"{choices[0] == choices[1]} {abs(searches[0].best_score_ - searches[1].best_score_) < 0.05}"


def zero_of_lightgbm() -> str:
    """Text about a model whose threshold is the zero of LightGBM, 1.00000018e-35."""
    import lightgbm

    X = pd.DataFrame({"a": [-1.0, 0.0, 1.0, 2.0] * 20})
    model = lightgbm.LGBMClassifier(n_estimators=1, verbose=-1, min_child_samples=1).fit(X, X["a"] > 0)
    return str(Explainer(model).abductive(X.iloc[[2]], inflate=True).rule())


KINDS = [
    # targets
    row("A price is given to a classifier", lambda at: tree().fit(LOANS, PRICE), error("bands")),
    row("A target of real numbers is given to a classifier", lambda at: tree().fit(LOANS, PRICE / 7), error("bands")),
    row(
        "A price is given to the command line",
        with_table("fit", "--target", "income"),
        hint("a tree of numbers", "--bands 5 for classes"),
    ),
    row(
        "The target has gaps, so that 0 and 1 are floats",
        lambda at: tree().fit(LOANS, pd.Series([0.0, 1.0, np.nan] * 40)),
        error("40", "drop|leave out|notna"),
    ),
    row("The target is the name of a column", lambda at: tree().fit(ALL, "paid").export_text(), reads("income <=")),
    row(
        "The labels have another index order than the rows",
        lambda at: tree().fit(LOANS, PAID.sample(frac=1, random_state=0)),
        hint("index", "order"),
    ),
    # Was: "copy". The column may also be something that became known later, which is not a copy.
    row(
        "A copy of the target is left among the columns",
        lambda at: tree().fit(ALL, PAID),
        hint("'paid' tells", "drop=['paid']"),
    ),
    row(
        "A 0/1 copy of the target is left among the columns",
        lambda at: tree().fit(LOANS.assign(flag=(PAID == "yes").astype(int)), PAID),
        hint("'flag' tells", "drop=['flag']"),
    ),
    # numbers and dates as text
    row("1.234,50 is text", lambda at: text_of(written(lambda v: swapped(f"{v:,.2f}"))), reads("amount <=")),
    row("1,234.50 is text", lambda at: text_of(written(lambda v: f"{v:,.2f}")), reads("amount <=")),
    row("$1,200 is text", lambda at: text_of(written(lambda v: f"${v:,.0f}")), reads("amount <=")),
    row("€ 12 is text", lambda at: text_of(written(lambda v: f"€ {v:.2f}")), reads("amount <=")),
    row("12 % is text", lambda at: text_of(written(lambda v: f"{v / 100:.2f} %")), reads("amount <=")),
    row("12.5 is text", lambda at: text_of(written(lambda v: f"{v:.2f}")), reads("amount <=")),
    row(
        "One cell of a column of numbers is 'oops'",
        lambda at: text_of(["oops", *written(str)[1:]]),
        hint("amount", "oops", "missing_values"),
    ),
    row(
        "Few numbers are text",
        lambda at: text_of([str(10 * (1 + v % 3)) for v in range(ROWS)], np.where(np.arange(ROWS) % 3, "yes", "no")),
        reads("amount <="),
    ),
    row("31.01.2020 is text", lambda at: text_of(days("%d.%m.%Y"), LATE), reads("amount <= 2021-0")),
    row("01/31/2020 is text", lambda at: text_of(days("%m/%d/%Y"), LATE), reads("amount <= 2021-0")),
    row("31 Jan 2020 is text", lambda at: text_of(days("%d %b %Y"), LATE), reads("amount <= 2021-0")),
    row(
        "One cell among ISO dates is bad",
        lambda at: text_of(["unknown", *days("%Y-%m-%d")[1:]], LATE),
        hint("amount", "unknown", "missing_values"),
    ),
    # text
    row(
        "Trailing blanks make two levels of one",
        lambda at: tree().fit(LOANS.assign(job=["clerk", "clerk ", "cook"] * 40), PAID),
        hint("job", "blanks"),
    ),
    row(
        "Case makes two levels of one",
        lambda at: tree().fit(LOANS.assign(phone=["yes", "Yes", "no"] * 40), PAID),
        hint("phone", "case"),
    ),
    row(
        "'?' stands for a missing value",
        lambda at: tree().fit(LOANS.assign(job=["?", "clerk", "cook"] * 40), PAID),
        hint("job", "?", "missing_values"),
    ),
    row(
        "NA is Namibia",
        lambda at: fit_text(at, LOANS.assign(country=["NA", "DE", "FR"] * 40, paid=["yes", "no", "no"] * 40)),
        reads("country in {na}|country in {de, fr}"),
    ),
    # files
    row("A CSV file has semicolons and decimal commas", lambda at: fit_text(at, lines(";", ",")), reads("income <=")),
    row(
        "A CSV file is in latin-1",
        lambda at: fit_text(at, ALL.assign(city=["Köln", "Ulm"] * 60), encoding="latin-1"),
        reads("income <="),
    ),
    row(
        "A line of a CSV file has a cell too many",
        lambda at: fit_text(at, lines().replace("\n", ",1\n", 5).replace(",1\n", "\n", 4)),
        error("line 5"),
    ),
    row("A CSV file begins with sep=;", lambda at: fit_text(at, "sep=;\n" + lines(";")), reads("income <=")),
    row("A CSV file begins with remarks", lambda at: fit_text(at, "# export of May\n" + lines()), reads("income <=")),
    row(
        "Explanations of all rows are to be a CSV file",
        lambda at: with_model("explain", "--all", "--out", at / "explained.csv")(at),
        error(".jsonl"),
    ),
    row(
        "Rows of a file have no label",
        lambda at: fit_text(at, ALL.assign(paid=PAID.where(LOANS["age"] > 30))),
        error("--drop-missing-target"),
    ),
    # calls
    row(
        "The rows are a list of dicts",
        lambda at: tree().fit(LOANS.to_dict("records"), PAID),
        error("DataFrame"),
    ),
    row(
        "The rows are a dict of columns",
        lambda at: tree().fit(LOANS.to_dict("list"), PAID),
        error("DataFrame"),
    ),
    row("The rows are a path", lambda at: tree().fit("loans.csv", PAID), error("read_csv")),
    row(
        "Columns have two levels of names",
        lambda at: tree().fit(pd.concat({"person": NUMBERS}, axis=1), PAID).export_text(),
        reads("person / income <="),
    ),
    row(
        "A column has periods",
        # was: an error that names to_timestamp; periods are read by their start
        lambda at: tree(1).fit(pd.DataFrame({"since": LOANS["since"].dt.to_period("M")}), LATE).export_text(),
        reads("since <= 2021-0"),
    ),
    row(
        "A column that no test asks for is absent",
        lambda at: FITTED.predict(LOANS.drop(columns="owns_car")),
        error("owns_car", "tested_columns_"),
    ),
    row(
        "A column that no test asks for is absent from a file",
        lambda at: command("predict", saved(at), table(at, LOANS.drop(columns="owns_car"))),
        reads("yes", "no"),
    ),
    row("The columns are in another order", lambda at: FITTED.predict(LOANS[LOANS.columns[::-1]]), error("order")),
    row("A row to explain is a number", lambda at: FITTED.explain(0), error("iloc[[")),
    row(
        "A report is made with labels of other rows",
        lambda at: page(at, LOANS, PAID[::-1].to_numpy()),
        reads("not the rows|other rows"),
    ),
    # figures
    row("Folds are cut from a sorted table", lambda at: same_choice(), reads("true true")),
    row(
        "Classifiers are worse than the most frequent class",
        lambda at: compare(
            NUMBERS, rare(20), {"greedy": DecisionTreeClassifier(random_state=0), "optimal": tree(3)}, cv=3
        ),
        hint("greedy", "most frequent class"),
    ),
    # Were: warnings of fit. Warnings are about the table; the summary and the command line say what is true of a model.
    row(
        "No leaf predicts the rare class",
        lambda at: told(tree(1).fit(NUMBERS, PAID.mask(rare(8) == "fault", "fault"))),
        reads("note: ", "fault", "class_weight"),
    ),
    row(
        "Leaves have one row",
        lambda at: told(tree(3).fit(NUMBERS, rare(8))),
        reads("note: ", "leaves|leaf", "min_samples_leaf"),
    ),
    # numbers in answers
    row(
        "An age in an answer is a whole number",
        lambda at: [WHY.counterfactual(NUMBERS.iloc[[row]]).rule() for row in range(8)],
        reads("not", never=r"(age|children)[^a-z]*\.\d"),
    ),
    row(
        "Whole numbers are 'just above' nothing",
        lambda at: Explainer(quiet(tree(), NUMBERS, np.where(NUMBERS["children"] > 1, "yes", "no"))).counterfactual(
            NUMBERS[NUMBERS["children"] == 0].head(1)
        ),
        reads("children = 2", never="just above"),
    ),
    row(
        "A range has the number of the threshold",
        lambda at: (
            Explainer(DecisionTreeClassifier(max_depth=1).fit(pd.DataFrame({"hour": [17.5, 17.6] * 9}), [0, 1] * 9))
            .abductive(pd.DataFrame({"hour": [17.2]}), inflate=True)
            .rule()
        ),
        reads("hour <= 17.55", never=r"17\.5499"),
    ),
    row(
        "No answer is about 1e-35",
        lambda at: zero_of_lightgbm(),
        reads("a", never="e-35"),
        needs="lightgbm",
        fault="a text is true to the last bit, and LightGBM itself compares with 1.00000018e-35",
    ),
    row(
        "A 0/1 column reads as yes or no",
        lambda at: (
            tree(1, drop=["income"]).fit(LOANS, np.where(LOANS["owns_car"] ^ NOISE, "good", "bad")).export_text()
        ),
        reads("owns_car", never="owns_car <="),
    ),
    row(
        "The classes yes and no stand beside edges yes and no",
        lambda at: FITTED.export_text(),
        reads("paid = no"),
    ),
    row(
        "A depth is not '6 depth'",
        lambda at: MinimalTreeClassifier().fit(NUMBERS.head(30), PAID.head(30)).summary(),
        reads("depth", never=r"\d depth\b"),
    ),
    row(
        "A share has its unit",
        lambda at: OptimalDiagramClassifier((1, 2), time_limit=5).fit(NUMBERS, PAID).summary(),
        reads("proved optimal", never=r"\d share\b"),
    ),
    # what was good, and has to stay so
    row(
        "Ids are longer than float64 holds",
        lambda at: tree().fit(LOANS.assign(id=np.arange(ROWS) + 2**60), PAID),
        error("id", "float64"),
    ),
    row("A weight is NaN", lambda at: tree().fit(LOANS, PAID, [np.nan] + [1] * (ROWS - 1)), error("weight", "nan")),
    row(
        "A column is misspelt",
        lambda at: tree(drop=["adge"]).fit(LOANS, PAID),
        error("adge", "did you mean", "age"),
    ),
    row(
        "Two columns have the same name",
        lambda at: tree().fit(pd.concat([LOANS, LOANS[["age"]]], axis=1), PAID),
        error("age"),
    ),
    row("A file has a byte order mark", lambda at: fit_text(at, lines(), encoding="utf-8-sig"), reads("income <=")),
    row("A file is in UTF-16", lambda at: fit_text(at, lines(), encoding="utf-16"), reads("income <=")),
    row(
        "Columns are nullable, and one has a gap",
        lambda at: tree().fit(LOANS.convert_dtypes().mask(LOANS["age"] == 40), PAID).export_text(),
        reads("income <="),
    ),
    row(
        "A name holds marks of the terminal",
        lambda at: tree().fit(NUMBERS.rename(columns={"income": "in\x1b[31mcome"}), PAID).export_text(),
        reads("in\\x1b[31mcome"),
    ),
    row("The table has one row", lambda at: tree().fit(NUMBERS.head(1), PAID.head(1)).export_text(), reads("1 row")),
]


@pytest.mark.parametrize(("action", "want"), KINDS)
def test_a_mistake_is_answered(action: Callable[[Path], Any], want: Want, tmp_path: Path) -> None:
    check(action, want, tmp_path)
