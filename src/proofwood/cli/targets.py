"""What the target of ``proofwood fit`` is: classes, numbers, or a reward for each action; and whose learner that is."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from proofwood.cli.learners import OPTIONS
from proofwood.cli.learners.option import Predicts
from proofwood.estimators.registry import learner
from proofwood.exceptions import DataError
from proofwood.hints import repeated
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

BY_TABLE = ("tree", "regressor")
"""Learners among which the target decides where ``--model`` does not: of classes, and of numbers."""


def learner_meant(
    model: str | None, targets: Sequence[str], given: Mapping[str, Any], for_classes: Mapping[str, Any]
) -> str | None:
    """The name of the learner that the options mean; None if the table decides.

    Parameters
    ----------
    model : value of ``--model``
    targets : columns of the target
    given : options of learners, by name
    for_classes : values of options that are for classes, by option

    Raises
    ------
    ValueError
        If there is no such learner, or options do not fit the target of the learner.
    """
    if model is None and len(targets) > 1:
        typer.echo(f"proofwood: {len(targets)} targets: a tree of actions, whose rewards they are", err=True)
        model = "policy"
    if model is None:
        having = [name for name in BY_TABLE if given.keys() <= OPTIONS[name].by_name.keys()]
        fitting = [name for name in having if all(OPTIONS[name].by_name[key].takes(given[key]) for key in given)]
        if len(having) > 1 and len(fitting) != 1 and not any(for_classes.values()):
            return None
        model = BY_TABLE[0] if any(for_classes.values()) else (fitting or having or BY_TABLE)[0]
    about, predicts = learner(model).about, OPTIONS[model].predicts
    if len(set(targets)) < len(targets):
        twice = next(name for name in targets if list(targets).count(name) > 1)
        raise DataError(f"{repeated('--target', [twice, twice])} names a column twice: name each once")
    if predicts is Predicts.TIMES and len(targets) != 2:
        two = "has two targets, the time, and whether the event happened"
        raise DataError(f"{repeated('--target', targets)}: --model {model} {two}")
    if len(targets) > 1 and predicts in (Predicts.CLASSES, Predicts.NUMBERS):
        raise DataError(
            f"{repeated('--target', targets)}: --model {model} learns {about.partition(';')[0]}, and has one target. "
            "--model policy has several, the rewards of its actions"
        )
    asked = [option for option, value in for_classes.items() if value]
    if asked and predicts is not Predicts.CLASSES:
        raise DataError(f"{asked[0]} is for classes, and --model {model} predicts {predicts}: leave it out")
    return model


@dataclass(frozen=True, eq=False)
class Target:
    """The target of a fit.

    Parameters
    ----------
    model : name of the learner
    features : the other columns
    values : labels, numbers or rewards, as the learner takes them
    """

    model: str
    features: pl.DataFrame
    values: Any

    @property
    def predicts(self) -> Predicts:
        """What the learner predicts."""
        return OPTIONS[self.model].predicts


def read_target(table: pl.DataFrame, names: Sequence[str], model: str | None) -> Target:
    """The target of a table; if ``model`` is None, a line on standard error says what the target is.

    Raises
    ------
    DataError
        If columns are not in the table, or lack values.
    """
    from proofwood.data.tables import require_values, split_target

    require_values(table, names)
    if model is None:
        model = _seen(table, names[0])
    predicts = OPTIONS[model].predicts
    if predicts is Predicts.CLASSES:
        return Target(model, *split_target(table, names[0]))
    several = predicts in (Predicts.ACTIONS, Predicts.TIMES)
    return Target(model, table.drop(names), table.select(names) if several else table.get_column(names[0]))


def _seen(table: pl.DataFrame, name: str) -> str:
    """The learner for the target of a table."""
    import numpy as np

    from proofwood.data.tables import split_target
    from proofwood.data.targets import no_classes

    labels = split_target(table, name)[1]
    found = no_classes(labels, np.unique(labels))
    if found is None or not found.numbers:
        return BY_TABLE[0]
    many = f"{found.n:,} different numbers" if found.n > 1 else "one number"
    typer.echo(f"proofwood: {printable(name)} holds {many}: a tree of numbers; --bands 5 for classes", err=True)
    return BY_TABLE[1]
