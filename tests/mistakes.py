"""A table that people could have, mistakes with it, and what is looked for in the answers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from proofwood import (
    Explainer,
    OptimalTreeClassifier,
    write_report,
)
from tests.command_line import invoke

ROWS = 120


class Want(NamedTuple):
    kind: str  # "error", "hint" (a warning, or standard error of a command), or "reads" (what comes back)
    words: tuple[str, ...]
    never: str = "(?!)"  # pattern that must not be in what comes back


def error(*words: str) -> Want:
    return Want("error", words)


def hint(*words: str) -> Want:
    return Want("hint", words)


def reads(*words: str, never: str = "(?!)") -> Want:
    return Want("reads", words, never)


def answer(action: Callable[[Path], Any], folder: Path) -> tuple[str, str, str]:
    """Error, warnings and output of an action. Any other exception is a traceback that nobody should see."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            output, wrong = action(folder), ""
        except (ValueError, TypeError, OSError) as error:
            output, wrong = "", str(error)
    said = " ".join(str(warning.message) for warning in caught)
    return plain(wrong), plain(said), plain(output)


def plain(text: object) -> str:
    return " ".join(str(text).split()).casefold()


def command(*words: object) -> str:
    """What a command prints; its messages are a warning, and bad input is an error, as in Python."""
    result = invoke(*words)
    if result.exit_code == 2:
        raise ValueError(result.stderr)
    assert result.exit_code == 0, result.exception
    warnings.warn(result.stderr, stacklevel=1)
    return str(result.stdout)


def row(name: str, action: Callable[[Path], Any], want: Want, *, fault: str = "", needs: str = "") -> Any:
    """A mistake of a table; a fault is the reason why what is wanted is not there yet."""
    marks = [pytest.mark.xfail(strict=True, reason=fault)] if fault else []
    return pytest.param(action, want, id=name, marks=[*marks, *([pytest.mark.needs(needs)] if needs else [])])


def check(action: Callable[[Path], Any], want: Want, folder: Path) -> None:
    """Do what the mistake is, and look for the wanted words in what comes back; ``a|b`` accepts either word."""
    wrong, said, output = answer(action, folder)
    found = {"error": wrong, "hint": said, "reads": output}[want.kind]
    assert want.kind == "error" or not wrong, wrong
    absent = [word for word in want.words if not any(each.casefold() in found for each in word.split("|"))]
    assert not absent, f"{absent} not in {want.kind}: {found or (wrong, said, output)}"
    assert re.search(want.never, found) is None, found


# ------------------------------------------------------------------------------------------------------- the table

random = np.random.default_rng(5)
LOANS = pd.DataFrame(
    {
        "age": random.integers(18, 80, ROWS),
        "income": random.uniform(800, 9000, ROWS).round(2),
        "children": random.integers(0, 4, ROWS),
        "city": random.choice(["Bonn", "Kiel", "Ulm"], ROWS),
        "owns_car": random.integers(0, 2, ROWS),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.permutation(ROWS) * 7, unit="D"),
    }
)
NOISE = random.random(ROWS) < 0.08
PAID = pd.Series(np.where((LOANS["income"] > 4000) ^ NOISE, "yes", "no"), name="paid")
PRICE = (LOANS["income"] * 37).round().astype(int)
NUMBERS = LOANS[["age", "income", "children"]]
ALL = LOANS.assign(paid=PAID)
LATE = np.where((LOANS["since"] > "2021-03-01") ^ NOISE, "yes", "no")


def tree(depth: int = 1, **parameters: Any) -> OptimalTreeClassifier:
    return OptimalTreeClassifier(depth, **parameters)


def quiet(learner: Any, X: Any = LOANS, y: Any = PAID) -> Any:
    """The learner, fitted; what it says of the table is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(X, y)


FITTED = quiet(tree(2))
WHY = Explainer(quiet(tree(2), NUMBERS))
ROW = NUMBERS.iloc[[0]]


def text_of(column: Any, y: Any = PAID, **parameters: Any) -> str:
    """The tree of one column beside the ages."""
    return str(tree(**parameters).fit(pd.DataFrame({"age": LOANS["age"], "amount": column}), y).export_text())


def written(style: Callable[[float], str]) -> list[str]:
    return [style(income) for income in LOANS["income"]]


def days(style: str) -> list[str]:
    return list(LOANS["since"].dt.strftime(style))


def swapped(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,"))


def told(learner: Any) -> str:
    """All that a fitted tree says of itself."""
    return f"{learner.export_text()} {learner.summary()} {[str(note) for note in learner.notes()]}"


def table(folder: Path, text: str | pd.DataFrame = ALL, name: str = "table.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text if isinstance(text, str) else text.to_csv(index=False), encoding=encoding)
    return path


def fit_text(folder: Path, text: str | pd.DataFrame, *words: object, encoding: str = "utf-8") -> str:
    path = table(folder, text, encoding=encoding)
    return command("fit", path, "--target", "paid", "--max-depth", 1, *words)


def saved(folder: Path) -> Path:
    FITTED.save(folder / "tree.json")
    return folder / "tree.json"


def with_model(name: str, *words: object) -> Callable[[Path], str]:
    """A command about the saved tree and its table."""
    return lambda at: command(name, saved(at), table(at), *words)


def with_table(name: str, *words: object) -> Callable[[Path], str]:
    return lambda at: command(name, table(at), *words)


def fit_with(*words: object) -> Callable[[Path], str]:
    return with_table("fit", "--target", "paid", "--max-depth", 1, *words)


def lines(mark: str = ",", decimal: str = ".") -> str:
    return ALL[["age", "income", "paid"]].to_csv(index=False, sep=mark, decimal=decimal)


def changed(column: str, row: int, value: Any) -> pd.DataFrame:
    frame = ALL.astype({column: object})
    frame.loc[row, column] = value
    return frame


def rare(rows: int) -> pd.Series:
    """A class of few rows that no test finds."""
    return pd.Series(np.where(np.arange(ROWS) % (ROWS // rows) == 0, "fault", "fine"), name="state")


def page(folder: Path, *arguments: Any, **options: Any) -> str:
    write_report(FITTED, folder / "report.html", *arguments, explain_seconds=0, **options)
    return (folder / "report.html").read_text(encoding="utf-8")
