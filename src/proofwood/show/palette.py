"""Colours of classes: told apart by people with colour-blindness, light enough for black text when tinted."""

from __future__ import annotations

Colour = tuple[float, float, float]

_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F7F7F")
# Anchors of the cividis map (Nunez, Anderton and Renslow 2018), for more classes than the palette has colours.
_CIVIDIS = ("#00224E", "#35456C", "#666970", "#948E77", "#C8B866", "#FEE838")


def class_colours(n_classes: int) -> list[Colour]:
    """One colour per class code: those of Okabe and Ito (2008) up to eight, else evenly spaced along cividis."""
    if n_classes <= len(_OKABE_ITO):
        return [_parse(text) for text in _OKABE_ITO[:n_classes]]
    anchors = [_parse(text) for text in _CIVIDIS]
    colours = []
    for code in range(n_classes):
        place = code / (n_classes - 1) * (len(anchors) - 1)
        first = min(int(place), len(anchors) - 2)
        colours.append(mix(anchors[first], anchors[first + 1], place - first))
    return colours


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """``one`` with a share of ``other``."""
    red, green, blue = (a + (b - a) * share for a, b in zip(one, other, strict=True))
    return red, green, blue


def tint(colour: Colour, strength: float) -> Colour:
    """``colour`` on white paper; strength 0 is white, 1 the colour itself."""
    return mix((1.0, 1.0, 1.0), colour, strength)


def hexadecimal(colour: Colour) -> str:
    """``#rrggbb``."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _parse(text: str) -> Colour:
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
