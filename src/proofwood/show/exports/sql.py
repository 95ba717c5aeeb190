"""A model as SQL: nested CASE expressions, in SQL that most databases accept or in the dialect of one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from proofwood.data.kinds import MOMENTS, Kind
from proofwood.hints import way_out
from proofwood.model.reshape import unroll
from proofwood.show.exports.dialects import Dialect, dialect_of
from proofwood.show.exports.paths import Branch, decisions
from proofwood.show.exports.source import (
    OF_CLASSES,
    Exported,
    ExportError,
    export_a_program,
    in_comment,
    require_one_type,
)

MOST_NODES = 20_000
"""The most nodes of a tree in an expression."""
MOST_TERMS = 500
"""The most terms of a weighted sum; SQLite permits expressions of depth 1,000."""
_DEEPEST = 10
"""If CASE expressions are nested deeper, sides change their order. SQLite before 3.46 permits about fifteen."""


def to_sql(
    model: Exported, table: str | Sequence[str] | None = None, *, proba: bool = False, dialect: str | None = None
) -> str:
    """A ``SELECT`` of all columns of ``table`` and the prediction; only the expression if ``table`` is None."""
    query = _query(model, dialect, proba=proba)
    notes = "".join(f"-- {line}\n" for line in _notes(model))
    parts = None if table is None else parts_of(table)
    if parts is None and proba:
        raise ExportError("proba=True needs several expressions: name the table, to_sql('table', proba=True)")
    if parts is None:
        return notes + "\n".join(query.case(query.answers.__getitem__)) + "\n"
    select = query.select(".".join(map(query.writer.quoted, parts)), proba=proba)
    return f"{notes}{select}\n" if query.writer.aliased else f"{notes}{select};\n"


def _notes(model: Exported) -> list[str]:
    """For comments: the columns whose text must be converted, since databases have their own ways to do it."""
    noted = [column for column in model.used if model.note(column)]
    return [in_comment(f"{model.columns[column].name}{model.note(column)}") for column in noted]


def to_dbt(model: Exported, relation: str | Sequence[str], *, proba: bool = False, dialect: str | None = None) -> str:
    """A model of dbt: the query of :func:`to_sql` of a relation that ``ref`` finds.

    Parameters
    ----------
    model : the model
    relation : name of a model, seed or snapshot of the project, or a pair of a package and a name
    proba : whether to add the probability of each class
    dialect : name of the database, or None
    """
    parts = [relation] if isinstance(relation, str) else list(relation)
    if len(parts) > 2 or not all(isinstance(part, str) and re.fullmatch(r"\w[\w.-]*", part) for part in parts):
        raise ExportError(
            f"relation={relation!r}: expected the name of a model of the project, such as 'loans', or a pair of a "
            "package and a name"
        )
    place = "{{ relation }}"
    before, _, behind = _query(model, dialect, proba=proba).select(place, proba=proba).rpartition(place)
    reference = f"{{{{ ref({', '.join(map(repr, parts))}) }}}}"
    notes = "".join(f"-- {line}\n" for line in _notes(model))
    return f"{_without_jinja(notes + before)}{reference}{_without_jinja(behind)}\n"


def _without_jinja(text: str) -> str:
    """``text`` such that Jinja renders it as it is: without its tags, and without line ends that it would change."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text).replace("\r", "{{ '\\r' }}")


def _query(model: Exported, dialect: str | None, *, proba: bool) -> _Query:
    if proba and model.words is not OF_CLASSES:
        asked = way_out("proba=True", "--proba")
        raise ExportError(
            f"{asked} adds probabilities of classes, but this model predicts {model.words.answers}: leave it out"
        )
    return _Query(model, dialect_of(dialect, [column.name for column in model.columns]))


