"""What only people know about a model: its purpose, its limits, the meaning of its classes."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from proofwood.exceptions import DataError
from proofwood.printable import first_line, printable, shown


@dataclass(frozen=True)
class Card:
    """A model card: the parts of a report that only people know.

    Parameters
    ----------
    title : what the model answers, such as "Which loans turn out bad?"
    author, version : who is responsible for the model, and which version it is
    purpose, not_for : what the model is meant for, and what it must not be used for
    limits : what a reader should know before use
    event : the class that is asked about, by its label; it comes first, and curves are about it
    classes : meaning of each class, by its label
    columns : meaning of each column, by its name
    units : unit of measurement of each column, by its name
    groups : columns by whose values errors are shown
    """

    title: str | None = None
    author: str | None = None
    version: str | None = None
    purpose: str | None = None
    not_for: str | None = None
    limits: tuple[str, ...] = ()
    event: str | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any) -> Self:
        """A card from a mapping, or from a file.

        Parameters
        ----------
        given : a mapping from the names of the parameters; the path of a YAML, TOML or JSON file that holds one; a
            card; or None for an empty card

        Raises
        ------
        TypeError
            If ``given`` has another type.
        DataError
            If the file cannot be read, or an entry is unknown or has the wrong type.
        """
        if given is None or isinstance(given, cls):
            return given or cls()
        if isinstance(given, (str, os.PathLike)):
            given = _from_file(Path(given))
        if not isinstance(given, Mapping):
            raise TypeError(f"card={given!r}: expected a mapping, or the path of a YAML, TOML or JSON file")
        names = [one.name for one in fields(cls)]
        return cls(**{_known(name, names): _entry(str(name), value) for name, value in given.items()})

    def checked(self, classes: list[str], columns: list[str]) -> Self:
        """Return this card; raise DataError if it names classes or columns that the model does not have."""
        events = [] if self.event is None else [self.event]
        for entry, named, known in (
            ("event", events, classes),
            ("classes", self.classes, classes),
            ("columns", self.columns, columns),
            ("units", self.units, columns),
            ("groups", self.groups, columns),
        ):
            for name in named:
                if name not in known:
                    what = "class" if known is classes else "column"
                    expected = shown(known, text=printable)
                    raise DataError(f"{entry} of the card names the {what} {name!r}: expected one of {expected}")
        return self


_PAIRS = ("classes", "columns", "units")
_LISTS = ("limits", "groups")


def _known(name: Any, names: list[str]) -> str:
    if name in names:
        return str(name)
    near = get_close_matches(str(name), names, 1)
    hint = f": did you mean {near[0]!r}?" if near else f": expected {', '.join(names)}"
    raise DataError(f"the card has the entry {name!r}{hint}")


def _entry(name: str, value: Any) -> Any:
    if name in _PAIRS:
        if not isinstance(value, Mapping):
            raise DataError(f"{name} of the card is {value!r}: expected a mapping from names to texts")
        return {_text(key): _text(text) for key, text in value.items()}
    if name in _LISTS:
        return tuple(map(_text, [value] if isinstance(value, str) or not isinstance(value, (list, tuple)) else value))
    if isinstance(value, (Mapping, list, tuple)):
        raise DataError(f"{name} of the card is {value!r}: expected a text")
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    return " ".join(str(value).split())


def _from_file(path: Path) -> Any:
    readers: dict[str, Callable[[str], Any]] = {
        ".json": json.loads,
        ".toml": tomllib.loads,
        ".yaml": _from_yaml,
        ".yml": _from_yaml,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        raise DataError(f"{path} is not a card: expected a file .yaml, .yml, .toml or .json")
    try:
        return read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the card {path}: {first_line(error)}") from error


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError(
            'a card in YAML needs PyYAML: run pip install "proofwood[yaml]", or write the card as TOML or JSON'
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(first_line(error)) from error
