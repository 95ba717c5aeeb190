"""Write names and labels of the user into texts: escape unsafe characters, make lists, and find similar names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: escape sequences, carriage returns, bells
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # line separators, and marks that turn the direction of text
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # halves of pairs, and what is not a character: none may stand in XML
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)


def printable(text: str, *, keep: str = "") -> str:
    r"""``text`` with an escape, such as ``\x1b``, for every character that could control a terminal or break XML.

    Parameters
    ----------
    text : any text
    keep : control characters that are not escaped, such as ``"\n"`` for texts of several lines
    """

    def escape(found: re.Match[str]) -> str:
        character = found[0]
        if character in keep:
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return _UNSAFE.sub(escape, text)


_CLEAR = re.compile(r"[^\s,;{}\"'`]+(?: [^\s,;{}\"'`]+)*")
"""Texts that need no quotes in a list, since their beginning and end are clear."""


def in_list(text: str) -> str:
    r"""The text of a level in a list, with quotes and escapes if its beginning or end would not be clear.

    >>> print(", ".join(map(in_list, ["red", "dark red", "", "a, b", " c", "d\n"])))
    red, dark red, "", "a, b", " c", "d\n"
    """
    return text if _CLEAR.fullmatch(text) and printable(text) == text else quoted(text)


_WORDS = re.compile(r"^not |^\s|\s$| (?:and|or) | is (?:not )?missing| in \{| ?(?:[<>]=?|[=≤≥])(?: |\d)|^\"|, |^$")
"""Patterns that occur in conditions; a name with one of them needs quotes."""


def in_sentence(name: str) -> str:
    """The text of a column name in a condition, with quotes if it could be read as a part of the condition.

    >>> print(" and ".join(map(in_sentence, ["age", "petal length (cm)", "not a", "a <= 3"])))
    age and petal length (cm) and "not a" and "a <= 3"
    """
    return quoted(name) if _WORDS.search(name) else printable(name)


def is_word(name: str) -> bool:
    """Whether a column name can be a condition by itself: it has a letter, and is not a number such as "1e5".

    >>> [is_word(name) for name in ["owns_car", "age>30", "3", "1e5", "", "?"]]
    [True, True, False, False, False, False]
    """
    try:
        float(name)
    except ValueError:
        return any(character.isalpha() for character in name)
    return False


def unit_text(unit: str | None) -> str:
    """What follows a number with this unit: a blank and the unit, in quotes if it could be read as more of a condition.

    >>> [unit_text(unit) for unit in ["kg", "km/h", None, "or missing"]]
    [' kg', ' km/h', '', ' "or missing"']
    """
    if not unit:
        return ""
    return f" {quoted(unit) if ' ' in unit else in_list(unit)}"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """The text in quotes, with escapes for what would end them."""
    for character, told in _ESCAPES.items():
        text = text.replace(character, told)
    return f'"{printable(text)}"'


def shown(words: Sequence[Any], most: int | None = 8, text: Callable[[Any], str] = repr) -> str:
    """The first ``most`` words as a list for messages; all words if ``most`` is None.

    >>> shown(["a", "b", "c"], 2)
    "'a', 'b', ..."
    """
    return ", ".join(map(text, words[:most])) + (", ..." if most is not None and len(words) > most else "")


def cut(text: str, most: int = 60) -> str:
    """A text for a message; if it has more than ``most`` characters, an ellipsis replaces its end."""
    return text if len(text) <= most else text[: most - 3] + "..."


def nearest(name: str, among: Iterable[str]) -> str | None:
    """The most similar of some names, without regard to upper and lower case; None if no name is similar.

    >>> nearest("dpeth", ["Depth", "nodes"])
    'Depth'
    """
    by_lower = {other.lower().strip(): other for other in among}
    near = get_close_matches(name.lower().strip(), list(by_lower), n=1)
    return by_lower[near[0]] if near else None


def first_line(error: BaseException) -> str:
    """The first line of an error message, cut and escaped because it may quote a file; the type if there is none."""
    return printable(cut((str(error).strip().splitlines() or [type(error).__name__])[0], 500))
