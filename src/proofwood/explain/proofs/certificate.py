"""Certificates: an explanation as a file that contains its own proof.

A tree of boxes, with a bound for each box, proves for every other class that no row of a region has it
(:mod:`proofwood.explain.proofs.boxes`); one row shows that the class can change. The file also contains the model, in
integers over the threshold grid. So :func:`check_certificate` needs no solver and no encoder, and it needs the model
only to compare it with the one in the file.

- **Abductive**: a proof that the features suffice, and for each feature a row which shows that it cannot be left out.
  *Smallest*: rows of another class give sets of features that every sufficient set must intersect, and a proof shows
  that no set of fewer features intersects all of them.
- **Contrastive**: a row of another class, and for each feature a proof that the other features alone cannot change the
  class. *Smallest*: the same with sufficient sets, which every changing set must intersect.
- **Enumeration**: every abductive explanation with its proof, every contrastive one with its row, and a proof that no
  other explanations exist. It follows that each explanation is minimal, and that both lists are complete
  (docs/theory/explanations.md).
- **Inflated**: a proof that no row of the region has another class, and for each next value of a range a row of another
  class with this value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from proofwood.certificates import check
from proofwood.certificates.content import FORMAT, VERSION, digest, values_to_json
from proofwood.certificates.facts import Check
from proofwood.certificates.sets import hitting_clauses, map_clauses
from proofwood.certificates.words import claim_of
from proofwood.engines.run import ENDLESS, Clock
from proofwood.ensembles.explained import Explained
from proofwood.ensembles.regions import Unit, box_and_clauses, in_region, units
from proofwood.ensembles.scores import ScoreModel
from proofwood.explain.oracles.engines import make_oracle
from proofwood.explain.oracles.oracle import Answer, Oracle
from proofwood.explain.proofs.boxes import BoxProver, TooManyBoxesError
from proofwood.explain.proofs.refute import NoCertificateError, OnlyRoundingError, refuted
from proofwood.explain.proofs.stated import Compared, limits_of, parts_of
from proofwood.explain.search.extract import Found, Kind
from proofwood.explain.search.questions import Questions, members
from proofwood.explain.search.smallest import smallest
from proofwood.files import write_whole
from proofwood.model.node_table import FloatArray, IntArray
from proofwood.solvers.session import SatSession

__all__ = ["Certifier", "Check", "NoCertificateError", "OnlyRoundingError", "check_certificate", "write_certificate"]

NONE = "no certificate for this explanation"
Proved = TypeVar("Proved")


class Certifier:
    """Makes the certificates of one row's explanations, as plain JSON.

    Parameters
    ----------
    model : the explained model; it predicts the rows of other classes
    x : (n_inputs,) the row
    label : class of the row
    oracle : engine that finds rows of other classes; its answers are not trusted
    known : cells of known rows of other classes that may be used
    clock : clock of everything that the certifier does
    targets : codes of the target classes of the explanation, in ascending order; all other classes by default
    signed : whether certificates get the digest that a file needs

    Raises
    ------
    ValueError
        If the row has another class, beyond rounding. The methods raise it if a claim is wrong.
    NoCertificateError
        The methods raise it if the time runs out or there are too many boxes, and OnlyRoundingError, a subclass, if a
        row changes its class only up to rounding.
    KeyboardInterrupt
        At Ctrl-C.
    """

    def __init__(
        self,
        model: Explained,
        x: npt.ArrayLike,
        label: int,
        oracle: Oracle,
        *,
        known: Iterable[IntArray] = (),
        clock: Clock = ENDLESS,
        targets: Sequence[int] | None = None,
        signed: bool = True,
    ) -> None:
        self.model, self.x, self.signed = model, np.asarray(x, dtype=np.float64), signed
        self.scores, self.label, self.oracle = model.scores, int(label), oracle
        self.cells, scores = model.cells(self.x), model.scores
        self.known = [np.asarray(row) for row in known]
        self._refused: list[list[float | None]] = []
        self._rows_of_file: dict[bytes, dict[str, Any] | None] = {}
        if not scores.may_be_first(scores.sums(self.cells), self.label):
            raise ValueError(f"the row has class {scores.winner(self.cells)}, not label={label}")
        self.targets = None if targets is None else [int(k) for k in targets]
        self.clock, self.prover = clock, BoxProver(scores)
        every = range(scores.n_classes)
        self.others = [k for k in every if k != self.label and (self.targets is None or k in self.targets)]
        self.rivals = [k for k in every if k not in self.others]
        """The classes before which one of ``others`` has to come: the label, and all classes that are not targets."""

    # ----------------------------------------------------------------------------------------------------------- kinds

    def abductive(self, features: Iterable[int], *, minimal: bool = True, keep: Iterable[int] = ()) -> dict[str, Any]:
        """Certify that features suffice and, if ``minimal``, that none except those in ``keep`` can be left out."""
        kept = sorted(int(feature) for feature in keep)
        chosen = sorted(int(feature) for feature in features)
        needed = [feature for feature in chosen if minimal and feature not in kept]
        witnesses = _all_of(partial(self._without, chosen, feature) for feature in needed)
        status = "minimal" if minimal else "sufficient"
        proofs = self._sufficient(chosen)
        return self._content(
            "abductive",
            status,
            features=chosen,
            keep=kept,
            without=[],
            proofs=proofs,
            witnesses=witnesses,
            changes=[],
            size_proof=[],
        )

    def _without(self, features: Sequence[int], feature: int) -> dict[str, Any]:
        """The entry for a row of another class which shows that a feature cannot be left out."""
        rest = [other for other in features if other != feature]
        change = self._change_with(rest, f"witness for feature {self._name(feature)}")
        if change is None:
            raise ValueError(
                f"the explanation is not minimal: the other features suffice without {self._name(feature)}"
            )
        return {"feature": feature, **change}

    def contrastive(self, features: Iterable[int], *, minimal: bool = True) -> dict[str, Any]:
        """Certify that a change of the features can change the class and, if ``minimal``, that no part of them can."""
        chosen = sorted(int(feature) for feature in features)
        if not minimal:
            return self._contrastive("changing", chosen, self._changed(chosen))
        rest = self._outside(chosen)
        proofs = self._no_row_of([(feature, self.scores.box(self.cells, [*rest, feature])) for feature in chosen])
        if proofs is None:
            raise ValueError(f"the explanation is not minimal: a part of the features {chosen} can change the class")
        return self._contrastive("minimal", chosen, self._changed(chosen), proofs=proofs)

    def _contrastive(self, status: str, features: list[int], witness: Any, **parts: Any) -> dict[str, Any]:
        empty: dict[str, Any] = {"without": [], "proofs": [], "sufficient": [], "size_proof": []}
        return self._content("contrastive", status, features=features, witness=witness, **{**empty, **parts})

    def smallest(
        self,
        kind: Kind,
        features: Iterable[int],
        *,
        without: Iterable[int] = (),
        keep: Iterable[int] = (),
        questions: Questions | None = None,
    ) -> dict[str, Any]:
        """Certify that features are an explanation, and that no explanation has fewer features.

        Parameters
        ----------
        kind : "abductive" or "contrastive"
        features : features of the explanation
        without : features that the compared explanations must not contain
        keep : features that the compared explanations must contain
        questions : questions about the row, with the facts that are already known
        """
        chosen, left_out, kept = (sorted(int(feature) for feature in some) for some in (features, without, keep))
        q = Questions(self.oracle, self.cells, self.label, targets=self.targets) if questions is None else questions
        proofs = self._sufficient(chosen) if kind == "abductive" else []
        q.clock = self.clock
        if questions is None:
            for row in self.known:
                if self._as_change(row) is not None:
                    q.learn_witness(row)
        best = smallest(q, kind=kind, keep=kept, free=left_out, start=Found(frozenset(chosen), complete=True))
        if best is not None and best.lower_bound < len(chosen):
            if best.smallest:
                raise ValueError(f"the explanation is not smallest: {sorted(best.features)} is a smaller one")
            raise NoCertificateError(f"{NONE}: its size was not proved in time")
        witness = self._changed(chosen) if kind == "contrastive" else {}
        if kind == "abductive":
            rows = {mask: row for mask, row in q.changing.items() if self._really_changes(mask, row)}
            self.known += rows.values()
            masks = _least(rows)
        else:
            masks = _least(q.sufficient)
        own = [[feature] for feature in kept]
        used = self._needed([*(members(mask) for mask in masks), *own], left_out, len(chosen))
        sets = [one for one in used if one not in own]
        clauses = hitting_clauses([*sets, *own], left_out, len(chosen))
        proof = refuted(clauses, self.clock, f"{NONE}: its size")
        assert proof is not None
        if kind == "contrastive":
            sufficient = [{"features": one, "proofs": self._sufficient(one)} for one in sets]
            return self._contrastive(
                "smallest", chosen, witness, without=left_out, sufficient=sufficient, size_proof=proof
            )
        return self._content(
            "abductive",
            "smallest",
            features=chosen,
            keep=kept,
            without=left_out,
            proofs=proofs,
            witnesses=[],
            changes=[{"features": one, **self._changed(one)} for one in sets],
            size_proof=proof,
        )

    def enumeration(self, abductive: Iterable[Iterable[int]], contrastive: Iterable[Iterable[int]]) -> dict[str, Any]:
        """Certify that the given sets of features are all explanations of the row.

        Parameters
        ----------
        abductive, contrastive : features of each explanation, by kind
        """
        kinds = [sorted(sorted(int(f) for f in one) for one in sets) for sets in (abductive, contrastive)]
        proof = refuted(map_clauses(*kinds), self.clock, f"{NONE}: that these are all")
        if proof is None:
            raise ValueError(
                "the enumeration is not complete: some set of features hits all contrastive explanations and contains "
                "no abductive one"
            )
        changes = [{"features": one, **self._changed(one)} for one in kinds[1]]
        proved = [{"features": one, "proofs": self._sufficient(one)} for one in kinds[0]]
        return self._content("enumeration", "complete", abductive=proved, contrastive=changes, map_proof=proof)

    def inflated(
        self, features: Iterable[int], low: IntArray, high: IntArray, *, maximal: bool = True
    ) -> dict[str, Any]:
        """Certify that all rows of a region have the class and, if ``maximal``, that no range can be extended.

        Parameters
        ----------
        features : features that the region limits
        low, high : (n_columns,) cells of a region, see :mod:`proofwood.ensembles.regions`
        maximal : whether to certify that no range can be extended; a range is an interval of numbers, with or without a
            missing value, or a set of values
        """
        chosen = sorted(int(feature) for feature in features)
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        beyond = _all_of(
            partial(self._beyond, feature, unit, low, high, value)
            for feature in (chosen if maximal else ())
            for unit in units(self.scores, feature)
            for value in unit.next(low, high)
        )
        box_low, box_high, clauses = box_and_clauses(self.scores, low, high)
        proofs = self._no_row_in(box_low, box_high, clauses)
        if proofs is None:
            raise ValueError(
                f"the ranges of the features {chosen} do not suffice: another class is possible in the box"
            )
        return self._content(
            "inflated",
            "maximal" if maximal else "sufficient",
            features=chosen,
            limits=[limit.to_json() for limit in limits_of(self.model, low, high, chosen)],
            proofs=proofs,
            beyond=beyond,
        )

    # ------------------------------------------------------------------------------------------- regions without change

    def _sufficient(self, features: Sequence[int]) -> list[dict[str, Any]]:
        low, high = self.scores.box(self.cells, features)
        if np.array_equal(low, high):
            return []  # the model treats all rows of these cells alike: it predicts one of them
        proofs = self._no_row_in(low, high)
        if proofs is None:
            raise ValueError(f"the features {list(features)} do not suffice: another class is possible")
        return proofs

    def _counts(self, cells: IntArray) -> bool:
        """Whether the model itself gives another class to a row whose class depends on rounding; if not, store it."""
        values = self.model.grid.row(cells, like=self.x)
        changes = self._changes_model(values)
        if not changes:
            self._refused.append(values_to_json(values))
        return changes

    def _with_rows(self, proofs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The proofs, with the stored rows: rounding might change their class, but the model itself does not."""
        shown, self._refused = self._refused, []
        return [{**part, "shown": shown} for part in proofs] if shown else proofs

    def _closed(self, what: str, prove: Callable[[], Proved | None]) -> Proved:
        """The result of a proof by boxes; raises NoCertificateError if it takes too long."""
        try:
            proved = None if self.clock.over else prove()
        except TooManyBoxesError as error:
            raise NoCertificateError(f"{NONE}: {what} has too many boxes: {error}") from None
        if proved is None:
            raise NoCertificateError(f"{NONE}: {what} was not proved in time")
        return proved

    def _no_row_in(
        self, low: IntArray, high: IntArray, clauses: Sequence[Sequence[int]] = ()
    ) -> list[dict[str, Any]] | None:
        """For each other class, a proof that no row of a box has it; None if some row has one of these classes."""
        asked: dict[str, Any] = {"clauses": clauses, "counts": self._counts, "clock": self.clock}
        proofs: list[dict[str, Any]] | Literal[False] = self._closed(
            "that no row has another class",
            lambda: self.prover.never_first(low, high, self.others, self.rivals, **asked),
        )
        return None if proofs is False else self._with_rows(proofs)

    def _no_row_of(self, named: Sequence[tuple[int, tuple[IntArray, IntArray]]]) -> list[dict[str, Any]] | None:
        """For each other class, proofs that no row of the named boxes has it; None if some row may have it."""
        together: list[dict[str, Any]] = []
        for name, box in named:
            parts = self._no_row_in(*box)
            if parts is None:
                return None
            for at, part in enumerate(parts):
                if at == len(together):
                    together.append({**part, "proofs": [], "shown": []})
                together[at]["proofs"].append([name, part["boxes"]])
                together[at]["shown"] += part.get("shown", [])
        if not named:
            return [{"against": k, "rivals": self.rivals, "ways": [], "proofs": [], "shown": []} for k in self.others]
        return [{key: value for key, value in part.items() if key != "boxes"} for part in together]

    def _needed(self, sets: list[list[int]], without: Sequence[int], size: int) -> list[list[int]]:
        """Those of the sets that a solver's proof used: no set of fewer than ``size`` features hits all of them."""
        if size == 0:
            return []
        clauses = hitting_clauses(sets, without, size)
        with SatSession(seconds=self.clock.seconds_left) as session:
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
                raise OnlyRoundingError(f"{NONE}: that no explanation is smaller holds only up to rounding")
            used = set(session.core())
        return [one for number, one in enumerate(sets) if first + number in used]

    # ----------------------------------------------------------------------------------------------- rows with a change

    def _outside(self, features: Iterable[int]) -> list[int]:
        kept = set(features)
        return [feature for feature in range(self.scores.n_features) if feature not in kept]

    def _name(self, feature: int) -> str:
        return repr(self.model.feature_names[feature])

    def _changed(self, features: Sequence[int]) -> dict[str, Any]:
        """A row of another class that differs only in the given features."""
        change = self._change_with(self._outside(features), f"row that changes the features {list(features)}")
        if change is None:
            raise ValueError(f"no change of only the features {list(features)} changes the class")
        return change

    def _really_changes(self, mask: int, row: IntArray) -> bool:
        """Whether the model gives another class to a row, or to another row that differs only in the same features."""
        if self._as_change(row) is not None:
            return True
        try:
            return self._change_with(self._outside(members(mask)), "row") is not None
        except NoCertificateError:
            return False

    def _change_with(self, fixed: Sequence[int], what: str) -> dict[str, Any] | None:
        low, high = self.scores.box(self.cells, fixed)
        ask = self.oracle.ask
        return self._change(
            low,
            high,
            lambda: (
                self._ask(low, high)
                if self.targets is not None
                else ask(self.cells, self.label, fixed, seconds=self.clock.seconds_left)
            ),
            what,
        )

    def _beyond(
        self, feature: int, unit: Unit, low: IntArray, high: IntArray, value: IntArray | None
    ) -> dict[str, Any]:
        """A row of another class in a region after the range of a feature is extended by one value."""
        low, high = unit.with_value(low, high, value)
        what = f"row beyond the range of feature {self._name(feature)}"
        change = self._change(low, high, lambda: self._ask(low, high), what)
        if change is None:
            raise ValueError(f"the explanation is not maximal: the range of feature {self._name(feature)} can grow")
        return change

    def _change(self, low: IntArray, high: IntArray, ask: Callable[[], Answer], what: str) -> dict[str, Any] | None:
        """A row of another class in a region: a known row, or one that ``ask`` finds; None if no such row exists."""
        for row in self.known:
            if in_region(self.scores, row, low, high) and (change := self._as_change(row)) is not None:
                return change
        answer = ask()
        if answer.changes is False:
            return None
        if answer.witness is None:
            raise NoCertificateError(f"{NONE}: no {what} was found in time")
        witness: IntArray | None = answer.witness
        change = self._as_change(answer.witness)
        if change is None and self.scores.margin:
            witness = self._sure.ask_region(low, high, self.label, targets=self.targets, clock=self.clock).witness
            change = None if witness is None else self._as_change(witness)
        if change is None or witness is None:
            raise OnlyRoundingError(f"{NONE}: the {what} changes the class only up to rounding")
        self.known.append(witness)
        return change

    def _ask(self, low: IntArray, high: IntArray) -> Answer:
        return self.oracle.ask_region(low, high, self.label, targets=self.targets, clock=self.clock)

    @cached_property
    def _sure(self) -> Oracle:
        """An oracle that counts a row as of another class only if rounding cannot change this."""
        return make_oracle("auto", self._sure_scores)

    @cached_property
    def _sure_scores(self) -> ScoreModel:
        return self.scores.sure()

    def _class_in(self, cells: IntArray, among: Sequence[int] | None = None) -> int | None:
        """The best class (of ``among``) that may come before the label in a row; None if none may."""
        sums = self.scores.sums(cells)
        lead = {k: int(sums[k] - sums[self.label]) for k in range(self.scores.n_classes) if k != self.label}
        able = [k for k in lead if lead[k] >= self.scores.threshold_of_win(k, self.label)]
        if among is not None:
            able = [k for k in able if k in among and self.scores.may_be_first(sums, k)]
        return max(able, key=lead.__getitem__, default=None)

    def _as_change(self, cells: IntArray) -> dict[str, Any] | None:
        """The certificate's entry for a row of another class; None if the model itself predicts no other class."""
        key = np.asarray(cells, dtype=np.int64).tobytes()
        if key not in self._rows_of_file:
            label = self._class_in(cells, self.targets)
            row = None if label is None else self.model.grid.row(cells, like=self.x)
            real = row is not None and (self._surely_changes(cells, label) or self._changes_model(row))
            shown = None if row is None or not real else {"label": label, "values": values_to_json(row)}
            self._rows_of_file[key] = shown
        return self._rows_of_file[key]

    def _surely_changes(self, cells: IntArray, label: int | None) -> bool:
        """Whether a row has the class ``label`` whatever rounding does, so that the model need not predict it."""
        if label is None:
            return False
        sums, sure = self.scores.sums(cells), self._sure_scores
        if self.targets is not None:
            return sure.may_be_first(sums, label)
        return bool(sums[label] - sums[self.label] >= sure.threshold_of_win(label, self.label))

    def _changes_model(self, row: FloatArray) -> bool:
        code = int(self.model.predict_codes(row[np.newaxis])[0])
        return code != self.label if self.targets is None else code in self.targets

    # ------------------------------------------------------------------------------------------------------------ file

    def _content(self, kind: str, status: str, **parts: Any) -> dict[str, Any]:
        return whole_content(
            self.model,
            kind,
            status,
            signed=self.signed,
            label=self.label,
            targets=self.targets,
            row=values_to_json(self.x),
            **parts,
        )


