"""The SQL syntax of databases for names, texts, numbers, booleans, dates and times.

For a named dialect, sqlglot writes names and texts with the right quotes and escapes. This module adds literals of type
double, for exact comparisons with float64, and literals of dates and times with the type of the column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from proofwood.data.kinds import Kind
from proofwood.show.exports.source import ExportError, exact, instant, require_utf8

INSTALL = "pip install 'proofwood[sql]'"


@dataclass(frozen=True)
class Dialect:
    """The SQL syntax of one database. Templates have ``{}`` for the name or value.

    Parameters
    ----------
    title : name of the database for people
    sqlglot : name of the dialect in sqlglot; empty for SQL that most databases accept
    number : template for a float64 as a double
    extreme : template for very large or small float64, whose digits are given as an integer with an exponent
    moments : templates for a date, moment or time, by kind, given as ISO text
    casts : templates for a column of dates, moments or times, by kind, that may be stored as text
    instant : template for a moment in UTC, given as ISO text; None if the database cannot compare instants
    loose : whether dates may be stored as text, in which 10:30 and 10:30:00 are the same time
    truth : templates for tests of a boolean column: that it is true, and that it is false
    booleans : literals for true and false
    as_text : template for a text column, so that texts are compared character by character
    wide : prefix of a text that is not ASCII
    names : characters that no name may contain, and a description of them
    quote : quote for names, instead of that of sqlglot
    deepest : most nested expressions, or None
    most_listed : most values in a list, or None
    empty_is_null : whether an empty text is NULL
    aliased : whether ``*`` needs the name of a table, and a query must not end with a semicolon
    padded : whether comparisons ignore spaces at the end of texts
    """

    title: str
    sqlglot: str = ""
    number: str = "{}"
    extreme: str | None = None
    moments: tuple[tuple[Kind, str], ...] = ((Kind.DATE, "'{}'"), (Kind.MOMENT, "'{}'"), (Kind.TIME, "'{}'"))
    casts: tuple[tuple[Kind, str], ...] = ()
    instant: str | None = None
    loose: bool = False
    truth: tuple[str, str] = ("{}", "NOT {}")
    booleans: tuple[str, str] = ("TRUE", "FALSE")
    as_text: str = "{}"
    wide: str = ""
    names: tuple[str, str] = ("\0", "a zero byte")
    quote: str | None = None
    deepest: int | None = None
    most_listed: int | None = None
    empty_is_null: bool = False
    aliased: bool = False
    padded: bool = False

    def quoted(self, name: str) -> str:
        """The quoted name of a column or table. Raise ExportError if the database does not permit the name."""
        if not name or any(char in "\0" + self.names[0] for char in name):
            what = "is empty" if not name else f"contains {'a zero byte' if chr(0) in name else self.names[1]}"
            raise ExportError(
                f"the name {name!r} {what}, which {self.title} does not permit: rename the column or table"
            )
        require_utf8(name)
        if self.quote is not None or not self.sqlglot:
            mark = self.quote or '"'
            return mark + name.replace(mark, mark * 2) + mark
        # Start-up time: sqlglot is optional and slow to load.
        from sqlglot import exp

        return str(exp.to_identifier(name, quoted=True).sql(dialect=self.sqlglot))

    def alias(self, name: str, taken: Iterable[str]) -> str:
        """A valid name for a column of the result that is not in ``taken``: ``name``, changed if necessary."""
        shown = "".join("_" if char in "\0" + self.names[0] else char for char in name)
        lower = {one.lower() for one in taken}
        while shown.lower() in lower:
            shown += "_"
        return shown

    def text(self, value: str) -> str:
        """A text as a literal. Raise ExportError if the database cannot represent it."""
        if "\0" in value:
            raise ExportError(f"the text {value!r} contains a zero byte, which SQL does not permit: replace it")
        require_utf8(value)
        if self.empty_is_null and not value:
            raise ExportError(f"a level or label is an empty text, which {self.title} stores as NULL: replace it")
        if not self.sqlglot:
            return "'" + value.replace("'", "''") + "'"
        # Start-up time: sqlglot is optional and slow to load.
        from sqlglot import exp

        literal = str(exp.Literal.string(value).sql(dialect=self.sqlglot))
        return literal if value.isascii() else self.wide + literal

    def double(self, value: float) -> str:
        """A float64 as an exact literal of type double."""
        text = digits(value)
        if self.extreme is not None and value and not 1e-100 <= abs(value) <= 1e100:
            mantissa, _, exponent = text.partition("e")
            whole, _, part = mantissa.partition(".")
            return self.extreme.format(f"{whole}{part}e{int(exponent) - len(part)}")
        return text if self.number == "{}" else self.number.format(text.removesuffix("e0"))

    def literal(self, value: Any) -> str:
        """A label, or a level that is not a date, as a literal."""
        if isinstance(value, bool):
            return self.booleans[0 if value else 1]
        if isinstance(value, int):
            return str(value)
        return self.double(value) if isinstance(value, float) else self.text(str(value))

    def is_true(self, name: str) -> str:
        """The SQL test that the boolean column ``name`` is true."""
        return self.truth[0].format(name)

    def is_false(self, name: str) -> str:
        """The SQL test that the boolean column ``name`` is false."""
        return self.truth[1].format(name)

    def moment(self, number: int, kind: Kind, zone: str | None, column: str) -> str:
        """The literal for a date, moment or time, given as the number of its kind.

        Raises
        ------
        ExportError
            If the database has no type for it.
        """
        at = instant(number, kind, column)
        if kind is Kind.DATE:
            iso = at.date().isoformat()
        elif kind is Kind.TIME:
            iso = at.time().isoformat(timespec="microseconds")
        else:
            iso = at.isoformat(sep=" ", timespec="microseconds")
        if zone is not None:
            if self.instant is None:
                raise ExportError(
                    f"column {column!r} has times with a time zone ({zone}), but {self.title} has no type that "
                    "compares them as instants: pass the dialect of a database with such a type ('duckdb', "
                    "'postgresql', 'sqlserver', 'bigquery', 'snowflake' or 'oracle'), or turn the column into local "
                    "times or UTC without a zone and fit again"
                )
            return self.instant.format(iso)
        form = dict(self.moments).get(kind)
        if form is None:
            raise ExportError(
                f"column {column!r} has {kind}s, for which {self.title} has no type: turn it into numbers, for "
                "example of seconds, and fit again"
            )
        return form.format(iso)

    def as_moment(self, name: str, kind: Kind, zone: str | None) -> str:
        """The expression for the column ``name`` of dates, moments or times in comparisons, with a cast if needed."""
        return name if zone is not None else dict(self.casts).get(kind, "{}").format(name)

    def is_moment(
        self, name: str, numbers: Sequence[int], kind: Kind, zone: str | None, column: str, *, negated: bool = False
    ) -> str:
        """The SQL test that a column equals one (``negated``: none) of some dates or times, passed as numbers."""
        name = self.as_moment(name, kind, zone)
        if not self.loose:
            return self.listed(name, [self.moment(n, kind, zone, column) for n in numbers], negated=negated)
        spans = []
        for number in numbers:  # all texts of one moment are between its shortest text and the next moment
            after = self.moment(number + 1, kind, zone, column)
            spans.append(f"{name} >= '{_shortest(instant(number, kind, column), kind)}' AND {name} < {after}")
        return f"{'NOT ' if negated else ''}({' OR '.join(spans)})"

    def listed(self, name: str, literals: Sequence[str], *, negated: bool = False) -> str:
        """The SQL test that a column equals one (``negated``: none) of some values, passed as literals."""
        most, word = self.most_listed or len(literals), "NOT IN" if negated else "IN"
        parts = [
            f"{name} {word} ({', '.join(literals[start : start + most])})" for start in range(0, len(literals), most)
        ]
        return parts[0] if len(parts) == 1 else f"({(' AND ' if negated else ' OR ').join(parts)})"


def digits(value: float) -> str:
    """A float64 as text with an exponent, which most databases read as a double.

    It has the fewest digits that read back as the same number, if rounding errors of a reader cannot change the result,
    else 18 digits. So databases that round several times while reading, as SQLite does, still get the right number (up
    to exponents of about 250).
    """
    text = exact(value)
    number, half = Fraction(value), Fraction(min(value - math.nextafter(value, -math.inf), math.ulp(value))) / 2
    if abs(Fraction(text) - number) <= half * Fraction(9, 10):
        return text if "e" in text else f"{text}e0"
    # SQLite rounds more than once on its way to a double; 18 digits lie in the middle of what rounds to the number:
    # decisions/0062-sql-of-one-database.
    mantissa, _, power = f"{value:.17e}".partition("e")
    return f"{mantissa}e{int(power)}"


def _shortest(at: datetime, kind: Kind) -> str:
    """The shortest ISO text of a moment; longer texts of the same moment follow it directly if texts are sorted."""
    text = at.time().isoformat() if kind is Kind.TIME else at.isoformat(sep=" ")
    if "." in text:
        return text.rstrip("0")
    text = text.removesuffix(":00")
    return text.removesuffix(" 00:00") if kind is not Kind.TIME else text


_TYPED = ((Kind.DATE, "DATE '{}'"), (Kind.MOMENT, "TIMESTAMP '{}'"), (Kind.TIME, "TIME '{}'"))


def _cast(moment: str, time: str, what: str) -> tuple[tuple[Kind, str], ...]:
    """Templates that cast ``what`` to the types of dates, moments and times, by kind; ``DATE`` is always for dates."""
    types = ((Kind.DATE, "DATE"), (Kind.MOMENT, moment), (Kind.TIME, time))
    return tuple((kind, f"CAST({what} AS {name})") for kind, name in types)


_COLUMN, _LITERAL = "{}", "'{}'"


PLAIN = Dialect("SQL for any database", loose=True)
"""SQL that SQLite, DuckDB, PostgreSQL and others accept."""
_UNNAMED_TRUTH = ("(1 = 1)", "(1 = 0)")
"""True and false for a table with a column called "true" or "false", which SQLite would read instead of the literal."""
_NO_BIGQUERY_NAME = ('!"$()*,./;?@[\\]^`{}~\n\r\t', "a special character")
_DIALECTS = {
    # SQLite reads an unknown name in double quotes as a text; in backticks it is an error.
    "sqlite": Dialect("SQLite", "sqlite", loose=True, quote="`", booleans=("1", "0")),
    "duckdb": Dialect(
        "DuckDB",
        "duckdb",
        moments=_TYPED,
        casts=_cast("TIMESTAMP", "TIME", _COLUMN),
        instant="TIMESTAMPTZ '{}+00:00'",
    ),
    # PostgreSQL reads a number with an exponent as a decimal.
    "postgresql": Dialect(
        "PostgreSQL",
        "postgres",
        number="CAST({} AS DOUBLE PRECISION)",
        moments=_TYPED,
        casts=_cast("TIMESTAMP", "TIME", _COLUMN),
        instant="TIMESTAMPTZ '{}+00:00'",
    ),
    "mysql": Dialect(
        "MySQL",
        "mysql",
        moments=_TYPED,
        casts=_cast("DATETIME(6)", "TIME(6)", _COLUMN),
        as_text="CAST({} AS BINARY)",
    ),
    "sqlserver": Dialect(
        "SQL Server",
        "tsql",
        moments=_cast("DATETIME2(6)", "TIME(6)", _LITERAL),
        casts=_cast("DATETIME2(6)", "TIME(6)", _COLUMN),
        instant="CAST('{} +00:00' AS DATETIMEOFFSET(6))",
        truth=("{} = 1", "{} = 0"),
        booleans=("CAST(1 AS BIT)", "CAST(0 AS BIT)"),
        as_text="{} COLLATE Latin1_General_100_BIN2",
        wide="N",
        deepest=10,
        padded=True,
    ),
    "bigquery": Dialect(
        "BigQuery",
        "bigquery",
        moments=((Kind.DATE, "DATE '{}'"), (Kind.MOMENT, "DATETIME '{}'"), (Kind.TIME, "TIME '{}'")),
        casts=_cast("DATETIME", "TIME", _COLUMN),
        instant="TIMESTAMP '{}+00:00'",
        names=_NO_BIGQUERY_NAME,
    ),
    "snowflake": Dialect(
        "Snowflake",
        "snowflake",
        number="CAST('{}' AS DOUBLE)",
        moments=_cast("TIMESTAMP_NTZ", "TIME", _LITERAL),
        casts=_cast("TIMESTAMP_NTZ", "TIME", _COLUMN),
        instant="CAST('{} +00:00' AS TIMESTAMP_TZ)",
    ),
    "oracle": Dialect(
        "Oracle",
        "oracle",
        number="CAST({} AS BINARY_DOUBLE)",
        extreme="TO_BINARY_DOUBLE('{}')",  # without a decimal point, which some locales read differently
        moments=_TYPED[:2],
        instant="TIMESTAMP '{} +00:00'",
        truth=("{} = 1", "{} = 0"),
        booleans=("1", "0"),
        names=('"', "a double quote"),
        most_listed=1000,
        empty_is_null=True,
        aliased=True,
    ),
}
DIALECTS = tuple(_DIALECTS)
"""Names of the supported dialects."""
_ALSO = {"postgres": "postgresql", "tsql": "sqlserver", "mssql": "sqlserver", "mariadb": "mysql"}


def dialect_of(name: str | None, columns: Iterable[str] = ()) -> Dialect:
    """The dialect of a database; for None, SQL that most databases accept.

    Parameters
    ----------
    name : name of the database, or None
    columns : names of the columns of the table

    Raises
    ------
    ExportError
        If the dialect does not exist.
    ImportError
        If sqlglot is not installed.
    """
    if name is None:
        shadowed = any(column.lower() in ("true", "false") for column in columns)
        return replace(PLAIN, booleans=_UNNAMED_TRUTH) if shadowed else PLAIN
    key = re.sub(r"[ _-]", "", str(name).lower())
    found = _DIALECTS.get(_ALSO.get(key, key))
    if found is None:
        raise ExportError(f"dialect={name!r}: expected one of {', '.join(map(repr, DIALECTS))}, or None")
    try:
        # Start-up time, as above.
        import sqlglot  # noqa: F401 - whether it is there
    except ImportError as error:
        raise ImportError(f"to_sql(dialect={name!r}) needs the package sqlglot: {INSTALL}") from error
    return found
