"""Error messages for misspelt names, with the known names and the one that may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from proofwood.exceptions import DataError
from proofwood.printable import nearest

MOST_SHOWN = 20
"""Most names that a message lists."""


def one_of(value: str, known: Iterable[str], what: str) -> str:
    """Return ``value`` if it is one of ``known``; else raise DataError with these names and a suggestion.

    Parameters
    ----------
    value : the typed value
    known : the valid names
    what : beginning of the message, such as an option or parameter with its value: ``"engine='sit'"``
    """
    names = list(known)
    if value not in names:
        raise DataError(f"{what}: expected one of {', '.join(map(repr, names))}{meant(value, names, '. ')}")
    return value


def label_of(text: str, labels: Sequence[Any], what: str) -> Any:
    """The label whose text is ``text``; DataError, with the labels and a suggestion, if there is none.

    Parameters
    ----------
    text : the typed text
    labels : labels of any type
    what : beginning of the message, such as ``"--target 'yse' is not a class of the model"``
    """
    texts = [str(label) for label in labels]
    if text in texts:
        return labels[texts.index(text)]
    more = f", and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    raise DataError(f"{what}: expected one of {', '.join(texts[:MOST_SHOWN])}{more}{meant(text, texts, '. ')}")


def meant(name: str, among: Iterable[str], before: str = "") -> str:
    """``before`` and ``"did you mean 'x'?"``, if a name in ``among`` is similar to ``name``; else an empty text.

    >>> meant("dpeth", ["depth", "nodes"])
    "did you mean 'depth'?"
    """
    near = nearest(name, among)
    if near is None:
        return ""
    asked = "did" if before in ("", ": ", "; ") else "Did"
    return f"{before}{asked} you mean {near!r}?"


def corrected(message: str) -> str:
    """Add a suggestion to a message of typer about a value that is not one of the choices.

    Parameters
    ----------
    message : such as ``"'pgn' is not one of 'png', 'svg'."``; other messages are returned unchanged
    """
    value, *choices = re.findall(r"'([^']*)'", message) or [""]
    if not choices or "not one of" not in message:
        return message
    plain = message.removeprefix("Value error, ").rstrip(".")
    return f"{plain}.{meant(value, choices, ' ')}"
