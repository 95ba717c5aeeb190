"""The pages of all benchmarks but those of the papers, written anew from what is stored: nothing is measured.

``python -m benchmarks.pages`` writes them; the tables of the papers are those of ``benchmarks.reproduce --pages``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import (
    ablation,
    anytime,
    born_again,
    bounds,
    counterfactuals,
    engines,
    explain_oracles,
    limits,
    limits_explain,
    proofs,
    reading,
    robustness,
    robustness_batch,
    scale_explain,
    scaling,
    scaling_page,
    smallest,
    speed,
    subset,
    threads,
)
from benchmarks.harness import RESULTS, Table


def _of(module: object, name: str, make: Callable[[Table, Path], Path]) -> Callable[[Path], Path]:
    """The page of a module whose table is in the folder of explanations."""

    def page(out: Path) -> Path:
        table = Table(out / "explain" / name, module.KEY, module.COLUMNS)  # type: ignore[attr-defined]
        return make(table, out / "explain")

    return page


def _measured_nothing(compare: Callable[..., Path], **nothing: object) -> Callable[[Path], Path]:
    return lambda out: partial(compare, **nothing)(out=out)


PAGES: dict[str, Callable[[Path], Path]] = {
    "ablation.md": _measured_nothing(ablation.compare, sets=()),
    "anytime.md": _measured_nothing(anytime.compare, sets=()),
    "bounds.md": _measured_nothing(bounds.compare, sets=()),
    "engines.md": _measured_nothing(engines.compare, tasks=()),
    "limits.md": _measured_nothing(limits.compare, learners=()),
    "limits-explain.md": _measured_nothing(limits_explain.compare, models=()),
    "proofs.md": lambda out: proofs.compare(folder=out, sets=(), out=out),
    "scaling.md": lambda out: scaling_page.results(scaling.fits(out=out, axes=()), out / "scaling.md"),
    "smallest.md": _measured_nothing(smallest.tabulate, sets=()),
    "speed.md": _measured_nothing(speed.compare, sets=()),
    "speed-bits.md": _measured_nothing(speed.compare, rival="streed", sets=()),
    "bdd-subset.md": _measured_nothing(subset.tabulate, sets=()),
    "threads.md": _measured_nothing(threads.compare, sets=()),
    "explain/born_again.md": _of(born_again, "born_again.csv", born_again.page),
    "explain/counterfactuals.md": _of(counterfactuals, "counterfactuals.csv", counterfactuals.page),
    "explain/oracles.md": _of(explain_oracles, "oracles.csv", explain_oracles.report),
    "explain/reading.md": _of(reading, "reading.csv", reading.render),
    "explain/robustness.md": _of(robustness, "robustness.csv", robustness.page),
    "explain/robustness_batch.md": _of(robustness_batch, "robustness_batch.csv", robustness_batch.page),
    "explain/scale.md": _of(scale_explain, "scale.csv", scale_explain.page),
}
"""The maker of each page, by its place among the results."""


def main() -> None:
    """Write all of them."""
    for make in PAGES.values():
        print(make(RESULTS))


if __name__ == "__main__":
    main()
