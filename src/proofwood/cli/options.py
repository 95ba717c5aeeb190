"""Options that several commands share, and the conversion of typed values for the library."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from proofwood.cli.completion import columns
from proofwood.exceptions import DataError
from proofwood.language import languages
from proofwood.memory import bytes_of


class Vote(StrEnum):
    """How the trees of a model are combined."""

    AUTO = "auto"
    MAJORITY = "majority"


TABLE_HELP = "Table: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite or DuckDB"
"""Beginning of the help of arguments that are tables."""

ModelFile = Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")]
DataTable = Annotated[Path, typer.Argument(help=f"{TABLE_HELP}; columns are found by name.")]
Drop = Annotated[
    list[str], typer.Option(metavar="COL", help="Column to leave out; may be repeated.", autocompletion=columns)
]

Categorical = Annotated[
    list[str],
    typer.Option(
        metavar="COL",
        help="Column of codes, or of text with many levels, to read as categories; may be repeated.",
        autocompletion=columns,
    ),
]
ClassWeights = Annotated[
    list[str],
    typer.Option(
        "--class-weight",
        metavar="LABEL=WEIGHT",
        help="Weight of each row of this class, may be repeated; or 'balanced', for equal totals of all classes.",
    ),
]
Missing = Annotated[
    list[str],
    typer.Option(
        metavar="[COL=]VALUE",
        help="Text or number that means a missing value, in one column or in all; may be repeated.",
    ),
]
WrittenAs = Annotated[
    list[str],
    typer.Option(
        "--written-as",
        metavar="COL=EXAMPLE",
        help="How a column of text writes numbers or dates, such as price=1.234,5 or day=31/12/2020; may be repeated.",
    ),
]

Scoring = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Score on folds, as in scikit-learn, such as balanced_accuracy, f1_macro or roc_auc; of times "
        "concordance (the default), deviance or neg_integrated_brier_score.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of groups, such as customers, that no fold divides; it is not a feature."),
]
Bands = Annotated[
    str | None,
    typer.Option(metavar="N|EDGES", help="Cut a target of numbers into N bands of equally many rows, or at '100,200'."),
]
DropMissingTarget = Annotated[
    bool, typer.Option("--drop-missing-target", help="Leave out rows without a target, and say how many.")
]

Card = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What only people know of the model, for the report: purpose, limits (YAML, TOML or JSON)."
    ),
]
NearOptimal = Annotated[
    str | None,
    typer.Option(
        "--near-optimal",
        metavar="N|SHARE",
        help="Are other trees as good? For the report: those with at most so many more errors, or such a share of the "
        "rows.",
    ),
]
ByLeaves = Annotated[
    int | None,
    typer.Option(
        "--by-leaves",
        metavar="FOLDS",
        help="What do fewer leaves cost? For the report, with so many folds that hold out rows; 0 for none.",
    ),
]
Language = Annotated[
    str, typer.Option(metavar="LANG", help="Language of the report, such as en or de.", autocompletion=languages)
]
TimeLimit = Annotated[str, typer.Option(metavar="SECONDS", help="Seconds for the search, or 'none'.")]
MemoryLimit = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="Most additional memory, such as 4GB; by default 80 % of free memory."),
]
Jobs = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="Sheet of an Excel workbook that has several.")]
Target = Annotated[str, typer.Option(metavar="COL", help="Column of labels or numbers.", autocompletion=columns)]
Targets = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="COL",
        help="Column of labels or numbers; repeated for policies (the reward of each action) and survival times (the "
        "time, and whether the event happened).",
        show_default=False,
        autocompletion=columns,
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Load the model from a pickle or joblib file. This runs the code in the file: use it only for your files.",
    ),
]
Votes = Annotated[
    Vote, typer.Option(help="auto: the class that the model predicts; majority: the class that most trees predict.")
]
Integers = Annotated[
    list[str],
    typer.Option(
        metavar="COL",
        help="Column of integers; may be repeated.",
        show_default=False,
        autocompletion=columns,
    ),
]


Number = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="For a model that predicts numbers, what to explain: '>= 250', '> 250', '<= 250', '< 250', 'between 2 3', "
        "'within 5' (of the prediction of the row), or limits of bands, '100,200'.",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(metavar="P", help="Least probability of a class; below it, a prediction is unsure."),
]
Output = Annotated[
    int | None, typer.Option(metavar="K", help="For a model with several targets: index of the target, from 0.")
]
Knowledge = Annotated[
    list[str],
    typer.Option(
        metavar="CONDITION",
        help="Condition that every possible row satisfies, such as 'age < 18 -> income == 0'; may be repeated.",
        show_default=False,
    ),
]


def missing_values(texts: Sequence[str], columns: Sequence[str]) -> dict[str, list[str]] | None:
    """Convert ``--missing`` for the estimators: the values by the names of columns."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        for column in [name] if equals and name in columns else columns:
            found.setdefault(column, []).append(value if equals and name in columns else text)
    return found or None


def written_as(texts: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    """``--written-as`` as the estimators take it: examples by the names of columns."""
    from proofwood.data.tables import require_column

    found = {}
    for text in texts:
        name, equals, example = text.partition("=")
        if not equals or not example.strip():
            raise DataError(f"--written-as {text!r}: expected a column and an example, such as price=1.234,5")
        require_column(columns, name)
        found[name] = example
    return found or None


def bands_asked(text: str | None) -> int | list[float] | None:
    """``--bands`` as the estimators take it."""
    if text is None:
        return None
    try:
        return int(text) if text.strip().isdigit() else [float(edge) for edge in text.split(",")]
    except ValueError:
        raise DataError(f"--bands {text!r}: expected a number of bands, or edges such as 100,200") from None


def seconds(text: str) -> float | None:
    """Parse ``--time-limit``: seconds, or None for ``none``."""
    if text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise DataError(f"--time-limit {text!r} is not a time: expected seconds above 0, or 'none'") from None


def amount_of_memory(text: str | None) -> int | None:
    """Parse ``--memory-limit`` into a number of bytes, or None."""
    return amount_of_bytes(text, "--memory-limit")


def amount_of_bytes(text: str | None, option: str) -> int | None:
    """Parse an amount of memory into a number of bytes; ``option`` names the option in the error message."""
    try:
        return bytes_of(text)
    except ValueError:
        raise DataError(
            f"{option} {text!r} is not an amount of memory: expected bytes, or a text such as 4GB or 500MB"
        ) from None


def count_or_share(text: str) -> float | None:
    """Parse ``text`` as an int (a count) or a float (a share); None if it is neither."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def slack_asked(text: str | None) -> float | None:
    """Parse ``--near-optimal``, a number of errors or a share; None without it. DataError if it is neither."""
    slack = None if text is None else count_or_share(text)
    if text is not None and slack is None:
        raise DataError(f"--near-optimal {text!r}: expected a number of errors such as 3, or a share such as 0.01")
    return slack


def number_asked(words: str | None) -> tuple[str | float, ...] | None:
    """Parse ``--number`` into the target for an explainer of a regressor; DataError if it is not valid."""
    if words is None:
        return None
    parts = words.replace(",", " ").split()
    try:
        asked: list[str | float] = [*parts[:1]] if parts and parts[0][0] in "<>bw" else []
        return (*asked, *(float(part) for part in parts[len(asked) :]))
    except ValueError as error:
        raise DataError(
            f"--number {words!r}: {error}; expected a text such as '>= 250', 'within 5' or '100,200'"
        ) from error