def whole_content(model: Explained, kind: str, status: str, *, signed: bool = True, **parts: Any) -> dict[str, Any]:
    """Return the content of a certificate with all its fields.

    Parameters
    ----------
    model : the model of the certificate
    kind, status : kind and status of the claim
    signed : whether to add the digest
    parts : the fields of this kind
    """
    common = parts_of(model)
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind, "status": status}
    content |= {**parts, **common.content}
    content["claim"] = claim_of(content, common.stated.space, common.stated.tested)
    return {**content, "digest": digest(content) if signed else ""}


def _all_of(makes: Iterable[Callable[[], Proved]]) -> list[Proved]:
    """The results of all calls; where rounding leaves one open, OnlyRoundingError after the last call.

    A later call may raise ValueError, which decides more: then the claim is wrong, whatever rounding does.
    """
    made, doubts = [], []
    for make in makes:
        try:
            made.append(make())
        except OnlyRoundingError as error:
            doubts.append(error)
    if doubts:
        raise doubts[0]
    return made


def _least(masks: Iterable[int]) -> list[int]:
    """The sets, as bit masks, that contain no other of the sets."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=int.bit_count):
        if not any(other & ~mask == 0 for other in kept):
            kept.append(mask)
    return kept


def check_certificate(
    certificate: str | Path | Mapping[str, Any], model: Explained | None = None, *, max_bytes: int | None = None
) -> list[Check]:
    """Check all claims of a certificate one by one, by :func:`proofwood.certificates.check.check_certificate`.

    Parameters
    ----------
    certificate : path of a JSON file, or its content
    model : the explained model, from ``explainer.model`` or :func:`proofwood.explained`, with the same vote; without
        it, the checked claim is only about the trees in the certificate
    max_bytes : most bytes of memory for the trees of the certificate, by an estimate; 4 GiB by default

    Returns
    -------
    list of Check
        The claim holds if all of them passed.

    Raises
    ------
    CertificateError
        If the file is not a certificate of this version, is too large, or cannot be read.
    TypeError
        If ``model`` is of another type.
    """
    if model is not None and not isinstance(model, Explained):
        raise TypeError(
            f"model is a {type(model).__name__}: expected the model as explained(model) returns it, or explainer.model"
        )
    return check.check_certificate(certificate, None if model is None else Compared(model), max_bytes=max_bytes)


def write_certificate(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a certificate as a JSON file. Raises TypeError for None, which explanations without a certificate have."""
    if not isinstance(content, Mapping):
        raise TypeError(
            f"content is a {type(content).__name__}: expected the attribute certificate of an explanation made "
            "with certificate=True"
        )
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    write_whole(path, (text + "\n").encode("ascii"))
