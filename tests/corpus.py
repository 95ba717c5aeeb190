"""A corpus of answers, recorded before a part of the house is rebuilt and compared after each step.

``python -m tests.corpus record FILE.json.gz`` asks every kind of question about rows of models of all families, and
fits every learner. ``python -m tests.corpus compare FILE.json.gz`` asks again: what was proved (status, distance,
bound, ranges, class, verdict) must be equal; which row shows it, and how much work it took, may differ and is counted.
Models are those that campaigns draw, at fixed numbers, so that a recording holds for the versions named in its head.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import itertools
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from proofwood import DataError, Explainer, proved_rules
from proofwood.explain.explanation import Explanation
from tests.fuzz import explanations, learners, pipelines, regressors
from tests.fuzz.explanations import Case

SEED = 20261127
N_MODELS, N_ROWS, N_FITS = 60, 20, 75
"""Of each learner at least so many fits."""
METRICS = ("l1", "l2", "linf", "changes")
PACKAGES = ("numpy", "scikit-learn", "pandas", "xgboost", "lightgbm", "catboost")
MAKERS = (*explanations.MODELS, *pipelines.MODELS, *regressors.MODELS)

Answer = dict[str, Any]
"""What must be equal, and under ``"may"`` what need not be."""


# ---------------------------------------------------------------------------------------------------- answers as values


def plain(value: Any) -> Any:
    """A value as JSON has it, numbers to the last bit."""
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return value if isinstance(value, str | int | bool | None) else str(value)


def of_explanation(found: Explanation) -> Answer:
    """An explanation; of a counterfactual and a contrastive one which features change need not be the same."""
    told = {
        "kind": found.kind, "status": found.status, "class": str(found.prediction), "ranges": found.ranges,
        "distance": found.distance, "lower bound": found.lower_bound, "size": len(found.features),
        "immutable": list(found.immutable), "constraints": list(found.constraints), "reading": found.reading,
        "verified": str(found.verify()),
    }  # fmt: skip
    may = {
        "features": list(found.features), "text": str(found), "calls": found.calls,
        "rows": [cells.tolist() for cells in found.witness_cells.values()],
        "box": None if found.low is None or found.high is None else [found.low.tolist(), found.high.tolist()],
    }  # fmt: skip
    return {**plain(told), "may": plain(may)}


def questions(explainer: Explainer, x: Any) -> Iterator[tuple[str, Callable[[], Answer]]]:
    """Every kind of question about a row, by name."""
    first = explainer.feature_names[0]

    def explained(kind: str, **options: Any) -> Callable[[], Answer]:
        return lambda: of_explanation(getattr(explainer, kind)(x, **options))

    yield "abductive", explained("abductive")
    yield "abductive smallest", explained("abductive", smallest=True)
    yield "abductive inflate", explained("abductive", inflate=True)
    yield "abductive certificate", explained("abductive", certificate=True)
    yield "contrastive", explained("contrastive")
    yield "contrastive smallest", explained("contrastive", smallest=True)
    yield "contrastive immutable", explained("contrastive", immutable=[first])
    for metric in METRICS:
        yield f"counterfactual {metric}", explained("counterfactual", metric=metric)
    yield "counterfactual immutable", explained("counterfactual", immutable=[first])
    yield "counterfactual certificate", explained("counterfactual", certificate=True)
    yield "diverse", lambda: {"all": [of_explanation(one) for one in explainer.counterfactuals(x, limit=3)]}
    yield "robustness", lambda: robust(explainer, x)
    yield "enumerate", lambda: listed(explainer, x)
    yield "attribution", lambda: plain(asdict(explainer.attribution(x)))
    yield "relevant", lambda: plain(explainer.relevant(x))
    yield "necessary", lambda: plain(explainer.necessary(x))
    yield "sufficient", lambda: {"is": explainer.is_sufficient(x, [first])}


def robust(explainer: Explainer, x: Any) -> Answer:
    """Radius and status."""
    found = explainer.robustness(x)
    return plain({"radius": found.radius, "status": found.status, "may": {"text": str(found)}})


def listed(explainer: Explainer, x: Any) -> Answer:
    """All explanations of a row as sets of features."""
    run = explainer.enumerate(x, limit=200)
    found = [(one.kind, sorted(one.features)) for one in run]
    told = {kind: sorted(features for of, features in found if of == kind) for kind in ("abductive", "contrastive")}
    return plain({**told, "complete": run.complete})


def of_model(explainer: Explainer, case: Case) -> Iterator[tuple[str, Callable[[], Answer]]]:
    """Questions about all rows of a model, by name."""
    names = explainer.feature_names
    for name in names[:4]:
        yield f"independent of {name}", lambda name=name: {"holds": explainer.independent_of(name).holds}  # type: ignore[misc]
    yield "possible", lambda: plain(explainer.possible({}).classes)
    yield "range", lambda: ranged(explainer, case)
    yield "rules", lambda: ruled(explainer, case)


def ranged(explainer: Explainer, case: Case) -> Answer:
    """Least and greatest number, or probability of the first class."""
    asked_of = {"target": explainer.model.classes[0]} if hasattr(case.model, "predict_proba") else {}
    found = explainer.range(**asked_of)
    return plain({key: getattr(found, key) for key in ("low", "high", "exact")})


def ruled(explainer: Explainer, case: Case) -> Answer:
    """Rules that the model obeys everywhere."""
    found = proved_rules(explainer, case.X, max_rules=3)
    covered = [rule.n_rows for rule in found]
    return plain({"status": found.status, "most": found.most_covered, "may": {"covered": covered, "text": str(found)}})


def asked(question: Callable[[], Answer]) -> Answer:
    """The answer, or the refusal as the user reads it."""
    try:
        return question()
    except (DataError, ValueError, TypeError, NotImplementedError, RuntimeError) as error:
        return {"refused": f"{type(error).__name__}: {error}"}


# ---------------------------------------------------------------------------------------------------------- the corpus


def about_models() -> Iterator[tuple[str, Answer]]:
    """Names and answers of all questions."""
    for number in range(N_MODELS):
        case, rng = explanations.make(SEED, number, MAKERS)
        explainer = Explainer(case.model, **{"X": case.X, **case.options})
        head = f"{number} {case.told.split()[0]}"
        for name, question in of_model(explainer, case):
            yield f"{head} | {name}", asked(question)
        for i in rng.choice(len(case.X), min(N_ROWS, len(case.X)), replace=False).tolist():
            row = case.X.iloc[[i]] if hasattr(case.X, "iloc") else case.X[[i]]
            for name, question in questions(explainer, row):
                yield f"{head} | row {i} | {name}", asked(question)


def is_quick(case: learners.Case) -> bool:
    """Whether a fit ends soon without a limit."""
    engine = case.options.get("engine", "search")
    if case.tiny:
        return case.learner != "diagram" or engine in ("auto", "search")  # annealing has no end
    greedy = case.options.get("variant") == "greedy"
    return case.learner in ("tree", "bdd") and (engine == "search" or greedy)


def about_fits() -> Iterator[tuple[str, Answer]]:
    """Names and results of all fits; a limit of time would make them differ, so that none has one, and none is slow."""
    drawn = (learners.draw(np.random.default_rng([SEED, number])) for number in itertools.count())
    quick = (case for case in drawn if is_quick(case))
    fitted_of, refused = Counter[str](), itertools.count()
    while min(fitted_of[learner] for learner in learners.ENGINES) < N_FITS:
        case = next(quick)
        case.options["time_limit"] = None
        try:
            fitted = learners.estimator(case).fit(case.X, case.y, sample_weight=case.sample_weight)
        except (ValueError, TypeError) as error:
            yield f"refused {next(refused)} {case.learner}", {"refused": str(error)}
            continue
        fitted_of[case.learner] += 1
        name = f"{case.learner} {fitted_of[case.learner]}"
        result = fitted.result_
        told = {"status": str(result.status), "objective": result.objective, "bound": result.lower_bound}
        may = {"counters": dict(result.stats.counters), "text": fitted.export_text()}
        yield name, {**plain(told), "may": plain(may)}


def corpus() -> dict[str, Answer]:
    """All answers, by name."""
    found: dict[str, Answer] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (about_fits, about_models):
            for name, answer in part():
                found[name] = answer
                sys.stderr.write(f"\r{len(found)} {name[:60]:60}")
    return found


def versions() -> dict[str, str]:
    """Packages on which the models depend."""
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def difference(before: Answer, after: Answer) -> tuple[list[str], int]:
    """Names of what must be equal and is not, and how much differs of what need not be."""
    names = [name for name in {**before, **after} if name != "may"]
    free_before, free_after = before.get("may", {}), after.get("may", {})
    if "all" in names:  # a list of answers
        pairs = [difference(a, b) for a, b in zip(before.get("all", []), after.get("all", []), strict=False)]
        wrong = sorted({name for one, _ in pairs for name in one})
        lengths = [] if len(before.get("all", [])) == len(after.get("all", [])) else ["number of answers"]
        return lengths + wrong, sum(count for _, count in pairs)
    wrong = [name for name in names if before.get(name) != after.get(name)]
    return wrong, sum(free_before.get(name) != free_after.get(name) for name in free_before)


def main(arguments: list[str]) -> int:
    """Record, or compare; 1 if something that must be equal differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    if given.what == "record":
        with gzip.open(given.file, "wt", encoding="utf-8") as out:
            json.dump({"versions": versions(), "answers": corpus()}, out, sort_keys=True)
        return 0
    with gzip.open(given.file, "rt", encoding="utf-8") as source:
        recorded = json.load(source)
    if recorded["versions"] != versions():
        parser.error(f"{given.file} was recorded with {recorded['versions']}, here are {versions()}: record anew")
    before, after = recorded["answers"], corpus()
    faults, differs = [], Counter[str]()
    for name in sorted({*before, *after}):
        wrong, free = difference(before.get(name, {}), after.get(name, {}))
        differs["others"] += bool(free)
        faults += [
            f"{name}: {what}: {before.get(name, {}).get(what)} -> {after.get(name, {}).get(what)}" for what in wrong
        ]
    sys.stdout.write(
        "\n".join([*faults, f"{len(after)} answers, {len(faults)} faults, {differs['others']} shown otherwise", ""])
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
