"""A model as R without packages: functions over a data frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import (
    OF_CLASSES,
    Ask,
    Exported,
    ExportError,
    exact,
    label_type,
    require_exact_levels,
    require_utf8,
)

_READERS = {
    "column": """\
# The column of a data frame, with factors as text.
column <- function(frame, name) {
  values <- if (is.character(name) && !(name %in% names(frame))) NULL else frame[[name]]
  if (is.null(values)) stop("no column ", name)
  if (is.factor(values)) as.character(values) else values
}""",
    "number": """\
# Numbers; NA where they are missing.
read_number <- function(values) {
  numbers <- suppressWarnings(as.numeric(values))
  if (any(is.na(numbers) & !is.na(values))) stop("no number: ", values[is.na(numbers) & !is.na(values)][1])
  numbers
}""",
    "boolean": """\
# 1 for TRUE, 0 for FALSE, also as text; NA where they are missing.
read_boolean <- function(values) {
  at <- match(tolower(trimws(as.character(values))), c("false", "true", "0", "1"))
  if (any(is.na(at) & !is.na(values))) stop("neither true nor false: ", values[is.na(at) & !is.na(values)][1])
  (at - 1) %% 2
}""",
    "text": """\
# Texts; NA where they are missing.
read_text <- function(values) {
  enc2utf8(as.character(values))
}""",
    "date": """\
# Days since 1970-01-01 of dates, moments without a time zone, or ISO text; NA where they are missing.
read_date <- function(values) {
  if (inherits(values, "Date")) floor(as.numeric(values)) else floor(read_moment(values) / 86400e6)
}""",
    "moment": """\
# Microseconds since 1970-01-01 of POSIXct or POSIXlt as shown, dates, or ISO text without a zone; NA if missing.
read_moment <- function(values) {
  if (inherits(values, "Date")) return(floor(as.numeric(values)) * 86400e6)
  if (!inherits(values, "POSIXt")) return(read_iso(values, FALSE))
  shown <- as.POSIXlt(values)
  (as.numeric(as.Date(shown)) * 1440 + shown$hour * 60 + shown$min) * 60e6 + round(shown$sec * 1e6)
}""",
    "instant": """\
# Microseconds since 1970-01-01 in UTC of POSIXct or POSIXlt, or ISO text with an offset; NA where they are missing.
read_instant <- function(values) {
  if (inherits(values, "POSIXt")) round(as.numeric(as.POSIXct(values)) * 1e6) else read_iso(values, TRUE)
}""",
    "time": """\
# Microseconds since midnight of differences of time, or text such as "14:30:00.5"; NA where they are missing.
read_time <- function(values) {
  if (inherits(values, "difftime")) return(read_duration(values))
  read_moment(ifelse(is.na(values), NA, paste("1970-01-01", values)))
}""",
    "duration": """\
# Microseconds of differences of time; NA where they are missing.
read_duration <- function(values) {
  if (!inherits(values, "difftime") && !all(is.na(values))) stop("no difference of time: ", values[!is.na(values)][1])
  round(as.numeric(values, units = "secs") * 1e6)
}""",
    "iso": """\
