"""Tables in other containers than the one that a test makes them in."""

from __future__ import annotations

import pandas as pd
import polars as pl


def in_polars(frame: pd.DataFrame) -> pl.DataFrame:
    """A frame of pandas in polars, which itself asks for pyarrow where a column is no plain array of numbers."""
    columns = {
        str(name): [None if gap else value for value, gap in zip(frame[name].tolist(), frame[name].isna(), strict=True)]
        for name in frame.columns
    }
    return pl.DataFrame(columns, strict=False)
