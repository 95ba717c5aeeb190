"""Check that all fields of a saved model are known: an unknown field may change predictions and is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

COLUMN_BYTES = 500
"""Estimated memory in bytes of one column or output of a model."""


# A reader that only looks up expected fields would miss others, such as tree weights near 1, which tests with random
# rows do not reveal: decisions/0058-known-fields.
@dataclass(frozen=True)
class KnownFields:
    """The fields that a library writes into its models.

    Parameters
    ----------
    library : the name of the library
    fields : by part of the model, the names of its known fields; each has the name of the function that reads it, or
        the reason why predictions do not need it
    """

    library: str
    fields: Mapping[str, Mapping[str, str]]

    def check(self, part: str, given: Collection[str], version: str) -> None:
        """Raise TypeError if a part of a model has a field that is not known.

        Parameters
        ----------
        part : a key of ``fields``
        given : names of the fields in this part of the model
        version : the version of the library that wrote the model, for the message
        """
        known = self.fields[part]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TypeError(
                f"the model has the field {unknown[0]!r} in {part}, written by {self.library} {version}. This field is "
                "not known and may change predictions, so the model is refused. Expected the fields "
                f"{', '.join(known)}; a later release may know more: pip install --upgrade proofwood"
            )


def same(mine: Any, theirs: Any, skipped: Collection[str], *, nan: bool = True) -> bool:
    """Whether two saved models of one library have equal attributes, except for those in ``skipped``.

    Parameters
    ----------
    mine, theirs : saved models of the same class
    skipped : names of attributes that are not compared
    nan : whether nan counts as equal to nan in arrays of floats
    """
    pairs = ((value, getattr(theirs, name)) for name, value in vars(mine).items() if name not in skipped)
    return all(
        np.array_equal(a, b, equal_nan=nan and a.dtype.kind == "f") if isinstance(a, np.ndarray) else a == b
        for a, b in pairs
    )
