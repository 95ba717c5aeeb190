"""The tables and figures of five papers, measured again, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from benchmarks.papers import beyond, contree, inferdt, maxsat_bdd, odd, rfxpl, rfxpl_anchor
from benchmarks.papers.measuring import Page

TINY, BITS = ("generated-tiny",), ("generated-bits",)

_NATIVE, _ENGINES, _PAPERS = "src/proofwood/native", "src/proofwood/engines", "src/proofwood/papers"
_EXPLAIN = tuple(f"src/proofwood/explain/{part}" for part in ("oracles", "search", "answers"))
ALL_TREES = (f"{_NATIVE}/trees", f"{_NATIVE}/common", f"{_ENGINES}/trees")
APART = (
    *(f"{_ENGINES}/trees/{name}.py" for name in ("fair", "ratios", "near", "limited", "last_tests", "ordered")),
    *(f"{_NATIVE}/trees/{task}" for task in ("fair", "near")),
)
"""What the search of one tree without constraints does not use."""
TREES = (*ALL_TREES, *(f":!{path}" for path in APART))
_SOLVERS = "src/proofwood/solvers"
MINIMAL = (f"{_NATIVE}/minimal", f"{_NATIVE}/common", f"{_ENGINES}/minimal", f"{_PAPERS}/inferdt", _SOLVERS)
BDD = (*TREES, f"{_NATIVE}/bdd", f"{_ENGINES}/bdd", f"{_PAPERS}/maxsat_bdd", _SOLVERS)
DIAGRAM = (*TREES, f"{_NATIVE}/diagram", f"{_NATIVE}/bdd", f"{_ENGINES}/diagram", f"{_PAPERS}/odd")
VOTES = (f"{_NATIVE}/votes", *_EXPLAIN, "src/proofwood/ensembles", f"{_PAPERS}/rfxpl", _SOLVERS)
"""Code that rows depend on: kernels and engines; BDDs and diagrams have their bounds from the tree search."""
_TASKS = "benchmarks/papers"


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    paper, name : of the paper, as its folder of results is called, and of the table
    make : the page, from what is stored; it takes a pass, and its protocol as keywords
    code : folders of the code that its rows depend on
    timings : whether seconds are the point, so that nothing else may run beside
    generated : the protocol on sets that need no files
    """

    paper: str
    name: str
    make: Callable[..., Page]
    code: tuple[str, ...]
    timings: bool = True
    generated: Mapping[str, Any] = field(default_factory=dict)


_SHORT = {"sets": TINY, "limit": 5.0}
_BITS = {"sets": BITS, "limit": 5.0, "runs": 1}
_CROSSED = {**_BITS, "depths": (2, 3)}
_SMALL = odd.Plan(("generated-tiny",), ("I", "tree"), (1.0, 0.1), ("univariate",), (0,), limit=2.0, start_seconds=0.5)


def _experiments(paper: str, code: tuple[str, ...], **made: tuple[Callable[..., Page], Mapping[str, Any], bool]) -> Any:
    return (Experiment(paper, name, make, code, timings, small) for name, (make, small, timings) in made.items())


_DEEP = {which: partial(contree.deep, which=which, depth=which + 2) for which in (3, 4)}

EXPERIMENTS: tuple[Experiment, ...] = (
    *_experiments(
        "rfxpl",
        (*VOTES, f"{_TASKS}/rfxpl_tasks.py"),
        table1=(rfxpl.table1, {**_SHORT, "budget": 5.0}, True),
        anchor=(rfxpl_anchor.anchor, {**_SHORT, "rows": 2}, True),
    ),
    *_experiments(
        "inferdt",
        MINIMAL,
        table1=(inferdt.table1, {**_BITS, "cv_runs": 1}, True),
        table2=(inferdt.table2, {**_BITS, "cv_runs": 1, "formulas": {}}, True),
        table3=(inferdt.table3, {"sets": (), "limit": 5.0}, True),
        table4=(inferdt.table4, {"sets": ()}, False),
        figure2=(inferdt.figure2, {"examples": (100, 800), "runs": 2, "limit": 5.0}, True),
    ),
    *_experiments("odd", (*DIAGRAM, f"{_TASKS}/odd_tasks.py"), table1=(odd.table1, {"plan": _SMALL}, False)),
    *_experiments(
        "maxsat_bdd",
        (*BDD, f"{_TASKS}/maxsat_bdd_tasks.py"),
        table3=(maxsat_bdd.table3, {"sets": BITS}, False),
        table4=(maxsat_bdd.table4, {**_BITS, "shares": (0.15,), "longer": None}, True),
        table5=(maxsat_bdd.table5, {**_CROSSED, "tree_runs": 1}, False),
        table6=(maxsat_bdd.table6, _CROSSED, True),
        figure6=(maxsat_bdd.figure6, _CROSSED, False),
        figure7=(maxsat_bdd.figure7, _CROSSED, False),
        figure8=(maxsat_bdd.figure8, _CROSSED, False),
    ),
    *_experiments(
        "odd",
        (*DIAGRAM, f"{_TASKS}/odd_tasks.py"),
        table2=(odd.table2, {"plan": _SMALL, "shares": (0.1,)}, False),
        figure2=(partial(odd.figure2, plan=odd.PROTOCOL), {"plan": _SMALL}, False),
        figure3=(partial(odd.figure3, plan=odd.PROTOCOL), {"plan": _SMALL}, False),
        figure4=(partial(odd.figure4, plan=odd.FIGURE_4), {"plan": _SMALL}, False),
        known=(odd.known, {"plan": _SMALL}, False),
        norms=(odd.norms, {"plan": replace(_SMALL, splits=("oblique",))}, False),
    ),
    *_experiments(
        "contree",
        (*TREES, "benchmarks/tasks.py"),
        table1=(contree.table1, {**_SHORT, "runs": 2, "without": 1}, True),
        table2=(contree.table2, _SHORT, True),
        table3=(_DEEP[3], _SHORT, True),
        table4=(_DEEP[4], _SHORT, True),
        table5=(contree.table5, _SHORT, True),
        table6=(contree.table6, {**_SHORT, "splits": 2, "inner": 2}, False),
        figure2=(contree.figure2, _SHORT, False),
        figure3=(contree.figure3, _SHORT, True),
    ),
    *_experiments(
        "beyond",
        (*ALL_TREES, f"{_TASKS}/beyond_tasks.py"),
        **{
            name: (
                partial(beyond.page, contest=one),
                {"instances": [one.tiny] if one.tiny else (), "limit": 5.0},
                True,
            )
            for name, one in beyond.CONTESTS.items()
        },
    ),
)
"""All of them, in the order in which they are measured."""
