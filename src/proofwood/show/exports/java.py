"""A model as one class of Java 11 or later, without dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from proofwood.show.exports.nested import Language, functions, identifiers, indented
from proofwood.show.exports.source import (
    Exported,
    ExportError,
    exact,
    export_a_program,
    require_exact_levels,
    require_utf8,
)

LONGEST = 1_500
"""The most tests and values in one method; Java permits 65,535 bytes of code, and each takes up to twenty or so."""
MOST_CONSTANTS = 60_000
"""The most constants of a class; Java permits 65,535, and a number takes two of them."""
_READERS = {
    "number": """\
/** A number; NaN if it is missing. */
private static double readNumber(Object value) {
    if (value == null) return Double.NaN;
    return value instanceof Number ? ((Number) value).doubleValue() : Double.parseDouble(value.toString().trim());
}""",
    "boolean": """\
/** 1 for true, 0 for false, also as text; NaN if it is missing. */
private static double readBoolean(Object value) {
    if (isMissing(value)) return Double.NaN;
    String text = value instanceof Number ? String.valueOf(((Number) value).longValue()) : value.toString();
    int at = List.of("false", "true", "0", "1").indexOf(text.trim().toLowerCase(Locale.ROOT));
    if (at < 0) throw new IllegalArgumentException("neither true nor false: " + value);
    return at % 2;
}""",
    "text": """\
/** A text; null if it is missing. */
private static String readText(Object value) {
    return isMissing(value) ? null : value.toString();
}""",
    "date": """\
/** Days since 1970-01-01 of a LocalDate, a LocalDateTime or ISO text; NaN if it is missing. */
private static double readDate(Object value) {
    return Math.floor(readMoment(value) / 86400e6);
}""",
    "moment": """\
/** Microseconds since 1970-01-01 of a LocalDateTime, a LocalDate or ISO text without a zone; NaN if it is missing. */
private static double readMoment(Object value) {
    if (isMissing(value)) return Double.NaN;
    if (value instanceof LocalDate) return ((LocalDate) value).toEpochDay() * 86400e6;
    String text = value.toString().trim().replace(' ', 'T');
    LocalDateTime moment = LocalDateTime.parse(text.contains("T") ? text : text + "T00:00");
    return microseconds(moment.toEpochSecond(ZoneOffset.UTC), moment.getNano());
}""",
    "instant": """\
/** Microseconds since 1970-01-01 of an Instant, OffsetDateTime, ZonedDateTime or ISO text with its offset. */
private static double readInstant(Object value) {
    if (isMissing(value)) return Double.NaN;
    Instant instant = value instanceof ZonedDateTime ? ((ZonedDateTime) value).toInstant()
        : value instanceof Instant ? (Instant) value
        : OffsetDateTime.parse(value.toString().trim().replaceFirst(" (?=\\\\d)", "T").replace(" ", "")
            .replaceFirst("([+-]\\\\d\\\\d)(\\\\d\\\\d)$", "$1:$2")).toInstant();
    return microseconds(instant.getEpochSecond(), instant.getNano());
}""",
    "time": """\
/** Microseconds since midnight of a LocalTime or a text such as "14:30:00.5"; NaN if it is missing. */
private static double readTime(Object value) {
    return isMissing(value) ? Double.NaN : LocalTime.parse(value.toString().trim()).toNanoOfDay() / 1000;
}""",
    "duration": """\
/** Microseconds of a Duration; NaN if it is missing. */
private static double readDuration(Object value) {
    if (isMissing(value)) return Double.NaN;
    Duration duration = (Duration) value;
    return microseconds(duration.getSeconds(), duration.getNano());
}""",
    "missing": """\
private static boolean isMissing(Object value) {
    return value == null || value instanceof Number && Double.isNaN(((Number) value).doubleValue());
}""",
    "microseconds": """\
