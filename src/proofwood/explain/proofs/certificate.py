"""Certificates: an explanation as a file that proves itself.

That rows cannot change their class is proved, for every other class, by a tree of boxes with a bound for each
(:mod:`proofwood.explain.proofs.boxes`); that others can, by one such row. The file holds the model as well, in
integers over the threshold grid, so that :func:`check_certificate` needs no solver, no encoder and, unless it is to
compare, no model.

- **Abductive**: the features suffice, and one row per feature shows that it cannot go. *Smallest*: rows of another
  class name sets of features that every sufficient set has to meet, and a proof says that no fewer features do.
- **Contrastive**: a row of another class, and one proof per feature that the others alone cannot change the class.
  *Smallest*: sufficient sets, which every changing set has to meet.
- **Enumeration**: every abductive explanation with its proof, every contrastive one with its row, and a proof that no
  set of features avoids both kinds. Minimality of each, and completeness of both lists, follow from these
  (docs/theory/explanations.md).
- **Inflated**: no row of the region can change its class, and for each value that a range could take in next a row
  with it does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from proofwood.certificates.check import RealModel, check_certificate
from proofwood.certificates.content import (
    FORMAT,
    VERSION,
    claim_of,
    digest,
    kinds_content,
    model_content,
    values_to_json,
)
from proofwood.certificates.kinds import Check
from proofwood.certificates.sets import hitting_clauses, map_clauses, value_clauses
from proofwood.engines.run import ENDLESS, Clock
from proofwood.explain.model.regions import Unit, box_and_clauses, in_region, units
from proofwood.explain.model.scores import ScoreModel
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.oracles.oracle import Answer, Oracle
from proofwood.explain.oracles.regions import ask_region
from proofwood.explain.proofs.refute import NoCertificateError, OnlyRoundingError, Refuter, refuted
from proofwood.explain.search.extract import Kind
from proofwood.explain.search.questions import Questions, members
from proofwood.explain.search.smallest import smallest
from proofwood.files import write_whole
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.solvers.session import SatSession

__all__ = ["Certifier", "Check", "NoCertificateError", "OnlyRoundingError", "check_certificate", "write_certificate"]

NONE = "no certificate for this explanation"


class RowModel(RealModel, Protocol):
    """The model that was explained, with its rows in original units."""

    def row(self, cells: IntArray, like: npt.ArrayLike) -> FloatArray:
        """A row inside these cells."""


class Certifier:
    """Makes the certificates of one row's explanations, as plain JSON.

    Parameters
    ----------
    scores : the model over its grid
    cells : (n_columns,) cells of the row that is explained
    label : its class
    oracle : finds rows of other classes; nothing it says is taken on trust
    model, x : the real model and the row (n_columns,) in its own units: with both, the rows of other classes are such
        rows too and are shown to the model
    known : cells of rows of other classes that may do
    clock : of all that is asked of the certifier
    targets : codes of the classes that the explanation is about, in ascending order; all others by default

    Raises
    ------
    ValueError
        If the row is of another class by more than rounding. The methods raise it if a claim is wrong.
    NoCertificateError
        If rounding leaves the class of the row in doubt. The methods raise it if the time is over, boxes get too
        many, or (OnlyRoundingError) a row changes its class only up to rounding.
    KeyboardInterrupt
        At Ctrl-C.
    """

    def __init__(
        self,
        scores: ScoreModel,
        cells: IntArray,
        label: int,
        oracle: Oracle,
        *,
        model: RowModel | None = None,
        x: npt.ArrayLike | None = None,
        known: Iterable[IntArray] = (),
        clock: Clock = ENDLESS,
        targets: Sequence[int] | None = None,
    ) -> None:
        self.scores, self.label, self.oracle = scores, int(label), oracle
        self.cells = np.asarray(cells, dtype=np.int64)
        self.model, self.x = model, x
        self.known = [np.asarray(row) for row in known]
        self._rows_of_file: dict[bytes, dict[str, Any] | None] = {}
        if not scores.may_be_first(scores.sums(self.cells), self.label):
            raise ValueError(f"the row has class {scores.winner(self.cells)} and not {label}")
        if self._class_in(self.cells) is not None:  # the sums may even put another class first, by less than the margin
            raise OnlyRoundingError(
                f"{NONE}: the class of the row is {label} in the model, and one only up to rounding: another class has "
                "a sum that differs by no more than rounding may"
            )
        self.targets = None if targets is None else [int(k) for k in targets]
        self.refuter = Refuter(scores, self.label, clock, self.targets)
        self.names = None if model is None else [str(name) for name in model.feature_names]

    # ----------------------------------------------------------------------------------------------------------- kinds

    def abductive(self, features: Iterable[int], *, minimal: bool = True, keep: Iterable[int] = ()) -> dict[str, Any]:
        """Features suffice and, if ``minimal``, none of them but those of ``keep`` can go."""
        kept = sorted(int(feature) for feature in keep)
        chosen = sorted(int(feature) for feature in features)
        witnesses = []
        for feature in chosen if minimal else ():
            if feature in kept:
                continue
            rest = [other for other in chosen if other != feature]
            change = self._change_with(rest, f"witness for feature {self._name(feature)}")
            if change is None:
                raise ValueError(
                    f"the explanation is not minimal: without feature {self._name(feature)} the others suffice"
                )
            witnesses.append({"feature": feature, **change})
        status = "minimal" if minimal else "sufficient"
        proofs = self._sufficient(chosen)
        return self._content("abductive", status, features=chosen, keep=kept, witnesses=witnesses, proofs=proofs)

    def contrastive(self, features: Iterable[int], *, minimal: bool = True) -> dict[str, Any]:
        """A change of the features can change the class and, if ``minimal``, no change of only some of them can."""
        chosen = sorted(int(feature) for feature in features)
        witness = self._changed(chosen)
        if not minimal:
            return self._content("contrastive", "changing", features=chosen, witness=witness)
        rest = self._outside(chosen)
        proofs = self.refuter.boxes([(feature, self.scores.box(self.cells, [*rest, feature])) for feature in chosen])
        if proofs is None:
            raise ValueError(f"the explanation is not minimal: some of the features {chosen} alone change the class")
        return self._content("contrastive", "minimal", features=chosen, witness=witness, proofs=proofs)

    def smallest(
        self, kind: Kind, features: Iterable[int], *, without: Iterable[int] = (), questions: Questions | None = None
    ) -> dict[str, Any]:
        """Features are an explanation, and no fewer features are one.

        Parameters
        ----------
        kind : "abductive" or "contrastive"
        features : the explanation
        without : features that others must not have
        questions : what is known about the row already
        """
        chosen, left_out = sorted(int(feature) for feature in features), sorted(int(feature) for feature in without)
        q = Questions(self.oracle, self.cells, self.label, targets=self.targets) if questions is None else questions
        first = {"proofs": self._sufficient(chosen)} if kind == "abductive" else {"witness": self._changed(chosen)}
        q.clock = self.refuter.clock
        best = smallest(q, kind=kind, free=left_out)
        if best is not None and best.lower_bound < len(chosen):
            if best.optimal:
                raise ValueError(f"the explanation is not smallest: {sorted(best.found.features)} is one")
            raise NoCertificateError(f"{NONE}: its size was not proved in time")
        if kind == "abductive":
            rows = {mask: row for mask, row in q.changing.items() if self._as_change(row) is not None}
            self.known += rows.values()
            masks = _least(rows)
        else:
            masks = _least(q.sufficient)
        sets = self._needed([members(mask) for mask in masks], left_out, len(chosen))
        proof = refuted(hitting_clauses(sets, left_out, len(chosen)), self.refuter.clock, f"{NONE}: its size")
        assert proof is not None
        duals: dict[str, Any] = {}
        if kind == "abductive":
            duals["changes"] = [{"features": one, **self._changed(one)} for one in sets]
        else:
            duals["sufficient"] = [{"features": one, "proofs": self._sufficient(one)} for one in sets]
        return self._content(kind, "smallest", features=chosen, without=left_out, **first, **duals, size_proof=proof)

    def enumeration(self, abductive: Iterable[Iterable[int]], contrastive: Iterable[Iterable[int]]) -> dict[str, Any]:
        """These are all explanations of the row.

        Parameters
        ----------
        abductive, contrastive : features of each
        """
        kinds = [sorted(sorted(int(f) for f in one) for one in sets) for sets in (abductive, contrastive)]
        proof = refuted(map_clauses(*kinds), self.refuter.clock, f"{NONE}: that these are all")
        if proof is None:
            raise ValueError("the enumeration is not complete: some set meets all contrastive sets and holds no other")
        changes = [{"features": one, **self._changed(one)} for one in kinds[1]]
        proved = [{"features": one, "proofs": self._sufficient(one)} for one in kinds[0]]
        return self._content("enumeration", "complete", abductive=proved, contrastive=changes, map_proof=proof)

    def inflated(
        self, features: Iterable[int], low: IntArray, high: IntArray, *, maximal: bool = True
    ) -> dict[str, Any]:
        """No row of the region can change its class and, if ``maximal``, no range of the features can take in more.

        Parameters
        ----------
        features : those that the region limits
        low, high : (n_columns,) cells of a region, see :mod:`proofwood.explain.model.regions`
        maximal : ranges are an interval of numbers, with or without a missing value, or a set of values
        """
        chosen = sorted(int(feature) for feature in features)
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        ends: list[dict[str, Any]] = []
        valued: list[dict[str, Any]] = []
        for feature in chosen if maximal else ():
            for unit in units(self.scores, feature):
                changes = [
                    {
                        "value": None if value is None else value.tolist(),
                        **self._beyond(feature, unit, low, high, value),
                    }
                    for value in unit.next(low, high)
                ]
                if unit.numbers:
                    ends += [{"column": unit.columns[0], **change} for change in changes]
                else:
                    valued.append(self._values(feature, unit, low, high, changes))
        proofs = self.refuter.box(*box_and_clauses(self.scores, low, high))
        if proofs is None:
            raise ValueError(
                f"the ranges of the features {chosen} do not suffice: another class is possible in the box"
            )
        return self._content(
            "inflated",
            "maximal" if maximal else "sufficient",
            features=chosen,
            low=low.tolist(),
            high=high.tolist(),
            proofs=proofs,
            ends=ends,
            groups=valued,
        )

    def _values(
        self, feature: int, unit: Unit, low: IntArray, high: IntArray, changes: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Rows of another class for each value of some 0/1 columns that their range does not hold."""
        columns = list(unit.columns)
        clauses = value_clauses(
            self.scores.first.tolist(),
            self.scores.clauses,
            columns,
            low[columns].tolist(),
            high[columns].tolist(),
            [change["value"] for change in changes],
        )
        proof = refuted(clauses, self.refuter.clock, f"{NONE}: that feature {self._name(feature)} has no other value")
        assert proof is not None
        return {"feature": feature, "columns": columns, "changes": changes, "proof": proof}

    # ------------------------------------------------------------------------------------------- regions without change

    def _sufficient(self, features: Sequence[int]) -> list[dict[str, Any]]:
        proofs = self.refuter.box(*self.scores.box(self.cells, features))
        if proofs is None:
            raise ValueError(f"the features {list(features)} do not suffice: another class is possible")
        return proofs

    def _needed(self, sets: list[list[int]], without: Sequence[int], size: int) -> list[list[int]]:
        """Some of the sets that fewer than ``size`` features do not hit either: those that a solver used."""
        if size == 0:
            return []
        clauses = hitting_clauses(sets, without, size)
        with SatSession(seconds=self.refuter.clock.seconds_left) as session:
            session.block(max((abs(literal) for clause in clauses for literal in clause), default=0))
            first = session.block(len(sets))
            for number in range(len(sets)):
                clauses[number].append(-(first + number))
            session.extend(clauses)
            answer = session.solve(range(first, first + len(sets)))
            if answer is None:
                if session.stopped_by == "interrupt":
                    raise KeyboardInterrupt
                raise NoCertificateError(f"{NONE}: its size was not proved in time")
            if answer:
                raise OnlyRoundingError(f"{NONE}: that none is smaller is so only up to rounding")
            used = set(session.core())
        return [one for number, one in enumerate(sets) if first + number in used]

    # ----------------------------------------------------------------------------------------------- rows with a change

    def _outside(self, features: Iterable[int]) -> list[int]:
        kept = set(features)
        return [feature for feature in range(self.scores.n_features) if feature not in kept]

    def _name(self, feature: int) -> str:
        return str(feature) if self.names is None else repr(self.names[feature])

    def _changed(self, features: Sequence[int]) -> dict[str, Any]:
        """A row of another class that differs in these features only."""
        change = self._change_with(self._outside(features), f"row that changes the features {list(features)}")
        if change is None:
            raise ValueError(f"no change of the features {list(features)} alone changes the class")
        return change

    def _change_with(self, fixed: Sequence[int], what: str) -> dict[str, Any] | None:
        low, high = self.scores.box(self.cells, fixed)
        ask = self.oracle.ask
        return self._change(
            low,
            high,
            lambda: (
                self._ask(low, high)
                if self.targets is not None
                else ask(self.cells, self.label, fixed, seconds=self.refuter.clock.seconds_left)
            ),
            what,
        )

    def _beyond(
        self, feature: int, unit: Unit, low: IntArray, high: IntArray, value: IntArray | None
    ) -> dict[str, Any]:
        """A row of another class in the region whose range of a feature holds one value more."""
        low, high = unit.with_value(low, high, value)
        what = f"row beyond the range of feature {self._name(feature)}"
        change = self._change(low, high, lambda: self._ask(low, high), what)
        if change is None:
            raise ValueError(f"the explanation is not maximal: the range of feature {self._name(feature)} can grow")
        return change

    def _change(self, low: IntArray, high: IntArray, ask: Callable[[], Answer], what: str) -> dict[str, Any] | None:
        """A row of another class in a region, one that is known or the one that is asked for; None if there is none."""
        for row in self.known:
            if in_region(self.scores, row, low, high) and (change := self._as_change(row)) is not None:
                return change
        answer = ask()
        if answer.changes is False:
            return None
        if answer.witness is None:
            raise NoCertificateError(f"{NONE}: no {what} in time")
        witness: IntArray | None = answer.witness
        change = self._as_change(answer.witness)
        if change is None and self.scores.margin:
            witness = ask_region(
                self._sure, low, high, self.label, targets=self.targets, clock=self.refuter.clock
            ).witness
            change = None if witness is None else self._as_change(witness)
        if change is None or witness is None:
            raise OnlyRoundingError(f"{NONE}: the {what} changes the class only up to rounding")
        self.known.append(witness)
        return change

    def _ask(self, low: IntArray, high: IntArray) -> Answer:
        return ask_region(self.oracle, low, high, self.label, targets=self.targets, clock=self.refuter.clock)

    @cached_property
    def _sure(self) -> Oracle:
        """An oracle to which no row has another class that could still be the same up to rounding."""
        return make_oracle("auto", self.scores.sure())

    def _class_in(self, cells: IntArray, among: Sequence[int] | None = None) -> int | None:
        """The class (of some) that may come before the label in a row, the best of them; None if none may."""
        sums = self.scores.sums(cells)
        lead = {k: int(sums[k] - sums[self.label]) for k in range(self.scores.n_classes) if k != self.label}
        able = [k for k in lead if lead[k] >= self.scores.threshold_of_win(k, self.label)]
        if among is not None:
            able = [k for k in able if k in among and self.scores.may_be_first(sums, k)]
        return max(able, key=lead.__getitem__, default=None)

    def _as_change(self, cells: IntArray) -> dict[str, Any] | None:
        """A row as it goes to the file; None if it changes nothing, or not in the model."""
        key = np.asarray(cells, dtype=np.int64).tobytes()
        if key not in self._rows_of_file:
            label = self._class_in(cells, self.targets)
            real = label is not None and self._changes_model(cells)
            self._rows_of_file[key] = {"label": label, **self._row(cells)} if real else None
        return self._rows_of_file[key]

    def _changes_model(self, cells: IntArray) -> bool:
        if self.model is None or self.x is None:
            return True
        values = np.array([self.model.row(cells, like=self.x)])
        code = int(self.model.predict_codes(values)[0])
        return code != self.label if self.targets is None else code in self.targets

    def _row(self, cells: IntArray, *, given: bool = False) -> dict[str, list[Any] | None]:
        """Cells of a row and, if there is a model to ask, its values."""
        values = None
        if self.model is not None and self.x is not None:
            x = np.asarray(self.x, dtype=np.float64)
            values = values_to_json(x if given else self.model.row(cells, like=x))
        return {"cells": np.asarray(cells).tolist(), "values": values}

    # ------------------------------------------------------------------------------------------------------------ file

    def _content(self, kind: str, status: str, **parts: Any) -> dict[str, Any]:
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": kind,
            "status": status,
            "names": self.names,
            "classes": None if self.model is None else [str(name) for name in self.model.classes],
            "label": self.label,
            "targets": self.targets,
            "row": self._row(self.cells, given=True),
            "missing": [] if self.model is None else [int(j) for j in getattr(self.model, "missing", ())],
            "kinds": kinds_content(self.model),
            "model": model_content(self.scores),
            **parts,
        }
        if known := getattr(getattr(self.model, "knowledge", None), "texts", ()):
            content["knowledge"] = list(known)
        content["claim"] = claim_of(content)
        return {**content, "digest": digest(content)}


def _least(masks: Iterable[int]) -> list[int]:
    """Those of some sets, as bit masks, that hold no other one."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=int.bit_count):
        if not any(other & ~mask == 0 for other in kept):
            kept.append(mask)
    return kept


def write_certificate(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a certificate as a JSON file; TypeError if the content is none, as without ``certificate=True``."""
    if not isinstance(content, Mapping):
        raise TypeError(
            f"content is a {type(content).__name__}: expected the attribute certificate of an explanation made "
            "with certificate=True"
        )
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    write_whole(path, (text + "\n").encode("ascii"))