def parts_of(table: str | Sequence[str]) -> list[str]:
    """The parts of the name of a table: ``crm.loans`` is the table ``loans`` of the schema ``crm``.

    A part in double quotes may contain dots, as in ``crm."loans.2024"``; double quotes in it are doubled. The parts of
    a sequence are not changed.

    Raises
    ------
    ExportError
        If a part is empty, or has a quote that does not end with the part.
    """
    if not isinstance(table, str):
        parts = list(table)
        if not parts or not all(isinstance(part, str) and part for part in parts):
            raise ExportError(f"table={table!r}: expected a sequence of non-empty texts, such as ('crm', 'loans')")
        return parts
    parts, rest = [], table
    while True:
        part, rest, more = _first_part(rest, table)
        parts.append(part)
        if not more:
            return parts


def _first_part(text: str, table: str) -> tuple[str, str, bool]:
    """The first part of a name, the text after its dot, and whether there is a dot."""
    if text.startswith('"'):
        end = 1
        while (end := text.find('"', end)) >= 0 and text[end : end + 2] == '""':
            end += 2
        part, behind = text[1:end].replace('""', '"'), text[end + 1 :]
        if end < 0 or (behind and behind[0] != "."):
            raise _wrong_name(table)
        dot, rest = behind[:1], behind[1:]
    else:
        part, dot, rest = text.partition(".")
    if not part:
        raise _wrong_name(table)
    return part, rest, bool(dot)


def _wrong_name(table: str) -> ExportError:
    return ExportError(
        f"table={table!r} is not a name of a table: expected table or schema.table. Put a part with a dot or a double "
        "quote in double quotes, or pass a sequence of parts, such as ('crm', 'loans.2024')"
    )


