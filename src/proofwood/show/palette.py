"""Colours of classes that people with colour blindness can distinguish; tints are light enough for black text."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proofwood.printable import shown

Colour = tuple[float, float, float]
Palette = Mapping[Any, Any] | Sequence[Any]
"""A list of colours in the order of the classes, or a dict from label to colour: ``"#0072b2"``, RGB parts or names."""

_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F7F7F")
_GOLDEN = 0.381966  # fraction of the colour circle, so that hues do not repeat
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")


def class_colours(n_classes: int, palette: Palette | None = None, classes: Iterable[Any] | None = None) -> list[Colour]:
    """One colour per class code. The colour of a code does not depend on the number of classes.

    Parameters
    ----------
    n_classes : number of colours
    palette : list of at least ``n_classes`` colours, or dict from label to colour; other classes have default colours.
        Defaults: eight colours of Okabe and Ito (2008), then hues at the golden angle
    classes : labels of the codes, for a palette by label; by default the codes

    Raises
    ------
    ValueError
        If the palette is too short, has an unknown class, or an entry that is not a colour.
    """
    colours = [_own(code) for code in range(n_classes)]
    if palette is None:
        return colours
    if isinstance(palette, Mapping):
        texts = [str(label) for label in (range(n_classes) if classes is None else classes)]
        for label, colour in palette.items():
            if str(label) not in texts:
                raise ValueError(f"palette has the class {label!r}, expected one of {shown(texts, text=str)}")
            colours[texts.index(str(label))] = parsed(colour)
        return colours
    if isinstance(palette, (str, bytes)) or len(palette) < n_classes:
        raise ValueError(
            f"palette={palette!r}: expected {n_classes} colours, one per class, or a dict from label to colour"
        )
    return [parsed(colour) for colour in palette[:n_classes]]


_SCALE = ("#0072B2", "#B8B8B8", "#D55E00")


def gradient(places: Sequence[float], palette: Palette | None = None) -> list[Colour]:
    """Colours of a scale of numbers.

    Parameters
    ----------
    places : from 0 to 1
    palette : list of at least two colours, evenly along the scale; by default blue, grey and vermilion

    Raises
    ------
    ValueError
        If the palette is something else.
    """
    given = _SCALE if palette is None else palette
    if isinstance(given, (str, bytes, Mapping)) or len(given) < 2:
        raise ValueError(f"palette={palette!r}: expected a list of at least two colours, from the least number up")
    stops = [parsed(colour) for colour in given]
    found = []
    for place in places:
        step = min(int(place * (len(stops) - 1)), len(stops) - 2)
        found.append(mix(stops[step], stops[step + 1], place * (len(stops) - 1) - step))
    return found


def _own(code: int) -> Colour:
    """The default colour of a class code."""
    if code < len(_OKABE_ITO):
        return parsed(_OKABE_ITO[code])
    k = code - len(_OKABE_ITO)
    return colorsys.hls_to_rgb((0.08 + k * _GOLDEN) % 1.0, (0.42, 0.62, 0.3, 0.52)[k % 4], (0.65, 0.5, 0.8)[k // 4 % 3])


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """The mix of two colours; ``share`` is the share of ``other`` in the mix."""
    red, green, blue = (a + (b - a) * share for a, b in zip(one, other, strict=True))
    return red, green, blue


def tint(colour: Colour, strength: float) -> Colour:
    """``colour`` mixed with white; strength 0 is white, 1 the colour."""
    return mix((1.0, 1.0, 1.0), colour, strength)


def hexadecimal(colour: Colour) -> str:
    """``colour`` as a text ``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def parsed(colour: Any) -> Colour:
    """Parse a colour into red, green and blue from 0 to 1. A name of a colour needs matplotlib."""
    if isinstance(colour, str):
        if _HEX.fullmatch(colour):
            digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
            red, green, blue = (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
            return red, green, blue
        return _named(colour)
    try:
        parts = tuple(float(part) for part in colour)
    except (TypeError, ValueError):
        parts = ()
    if len(parts) != 3 or not all(0 <= part <= 1 for part in parts):
        raise ValueError(f"{colour!r} is not a colour: expected a text like '#0072b2', or three numbers from 0 to 1")
    return parts[0], parts[1], parts[2]


def _named(name: str) -> Colour:
    try:
        from matplotlib.colors import to_rgb
    except ImportError:
        raise ValueError(
            f"{name!r} is not a colour like '#0072b2', and names of colours need matplotlib: run "
            'pip install "proofwood[plot]"'
        ) from None
    try:
        red, green, blue = to_rgb(name)
    except ValueError:
        raise ValueError(
            f"{name!r} is not a colour: expected a text like '#0072b2', or a name like 'tab:blue'"
        ) from None
    return red, green, blue