private static double microseconds(long seconds, int nanoseconds) {
    return Math.addExact(Math.multiplyExact(seconds, 1_000_000L), nanoseconds / 1000);
}""",
}
_NEEDS = {"moment": {"microseconds"}, "instant": {"microseconds"}, "duration": {"microseconds"}}
_NEEDS |= {"date": {"moment", "microseconds"}}
_MEMBER = """\
private static boolean in({0} value, {0}... levels) {{
    for ({0} level : levels) if ({1}) return true;
    return false;
}}"""
_TYPES = {str: "String", bool: "boolean", int: "long", float: "double"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def to_java(model: Exported, class_name: str = "DecisionModel") -> str:
    """Source of a class with the method ``predict(row)`` and, beside labels, one for the numbers at a leaf."""
    if not _NAME.fullmatch(class_name):
        raise ExportError(f"class_name={class_name!r}: expected letters, digits and underscores, such as 'LoanModel'")
    names = {column: f"row.{name}" for column, name in identifiers(model).items()}
    language = _Java(model, names)
    readers = {column: model.reader(column, "a column in Java") for column in model.used}
    needed = set(readers.values()).union({"missing"}, *(_NEEDS.get(reader, set()) for reader in readers.values()))
    typed = _TYPES[model.answer_type("an array of Java")]
    words, answers, numbers = model.words, model.words.answers.upper(), _numbers(model)
    asked = f"predict{words.asked.title()}"
    keys = {column: _string(model.columns[column].name) if model.by_name else str(column) for column in model.used}
    row = "Map<String, ?>" if model.by_name else "List<?>"
    what = "a value for the name of each column" if model.by_name else "the values of the columns in order"
    body = [f"private static final double[][] {numbers} = new double[{len(model.leaves)}][];"]
    answer, told = f"{numbers}[node_0(new Row(row))][0]", ""
    if model.labels:
        listed = ", ".join(_literal(label, typed) for label in model.labels)
        answer, told = f"{answers}[LABEL_OF_LEAF[node_0(new Row(row))]]", f", {asked}(row) the"
        body += [
            f"public static final {typed}[] {answers} = {{{listed}}};",
            f"private static final int[] LABEL_OF_LEAF = new int[{len(model.leaves)}];",
            "",
            f"public static double[] {asked}({row} row) {{",
            f"    return {numbers}[node_0(new Row(row))].clone();",
            "}",
        ]
    body += [
        "",
        f"public static {typed} predict({row} row) {{",
        f"    return {answer};",
        "}",
        "",
        *_leaves(model),
        *_row(model, names, readers, keys, row),
        *functions(model, language),
        *(line for reader in _READERS if reader in needed for line in [*_READERS[reader].splitlines(), ""]),
        *_MEMBER.format("double", "level == value").splitlines(),
        "",
        *_MEMBER.format("String", "level.equals(value)").splitlines(),
    ]
    lines = [
        f"// A decision model written by proofwood: predict(row) gives the {words.answer} of a row{told or '.'}",
        f"// {told and f'{words.numbers} of {answers}. '}A row has {what}; null and NaN are missing values.",
        "// Columns that the model reads:",
        *(f"// {_in_comment(keys[column])}: {readers[column]}{model.note(column)}" for column in model.used),
        "import java.time.*;",
        "import java.util.*;",
        "",
        f"public final class {class_name} {{",
        *indented(body, "    "),
        "}",
    ]
    _require_few_constants(model)
    return "\n".join(lines) + "\n"


class _Java(Language):
    nan, null = "Double.isNaN({})", "{} == null"
    longest = LONGEST

    def member(self, name: str, column: int, codes: frozenset[int]) -> str:
        values = _values(self.model, column, codes)
        if len(values) > LONGEST:
            raise ExportError(
                f"a test of column {self.model.columns[column].name!r} lists {len(values):,} levels, too many for a "
                "method of Java: " + export_a_program()
            )
        return f"in({', '.join([name, *values])})" if values else self.false

    def function(self, name: str, body: Iterable[str]) -> list[str]:
        return [f"private static int {name}(Row row) {{", *indented(body, self.step), "}"]

    def leaf(self, number: int, comment: str) -> str:
        return f"return {number}; // {comment}"

    def call(self, name: str) -> str:
        return f"return {name}(row);"


def _numbers(model: Exported) -> str:
    """The name of the table of the numbers of leaves."""
    return f"{model.words.numbers.upper()}_OF_LEAF"


def _leaves(model: Exported) -> list[str]:
    """Static methods that fill the tables of the leaves, each short enough for Java."""
    numbers, step = model.numbers_of_leaf.tolist(), max(1, LONGEST // (len(model.labels) + 2))
    lines = []
    for number, start in enumerate(range(0, len(numbers), step)):
        lines.append(f"private static void leaves_{number}() {{")
        for leaf in range(start, min(start + step, len(numbers))):
            lines.append(f"    {_numbers(model)}[{leaf}] = new double[] {{{', '.join(map(exact, numbers[leaf]))}}};")
            if model.labels:
                lines.append(f"    LABEL_OF_LEAF[{leaf}] = {model.label_of_leaf[leaf]};")
        lines += ["}", ""]
    calls = [f"    leaves_{number}();" for number in range(-(-len(numbers) // step))]
    return [*lines, "static {", *calls, "}", ""]


def _row(
    model: Exported, names: dict[int, str], readers: dict[int, str], keys: dict[int, str], given: str
) -> list[str]:
    """The class of a row that is read: a field for each column that the model tests."""
    lines, reads = ["private static final class Row {"], []
    for column, reader in readers.items():
        field = names[column].removeprefix("row.")
        read = f"read{reader.title()}(row.get({keys[column]}))"
        if model.ordered(column):
            levels = ", ".join(_values(model, column, range(len(model.columns[column].levels))))
            read = f"place({read}, {levels})"
        text = reader == "text" and not model.ordered(column)
        lines.append(f"    final {'String' if text else 'double'} {field};")
        reads.append(f"        {field} = {read};")
    lines += ["", f"    Row({given} row) {{", *reads, "    }", "}", ""]
    for typed, equal in (("double", "levels[i] == value"), ("String", "levels[i].equals(value)")):
        lines += [
            f"private static double place({typed} value, {typed}... levels) {{",
            f"    for (int i = 0; i < levels.length; i++) if ({equal}) return i;",
            "    return Double.NaN;",
            "}",
            "",
        ]
    return lines


def _require_few_constants(model: Exported) -> None:
    asks = [model.ask(node) for node in model.table.splits()]
    numbers = {ask.threshold for ask in asks} | {value for ask in asks for _, value in ask.terms}
    numbers |= set(model.numbers_of_leaf.ravel().tolist())
    levels = sum(len(model.columns[column].levels) for column in model.used)
    count = 2 * (len(numbers) + levels + len(model.used) + len(model.labels)) + 3 * (len(asks) // 10 + 50)
    if count > MOST_CONSTANTS:
        raise ExportError(
            f"the model has {len(asks):,} tests and {len(numbers):,} numbers, too many for one class of Java: "
            + export_a_program()
        )


def _values(model: Exported, column: int, codes: Iterable[int]) -> Sequence[str]:
    """The literals of the levels with these codes, as the generated readers return them."""
    require_exact_levels(model, column, "a double of Java")
    return [_string(value) if isinstance(value, str) else exact(float(value)) for value in model.values(column, codes)]


def _literal(label: Any, typed: str) -> str:
    if typed == "String":
        return _string(label)
    if typed == "long":
        if abs(int(label)) >= 2**63:
            raise ExportError(f"the class {label} is a whole number that Java cannot represent: make the classes text")
        return f"{int(label)}L"
    return str(label).lower() if typed == "boolean" else exact(label)


def _string(text: str) -> str:
    """A string of Java in ASCII, with octal escapes: those with u stand for line ends that would end the string."""
    require_utf8(text)
    return f'"{"".join(map(_character, text))}"'


def _character(char: str) -> str:
    if ord(char) > 126:
        units = char.encode("utf-16-be").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return char if char >= " " and char not in '"\\' else f"\\{ord(char):03o}"


def _in_comment(literal: str) -> str:
    return literal.replace("\\u", "u+")
