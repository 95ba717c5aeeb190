"""The declaration of the options of a learner on the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl


class Predicts(StrEnum):
    """What a learner predicts, and so what its target is; of actions, a reward for each, of times, an event, too."""

    CLASSES = "classes"
    NUMBERS = "numbers"
    ACTIONS = "actions"
    TIMES = "survival times"


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one learner. Options of the same name in several learners have the same type, metavar and parsing.

    Parameters
    ----------
    name : name of the parameter; the option is ``--name`` with hyphens
    kind : type of the value: str, int, float, or bool for an option without a value
    help : help text of the option for this learner
    metavar : name of the value in the help; None for the name of its type
    read : function that parses the typed value; ValueError if it cannot
    needs_table : whether the value names columns or labels, so that :attr:`LearnerOptions.with_table` parses it
    values : all permitted values, if the option takes one of a few words; else empty
    alone : for an option of whole numbers that may be typed without one, the number that it means, and of what
    """

    name: str
    kind: type
    help: str
    metavar: str | None = None
    read: Callable[[Any], Any] = lambda value: value
    needs_table: bool = False
    values: tuple[str, ...] = ()
    alone: tuple[int, str] | None = None

    @property
    def flag(self) -> str:
        """The option as typed, such as ``--max-depth``."""
        return f"--{self.name.replace('_', '-')}"

    def takes(self, value: Any) -> bool:
        """Whether a value is one of the words that the option takes, if it takes one of a few."""
        return not self.values or value in self.values

    def completed(self, args: Sequence[str]) -> tuple[list[str], bool]:
        """Arguments with the value that stands for none behind this option, and whether it was put in.

        Raises
        ------
        DataError
            If the word behind the option is neither a number nor another option.
        """
        args = list(args)
        if self.alone is None or self.flag not in args:
            return args, False
        value, what = self.alone
        place = args.index(self.flag) + 1
        word = args[place] if place < len(args) else None
        if word is not None and re.fullmatch(r"[+-]?\d+", word):
            return args, False
        if word is not None and not word.startswith("-"):
            raise DataError(
                f"{self.flag} {shlex.quote(word)}: expected a number of {what}, such as {self.flag} {value}; without a "
                f"number, {self.flag} stands at the end or before another option, and means {value}"
            )
        return [*args[:place], str(value), *args[place:]], True


@dataclass(frozen=True, slots=True)
class FromTable:
    """The settings from options that need the table.

    Parameters
    ----------
    settings : parameters of the estimator
    fit : arguments for its ``fit`` and ``recount``
    drop : columns that are not features
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    drop: Sequence[str] = ()


ENGINE = Option("engine", str, "Search engine: auto, search or paper.", values=("auto", "search", "paper"))
"""Option of learners with one search and the method of their paper."""
MIN_SAMPLES_LEVEL = Option("min_samples_level", int, "Levels of text with fewer rows are pooled.")
"""Option of learners that test text by sets of levels."""
MAX_THRESHOLDS = Option("max_thresholds", int, "Most thresholds per column.")
"""Option of learners over tests."""


def depth(text: str) -> int | None:
    """Parse ``--max-depth``: a number of tests, or none for any.

    Raises
    ------
    DataError
        If it is something else.
    """
    if text == "none":
        return None
    if not re.fullmatch(r"[+-]?\d+", text):
        raise DataError(f"--max-depth {text!r}: expected a number of tests (such as 3), or none for any")
    return int(text)


CV = Option(
    "cv",
    int,
    "Choose depth (up to --max-depth) and price of leaves by cross-validation; 5 folds without a number.",
    "FOLDS",
    alone=(5, "folds"),
)
"""Option of learners whose size a cross-validation can choose."""
MAX_LEAF_NODES = Option(
    "max_leaf_nodes", int, "Most leaves of the tree, from 1 to 17; what the depth permits by default."
)
"""Option of learners that can limit the leaves of a tree."""
CHECKPOINT = Option(
    "checkpoint", str, "Save the state of the search here, every 30 s; the same fit continues from it.", "FILE"
)
"""Option of learners whose search can continue from a file."""


WithTable = Callable[[Mapping[str, Any], "pl.DataFrame", Any], FromTable]
"""Function that parses the options that need the table, given their values by name, the features and the labels."""


@dataclass(frozen=True, slots=True)
class LearnerOptions:
    """The options of one learner.

    Parameters
    ----------
    options : the options in the order of the help
    with_table : function that parses the options that need the table; None if no option needs it
    predicts : what the learner predicts
    """

    options: tuple[Option, ...]
    with_table: WithTable | None = None
    predicts: Predicts = Predicts.CLASSES

    @property
    def by_name(self) -> dict[str, Option]:
        """The options by name."""
        return {option.name: option for option in self.options}
