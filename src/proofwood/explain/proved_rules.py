"""A few rules that a large ensemble obeys everywhere, and that together cover most rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proofwood import arguments, memory
from proofwood.decimals import DIGITS
from proofwood.engines.run import Clock
from proofwood.ensembles.considered import among_rows
from proofwood.ensembles.explained import Explained, explained, model_of
from proofwood.ensembles.kept import Kept, Rejoined
from proofwood.ensembles.outcomes import Within
from proofwood.ensembles.outline import Outline
from proofwood.ensembles.readers.given import CHECKED
from proofwood.explain.explainer import Explainer
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.proofs.checked import CheckedOracle
from proofwood.explain.rule import Condition, conditions
from proofwood.explain.search.grow import Points
from proofwood.explain.search.rules import Region, Wanted, covering_regions
from proofwood.explain.show.rules import plot_rules
from proofwood.markup import titled
from proofwood.model.node_table import BoolArray, FloatArray, IntArray
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

REASONS = {
    "covered": "the wanted share is covered",
    "max_rules": "more rules would cover more",
    "exhausted": "no rule within the limits was found for the other rows",
    "time_limit": "the time limit was reached",
    "memory_limit": "the memory limit was reached",
}


@dataclass(frozen=True, eq=False)
class ProvedRule(Kept):
    """Conditions, and the class that the model predicts for every row that meets them.

    Parameters
    ----------
    region : the cells of the rows that meet the conditions
    model : the model that obeys the rule; after unpickling, its outline
    n_rows : number of rows of the table that meet the conditions
    n_new : number of these rows that meet no earlier rule
    """

    region: Region = field(repr=False)
    model: Explained = field(repr=False)
    n_rows: int
    n_new: int

    def _outlined(self) -> dict[str, Any]:
        outline = Outline.of(self.model, list(np.stack([self.region.low, self.region.high]).T))
        return self._with(outline, outline.cells_here(self.region.low), outline.cells_here(self.region.high)).__dict__

    def _with(self, model: Any, low: IntArray, high: IntArray) -> ProvedRule:
        """The same rule for another form of the model, with its region in the cells of that model."""
        made = replace(self, model=model, region=replace(self.region, low=low, high=high))
        made.__dict__["conditions"] = self.conditions
        return made

    @property
    def prediction(self) -> Any:
        """The class that the rule predicts."""
        label = self.model.classes[self.region.label]
        return label.item() if isinstance(label, np.generic) else label

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of the rule, in the units of the table."""
        features = range(self.model.scores.n_features)
        return conditions(self.model, self.region.low, self.region.high, features)

    def text(self, digits: int | None = DIGITS) -> str:
        """The rule in one line.

        Parameters
        ----------
        digits : least number of significant digits of thresholds. Longer ones are rounded inwards, so that the text
            claims no more than what is proved. None shows the float64 numbers themselves
        """
        arguments.count(digits, "digits", least=1)
        asked = " and ".join(condition.text(digits) for condition in self.conditions) or "always"
        return printable(f"{asked} -> {self.prediction}")

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = f"{self.n_rows:,} {'row meets' if self.n_rows == 1 else 'rows meet'} it"
        told = f"obeyed by the model everywhere{among_rows(self.model)}; {rows}, {self.n_new:,} meet no earlier rule"
        return titled(self.text(), told, (), ())


@dataclass(frozen=True, eq=False)
class CheckedRules:
    """The result of a check of rules.

    Parameters
    ----------
    n_rules : number of rules
    proved : number of rules that the model is proved to obey; fewer if the time ran out or a rule is broken
    broken : index of the first rule that the model does not obey, None if none was found
    row : (n_inputs,) a row that meets the broken rule and has another class, in the form of ``model.read``; else None
    """

    n_rules: int
    proved: int
    broken: int | None = None
    row: FloatArray | None = None

    @property
    def ok(self) -> bool:
        """Whether it is proved that the model obeys all rules."""
        return self.proved == self.n_rules

    def __str__(self) -> str:
        if self.broken is not None:
            return f"rule {self.broken + 1} does not hold"
        return f"{self.proved} of {self.n_rules} rules proved"


