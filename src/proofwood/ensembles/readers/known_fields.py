"""Which fields of a saved model are known: what else stands there may change predictions, and the model is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

COLUMN_BYTES = 500
"""About what a column or an output of a model takes in memory."""


# A reader that looks up the fields it wants overlooks all others, such as weights of trees near 1, which no random row
# shows: decisions/0058-known-fields.
@dataclass(frozen=True)
class KnownFields:
    """The fields that a library writes into its models.

    Parameters
    ----------
    library : its name, as people write it
    fields : of each part of a model the names of its fields, each with how it is dealt with: where it is read, or why
        predictions do not need it
    """

    library: str
    fields: Mapping[str, Mapping[str, str]]

    def check(self, part: str, given: Collection[str], version: str) -> None:
        """Raise TypeError if a part of a model has a field that is not known.

        Parameters
        ----------
        part : key of ``fields``
        given : names of the fields that it has
        version : of the library that wrote the model, for the message
        """
        known = self.fields[part]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(
                f"the model has the field {unknown[0]!r} in {part}, written by {self.library} {version}. It is not "
                "known here, and may change predictions, so the model is not read. Expected the fields "
                f"{', '.join(known)}; a later release may know more: pip install --upgrade proofwood"
            )


def same(mine: Any, theirs: Any, skipped: Collection[str], *, nan: bool = True) -> bool:
    """Whether two saved models of one library are equal in all attributes but those skipped.

    Parameters
    ----------
    mine, theirs : of one class
    skipped : names of attributes
    nan : whether nan is equal to nan, in arrays of floats
    """
    pairs = ((value, getattr(theirs, name)) for name, value in vars(mine).items() if name not in skipped)
    return all(
        np.array_equal(a, b, equal_nan=nan and a.dtype.kind == "f") if isinstance(a, np.ndarray) else a == b
        for a, b in pairs
    )
