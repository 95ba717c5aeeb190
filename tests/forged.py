"""Certificates written by hand: what they claim is false, or leaves out what limits it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proofwood.certificates.content import FORMAT, VERSION
from tests.statements import Content, signed

Forgery = Callable[[], Content]
FORGED: dict[str, Forgery] = {}
A, B = [1, 0], [0, 1]
"""Scores of a leaf of class 0, and of one of class 1."""
CLOSED: list[Any] = [[0, [], [1], 0]]
PROOFS = [{"against": 1, "rivals": [0], "ways": [], "boxes": CLOSED}]


def forged(make: Forgery) -> Forgery:
    FORGED[make.__name__] = make
    return make


def column(name: str, **fields: Any) -> dict[str, Any]:
    plain = {
        "kind": "number",
        "whole": False,
        "low": None,
        "high": None,
        "missing": False,
        "levels": [],
        "other": False,
    }
    return {"name": name, **plain, **fields}


def space(*columns: Mapping[str, Any], groups: Sequence[Any] = (), knowledge: Sequence[Any] = ()) -> dict[str, Any]:
    alone = [{"name": one["name"], "columns": [j], "kind": "single"} for j, one in enumerate(columns)]
    return {"columns": list(columns), "features": list(groups) or alone, "knowledge": list(knowledge)}


def stump(j: int, test: Any, low: Sequence[int] = A, high: Sequence[int] = B) -> dict[str, Any]:
    leaves = {"gap_low": [False] * 3, "low": [1, 0, 0], "high": [2, 0, 0]}
    return {"column": [j, -1, -1], "test": [test, list(low), list(high)], **leaves}


def cuts(j: int, *numbers: float) -> dict[str, Any]:
    return {"column": j, "cuts": list(numbers), "gap_high": False}


def limit(j: int, **fields: Any) -> dict[str, Any]:
    return {"column": j, "low": None, "high": None, "open": False, "codes": None, "gap": False, **fields}


def made(kind: str, status: str, rows: Any, trees: Any, axes: Any, lemmas: Any = (), **parts: Any) -> Content:
    """The file, as JSON gives it back."""
    n = len(trees[0]["test"][-1])
    model = {"base": [0] * n, "margin": 0, "ties_low": True, "classes": list("abcd"[:n]), "trees": trees}
    head = {"format": FORMAT, "version": VERSION, "kind": kind, "status": status, "claim": ""}
    about = {} if kind == "possible" else {"label": 0, "targets": None}
    content = {**head, "space": rows, "model": model, "axes": list(axes), "lemmas": list(lemmas), **about, **parts}
    read: Content = json.loads(json.dumps(signed(content)))
    return read


def sufficient(rows: Any, tree: Any, axes: Any, row: Any, lemmas: Any = ()) -> Content:
    """That no row has another class."""
    parts: dict[str, Any] = {name: [] for name in ("features", "keep", "without", "witnesses", "changes", "size_proof")}
    return made("abductive", "sufficient", rows, [tree], axes, lemmas, row=row, proofs=PROOFS, **parts)


def inflated(
    rows: Any, tree: Any, axes: Any, row: Any, limits: Any, status: str = "sufficient", **parts: Any
) -> Content:
    told: dict[str, Any] = {"features": [0], "limits": [limits], "proofs": PROOFS, "beyond": [], **parts}
    return made("inflated", status, rows, [tree], axes, row=row, **told)


def distance(
    rows: Any, tree: Any, axes: Any, lemmas: Any = (), *, row: Any, other: Any, told: Any, features: Any, **parts: Any
) -> Content:
    measure = {"metric": "changes", "weights": [1.0, 1.0], "pays": [0], "least": 1.0, "distance": 1.0}
    witness = {"label": 1, "values": other}
    more: dict[str, Any] = {"immutable": [], "limits": [], "witness": witness, "features": features, **parts}
    more["distance"] = {**measure, "unit": 0, "bound": 1, **told}
    return made("distance", "optimal", rows, [tree], axes, lemmas, row=row, **more)


# ------------------------------------------------------------------------------------------------ what is false


@forged
def a_lemma_of_a_choice_that_no_test_is_about() -> Content:
    group = {"name": "g", "columns": [0, 1, 2], "kind": "one_hot"}
    rows = space(*(column(name, whole=True, low=0.0, high=1.0) for name in "abc"), groups=[group])
    return sufficient(rows, stump(0, 0.5), [cuts(0, 0.5)], [0, 1, 0], [[1]])


@forged
def a_range_without_values_of_a_column_that_no_tree_tests() -> Content:
    rows = space(column("x0", missing=True), column("x1"))
    return inflated(rows, stump(1, 0.5), [cuts(1, 0.5)], [0.0, 0.0], limit(0, low=6.0, high=5.0))


@forged
def a_range_of_another_row_in_a_column_that_no_tree_tests() -> Content:
    rows = space(column("x0", high=3.0), column("x1"))
    return inflated(rows, stump(1, 0.5), [cuts(1, 0.5)], [0.0, 0.0], limit(0, low=5.0, high=6.0))


@forged
def a_row_outside_of_its_own_space_in_a_column_that_no_tree_tests() -> Content:
    rows = space(column("x0", low=1.0), column("x1", high=0.5))
    return sufficient(rows, stump(1, 0.5), [cuts(1, 0.5)], [0.0, 0.0])


@forged
def an_unknown_category_named_by_its_code() -> Content:
    rows = space(column("c", kind="category", levels=["a", "b"], other=True))
    axes = [{"column": 0, "codes": [0], "single": False}]
    return inflated(rows, stump(0, [0]), axes, [0.0], limit(0, codes=[-1, 0]))


@forged
def a_category_left_out_that_is_told_from_none_inside() -> Content:
    rows = space(column("c", kind="category", levels=["a", "b", "d"]))
    axes = [{"column": 0, "codes": [0, 1], "single": False}]
    beyond = [{"label": 1, "values": [2]}]
    return inflated(rows, stump(0, [0, 1]), axes, [0.0], limit(0, codes=[0]), "maximal", beyond=beyond)


def _known() -> dict[str, Any]:
    above = {"not": {"column": 1, "upto": 3.0}}
    return space(column("x0"), column("x1"), knowledge=[{"any": [{"column": 0, "upto": 0.5}, above]}])


@forged
def a_change_that_a_condition_forbids() -> Content:
    parts: dict[str, Any] = {"without": [], "proofs": [], "sufficient": [], "size_proof": []}
    witness = {"label": 1, "values": [1.0, 5.0]}
    return made(
        "contrastive", "changing", _known(), [stump(0, 0.5)], [cuts(0, 0.5)], row=[0.0, 0.0], features=[0],
        witness=witness, **parts,
    )  # fmt: skip


@forged
def one_change_where_a_condition_asks_for_two() -> Content:
    proofs = [{"against": 1, "rivals": [0], "ways": [], "boxes": [[0, [], [1], 0]]}]
    told = {"row": [0.0, 0.0], "other": [1.0, 5.0], "told": {}, "features": [0, 1], "proofs": proofs}
    return distance(_known(), stump(0, 0.5), [cuts(0, 0.5)], **told)


@forged
def a_row_outside_the_limits_of_a_column_that_no_tree_tests() -> Content:
    proofs = [{"against": 1, "rivals": [0], "ways": [], "boxes": [[0, [], [1], 0]]}]
    told: dict[str, Any] = {"row": [0.0, 0.0], "other": [0.0, 1.0], "told": {}, "features": [1], "proofs": proofs}
    rows, limits = space(column("x0"), column("x1")), [limit(0, low=5.0, high=6.0)]
    return distance(rows, stump(1, 0.5), [cuts(1, 0.5)], **told, limits=limits)


@forged
def a_missing_value_that_two_axes_pay_for() -> Content:
    """Of a row that lacks x0; all rows that have it are of class 1, for the price of 1."""
    rows, most = space(column("x0", missing=True), column("x1")), sys.float_info.max
    tree = {"column": [0, -1, 1, -1, -1], "test": [most, B, 1.5, A, B], "gap_low": [False] * 5}
    tree |= {"low": [1, 0, 3, 0, 0], "high": [2, 0, 4, 0, 0]}
    flag, far = {"column": 0, "flag": True}, 1.5000000001
    boxes = [[0, 0], [1, 0], *([[0, [], [0], 0]] * 2), [2, 0], [0, [], [1], None], [0, [], [0], 0]]
    told = {"metric": "l1", "pays": [], "least": 1.5, "distance": far, "unit": -52, "bound": 3 * 2**51}
    return distance(
        rows, tree, [flag, flag, cuts(1, 1.5)], [[0, 3], [1, 2]], row=[None, 0.0], other=[None, far], told=told,
        features=[1], proofs=[{"against": 1, "rivals": [0], "ways": [], "boxes": boxes}],
    )  # fmt: skip


@forged
def an_unknown_category_that_is_left_out_as_if_it_were_missing() -> Content:
    rows = space(column("c", kind="category", levels=["u"], missing=True, other=True), column("x1"))
    tree = {"column": [0, 1, -1, -1, -1], "test": [[0], 5.0, A, B, B], "gap_low": [False] * 5}
    tree |= {"low": [1, 2, 0, 0, 0], "high": [4, 3, 0, 0, 0]}
    axes = [{"column": 0, "codes": [code], "single": True} for code in (0, -1)]
    told = {"metric": "l1", "pays": [], "least": 5.0, "distance": 5.000000001, "unit": 0, "bound": 5}
    proofs = [{"against": 1, "rivals": [0], "ways": [], "boxes": [[2, 0], [0, [], [1], None], [0, [], [0], 0]]}]
    return distance(
        rows, tree, [*axes, cuts(1, 5.0)], row=[0.0, 0.0], other=[0.0, 5.000000001], told=told, features=[1],
        proofs=proofs,
    )  # fmt: skip


@forged
def classes_of_a_region_without_rows() -> Content:
    found = [{"class": k, "row": [0, k]} for k in (0, 1)]
    rows, limits = space(column("x0"), column("x1")), [limit(0, low=6.0, high=5.0)]
    return made("possible", "complete", rows, [stump(1, 0.5)], [cuts(1, 0.5)], limits=limits, found=found)


@forged
def a_class_that_is_impossible_where_there_are_no_rows() -> Content:
    found = [
        {"class": k, "proof": {"against": k, "rivals": [1 - k], "ways": [], "boxes": []}} for k in (0, 1)
    ]  # fmt: skip
    rows, limits = space(column("x0", missing=True), column("x1")), [limit(0, low=6.0, high=5.0)]
    return made("possible", "complete", rows, [stump(1, 0.5)], [cuts(1, 0.5)], limits=limits, found=found)


@forged
def a_bound_so_far_away_that_no_words_speak_of_it() -> Content:
    return sufficient(space(column("x0", high=1e38)), stump(0, 1e50), [cuts(0, 1e50)], [0])


@forged
def another_class_of_the_same_name() -> Content:
    parts: dict[str, Any] = {"without": [], "proofs": [], "sufficient": [], "size_proof": []}
    witness = {"label": 1, "values": [1.0]}
    content = made(
        "contrastive", "changing", space(column("x0")), [stump(0, 0.5)], [cuts(0, 0.5)], row=[0.0], features=[0],
        witness=witness, **parts,
    )  # fmt: skip
    return signed({**content, "model": {**content["model"], "classes": ["a", "a"]}})


@forged
def features_of_one_name() -> Content:
    parts: dict[str, Any] = {name: [] for name in ("keep", "without", "witnesses", "changes", "size_proof")}
    return made(
        "abductive", "sufficient", space(column("x"), column("x")), [stump(1, 0.5)], [cuts(1, 0.5)],
        row=[0.0, 0.0], features=[1], proofs=PROOFS, **parts,
    )  # fmt: skip


@forged
def no_class_at_all() -> Content:
    content = sufficient(space(column("x0")), stump(0, 0.5), [cuts(0, 0.5)], [0.0])
    return signed({**content, "targets": [], "proofs": []})


@forged
def a_condition_with_a_number_that_no_float_is() -> Content:
    most = 2.0**53 + 4
    rows = space(column("x0"), knowledge=[{"not": {"column": 0, "upto": 2**53 + 3}}])
    return sufficient(rows, stump(0, most, B, A), [cuts(0, most)], [most + 2], [[0]])


# ---------------------------------------------------------------------- what is true of fewer rows, which it says


def limited() -> list[tuple[Content, str]]:
    """Files, and what their claims have to say."""
    flag = [{"column": 0, "flag": True}]
    nothing = {"metric": "l1", "weights": [1.0], "pays": [], "least": None, "distance": None, "unit": None}
    group = {"name": "g", "columns": [0, 1], "kind": "one_hot"}
    pair = [column("a", whole=True, low=0.0, high=1.0), column("b", whole=True, low=0.0, high=0.0)]
    three = {"column": [0, 1, -1, -1, -1], "test": [0.5, 0.5, [1, 0, 0], [0, 1, 0], [0, 0, 1]], "gap_low": [False] * 5}
    three |= {"low": [1, 2, 0, 0, 0], "high": [4, 3, 0, 0, 0]}
    sets = [[{"features": [0], "proofs": [{**PROOFS[0], "against": 2}]}]]
    sets.append([{"features": [0], "label": 2, "values": [1.0, 0.0]}])
    every = dict(zip(("abductive", "contrastive"), sets, strict=True))
    sizes = column("x0", kind="ordered", whole=True, low=0.0, high=1.0, levels=["s", "m", "l"])
    tall = sufficient(space(sizes), stump(0, 1.5), [cuts(0, 1.5)], [0])
    far = sufficient(space(column("x0", low=2e38)), stump(0, 0.5, B, A), [cuts(0, 0.5)], [3e38])
    axes = [{"column": 0, "codes": [0], "single": False}]
    known = sufficient(space(column("c", kind="category", levels=["a"])), stump(0, [0]), axes, [0])
    choice = sufficient(
        space(*pair, groups=[group]), stump(0, 0.5, B, A), [cuts(0, 0.5), cuts(1)], [1, 0], [[0]]
    )  # fmt: skip
    why_not = made(
        "enumeration", "complete", space(column("x0"), column("x1")), [three], [cuts(0, 0.5), cuts(1, 0.5)],
        row=[0.0, 0.0], **{**every, "targets": [2]}, map_proof=["0"],
    )  # fmt: skip
    present = made(
        "distance", "none", space(column("x0", missing=True)), [stump(0, sys.float_info.max)], flag, row=[0.0],
        features=[], immutable=[], limits=[], distance={**nothing, "bound": None}, witness=None, proofs=[],
    )  # fmt: skip
    return [
        (tall, "x0 holds one of 's', 'm'"),
        (far, "x0 holds numbers from 2e+38"),
        (known, "c holds one of 'a'"),
        (choice, "b holds whole numbers from 0.0 to 0.0"),
        (why_not, "the abductive explanations, of why not c, are all of: x0"),
        (present, "every row with values of x0 has class a"),
    ]


def a_distance_of_two_categories() -> Content:
    """The nearest row of one without x1: messages are about the axis of a category, of which there are two."""
    tree = {"column": [1, -1, 2, 0, -1, -1, -1], "gap_low": [False, False, False, True, False, False, False]}
    tree |= {"low": [1, 0, 3, 4, 0, 0, 0], "high": [2, 0, 6, 5, 0, 0, 0]}
    tree["test"] = [0.5, [0, 899600471604], [1], -0.4, [0, 459578513771], [0, -567139387839], [0, -756952781414]]
    rows = space(
        column("x0", low=-1.27, high=1.47),
        column("x1", whole=True, missing=True),
        column("c", kind="category", levels=["u", "v"]),
    )
    axes = [cuts(0, -0.4), {**cuts(1, 0.0), "gap_high": True}, {"column": 1, "flag": True}]
    axes += [{"column": 2, "codes": [code], "single": True} for code in (0, 1)]
    edges = [[0, 4, [1, -5]], [3, 3, [1, 2]], [3, 4, [1, 3]]]
    boxes = [[0, 0], [39, edges, [695976], 18], [0, [], [1], None]]
    ways = [[False, [2, 5]], [False, [6, 8]], [False, [7, 9]]]
    told = {"metric": "l1", "weights": [0.5, 1.0, 0.5], "pays": [], "unit": -42, "bound": 2**42}
    proofs = [{"against": 1, "rivals": [0], "ways": ways, "boxes": boxes}]
    content = distance(
        rows, tree, axes, [[5, 2], [6, 8], [9, 7]], row=[1.0, None, 0.0], other=[1.0, 0.0, 0.0], told=told,
        features=[1], proofs=proofs,
    )  # fmt: skip
    return signed({**content, "model": {**content["model"], "base": [0, -195500919287], "margin": 1}})
