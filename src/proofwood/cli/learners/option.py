"""What a learner declares of its options on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one learner. Learners with an option of the same name share its type, metavar and reading.

    Parameters
    ----------
    name : of the parameter; the option is ``--name`` with hyphens
    kind : type of the value: str, int, float, or bool for an option without a value
    help : what it means to this learner
    metavar : name of the value in the help; None for the name of its type
    read : makes the value of the parameter from what was typed; ValueError if it cannot
    needs_table : whether the value names columns or labels, so that :attr:`LearnerOptions.with_table` reads it
    values : all that may be given, of an option that takes one of a few words; else empty
    """

    name: str
    kind: type
    help: str
    metavar: str | None = None
    read: Callable[[Any], Any] = lambda value: value
    needs_table: bool = False
    values: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class FromTable:
    """What options ask for that only make sense with the table.

    Parameters
    ----------
    settings : parameters of the estimator
    fit : arguments of its ``fit`` and ``recount``
    drop : columns that are not features
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    drop: Sequence[str] = ()


ENGINE = Option("engine", str, "Which engine searches.", values=("auto", "search", "paper"))
"""Of learners with one search beside the method of their paper."""
MAX_THRESHOLDS = Option("max_thresholds", int, "At most so many thresholds per column.")
"""Of learners over tests."""
CHECKPOINT = Option("checkpoint", str, "Write here what is proved, every 30 s; the same fit goes on from it.", "FILE")
"""Of learners whose search can go on from a file."""


WithTable = Callable[[Mapping[str, Any], "pl.DataFrame", Any], FromTable]
"""Values of options that need the table, by name; features; labels -> what they ask for."""


@dataclass(frozen=True, slots=True)
class LearnerOptions:
    """The options of one learner.

    Parameters
    ----------
    options : in the order of the help
    with_table : reads those that need the table; None if none does
    """

    options: tuple[Option, ...]
    with_table: WithTable | None = None

    @property
    def by_name(self) -> dict[str, Option]:
        """Name -> option."""
        return {option.name: option for option in self.options}
