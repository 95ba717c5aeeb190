"""A model as a C99 file without dependencies."""

from __future__ import annotations

from collections.abc import Iterable

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import (
    Exported,
    ExportError,
    exact,
    in_comment,
    require_exact_levels,
    require_utf8,
)

_UNITS = {
    Kind.DATE: "days since 1970-01-01",
    Kind.MOMENT: "microseconds since 1970-01-01 00:00",
    Kind.TIME: "microseconds since midnight",
    Kind.DURATION: "microseconds",
}
_OTHERS = {Kind.BOOLEAN: "0 or 1"}


def to_c(model: Exported) -> str:
    """C source with ``predict``, the names of labels and the numbers beside them, and ``level_code`` for categories."""
    words = model.words
    names = identifiers(model)
    language = _C(model, names)
    n_labels, n_columns = len(model.labels), len(model.columns)
    of_row = f"of a row of {n_columns} values, NAN if missing"
    texts = [column for column in model.used if model.has_levels(column)]
    typed = [column for column in texts if model.read_as(column) is not None]
    lines = [
        "/* A decision model written by proofwood, in C99.",
        " *",
        *(
            [
                f" * int predict(const double *row)       code of the {words.answer} {of_row}",
                f" * {f'void predict_{words.asked}(row, out)':<36} {words.numbers} of the {n_labels} {words.answers}",
                f" * {f'const char *{words.answer}_names[]':<36} labels by code",
            ]
            if model.labels
            else [f" * double predict(const double *row)    number {of_row}"]
        ),
        *(
            [" * double level_code(column, text)      the number for a text in a row; text is NULL if missing"]
            * bool(texts)
        ),
        *(
            [" * double number_level_code(column, x)  the number for a category that is not text; x is NAN if missing"]
            * bool(typed)
        ),
        " *",
        " * Columns that the model reads:",
        *(
            f" * row[{column}]: {in_comment(model.columns[column].name)}, {_meaning(model, column)}{model.note(column)}"
            for column in model.used
        ),
    ]
    if model.table.normals is not None:
        lines += [" *", " * Compile with -ffp-contract=off: sums are rounded after each product, as in training."]
    lines += [" */", "#include <math.h>", *(["#include <string.h>"] * bool(texts)), ""]
    numbers = f"{words.numbers}_of_leaf"
    if model.labels:
        shown = ", ".join(_string(str(label)) for label in model.labels)
        lines += [
            f"const char *{words.answer}_names[{n_labels}] = {{{shown}}};",
            f"static const int label_of_leaf[] = {{{', '.join(map(str, model.label_of_leaf))}}};",
        ]
    lines += [
        f"static const double {numbers}[][{n_labels or 1}] = {{",
        *(f"    {{{', '.join(map(exact, of_leaf))}}}," for of_leaf in model.numbers_of_leaf.tolist()),
        "};",
        "",
        *_level_codes(model, texts),
        *_number_level_codes(model, typed),
        *functions(model, language),
        "static int leaf_of(const double *row) {",
        f"    return node_0({', '.join(_value(model, column) for column in model.used)});",
        "}",
        "",
        f"{'int' if model.labels else 'double'} predict(const double *row) {{",
        f"    return {'label_of_leaf[leaf_of(row)]' if model.labels else f'{numbers}[leaf_of(row)][0]'};",
        "}",
    ]
    if model.labels:
        lines += [
            "",
            f"void predict_{words.asked}(const double *row, double *out) {{",
            f"    const double *of_leaf = {numbers}[leaf_of(row)];",
            f"    for (int i = 0; i < {n_labels}; i++) out[i] = of_leaf[i];",
            "}",
        ]
    if not model.used:
        lines = [
            line.replace("leaf_of(const double *row) {", "leaf_of(const double *row) {\n    (void)row;")
            for line in lines
        ]
    return "\n".join(lines) + "\n"


class _C(Language):
    true, false, present = "1", "0", "!{}"

    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        return " || ".join(f"{name} == {code}" for code in sorted(codes))

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        arguments = ", ".join(f"double {variable}" for variable in self.names.values()) or "void"
        unused = [f"(void){variable};" for variable in self.names.values()]
        return [f"static int {name}({arguments}) {{", *indented([*unused, *body], self.step), "}"]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}; /* {comment} */"


def _level_codes(model: Exported, texts: list[int]) -> list[str]:
    if not texts:
        return []
    lines = ["double level_code(int column, const char *text) {", "    if (text == NULL) return NAN;"]
    for column in texts:
        levels = model.columns[column].levels
        unknown = "NAN" if model.ordered(column) else f"{len(levels)}.0"
        lines.append(f"    if (column == {column}) {{")
        lines += [
            f"        if (strcmp(text, {_string(text)}) == 0) return {code}.0;" for code, text in enumerate(levels)
        ]
        lines += [f"        return {unknown};", "    }"]
    return [*lines, "    return NAN;", "}", ""]


def _number_level_codes(model: Exported, typed: list[int]) -> list[str]:
    """C source of ``number_level_code``, which returns the codes of categories that are booleans, numbers or times."""
    if not typed:
        return []
    lines = ["double number_level_code(int column, double x) {", "    if (isnan(x)) return NAN;"]
    for column in typed:
        require_exact_levels(model, column, "a double of C")
        values = model.values(column, range(len(model.columns[column].levels)))
        unknown = "NAN" if model.ordered(column) else f"{len(values)}.0"
        lines.append(f"    if (column == {column}) {{")
        for code, value in enumerate(values):
            lines.append(f"        if (x == {exact(value)}) return {code}.0;")
        lines += [f"        return {unknown};", "    }"]
    return [*lines, "    return NAN;", "}", ""]


def _value(model: Exported, column: int) -> str:
    """The value of a column in a row; NAN if the number stands for a missing value."""
    absent = " || ".join(f"row[{column}] == {exact(number)}" for number in model.absent(column))
    return f"{absent} ? NAN : row[{column}]" if absent else f"row[{column}]"


def _meaning(model: Exported, column: int) -> str:
    kind = model.read_as(column)
    if kind is None:
        return f"level_code({column}, text)"
    zoned = kind is Kind.MOMENT and model.columns[column].zone is not None
    unit = f"{_UNITS[kind]}{' in UTC' if zoned else ''}" if kind in MOMENTS else _OTHERS.get(kind, "number")
    return f"number_level_code({column}, x) of {unit}" if model.has_levels(column) else unit


def _string(text: str) -> str:
    """A C string literal in UTF-8, in which bytes beyond plain ASCII are octal escapes of three digits."""
    if "\0" in text:
        raise ExportError(f"the text {text!r} contains a zero byte, which would end a string in C: replace it")
    require_utf8(text)
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{shown}"'