class _Query:
    """The CASE expressions of one model in one dialect."""

    def __init__(self, model: Exported, writer: Dialect) -> None:
        self.model, self.writer = as_tree(model, "SQL"), writer
        self.tree = decisions(self.model)
        self.first_low = self._order()
        self.model.answer_type("a column of a database")
        self.answers = {leaf: self.writer.literal(self.model.answer(leaf)) for leaf in self.model.leaves}

    def select(self, source: str, *, proba: bool) -> str:
        """A ``SELECT`` of all columns of ``source`` and the prediction."""
        expressions = [(self.case(self.answers.__getitem__), "prediction")]
        if proba:
            shares = self.model.numbers_of_leaf.tolist()
            for code, label in enumerate(self.model.labels):
                of_class = {
                    leaf: self.writer.double(shares[number][code]) for leaf, number in self.model.leaves.items()
                }
                expressions.append((self.case(of_class.__getitem__), f"probability of {label}"))
        taken = [column.name for column in self.model.columns]
        selected = []
        for lines, name in expressions:
            alias = self.writer.alias(name, taken)
            taken.append(alias)
            selected.append("\n".join(f"  {line}" for line in lines) + f" AS {self.writer.quoted(alias)}")
        every, name = ("t.*", f"{source} t") if self.writer.aliased else ("*", source)
        return f"SELECT\n  {every},\n" + ",\n".join(selected) + f"\nFROM {name}"

    def case(self, leaf: Callable[[int], str]) -> list[str]:
        """The lines of CASE expressions; ``leaf`` writes a leaf. A CASE after ELSE becomes another WHEN instead."""
        lines: dict[int, list[str]] = {}
        for place in range(len(self.tree) - 1, -1, -1):  # children before parents
            branch = self.tree[place]
            if isinstance(branch, int):
                lines[place] = [leaf(branch)]
                continue
            low = self.first_low[place]
            first, last = lines.pop(branch.low if low else branch.high), lines.pop(branch.high if low else branch.low)
            then = _after(f"WHEN {self.condition(branch, low=low)} THEN ", first)
            rest = [last[0].removeprefix("CASE "), *last[1:]] if last[0].startswith("CASE ") else _else(last)
            lines[place] = [f"CASE {then[0]}", *then[1:], *rest]
        return lines[0]

    def _order(self) -> list[bool]:
        """For each branch, whether its low side comes first.

        It does, unless a missing value that is not expected goes low: then the low side comes last, as ELSE, which is
        for all rows with NULL. If expressions would be nested too deep, the deeper side comes last instead.
        """
        plain, depth = self._nested(lambda branch, low, high: not branch.ask.contrary)
        if depth <= _DEEPEST:
            return plain
        turned, depth = self._nested(lambda branch, low, high: low <= high)
        if self.writer.deepest is not None and depth > self.writer.deepest:
            raise ExportError(
                f"the tree needs {depth} nested CASE expressions, but {self.writer.title} permits "
                f"{self.writer.deepest}: {export_a_program()}"
            )
        return turned

    def _nested(self, first: Callable[[Branch, int, int], bool]) -> tuple[list[bool], int]:
        """For each branch, whether its low side comes first, as ``first`` decides; and the depth of nested CASE."""
        depth, order = [0] * len(self.tree), [True] * len(self.tree)
        for place in range(len(self.tree) - 1, -1, -1):
            branch = self.tree[place]
            if isinstance(branch, Branch):
                low, high = depth[branch.low], depth[branch.high]
                order[place] = first(branch, low, high)
                before, after = (low, high) if order[place] else (high, low)
                depth[place] = max(before + 1, after)
        return order, depth[0]

    # ------------------------------------------------------------------------------------------------------- tests

    def condition(self, branch: Branch, *, low: bool) -> str:
        """The SQL condition that is true for rows that go low (or high, if not ``low``) at the test of a branch."""
        ask = branch.ask
        if ask.column < 0:
            total = self._sum(branch)
            assert ask.threshold is not None
            test = f"{total} {'<=' if low else '>'} {self.writer.double(ask.threshold)}"
            return self._with_gap(test, total, branch, low)
        name = self._column(ask.column)
        if self.model.has_levels(ask.column) and (ask.codes is not None or self.model.ordered(ask.column)):
            return self._of_levels(name, branch, low)
        if ask.threshold == -math.inf:
            return f"{name} IS NULL" if low else f"{name} IS NOT NULL"
        if ask.threshold == math.inf:
            return f"{name} IS NOT NULL" if low else f"{name} IS NULL"
        if ask.codes is not None:
            known = ask.codes if branch.known.inside is None else ask.codes & branch.known.inside
            members = [str(code) for code in sorted(known - branch.known.outside)]
            test = self.writer.listed(name, members, negated=not low) if members else ""
            return self._of_set(test, name, branch, low)
        return self._with_gap(self._compared(name, branch, low), name, branch, low)

    def _column(self, column: int) -> str:
        """The value of a column; NULL if the number stands for a missing value."""
        name = self.writer.quoted(self.model.columns[column].name)
        for number in self.model.absent(column):
            whole = number == math.floor(number) and abs(number) < 2**53
            name = f"NULLIF({name}, {int(number) if whole else self.writer.double(number)})"
        return name

    def _compared(self, name: str, branch: Branch, low: bool) -> str:
        column, threshold, writer = branch.ask.column, branch.ask.threshold, self.writer
        assert threshold is not None
        kind = self.model.kind(column)
        if kind is Kind.BOOLEAN:
            return writer.is_false(name) if low else writer.is_true(name)
        if kind in MOMENTS:  # before the first moment after it: so parts of seconds may be written or not
            after = math.floor(threshold) + 1
            if kind is Kind.TIME and after >= 86_400_000_000:
                return f"{name} IS NOT NULL" if low else "1 = 0"
            meaning = self.model.columns[column]
            name = writer.as_moment(name, kind, meaning.zone)
            return f"{name} {'<' if low else '>='} {writer.moment(after, kind, meaning.zone, meaning.name)}"
        whole = kind is Kind.INTEGER and threshold == math.floor(threshold) and abs(threshold) < 2**53
        return f"{name} {'<=' if low else '>'} {int(threshold) if whole else writer.double(threshold)}"

    def _of_levels(self, name: str, branch: Branch, low: bool) -> str:
        """The condition for a test of categories, which names only levels that are still possible."""
        ask, model = branch.ask, self.model
        left = branch.known.codes(model, ask.column)
        if not model.ordered(ask.column):
            assert ask.codes is not None
            members = [code for code in left if code in ask.codes]
            test = self._in(name, ask.column, members, negated=not low) if members else ""
            return self._of_set(test, name, branch, low)
        mine, others = model.low_and_high_codes(ask)[:: 1 if low else -1]
        if ask.missing_low is low and branch.known.missing:  # a level that training did not have counts as missing
            test = self._in(name, ask.column, [code for code in others if code in left], negated=True)
            return self._with_gap(test, name, branch, low)
        return self._in(name, ask.column, [code for code in mine if code in left])

    def _of_set(self, test: str, name: str, branch: Branch, low: bool) -> str:
        """Add missing values to ``test``, the test that a value is in a set; ``test`` is empty for an empty set."""
        if not test:
            return f"{name} IS NULL" if low else f"{name} IS NOT NULL"
        return self._with_gap(test, name, branch, low)

    def _in(self, name: str, column: int, codes: Sequence[int], *, negated: bool = False) -> str:
        """The condition that the category of a column is (or, if negated, is not) one of some levels."""
        meaning, writer = self.model.columns[column], self.writer
        require_one_type(self.model, column, "a column of a database")
        kind, values = self.model.read_as(column), self.model.values(column, codes)
        if kind in MOMENTS:
            assert kind is not None
            return writer.is_moment(name, values, kind, meaning.zone, meaning.name, negated=negated)
        if kind is Kind.BOOLEAN and len(values) == 1:
            return writer.is_true(name) if values[0] is not negated else writer.is_false(name)
        if kind is None and writer.padded:
            self._require_no_blanks(column)
        shown = writer.as_text.format(name) if kind is None else name
        return writer.listed(shown, [writer.literal(value) for value in values], negated=negated)

    def _require_no_blanks(self, column: int) -> None:
        """Raise ExportError if levels differ only in spaces at their ends, which the database ignores."""
        seen: dict[str, str] = {}
        for level in self.model.columns[column].levels:
            if (other := seen.setdefault(level.rstrip(" "), level)) != level:
                raise ExportError(
                    f"column {self.model.columns[column].name!r} has the levels {other!r} and {level!r}, which "
                    f"{self.writer.title} treats as equal: strip the texts and fit again"
                )

    def _with_gap(self, test: str, name: str, branch: Branch, low: bool) -> str:
        """Add ``OR name IS NULL`` to a test if missing values go to this side and can reach the test.

        Missing values that are not expected go to the other side (``Ask.contrary``), unless :meth:`_order` changed the
        order of the sides.
        """
        if branch.ask.missing_low is not low or not branch.known.missing:
            return test
        return f"({test} OR {name} IS NULL)"

    def _sum(self, branch: Branch) -> str:
        terms = branch.ask.terms
        if len(terms) > MOST_TERMS:
            raise ExportError(
                f"a weighted sum has {len(terms):,} terms, but an expression may have at most {MOST_TERMS}: "
                + export_a_program()
            )
        return " + ".join(f"{self.writer.double(value)} * {self._as_number(column)}" for column, value in terms)

    def _as_number(self, column: int) -> str:
        """The expression for a column as a term of a sum; booleans become 1 and 0, since few databases can add them."""
        name = self._column(column)
        if self.model.kind(column) is not Kind.BOOLEAN or self.writer.truth[1] != "NOT {}":
            return name
        return f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"


def as_tree(model: Exported, where: str) -> Exported:
    """The model as a tree without shared nodes. Raise ExportError if it has more than ``MOST_NODES`` nodes.

    Parameters
    ----------
    model : the model
    where : name of the format, for the message
    """
    table = model.table
    if not table.is_tree:
        try:
            table = unroll(table, max_nodes=MOST_NODES)
        except ValueError as error:
            raise ExportError(f"{where} cannot share nodes of a diagram, and {error}: {export_a_program()}") from error
    if table.n_nodes > MOST_NODES:
        more = f"takes at most {MOST_NODES:,}: {export_a_program()}"
        raise ExportError(f"the tree has {table.n_nodes:,} nodes, but {where} {more}")
    return replace(model, table=table)


def _after(word: str, lines: list[str]) -> list[str]:
    """``word`` followed by the lines; all lines after the first are indented. Texts inside lines do not change."""
    return [word + lines[0], *("  " + line for line in lines[1:])]


def _else(lines: Iterable[str]) -> list[str]:
    first, *others = lines
    return [f"ELSE {first}", *others, "END"]
