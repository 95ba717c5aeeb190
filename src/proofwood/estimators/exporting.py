"""Exports of a fitted model: programs and files that run without this package."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from proofwood.data.columns import is_number
from proofwood.data.kinds import NUMBERS, Kind
from proofwood.data.schema import Schema
from proofwood.files import write_whole
from proofwood.hints import way_out
from proofwood.model.node_table import NodeTable
from proofwood.printable import shown

if TYPE_CHECKING:
    from proofwood.show.exports.source import Exported


class Exporting(ABC):
    """The exports of a fitted model. Each predicts the same as ``predict``, for every row.

    A model of numbers predicts the same float64, and has no probabilities. A policy predicts its action; where classes
    have probabilities, it has the mean reward of each action in the leaf.

    A row with a level that training did not have goes to the side with most training weight, even with
    ``unseen="error"``. A column of text that training read as numbers or dates is of numbers or dates in an export.
    Numbers in ``missing_values`` are missing values in SQL, Python, C and JavaScript; a model that tests another column
    with ``missing_values`` has no export, and other formats have none of them.
    """

    # fitted
    schema_: Schema
    model_: NodeTable

    @property
    @abstractmethod
    def _answers(self) -> npt.NDArray[Any] | None:
        """(n_labels,) what the labels of leaves stand for; None if leaves predict numbers."""

    def _exported(self) -> Exported:
        """The model for :meth:`rules`, whose conditions are about values as :meth:`to_numbers` returns them."""
        # Start-up time: few models are exported.
        from proofwood.show.exports.source import Exported

        check_is_fitted(self)
        schema = self.schema_
        return Exported(self.model_, schema.columns, self._answers, hasattr(self, "feature_names_in_"), schema.gaps)

    def _for_raw_rows(self, *, converts: bool = False) -> Exported:
        """The model for an export that reads the cells of a table; ExportError if it would read some otherwise.

        Parameters
        ----------
        converts : whether the export reads the numbers of ``Exported.absent`` as missing values
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.source import ExportError

        found = self._exported()
        for column in (found.columns[j] for j in found.used):
            absent = [value for value in column.absent if column.kind is Kind.NOMINAL or is_number(value)]
            known = (
                converts and column.kind in NUMBERS and not column.form and all(map(math.isfinite, map(float, absent)))
            )
            if absent and not known:
                others = way_out("missing_values={'age': [999]}", "--missing age=999")
                what = way_out("missing_values", "--missing")
                raise ExportError(
                    f"column {column.name!r} has {what} {shown(absent, 3)}, which an export reads as values: replace "
                    "them by missing values in the training table, or name them only for other columns, such as "
                    f"{others}, and fit again"
                )
        return found

    def to_sql(
        self, table: str | Sequence[str] | None = None, *, proba: bool = False, dialect: str | None = None
    ) -> str:
        """Return an SQL query that adds the prediction to all columns of a table.

        The query has nested ``CASE`` expressions; it is tested on SQLite and DuckDB. Columns are named as in training
        (``x0``, ``x1``, ... if they had no names), and missing values are NULL. Dates are of type date or ISO text
        (``2024-05-03``, ``2024-05-03 14:30:00``); if ``dialect`` is given, of type date or timestamp. Levels have the
        type of the training data. A test whose result follows from the tests above it is not written, and columns
        without missing values in training get no test for NULL. NULL in such a column goes to ``ELSE``, where the model
        sends it too, except below a test that was not written.

        Parameters
        ----------
        table : name of the table, ``table`` or ``schema.table``. Put a part that contains a dot in double quotes, or
            pass a sequence of parts, such as ``("crm", "loans.2024")``. None returns the expression without a query
        proba : whether to add the probability of each class; an error if the model predicts numbers or actions
        dialect : ``"sqlite"``, ``"duckdb"``, ``"postgresql"``, ``"mysql"``, ``"sqlserver"``, ``"bigquery"``,
            ``"snowflake"`` or ``"oracle"``, which needs the package sqlglot; None writes SQL that most of these accept

        Raises
        ------
        ValueError
            If the database cannot hold the model; the message says why and what to do.
        ImportError
            If ``dialect`` is given and sqlglot is not installed.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.sql import to_sql

        return to_sql(self._for_raw_rows(converts=True), table, proba=proba, dialect=dialect)

    def to_dbt(self, relation: str | Sequence[str], *, proba: bool = False, dialect: str | None = None) -> str:
        """Return a model of dbt: the query of :meth:`to_sql`, of a relation of the project.

        Write it to ``models/NAME.sql``. What Jinja would read as its own in names and texts is escaped.

        Parameters
        ----------
        relation : name of the model, seed or snapshot that has the columns of training, for ``ref``; or a pair of a
            package and a name
        proba : whether to add the probability of each class
        dialect : as in :meth:`to_sql`

        Raises
        ------
        ValueError
            If the database cannot hold the model; the message says why and what to do.
        ImportError
            If ``dialect`` is given and sqlglot is not installed.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.sql import to_dbt

        return to_dbt(self._for_raw_rows(), relation, proba=proba, dialect=dialect)

    def to_python(self) -> str:
        """Source of a Python module without dependencies: ``predict(row)``, ``predict_proba(row)``.

        A policy has ``predict_rewards(row)`` instead, a model of numbers ``predict(row)`` alone. A row is a mapping
        from the names of columns to values (a sequence, if training had no names).
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.python import to_python

        return to_python(self._for_raw_rows(converts=True))

    def to_c(self) -> str:
        """Source in C99 without dependencies: ``predict(row)`` returns a class code, ``predict_proba(row, out)``.

        Of a policy, they are ``predict`` and ``predict_rewards``; of numbers, ``predict`` returns the double. A row
        is an array of doubles, with NAN for missing values; ``level_code`` turns text into numbers.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.c import to_c

        return to_c(self._for_raw_rows(converts=True))

    def to_javascript(self) -> str:
        """Source in JavaScript without dependencies: ``predict(row)``, ``predictProba(row)``.

        A policy has ``predictRewards(row)`` instead, a model of numbers ``predict(row)`` alone. A row is an
        object with a value for the name of each column (an array, if training had no names).
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.javascript import to_javascript

        return to_javascript(self._for_raw_rows(converts=True))

    def to_java(self, class_name: str = "DecisionModel") -> str:
        """Source of one class of Java 11 without dependencies: ``predict(row)``, ``predictProba(row)``.

        A policy has ``predictRewards(row)`` instead, a model of numbers ``predict(row)`` alone. A row is a
        ``Map`` from the names of columns to values (a ``List``, if training had no names).

        Parameters
        ----------
        class_name : name of the class, and so of its file without ``.java``
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.java import to_java

        return to_java(self._for_raw_rows(), class_name)

    def to_r(self) -> str:
        """Source in R without packages: ``predict_class(frame)``, ``predict_shares(frame)`` of a ``data.frame``.

        A policy has ``predict_action`` and ``predict_rewards``, a model of numbers ``predict_number`` alone.
        Columns are found by name (by position, if training had no names); ``NA`` and ``NaN`` are missing values.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.r import to_r

        return to_r(self._for_raw_rows())

    def to_excel(self, cells: Mapping[Any, str] | Sequence[str] | None = None) -> str:
        """Return a formula of Excel or LibreOffice that gives the prediction for the row beside it; copy it down.

        Blank cells are missing values, dates are dates, booleans are ``TRUE`` and ``FALSE``. Names of functions are
        English and arguments have commas between them, as in files; :meth:`to_xlsx` works in every language. Numbers
        are compared to 15 digits, as cells show them, and times to thousandths of a second. A number that is
        predicted is the same float64, of which cells show 15 digits.

        Parameters
        ----------
        cells : cell of a column in the first row, by the name of the column (by its number, if training had no names);
            by default ``A2``, ``B2``, ... in the order of the training columns, which is not that of a sheet with the
            target among them. Or row 1 of the sheet as it stands, such as ``list(frame.columns)``, from cell A1

        Raises
        ------
        ValueError
            If the sheet lacks a column that the model tests, the formula is too long for a cell, or a spreadsheet
            cannot hold the model; the message says what to do.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.excel import to_excel

        return to_excel(self._for_raw_rows(), cells)

    def to_xlsx(self, path: str | os.PathLike[str] | None = None, *, rows: int = 1000) -> bytes:
        """Return an Excel workbook, and write it to ``path`` if given; needs the package xlsxwriter.

        Type or paste rows into the columns that the model tests, and the prediction stands beside them. A row without
        any value has none. Large models are cut into steps on a hidden sheet.

        Parameters
        ----------
        path : file to write, or None
        rows : number of rows that have formulas
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.workbook import to_xlsx

        made = to_xlsx(self._for_raw_rows(), rows)
        if path is not None:
            write_whole(Path(path), made)
        return made

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, missing_text: str = "") -> Any:
        """Return the model as an ``onnx.ModelProto``, and write it to ``path`` if given; needs the package onnx.

        Inputs and thresholds are float64. The input is ``X``, of shape (n_rows, n_features), as :meth:`to_numbers`
        returns it, with NaN for missing values. If the model tests columns of text, there is instead one input of shape
        (n_rows, 1) for each column that it tests, with the name of the column. The outputs are ``label`` and
        ``probabilities``; of a policy ``label`` and ``rewards``, of numbers ``value`` in float64. An output that would
        have the name of a column has ``_`` behind its own.

        Parameters
        ----------
        path : file to write, or None
        missing_text : text that stands for a missing value in columns of text, since ONNX has no missing text
        """
        # Start-up time: onnx is optional and slow to load.
        from proofwood.show.exports.onnx import to_onnx

        made = to_onnx(self._for_raw_rows(), missing_text=missing_text)
        if path is not None:
            write_whole(Path(path), made.SerializeToString())
        return made

    def to_pmml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the model as a PMML 4.4 document, and write it to ``path`` if given.

        Columns of text are strings; dates and times are numbers, as :meth:`to_numbers` returns them. A model of numbers
        is a regression tree, a policy a classification by its actions, without their rewards.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.pmml import to_pmml

        text = to_pmml(self._for_raw_rows())
        if path is not None:
            write_whole(Path(path), text.encode())
        return text

    def to_dmn(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the model as a decision table of DMN 1.3, and write it to ``path`` if given.

        There is one rule for each way to a leaf, and exactly one holds for any row (hit policy UNIQUE). A column whose
        name FEEL does not permit gets another; the label of its input has its own. Missing values are ``null``. Sums of
        oblique models are sums of decimals in FEEL, whose last digits differ from those of ``predict``.
        """
        # Start-up time: few models are exported.
        from proofwood.show.exports.dmn import to_dmn

        text = to_dmn(self._for_raw_rows())
        if path is not None:
            write_whole(Path(path), text.encode())
        return text

    def rules(self, *, frame: bool = False) -> Any:
        """Return the model as a list of rules; exactly one of them holds for any row.

        Parameters
        ----------
        frame : if True, return a polars frame with one row per rule instead of a list of dicts

        Returns
        -------
        list of dict, or polars.DataFrame
            ``rule``: number; ``if``: the conditions in words; ``class`` (of a policy ``action``, of numbers
            ``prediction``); ``conditions``: one per column, with ``above`` and ``up_to`` (as numbers of
            :meth:`to_numbers`), ``in`` or ``not_in``, and whether the value may be ``missing`` and may be ``present``;
            ``probabilities`` (of a policy ``rewards``, the mean reward of each action); ``leaf``: the node of
            ``model_``; ``leaf_rows``, ``leaf_weight``: training rows and weight of that leaf. In a diagram, several
            rules may have the same leaf. In a frame, conditions are text and each probability is a column.
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
            flat.append({name: value for name, value in one.items() if not isinstance(value, (list, dict))})
            for numbers, what in (("probabilities", "probability"), ("rewards", "mean reward")):
                flat[-1] |= {f"{what} of {label}": number for label, number in one.get(numbers, {}).items()}
        return pl.DataFrame(flat, infer_schema_length=None)
