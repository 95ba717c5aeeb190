"""A model as an Excel workbook: rows that a person types or pastes, and the class of each beside them."""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from typing import Any

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.hints import way_out
from proofwood.show.exports.excel import ROW, Formulas, formulas_with_rows, length, letters
from proofwood.show.exports.source import Exported, ExportError, conversion, export_a_program, require_utf8

MOST_CHARACTERS = 50_000_000
"""The most characters of all formulas of a workbook."""
MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 2**20 - 1, 2**14, 2**15 - 1
_FORMATS = {
    None: "@",  # as typed: 01 stays 01
    Kind.DATE: "yyyy-mm-dd",
    Kind.MOMENT: "yyyy-mm-dd hh:mm:ss",
    Kind.TIME: "hh:mm:ss",
    Kind.DURATION: "[h]:mm:ss",
}
_WORDS = {
    None: "text",
    Kind.BOOLEAN: "TRUE or FALSE",
    Kind.DATE: "date",
    Kind.MOMENT: "date and time",
    Kind.TIME: "time of day",
    Kind.DURATION: "duration",
}


def to_xlsx(model: Exported, rows: int = 1000) -> bytes:
    """The bytes of a workbook with formulas for ``rows`` rows.

    Its sheet ``predict`` has the columns that the model tests and the prediction; ``columns`` says what each column
    takes; ``steps``, which is hidden, has parts of formulas that are too long for one cell.

    Raises
    ------
    ImportError
        If the package xlsxwriter is not installed.
    ExportError
        If a workbook cannot hold the model.
    """
    # Start-up time: xlsxwriter is optional.
    try:
        import xlsxwriter
    except ImportError as error:
        raise ImportError("to_xlsx() needs the package xlsxwriter: pip install 'proofwood[excel]'") from error
    if not 1 <= rows <= MOST_ROWS:
        raise ExportError(f"rows={rows!r}: expected 1 to {MOST_ROWS:,}, the rows of a sheet below its header")
    formulas = _formulas(model)
    _require_room(model, formulas, rows)
    buffer = BytesIO()
    # Texts of the model stay texts, also those that look like formulas, numbers or addresses.
    book = xlsxwriter.Workbook(
        buffer,
        {"in_memory": True, "strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False},
    )
    book.set_properties({"created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the same model makes the same file
    bold = book.add_format({"bold": True})
    sheet, about = book.add_worksheet("predict"), book.add_worksheet("columns")
    for at, column in enumerate(model.used):
        _add_column(model, column, at, rows, book, sheet, about, bold)
    sheet.freeze_panes(1, 0)
    prediction = f'=IF(COUNTA(A{ROW}:{letters(max(len(model.used) - 1, 0))}{ROW})=0,"",{formulas.prediction})'
    if not model.used:
        prediction = f"={formulas.prediction}"
    sheet.write_string(0, len(model.used), _new_name("prediction", model), bold)
    _fill(sheet, len(model.used), [prediction], rows)
    if formulas.steps:
        steps = book.add_worksheet("steps")
        _fill(steps, 0, [f"={step}" for step in formulas.steps], rows)
        steps.hide()
    book.close()
    return buffer.getvalue()


def _formulas(model: Exported) -> Formulas:
    """The formulas of a row. If there are steps, which have a sheet of their own, cells name the sheet of the rows."""
    cells = {column: f"{letters(at)}{ROW}" for at, column in enumerate(model.used)}
    found = Formulas(model, cells)
    return Formulas(model, {column: f"predict!{cell}" for column, cell in cells.items()}) if found.steps else found


def _require_room(model: Exported, formulas: Formulas, rows: int) -> None:
    total = sum(map(length, [formulas.prediction, *formulas.steps]))
    if total * rows > MOST_CHARACTERS:
        raise ExportError(
            f"the formulas of one row have {total:,} characters, and those of {rows:,} rows more than the "
            f"{MOST_CHARACTERS:,} of a file that opens: ask for at most {MOST_CHARACTERS // total:,} rows, such as "
            + way_out("to_xlsx(path, rows=100)", "--rows 100")
        )
    if max(len(model.used) + 1, len(formulas.steps)) > MOST_COLUMNS:
        raise ExportError(
            f"the model tests {len(model.used):,} columns and needs {len(formulas.steps):,} steps, but a sheet has "
            f"{MOST_COLUMNS:,} columns: {export_a_program()}"
        )


def _add_column(model: Exported, column: int, at: int, rows: int, book: Any, sheet: Any, about: Any, bold: Any) -> None:
    """A column of the rows: its name, format, permitted values, and a line of the sheet that explains it."""
    meaning, kind = model.columns[column], model.read_as(column)
    name = _cell_text(meaning.name)
    sheet.write_string(0, at, name, bold)
    form = _FORMATS.get(kind)
    sheet.set_column(
        at, at, min(max(len(name) + 2, 12), 40), None if form is None else book.add_format({"num_format": form})
    )
    about.write_string(at, 0, name, bold)
    told = conversion(meaning)
    about.write_string(at, 1, f"{_WORDS.get(kind, 'number')}{told and '; '}{_cell_text(told)}")
    for place, level in enumerate(meaning.levels[: MOST_COLUMNS - 2] if kind is None else ()):
        about.write_string(at, 2 + place, _cell_text(level))
    permitted = _permitted(kind, len(meaning.levels), at)
    if permitted is not None:  # a warning, not an error: other levels and blanks have their way through the model
        sheet.data_validation(1, at, rows, at, {**permitted, "error_type": "warning", "ignore_blank": True})


def _permitted(kind: Kind | None, n_levels: int, at: int) -> dict[str, Any] | None:
    """The values that a cell takes without a warning."""
    if kind is None:
        last = letters(1 + min(n_levels, MOST_COLUMNS - 2))
        return {"validate": "list", "source": f"=columns!$C${at + 1}:${last}${at + 1}"}
    if kind is Kind.BOOLEAN:
        return {"validate": "list", "source": ["TRUE", "FALSE"]}
    if kind in MOMENTS:
        return None
    return {"validate": "decimal", "criteria": "between", "minimum": -1e300, "maximum": 1e300}


def _fill(sheet: Any, first: int, formulas: list[str], rows: int) -> None:
    """Write formulas beside each other into every row, with the result that they have for a blank row."""
    for row in range(1, rows + 1):
        for at, formula in enumerate(formulas_with_rows(formulas, row + 1)):
            sheet.write_formula(row, first + at, formula, None, "")


def _new_name(name: str, model: Exported) -> str:
    while name in {model.columns[column].name for column in model.used}:
        name += "_"
    return name


def _cell_text(text: str) -> str:
    require_utf8(text)
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise ExportError(f"the text {text[:40]!r}... is longer than a cell holds, or has a zero byte: shorten it")
    return text
