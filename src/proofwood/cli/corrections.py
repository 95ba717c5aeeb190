"""Names that were misspelt: a message that says which one may be meant, and what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from proofwood.exceptions import DataError
from proofwood.printable import nearest

MOST_SHOWN = 20
"""Names that a message lists at most."""


def one_of(value: str, known: Iterable[str], what: str) -> str:
    """``value``, if it is one of ``known``; else DataError with the names, and the one that may be meant.

    Parameters
    ----------
    value : as it was typed
    known : the names
    what : what the message calls the value, such as an option or a parameter with it: ``"engine='sit'"``
    """
    names = list(known)
    if value not in names:
        raise DataError(f"{what}: expected one of {', '.join(map(repr, names))}{meant(value, names, '. ')}")
    return value


def label_of(text: str, labels: Sequence[Any], what: str) -> Any:
    """The label that reads ``text``; DataError with the labels, and the one that may be meant.

    Parameters
    ----------
    text : as it was typed
    labels : of any type
    what : what the message calls it, such as ``"--target 'yse' is not a class of the model"``
    """
    texts = [str(label) for label in labels]
    if text in texts:
        return labels[texts.index(text)]
    more = f", and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    raise DataError(f"{what}: expected one of {', '.join(texts[:MOST_SHOWN])}{more}{meant(text, texts, '. ')}")


def meant(name: str, among: Iterable[str], before: str = "") -> str:
    """``"did you mean 'x'?"`` after ``before``, if one of the names is near to ``name``; else nothing.

    >>> meant("dpeth", ["depth", "nodes"])
    "did you mean 'depth'?"
    """
    near = nearest(name, among)
    if near is None:
        return ""
    asked = "did" if before in ("", ": ", "; ") else "Did"
    return f"{before}{asked} you mean {near!r}?"


def corrected(message: str) -> str:
    """A message of typer about a value that is none of its choices, with the choice that may be meant.

    Parameters
    ----------
    message : such as ``"'pgn' is not one of 'png', 'svg'."``; any other is returned as it is
    """
    value, *choices = re.findall(r"'([^']*)'", message) or [""]
    if not choices or "not one of" not in message:
        return message
    plain = message.removeprefix("Value error, ").rstrip(".")
    return f"{plain}.{meant(value, choices, ' ')}"