read_iso <- function(values, zoned) {
  time <- "[T ](\\\\d{2}):(\\\\d{2})(?::(\\\\d{2})(?:\\\\.(\\\\d{1,6})\\\\d*)?)? ?(Z|[+-]\\\\d{2}:?\\\\d{2})?"
  form <- paste0("^(\\\\d{4}-\\\\d{2}-\\\\d{2})(?:", time, ")?$")
  number <- function(text) if (is.na(text) || text == "") 0 else as.numeric(text)
  vapply(trimws(as.character(values)), function(value) {
    if (is.na(value)) return(NA_real_)
    part <- regmatches(value, regexec(form, value, perl = TRUE))[[1]]
    day <- if (length(part) == 0) NA else as.numeric(as.Date(part[2], format = "%Y-%m-%d"))
    if (is.na(day)) stop("no ISO date: ", value)
    zone <- if (length(part) < 7) "" else part[7]
    if ((zone != "") != zoned) stop(if (zoned) "no" else "a", " time zone: ", value)
    offset <- if (zone %in% c("", "Z")) 0 else {
      digits <- sub(":", "", zone)
      number(paste0(substr(digits, 1, 1), 1)) * (number(substr(digits, 2, 3)) * 60 + number(substr(digits, 4, 5)))
    }
    minutes <- day * 1440 + number(part[3]) * 60 + number(part[4]) - offset
    (minutes * 60 + number(part[5])) * 1e6 + number(substr(paste0(part[6], "000000"), 1, 6))
  }, numeric(1), USE.NAMES = FALSE)
}""",
}
_NEEDS = {"date": {"moment", "iso"}, "time": {"duration", "moment", "iso"}, "moment": {"iso"}, "instant": {"iso"}}


def to_r(model: Exported) -> str:
    """R source with ``predict_class(frame)`` and ``predict_shares(frame)``, or others for what the model predicts."""
    words = model.words
    answers, numbers = words.answers.upper(), f"{words.numbers.upper()}_OF_LEAF"
    asked = "predict_shares" if words is OF_CLASSES else f"predict_{words.asked}"
    told = f"{asked}(frame) a matrix with the {words.numbers} of {answers}. " if model.labels else ""
    names = identifiers(model)
    readers = {column: model.reader(column, "a column in R") for column in model.used}
    needed = {*(["column"] if readers else []), *readers.values()}
    needed = needed.union(*(_NEEDS.get(reader, set()) for reader in readers.values()))
    keys = {column: _string(model.columns[column].name) if model.by_name else str(column + 1) for column in model.used}
    lines = [
        f"# A decision model written by proofwood: predict_{words.answer}(frame) gives the {words.answer} of each row "
        f"of a data frame{',' if told else '.'}",
        f"# {told}NA and NaN are missing values.",
        "# Columns that the model reads:",
        *(
            f"# {keys[column] if model.by_name else f'column {keys[column]}'}: {readers[column]}{model.note(column)}"
            for column in model.used
        ),
        "",
    ]
    if model.labels:
        lines += [
            f"{answers} <- {_vector(_labels(model))}",
            f"LABEL_OF_LEAF <- {_vector(str(code + 1) for code in model.label_of_leaf)}",
        ]
    lines += [
        f"{numbers} <- matrix(c(",
        ",\n".join(f"  {', '.join(map(number, of_leaf))}" for of_leaf in model.numbers_of_leaf.tolist()),
        f"), ncol = {len(model.labels) or 1}, byrow = TRUE)",
    ]
    for reader in _READERS:
        lines += ["", _READERS[reader]] if reader in needed else []
    arguments = [_argument(model, column, f"read_{readers[column]}(column(frame, {keys[column]}))") for column in names]
    rows = f"mapply(node_0, {', '.join(arguments)}, USE.NAMES = FALSE)" if arguments else "rep(node_0(), nrow(frame))"
    lines += [
        "",
        *functions(model, _R(model, names)),
        "leaf_of <- function(frame) {",
        f"  as.integer(unlist({rows}))",
        "}",
        "",
        f"predict_{words.answer} <- function(frame) {{",
        f"  {f'{answers}[LABEL_OF_LEAF[leaf_of(frame)]]' if model.labels else f'{numbers}[leaf_of(frame), 1]'}",
        "}",
    ]
    if model.labels:
        lines += [
            "",
            f"{asked} <- function(frame) {{",
            f"  found <- {numbers}[leaf_of(frame), , drop = FALSE]",
            f"  colnames(found) <- {answers}",
            "  found",
            "}",
        ]
    return "\n".join(lines) + "\n"


class _R(Language):
    step = "  "
    true, false = "TRUE", "FALSE"
    nan = null = "is.na({})"
    end = ""
    most_calls = 60  # R permits 5,000 nested expressions, and each condition is one or two

    def compared(self, value: str, ask: Ask) -> str:
        return f"isTRUE({super().compared(value, ask)})"

    def number(self, value: float) -> str:
        return number(value)

    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        return f"{name} %in% {_vector(_values(self.model, column, codes))}"

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"{name} <- function({', '.join(self.names.values())}) {{", *indented(body, self.step), "}"]

    def leaf(self, number: int, comment: str) -> str:
        return f"{number + 1}L # {comment}"

    def call(self, name: str) -> str:
        return super().call(name).removeprefix("return ")


def _argument(model: Exported, column: int, read: str) -> str:
    if not model.ordered(column):
        return read
    levels = _vector(_values(model, column, range(len(model.columns[column].levels))))
    return f"match({read}, {levels}) - 1"


def _values(model: Exported, column: int, codes: Iterable[int]) -> list[str]:
    """The literals of the levels with these codes, as the generated readers return them."""
    require_exact_levels(model, column, "a number of R")
    return [_string(value) if isinstance(value, str) else number(float(value)) for value in model.values(column, codes)]


def _labels(model: Exported) -> list[str]:
    kind = label_type(model.labels, "a vector of R")
    return [_label(kind(label)) for label in model.labels]


def _label(label: Any) -> str:
    if isinstance(label, bool):
        return str(label).upper()
    if isinstance(label, int) and abs(label) < 2**31:
        return f"{label}L"
    if isinstance(label, int) and float(label) != label:
        raise ExportError(f"the class {label} is a whole number that R cannot represent: make the classes text")
    return _string(label) if isinstance(label, str) else number(float(label))


def _vector(literals: Iterable[str]) -> str:
    return f"c({', '.join(literals)})"


def number(value: float) -> str:
    """A float64 as a literal that R reads as the same number.

    R multiplies and divides while it reads decimals, which is exact only for up to 15 digits and small powers of ten.
    """
    text = exact(value)
    mantissa, _, power = text.partition("e")
    whole, _, part = mantissa.partition(".")
    digits = re.sub(r"\D", "", mantissa).strip("0")
    if len(digits) <= 15 and abs(int(power or 0) - len(part)) <= 22 and len(whole) <= 20:
        return text
    return float(value).hex()


def _string(text: str) -> str:
    """A string of R in ASCII."""
    if "\0" in text:
        raise ExportError(f"the text {text!r} contains a zero byte, which would end a string in R: replace it")
    require_utf8(text)
    return f'"{"".join(map(_character, text))}"'


def _character(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if " " <= char <= "~" else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
