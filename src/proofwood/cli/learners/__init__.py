"""The options of the learners on the command line. For a new learner, add a module here and an entry in ``OPTIONS``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from proofwood.cli.corrections import one_of
from proofwood.cli.learners.bdd import BDD
from proofwood.cli.learners.diagram import DIAGRAM
from proofwood.cli.learners.minimal import MINIMAL
from proofwood.cli.learners.option import FromTable, LearnerOptions, Option
from proofwood.cli.learners.policy import POLICY
from proofwood.cli.learners.regressor import REGRESSOR
from proofwood.cli.learners.survival import SURVIVAL
from proofwood.cli.learners.tree import TREE
from proofwood.estimators.registry import learner
from proofwood.exceptions import DataError
from proofwood.hints import parameter

if TYPE_CHECKING:
    import polars as pl

# A learner has the same name here, in folders, problems and tests: decisions/0075-one-name-a-learner.
OPTIONS: Mapping[str, LearnerOptions] = MappingProxyType(
    {
        "tree": TREE,
        "regressor": REGRESSOR,
        "survival": SURVIVAL,
        "policy": POLICY,
        "minimal": MINIMAL,
        "bdd": BDD,
        "diagram": DIAGRAM,
    }
)
"""The options of each learner, by its name in the registry."""


def all_options() -> dict[str, Option]:
    """The options of all learners by name; if several learners share a name, the option of the first learner."""
    found: dict[str, Option] = {}
    for own in OPTIONS.values():
        for option in own.options:
            found.setdefault(option.name, option)
    return found


def chosen(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the options that were given, by name, parsed for the parameters of the learner.

    Parameters
    ----------
    typed : typed values of all options of all learners; None or False if not given

    Raises
    ------
    DataError
        If a value cannot be parsed.
    """
    return {
        name: option.read(typed[name])
        for name, option in all_options().items()
        if typed[name] is not None and typed[name] is not False
    }


def settings_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the learner that the options set without the table.

    Parameters
    ----------
    name : name of the learner
    given : values of the options that were given, by name

    Raises
    ------
    ValueError
        If the learner does not exist, does not have one of the options, or does not accept its value.
    """
    for option, value in given.items():
        _require_option(name, option)
        known = OPTIONS[name].by_name[option].values
        if known:
            one_of(value, known, parameter(option, value))
    return {option: value for option, value in given.items() if not OPTIONS[name].by_name[option].needs_table}


def settings_from_table(name: str, given: Mapping[str, Any], features: pl.DataFrame, labels: Any) -> FromTable:
    """The settings of the options that need the table; see :func:`settings_of`."""
    asked = {option: value for option, value in given.items() if all_options()[option].needs_table}
    if not asked:
        return FromTable()
    read = OPTIONS[name].with_table
    assert read is not None
    return read(asked, features, labels)


def _require_option(name: str, option: str) -> None:
    """Raise DataError if the learner called ``name`` does not have the option."""
    learner(name)  # raises ValueError if there is no such learner
    if option in OPTIONS[name].by_name:
        return
    having = [other for other, own in OPTIONS.items() if option in own.by_name]
    flag = all_options()[option].flag
    others = " and ".join([", ".join(having[:-1]), having[-1]] if having[1:] else having)
    raise DataError(f"{flag} is not an option of --model {name}, only of {others}: leave it out")
