"""A fitted classifier as a program or file that needs none of this package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.schema import Schema
from proofwood.files import write_whole
from proofwood.model.node_table import NodeTable

if TYPE_CHECKING:
    from proofwood.show.exports.source import Exported


class Exporting:
    """The exports of a fitted classifier. Each predicts what ``predict`` does, for every row.

    A level that training did not have goes the way of the majority, whatever ``unseen`` says.
    """

    # fitted
    classes_: npt.NDArray[Any]
    schema_: Schema
    model_: NodeTable

    def _exported(self) -> Exported:
        # Start-up time: few models are exported.
        from proofwood.show.exports.source import Exported

        check_is_fitted(self)
        schema = self.schema_
        return Exported(self.model_, schema.columns, self.classes_, hasattr(self, "feature_names_in_"), schema.gaps)

    def to_sql(
        self, table: str | Sequence[str] | None = None, *, proba: bool = False, dialect: str | None = None
    ) -> str:
        """A query that puts the prediction beside all columns of a table.

        Nested ``CASE`` expressions, tried on SQLite and DuckDB. Columns go by name (``x0``, ``x1``, ... if training
        had none), missing values are NULL. Dates are dates or ISO text (``2024-05-03``, ``2024-05-03 14:30:00``), of
        named dialects dates or timestamps; levels are of the type that they have in training. No test is written that
        the tests above it decide, and none for NULL in columns that had no missing value in training: it goes where the
        model lets it go, to what ``ELSE`` takes, except below such left-out tests.

        Parameters
        ----------
        table : name of the table, ``table`` or ``schema.table``; a part with a dot in double quotes, or a sequence of
            the parts, such as ``("crm", "loans.2024")``. None gives the bare expression
        proba : add the probability of each class
        dialect : ``"sqlite"``, ``"duckdb"``, ``"postgresql"``, ``"mysql"``, ``"sqlserver"``, ``"bigquery"``,
            ``"snowflake"`` or ``"oracle"``; None for what these have in common, as far as they do. A name needs the
            package sqlglot

        Raises
        ------
        ValueError
            If the database cannot hold the model; the message says why and what to do.
        ImportError
            If ``dialect`` is given and sqlglot is not installed.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.sql import to_sql

        return to_sql(self._exported(), table, proba=proba, dialect=dialect)

    def to_python(self) -> str:
        """Source of a Python module without dependencies: ``predict(row)``, ``predict_proba(row)``.

        A row is a mapping from the names of columns to values (a sequence, if training had no names).
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.python import to_python

        return to_python(self._exported())

    def to_c(self) -> str:
        """Source in C99 without dependencies: ``predict(row)`` gives the code of a class, ``predict_proba(row, out)``.

        A row is an array of doubles, NAN where a value is missing; ``level_code`` turns text into numbers.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.c import to_c

        return to_c(self._exported())

    def to_javascript(self) -> str:
        """Source in JavaScript without dependencies: ``predict(row)``, ``predictProba(row)``.

        A row is an object with a value for the name of each column (an array, if training had no names).
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.javascript import to_javascript

        return to_javascript(self._exported())

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, missing_text: str = "") -> Any:
        """The model as an ``onnx.ModelProto``, written to ``path`` if one is given; needs the package onnx.

        Inputs and thresholds are float64. The input is ``X``, (n_rows, n_features), NaN where missing, as
        :meth:`to_numbers` gives it; if the model tests columns of text, one input of shape (n_rows, 1) for each column
        that it tests, by name. Outputs are ``label`` and ``probabilities``.

        Parameters
        ----------
        path : file to write
        missing_text : means a missing value in columns of text, which ONNX does not know
        """
        # Start-up time: onnx is optional and slow to load.
        from proofwood.show.exports.onnx import to_onnx

        made = to_onnx(self._exported(), missing_text=missing_text)
        if path is not None:
            write_whole(Path(path), made.SerializeToString())
        return made

    def to_pmml(self, path: str | os.PathLike[str] | None = None) -> str:
        """The model as a PMML 4.4 document, written to ``path`` if one is given.

        Columns of text are strings; dates and times are numbers, as :meth:`to_numbers` gives them.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.pmml import to_pmml

        text = to_pmml(self._exported())
        if path is not None:
            write_whole(Path(path), text.encode())
        return text

    def rules(self, *, frame: bool = False) -> Any:
        """The model as a table of rules; exactly one holds for any row.

        Parameters
        ----------
        frame : a polars frame of one row per rule, and not a list of mappings

        Returns
        -------
        list of dict
            ``rule``: number; ``if``: the conditions in words; ``class``; ``conditions``: one per column, with
            ``above`` and ``up_to`` (in the numbers of :meth:`to_numbers`), ``in`` or ``not_in``, whether a ``missing``
            value, and a ``present`` one, is possible; ``probabilities``; ``leaf``: the node of ``model_``;
            ``leaf_rows``, ``leaf_weight``: training rows and weight of that leaf, which several rules of a diagram
            share. In a frame, conditions are text and each probability is a column.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.rules import rules

        found = rules(self._exported())
        if not frame:
            return found
        # Start-up time: polars is slow to load.
        import polars as pl

        flat = []
        for one in found:
            plain = {name: value for name, value in one.items() if name not in ("conditions", "probabilities")}
            flat.append(plain | {f"probability of {label}": share for label, share in one["probabilities"].items()})
        return pl.DataFrame(flat, infer_schema_length=None)
