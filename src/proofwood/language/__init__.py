"""The language of a report: a catalogue of its words, and numbers and days as the language writes them.

Messages are written in English in the code, and are the keys of the catalogue. ``NAME.po`` beside this file has their
translations into the language ``NAME``; it is read as it is (decisions/0089-one-catalogue-of-words). Outside of
:func:`speaking` all words are English.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Any

from proofwood.printable import nearest, printable, shown

FOLDER = Path(__file__).parent
ENGLISH = "en"
SCRIPT = "script.js"
"""The file whose messages a page itself needs."""
KEPT = (
    "data/",
    *(
        f"estimators/{name}.py"
        for name in ("fair_trees", "few_leaves", "folds", "input", "monotone", "optimal_diagram", "ratios")
    ),
    "questions/rows.py",
)
"""Whose messages are kept with a model, in English: hints of the table, and the scope of a proof."""
N_FORMS = 200
"""Numbers whose plural form a page is told; rules of plurals look at small numbers and at the last two digits, but for
whole millions in a few languages."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language with its words.

    Parameters
    ----------
    name : as in the attribute ``lang`` of a page
    words : translations of messages
    decimal, group : characters before decimals, and between groups of three digits
    script : messages that a page itself needs, with their translation or its plural forms
    kept : messages of texts that are kept with a model, with their plurals, or None
    """

    name: str = ENGLISH
    words: NullTranslations = field(default_factory=NullTranslations)
    decimal: str = "."
    group: str = ","
    script: dict[str, str | list[str]] = field(default_factory=dict)
    kept: tuple[tuple[str, str | None], ...] = ()

    @cached_property
    def forms(self) -> str:
        """For the numbers from 0 on, the digit of the plural form that goes with them."""
        plurals = ((one, forms) for one, forms in self.script.items() if isinstance(forms, list))
        several = next((one for one in plurals if len(set(one[1])) == len(one[1])), None)
        if several is None:
            return "".join(str(int(n != 1)) for n in range(N_FORMS))
        text, forms = several
        return "".join(str(forms.index(self.words.ngettext(text, "", n))) for n in range(N_FORMS))

    def for_script(self) -> dict[str, Any]:
        """What the script of a page needs to know of the language, as plain values."""
        return {"words": self.script, "forms": self.forms, "decimal": self.decimal, "group": self.group}

    @cached_property
    def patterns(self) -> list[tuple[re.Pattern[str], str, str | None]]:
        """Patterns of the texts that are kept; those with most words first.

        Beside each stand its message and, if the text is about several things, the plural of the message.
        """
        found = [(one, one, None) for one, _ in self.kept]
        found += [(many, one, many) for one, many in self.kept if many is not None]  # type: ignore[misc]
        found.sort(key=lambda told: -len(_VALUE.sub("", told[0])))
        return [(_pattern(text), one, many) for text, one, many in found]


_VALUE = re.compile(r"%\((\w+)\)s")
_spoken: ContextVar[Language] = ContextVar("spoken", default=Language())  # noqa: B039 - frozen


def languages() -> list[str]:
    """The languages that there are."""
    return sorted([ENGLISH, *(path.stem for path in FOLDER.glob("*.po"))])


def require_language(name: object) -> None:
    """Raise ValueError unless ``name`` is one of :func:`languages`."""
    known = languages()
    if isinstance(name, str) and name in known:
        return
    near = nearest(name, known) if isinstance(name, str) else None
    hint = f". Did you mean {near!r}?" if near else ""
    raise ValueError(f"language={printable(repr(name))}: expected one of {shown(known, None)}{hint}")


@contextmanager
def speaking(name: str) -> Iterator[Language]:
    """Make all words inside the block those of a language; ValueError if there is no such language."""
    require_language(name)
    token = _spoken.set(Language() if name == ENGLISH else _read(name))
    try:
        yield _spoken.get()
    finally:
        _spoken.reset(token)


def spoken() -> Language:
    """The language of the words that are made now."""
    return _spoken.get()


@cache
def _read(name: str) -> Language:
    from babel.messages.mofile import write_mo  # start-up time: few reports are in other languages
    from babel.messages.pofile import read_po
    from babel.numbers import get_decimal_symbol, get_group_symbol

    with (FOLDER / f"{name}.po").open("rb") as file:
        catalogue = read_po(file, locale=name)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    script: dict[str, str | list[str]] = {}
    kept: list[tuple[str, str | None]] = []
    for message in catalogue:
        one, many = (message.id, None) if isinstance(message.id, str) else message.id
        paths = [path for path, _ in message.locations]
        if any(path.endswith(SCRIPT) for path in paths):
            script[one] = message.string if isinstance(message.string, str) else list(message.string or ())
        if any(path.removeprefix("src/proofwood/").startswith(KEPT) for path in paths):
            kept.append((one, many))
    marks = get_decimal_symbol(name), get_group_symbol(name)
    return Language(name, GNUTranslations(compiled), *marks, script, tuple(kept))


# ---------------------------------------------------------------------------------------------------------- words


def gettext(message: str, **values: object) -> str:
    """A message in the language that is spoken, with its values."""
    told = _spoken.get().words.gettext(message)
    return told % values if values else told


def ngettext(one: str, many: str, count: int, **values: object) -> str:
    """A message about ``count`` things, which stands in it as ``%(n)s``."""
    return _spoken.get().words.ngettext(one, many, count) % {"n": number(f"{count:,}"), **values}


def marked(message: str) -> str:
    """The message as it is: it is translated where it is shown, and named here for the catalogue."""
    return message


def retold(text: str) -> str:
    """An English text that was kept, in the language that is spoken; as it is if no message makes it.

    Texts are told from each other by their words, since a file holds the text alone.
    """
    language = _spoken.get()
    if language.name == ENGLISH or not text:
        return text
    for pattern, one, many in language.patterns:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        values = found.groupdict()
        if many is None:
            told = language.words.gettext(one)
        else:
            told = language.words.ngettext(one, many, int(values.get("n", "2").replace(",", "")))
        return told % {name: _value(name, value) for name, value in values.items()}
    return text


def _value(name: str, text: str) -> str:
    """A value in a text: ``n`` and ``n_...`` are numbers, others may be messages, one after the other."""
    return number(text) if name == "n" or name.startswith("n_") else "; ".join(map(retold, text.split("; ")))


def _pattern(message: str) -> re.Pattern[str]:
    parts = _VALUE.split(message)
    texts = [re.escape(part.replace("%%", "%")) if k % 2 == 0 else f"(?P<{part}>.+?)" for k, part in enumerate(parts)]
    return re.compile("".join(texts), re.DOTALL)


# -------------------------------------------------------------------------------------------------- numbers and days


def number(text: str) -> str:
    """A number as Python writes it, with the separators of the language that is spoken."""
    language = _spoken.get()
    return text.translate({ord("."): language.decimal, ord(","): language.group})


def day(when: date) -> str:
    """A day as the language that is spoken writes it, with the name of the month."""
    if _spoken.get().name == ENGLISH:
        return f"{when:%d %B %Y}".lstrip("0")
    from babel.dates import format_date  # start-up time: as above

    return format_date(when, "long", locale=_spoken.get().name)