@dataclass(frozen=True, eq=False)
class ProvedRules(Rejoined, Sequence[ProvedRule]):
    """Rules that a model obeys for every row that meets their conditions, and how much of a table they cover.

    Parameters
    ----------
    rules : the rules, sorted by the number of rows that each covers and no earlier rule covers
    model : the model that obeys them. Pickled rules have its outline instead: all texts remain available, and
        :meth:`with_model` restores the model, for :meth:`rule_of`, :meth:`predict` and :meth:`check`
    n_rows : number of rows of the table
    n_covered : number of rows that meet some rule
    status : why the search ended: ``"covered"`` (the wanted share is covered), ``"max_rules"``, ``"exhausted"``,
        ``"time_limit"`` or ``"memory_limit"``. In every case the model obeys the rules
    n_candidates : number of rules from which these were chosen
    most_covered : proved upper bound on the rows that the same number of rules, chosen from these candidates, can
        cover. Other rules may cover more
    undecided : number of questions that were not answered in time, and counted as "no"
    seconds : time taken
    reading : how it was checked that the model reads the table in the same way, see
        :attr:`proofwood.explain.explanation.Explanation.reading`
    """

    rules: tuple[ProvedRule, ...]
    model: Explained = field(repr=False)
    n_rows: int
    n_covered: int
    status: str
    n_candidates: int
    most_covered: int
    undecided: int
    seconds: float
    reading: str = CHECKED

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __iter__(self) -> Iterator[ProvedRule]:
        return iter(self.rules)

    @property
    def coverage(self) -> float:
        """Share of the rows of the table that meet some rule."""
        return self.n_covered / self.n_rows

    def _outlined(self) -> dict[str, Any]:
        ends = [end for rule in self.rules for end in (rule.region.low, rule.region.high)]
        outline = Outline.of(self.model, list(np.array(ends).reshape(-1, len(self.model.grid.columns)).T))
        rules = (
            rule._with(outline, outline.cells_here(rule.region.low), outline.cells_here(rule.region.high))
            for rule in self.rules
        )
        return {"model": outline, "rules": tuple(rules)}

    def _joined(self, whole: Explained, outline: Outline) -> ProvedRules:
        rules = (
            rule._with(whole, *outline.cells_there(rule.region.low, rule.region.high, whole)) for rule in self.rules
        )
        return replace(self, model=whole, rules=tuple(rules))

    def rule_of(self, X: Any) -> IntArray:
        """(n_rows,) index of the first rule that each row meets, -1 if it meets none.

        Parameters
        ----------
        X : rows as the model takes them
        """
        return self._rule_of(model_of(self.model, None).read(X))

    def _rule_of(self, rows: FloatArray) -> IntArray:
        met = self._met(rows)
        return np.where(met.any(axis=0), met.argmax(axis=0), -1) if len(met) else np.full(met.shape[1], -1)

    def predict(self, X: Any, *, otherwise: Any = None) -> npt.NDArray[Any]:
        """Predict the class of each row that meets a rule.

        Parameters
        ----------
        X : rows as the model takes them
        otherwise : prediction for rows that meet no rule: None, or ``"model"`` for the prediction of the model

        Returns
        -------
        (n_rows,) array
            An array of objects, None for rows that meet no rule; with ``"model"``, an array of the model's classes.
        """
        arguments.choice(otherwise, "otherwise", (None, "model"))
        admitted = model_of(self.model, None).admit(X)
        rule = self._rule_of(admitted.values)
        labels = np.array([one.region.label for one in self.rules] + [-1], dtype=np.int64)[rule]
        if otherwise is None:
            classes = np.append(self.model.classes.astype(object), [None])
            return np.asarray(classes[labels])
        silent = labels < 0
        if silent.any():
            labels[silent] = admitted.codes[silent]
        return np.asarray(self.model.classes[labels])

    def _met(self, rows: FloatArray) -> BoolArray:
        """(n_rules, n_rows) whether each row meets each rule.

        A row meets no rule if a value is missing in a column for which missing values are not considered.
        """
        known = np.ones(len(rows), dtype=bool)
        for j in set(self.model.with_gaps_of(rows).missing) - set(self.model.missing):
            levels = self.model.inputs[j].levels
            known &= (rows[:, j] >= 0) & (rows[:, j] < len(levels)) if levels else ~np.isnan(rows[:, j])
        met = np.zeros((len(self.rules), len(rows)), dtype=bool)
        if known.any():
            points = Points(self.model.scores, self.model.cells_of(rows[known]))
            for number, rule in enumerate(self.rules):
                met[number, known] = points.inside(rule.region.low, rule.region.high)
        return met

    def check(self, *, time_limit: float | None = None) -> CheckedRules:
        """Prove rule by rule that the model obeys it; the checker of certificates has to accept the proofs.

        The check shares no code with the search that found the rules.

        Parameters
        ----------
        time_limit : seconds for all rules
        """
        clock = Clock.of(arguments.seconds(time_limit))
        oracle = CheckedOracle.of(model_of(self.model, None))
        for number, rule in enumerate(self.rules):
            if clock.over:
                return CheckedRules(len(self), number)
            region = rule.region
            answer = oracle.ask_region(region.low, region.high, region.label, clock=clock)
            if answer.witness is not None:
                row = self.model.grid.row(answer.witness, like=np.zeros(len(self.model.inputs)))
                return CheckedRules(len(self), number, number, row)
            if answer.changes is None:
                return CheckedRules(len(self), number)
        return CheckedRules(len(self), len(self))

    # ---------------------------------------------------------------------------------------------------------- output

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with one row per rule.

        Columns: ``prediction``, ``conditions`` (their number), ``rows`` (number that meet the rule), ``new`` (number
        that meet no earlier rule), ``covered`` (share of the table so far), ``rule`` (exact), ``text`` (rounded).
        """
        import polars as pl  # start-up time: the rules need no frame

        so_far = np.cumsum([rule.n_new for rule in self.rules], dtype=np.int64)
        return pl.DataFrame(
            {
                "prediction": [rule.prediction for rule in self.rules],
                "conditions": [len(rule.conditions) for rule in self.rules],
                "rows": [rule.n_rows for rule in self.rules],
                "new": [rule.n_new for rule in self.rules],
                "covered": (so_far / self.n_rows).tolist(),
                "rule": [rule.text(None) for rule in self.rules],
                "text": [rule.text() for rule in self.rules],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain values for JSON."""
        return {
            "rows": self.n_rows,
            "covered": self.n_covered,
            "status": self.status,
            "candidates": self.n_candidates,
            "most_covered_by_candidates": self.most_covered,
            "reading": self.reading,
            "rules": [
                {
                    "prediction": rule.prediction,
                    "rows": rule.n_rows,
                    "new": rule.n_new,
                    "rule": rule.text(None),
                    "conditions": [condition.to_dict() for condition in rule.conditions],
                }
                for rule in self.rules
            ],
        }

    def export_text(self, digits: int | None = DIGITS) -> str:
        """The rules as text: a line each, with the number of rows that meet it, and of those that meet no earlier one.

        Parameters
        ----------
        digits : as in :meth:`ProvedRule.text`
        """
        lines = [f"{rule.n_rows:>{len(str(self.n_rows))}} rows, {rule.n_new} new: " for rule in self.rules]
        width = max(map(len, lines), default=0)
        return "\n".join(f"{line:<{width}}{rule.text(digits)}" for line, rule in zip(lines, self.rules, strict=True))

    def _repr_html_(self) -> str:
        asked = [" and ".join(map(Condition.text, rule.conditions)) or "always" for rule in self.rules]
        lines = [
            (number, text, rule.prediction, f"{rule.n_rows:,}", f"{rule.n_new:,}")
            for number, (rule, text) in enumerate(zip(self.rules, asked, strict=True), start=1)
        ]
        bars = [(rule.n_new / self.n_rows, rule.n_new / self.n_rows, rule.n_rows / self.n_rows) for rule in self.rules]
        note = "bars: share of the rows that no rule above covers; lines: rows that one covers, too" if lines else ""
        head = ("rule", "if", "predicts", "rows", "new")
        return titled(printable(str(self)), note, head, lines, bars=bars, scroll=True)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw a bar per rule in the colour of its class; a pale part shows the rows that earlier rules cover, too.

        Parameters
        ----------
        ax : where to draw; None makes a new figure with pyplot
        options : those of :func:`proofwood.explain.show.rules.plot_rules`
        """
        drawn = [(rule.region.label, rule.n_rows, rule.n_new, rule.text()) for rule in self.rules]
        options = {"title": str(self), **options}
        return plot_rules(drawn, self.model.classes.tolist(), self.n_rows, ax, **options)

    def __str__(self) -> str:
        rules = "1 rule" if len(self) == 1 else f"{len(self)} rules"
        share = f"{self.n_covered} of {self.n_rows} rows ({1000 * self.n_covered // self.n_rows / 10:.1f} %)"
        told = among_rows(self.model) + ("" if self.reading == CHECKED else f"; reading {self.reading}")
        return f"{rules} for {share}, obeyed by the model everywhere; {REASONS[self.status]}{told}"


# Regions, not a tree of given depth: the paths of a tree share tests, and its proved leaves hold far fewer rows:
# decisions/0047-rules-that-forests-obey.
def proved_rules(
    model: Any,
    X: Any,
    *,
    max_rules: int = 12,
    coverage: float = 1.0,
    max_conditions: int | None = None,
    output: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    random_state: int = 0,
) -> ProvedRules:
    r"""A few rules that a model obeys everywhere, and that together cover most rows of a table.

    A rule is a region, made of ranges of numbers and sets of categories, and a class. It is proved that the model gives
    this class to *every* row of the region, not only to those of the table.

    Parameters
    ----------
    model : a fitted model that :class:`proofwood.Explainer` takes, or an ``Explainer`` of it
    X : the table, as the model takes rows
    max_rules : greatest number of rules
    coverage : wanted share of the rows of ``X``. If it can be reached, as few candidate rules as possible are chosen
    max_conditions : most conditions of a rule; any number by default. A lower limit makes rules cover fewer rows
    output : of a model that predicts several targets (outputs, labels): index of the one to use, from 0
    time_limit : seconds, None for no limit; the rules found by then are also proved
    memory_limit : bytes that the search may add to the memory of the process, or a text such as "4GB"
    random_state : seed for the choice of the rows from which rules grow

    Returns
    -------
    ProvedRules

    Raises
    ------
    TypeError
        If this kind of model is not supported.
    ValueError
        If an argument is wrong, or ``X`` has no rows.

    Notes
    -----
    A rule starts from one row, with all its values or with those of an explanation of it. It grows by rows of the same
    class, the nearest first, as long as the model is proved to have one class in the region. Then superfluous
    conditions are dropped, and the others are widened. The next rule starts from a row that no rule covers yet. From
    all these candidates, the rules that cover most rows are chosen; ``most_covered`` bounds how much better another
    choice could be. A proof that takes longer than a second is given up, so the rules for large models depend on the
    machine.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from proofwood import proved_rules
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(100, max_depth=4, random_state=0).fit(X, y)
    >>> rules = proved_rules(forest, X, max_rules=4)
    >>> len(rules), rules.check().ok
    (4, True)
    """
    clock = Clock.of(arguments.seconds(time_limit))
    wanted_rules = arguments.count(max_rules, "max_rules", least=1)
    max_conditions = arguments.count(max_conditions, "max_conditions", least=1)
    if wanted_rules is None:
        raise TypeError("max_rules=None: expected an integer from 1")
    share = arguments.weight(coverage, "coverage")
    if not 0 < share <= 1:
        raise ValueError(f"coverage={coverage!r}: expected a share of the rows above 0, up to 1")
    read = _read(model, X, output).with_types_of(X)
    admitted = read.admit(X)
    rows = admitted.values
    if not len(rows):
        raise ValueError("X has no rows: expected the table whose rows the rules should cover")
    read = read.with_gaps_of(rows)
    with memory.within(memory_limit):
        cells, codes, weight = read.cells_of(rows), admitted.codes, np.ones(len(rows), dtype=np.int64)
        lead = weight
        if not clock.over:  # else nothing is searched, and equal rows may stay apart
            cells, first, weight = np.unique(cells, axis=0, return_index=True, return_counts=True)
            codes, lead = codes[first], _lead(read.sums_of(cells))
        wanted = Wanted(int(np.ceil(share * len(rows) - 1e-9)), wanted_rules, max_conditions, random_state)
        found = covering_regions(make_oracle("auto", read.scores), cells, codes, weight, lead, wanted, clock)
    rules, done = [], np.zeros(len(cells), dtype=bool)
    for region in found.regions:
        new = region.covers & ~done
        rules.append(ProvedRule(region, read, int(weight[region.covers].sum()), int(weight[new].sum())))
        done |= region.covers
    return ProvedRules(
        rules=tuple(rules),
        model=read,
        n_rows=len(rows),
        n_covered=int(weight[done].sum()),
        status=found.status,
        n_candidates=found.n_candidates,
        most_covered=found.chosen.upper_bound,
        undecided=found.undecided,
        seconds=clock.seconds,
        reading=admitted.reading,
    )


def _lead(sums: IntArray) -> IntArray:
    """(n_rows,) the greatest sum of each row minus its second greatest sum."""
    ordered = np.sort(sums, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2] if sums.shape[1] > 1 else ordered[:, -1])


def _read(model: Any, X: Any, output: int | None) -> Explained:
    """Return the explained model; raise ValueError if the meaning of its classes depends on the row."""
    if isinstance(model, Explainer | Explained):
        arguments.unstated(output=output)
        read = model.model if isinstance(model, Explainer) else model
    else:
        read = explained(model, X=X, output=output, compared=False)
    if isinstance(read.outcome, Within):
        raise ValueError(
            "target=('within', ...) depends on the prediction of one row, but rules are about many rows: expected a "
            "target that is the same for all rows, such as ('>=', v) or a list of cuts"
        )
    read.of_every_row("which rules the model obeys everywhere")
    return read
