"""Checks of the two facts in claims: no row of a region has another class, or some row of a region has one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from proofwood.certificates.boxes import BoxTree, rivals_fault
from proofwood.certificates.content import FloatArray
from proofwood.certificates.drup import Certificate, CertificateError
from proofwood.certificates.space import Limit, values_of
from proofwood.certificates.stated import Region, Stated, limits_in

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Parameters
    ----------
    name : what was checked
    passed : whether it is true
    detail : what was found
    open : whether it depends on the rounding of the model, so that only the model itself can decide it
    """

    name: str
    passed: bool
    detail: str
    open: bool = False


def check_of(name: str, fault: str | None, otherwise: str) -> Check:
    """A check that fails with the text of ``fault``, or passes with the text ``otherwise`` if ``fault`` is None."""
    return Check(name, fault is None, otherwise if fault is None else fault)


def proof_fault(clauses: Iterable[Sequence[int]], lines: Sequence[str]) -> str | None:
    """The reason why the lines do not prove that the clauses contradict each other; None if they prove it."""
    try:
        Certificate("", tuple(tuple(clause) for clause in clauses), tuple(lines)).check()
    except CertificateError as error:
        return str(error)
    return None


class Subject:
    """The subject of a certificate: its model over its space, the explained row, and the classes that count.

    Parameters
    ----------
    content : the content of the file
    stated : the model and space that are derived from it
    """

    def __init__(self, content: Mapping[str, Any], stated: Stated) -> None:
        self.content, self.stated = content, stated
        self.space = stated.space
        self.label: int = content.get("label", -1)
        self.targets: list[int] | None = content.get("targets")
        self.shown: list[tuple[str, FloatArray, list[int] | None]] = []
        """The rows that the model has to predict: for each row its name, its values and its permitted classes.

        None permits all classes that count as a change.
        """

    @cached_property
    def row(self) -> FloatArray:
        """(n_columns,) values of the explained row."""
        return values_of(self.content["row"], len(self.space.columns))

    @cached_property
    def own(self) -> dict[int, int]:
        """The entries of the explained row, by column."""
        return self.entries_of(self.row)

    @property
    def others(self) -> list[int]:
        """The classes that count as a change."""
        return [k for k in range(self.stated.n_classes) if k != self.label] if self.targets is None else self.targets

    @property
    def rivals(self) -> list[int]:
        """The classes that do not count as a change."""
        return [k for k in range(self.stated.n_classes) if k not in self.others]

    def alike(self, features: Iterable[int]) -> dict[int, int]:
        """The region of the rows that equal the explained row in the given features."""
        return self.stated.alike(self.own, features)

    def outside(self, features: Iterable[int]) -> list[int]:
        """All features except the given ones, ascending."""
        return sorted(set(range(len(self.space.features))) - set(features))

    def name(self, feature: int) -> str:
        """The name of a feature, in quotes."""
        return repr(self.space.features[feature].name)

    @cached_property
    def limits(self) -> list[Limit]:
        """The limits of a region, column by column."""
        return limits_in(self.content, self.space)

    # ----------------------------------------------------------------------------------------------- no row of a region

    def never(self, region: Region, proofs: Sequence[Part], of: str = "") -> Iterator[Check]:
        """Check that no row of a region may have another class.

        If no test of the model distinguishes the rows of the region from the explained row, no proof is needed.
        """
        box = self.stated.box_of(region)
        if box is not None and np.array_equal(*box) and self.stated.inside(self.own, region) is None:
            yield Check(f"the row itself{of}", True, "no test distinguishes the rows of the region")
            return
        fault = self.classes_fault(proofs)
        yield check_of(f"classes{of}", fault, f"a proof against each of {self.others}")
        for part in proofs if fault is None else ():
            name = f"boxes against class {part['against']}{of}"
            yield self.boxes_check(name, part, self.boxes_fault(part, region))

    def boxes_check(self, name: str, part: Part, fault: str | None) -> Check:
        """Return the result of a check of boxes; ``fault`` is the reason why the check failed, None if it passed."""
        if fault is not None:
            return Check(name, False, fault)
        shown = len(part.get("shown", ()))
        doubt = f", unless the model predicts it for one of {shown} rows that depend on rounding" if shown else ""
        return Check(name, True, f"{len(part['boxes'])} boxes contain no row of the class{doubt}", open=shown > 0)

    def classes_fault(self, proofs: Sequence[Part]) -> str | None:
        """The fault if there is not one proof for each class that counts as a change; None otherwise."""
        return (
            None if [part["against"] for part in proofs] == self.others else "expected one proof for each other class"
        )

    def boxes_fault(self, part: Part, region: Region) -> str | None:
        """The reason why the boxes do not prove that a class cannot beat its rivals; None if they prove it."""
        box = self.stated.box_of(region)
        if box is None:
            return None
        fault = rivals_fault(self.stated, part["rivals"], self.others)
        return fault or self.shown_in(BoxTree(self.stated, part, *box, part["rivals"]), part).fault()

    def shown_in(self, tree: BoxTree, part: Part) -> BoxTree:
        """Add the rows whose class depends on rounding to the tree, and to the rows that the model has to predict."""
        rows = [self.read_row({"values": values}) for values in part.get("shown", ())]
        tree.shown = [self.stated.cells_of(entries) for _, entries in rows]
        others = [k for k in range(self.stated.n_classes) if k != part["against"]]
        self.shown += [("row whose class rounding decides", values, others) for values, _ in rows]
        return tree

    # ------------------------------------------------------------------------------------------------------- some row

    def read_row(self, row: Mapping[str, Any]) -> tuple[FloatArray, dict[int, int]]:
        """Return values and entries of another row; raise CertificateError if it is outside the space."""
        values = values_of(row["values"], len(self.space.columns))
        return values, self.entries_of(values)

    def entries_of(self, row: FloatArray) -> dict[int, int]:
        """The entries of a row in all columns that matter, including those with limits."""
        return self.stated.entries_of(row.tolist(), (limit.column for limit in self.limits))

    def some(self, row: Mapping[str, Any], region: Region, name: str) -> Check:
        """Check that a row is in a region and has another class; if so, add it to the rows that the model predicts."""
        try:
            values, entries = self.read_row(row)
        except CertificateError as error:
            return Check(name, False, str(error))
        outside = self.stated.inside(entries, region)
        if outside is not None:
            return Check(name, False, f"the row is outside the region in column {self.space.columns[outside].name!r}")
        k = row["label"]
        if type(k) is not int or k not in self.others:
            return Check(name, False, f"class {k} does not count as a change")
        found = self.has_class(values, k, [self.label] if self.targets is None else None, name)
        if found.passed:
            self.shown.append((name, values, None))
        return found

    def has_class(self, values: FloatArray, k: int, before: Sequence[int] | None, name: str) -> Check:
        """Check that a row may have class ``k``: that ``k`` beats the classes ``before`` (None: all other classes)."""
        sums = [int(score) for score in self.stated.nodes.sums(values[np.newaxis])[0]]
        rivals = [j for j in range(len(sums)) if j != k] if before is None else before
        spare = [sums[k] - sums[j] - self.stated.least_to_win(k, j) for j in rivals]
        if min(spare, default=0) < 0:
            return Check(name, False, f"the sum of its leaves does not give the row class {k}")
        sure = min(spare, default=2 * self.stated.margin) >= 2 * self.stated.margin
        return Check(name, True, f"another row has class {k}{'' if sure else ', unless rounding changes it'}", not sure)
