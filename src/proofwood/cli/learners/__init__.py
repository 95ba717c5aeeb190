"""The options that each learner has on the command line, one file a learner. A new learner is one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from proofwood.cli.corrections import one_of
from proofwood.cli.learners.bdd import BDD
from proofwood.cli.learners.diagram import DIAGRAM
from proofwood.cli.learners.minimal import MINIMAL
from proofwood.cli.learners.option import FromTable, LearnerOptions, Option
from proofwood.cli.learners.tree import TREE
from proofwood.estimators.registry import learner
from proofwood.exceptions import DataError

if TYPE_CHECKING:
    import polars as pl

# One word for a learner here, in folders, problems and tests: decisions/0075-one-name-a-learner.
OPTIONS: Mapping[str, LearnerOptions] = MappingProxyType(
    {"tree": TREE, "minimal": MINIMAL, "bdd": BDD, "diagram": DIAGRAM}
)
"""Name of a learner in the registry -> its options."""


def all_options() -> dict[str, Option]:
    """Name -> option, of all learners; one that several share is that of the first."""
    found: dict[str, Option] = {}
    for own in OPTIONS.values():
        for option in own.options:
            found.setdefault(option.name, option)
    return found


def chosen(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, by name, each as its parameter takes it.

    Parameters
    ----------
    typed : value of every option of every learner; None or False where it was not given

    Raises
    ------
    DataError
        If a value cannot be read.
    """
    return {
        name: option.read(typed[name])
        for name, option in all_options().items()
        if typed[name] is not None and typed[name] is not False
    }


def settings_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that options set without a look at the table.

    Parameters
    ----------
    name : of the learner
    given : options by name

    Raises
    ------
    ValueError
        If the learner does not exist, or an option belongs to others or has a value that it does not know.
    """
    for option, value in given.items():
        _require_option(name, option)
        known = OPTIONS[name].by_name[option].values
        if known:
            one_of(value, known, f"{option}={value!r}")
    return {option: value for option, value in given.items() if not OPTIONS[name].by_name[option].needs_table}


def settings_from_table(name: str, given: Mapping[str, Any], features: pl.DataFrame, labels: Any) -> FromTable:
    """What the other options ask for; see :func:`settings_of`."""
    asked = {option: value for option, value in given.items() if all_options()[option].needs_table}
    if not asked:
        return FromTable()
    read = OPTIONS[name].with_table
    assert read is not None
    return read(asked, features, labels)


def _require_option(name: str, option: str) -> None:
    """Refuse an option that the learner called ``name`` does not have."""
    learner(name)  # a name that does not exist is refused with those that do
    if option in OPTIONS[name].by_name:
        return
    having = [other for other, own in OPTIONS.items() if option in own.by_name]
    flag = all_options()[option].flag
    raise DataError(f"{flag} is not an option of --model {name}: it belongs to {' and '.join(having)}")
