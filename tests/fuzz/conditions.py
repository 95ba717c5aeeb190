"""Trees under conditions on the whole tree, and measures of a positive class, against every tree of small tables.

An order of classes, limits on the rates of groups, the least difference of rates within a slack, F measures and the
Jaccard index. A looser condition is never worse than a stricter one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import proofwood
from proofwood import OptimalTreeClassifier
from proofwood.exceptions import DataError, InfeasibleError
from tests.fuzz import _records, _trees, targets
from tests.fuzz._trees import Trees, require
from tests.fuzz.targets import Case, Rows
from tests.naive_ordered import in_order, labelled_trees, ranks_of

RATES = {
    "DemographicParity": (("all",),),
    "EqualOpportunity": (("positive",),),
    "PredictiveEquality": (("negative",),),
    "EqualizedOdds": (("positive",), ("negative",)),
}
MEASURES: tuple[tuple[dict[str, Any], Fraction, Fraction], ...] = (
    ({"criterion": "f1"}, Fraction(2), Fraction(1)),
    ({"criterion": "jaccard"}, Fraction(1), Fraction(1)),
    ({"criterion": "f_beta", "beta": 2}, Fraction(5), Fraction(4)),
    ({"criterion": "f_beta", "beta": 0.5}, Fraction(5, 4), Fraction(1, 4)),
    ({"criterion": "precision", "min_recall": 0.3}, Fraction(1), Fraction(0)),
    ({"criterion": "precision", "min_recall": 0.8}, Fraction(1), Fraction(0)),
    ({"criterion": "precision", "min_recall": 1}, Fraction(1), Fraction(0)),
)
"""With what a hit and a missed row count: lost / (hit (positive - missed) + lost), lost = missed price + called."""
FEW_ROWS = 7
TOO_FINE = ("too many digits", "needs exact sums")
NO_RATE = ("has no row", "only the value", "sensitive_features has no value", "there is no group")


def two_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Labels of two classes, if there are rows for both."""
    y = rng.permutation(np.concatenate([np.arange(2), rng.integers(0, 2, n)])[:n])
    return np.array(["no", "yes"])[y] if rng.random() < 0.3 else y


def weights_of(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Mostly weights of few digits, which are needed for exact sums."""
    return targets.weights_of(rng, n) if rng.random() < 0.3 else _few_digits(rng, n)


def _few_digits(rng: np.random.Generator, n: int) -> np.ndarray | None:
    if rng.random() < 0.5:
        return None
    whole = rng.integers(1, 6, n)
    return whole * 1e9 if rng.random() < 0.25 else whole / float(rng.choice([1, 4, 10]))


def price_of(case: Case, trees: Trees) -> Fraction:
    """What a leaf costs."""
    return targets._share(case.options.get("alpha", 0.0)) * trees.total


# -------------------------------------------------------------------------------------------------------------- order


def order(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The best tree whose classes keep an order."""
    n, depth = int(rng.integers(1, FEW_ROWS + 3)), int(rng.choice([0, 1, 2, 2, 3]))
    X = _trees.numbers(rng, FEW_ROWS if depth == 3 else n, 2 if depth == 3 else 3)
    X = X.clip(upper=2 if depth == 3 else 4)
    n = len(X)
    options = {**_trees.limits(rng), "max_depth": depth, "alpha": float(rng.choice([0, 0, 0.05, 1 / 3]))}
    options |= {"min_samples_leaf": int(rng.choice([1, 1, 2])), "max_gap": [0, 0, 0, 1, 0.1][int(rng.integers(5))]}
    options["criterion"] = str(rng.choice(["errors", "errors", "balanced_accuracy"]))
    signs = rng.integers(-1, 2, X.shape[1]).tolist()
    options["monotonic_cst"] = signs if rng.random() < 0.5 else dict(zip(X.columns, signs, strict=True))
    case = _trees.classifier("order", X, two_classes(rng, n), weights_of(rng, n), options)
    with _records.about(case):
        trees = Trees(case, balanced=options["criterion"] == "balanced_accuracy")
        kept = sorted(trees.kept)
        used = [j for j in range(X.shape[1]) if X.iloc[kept, j].nunique() > 1]  # the others are left out
        ranks = ranks_of(X.to_numpy()[kept]) if kept else np.zeros((0, 1))
        codes = [trees.codes[i] for i in kept]
        if ranks.shape[1] and np.prod([int(c.max()) + 1 for c in ranks.T]) > 40 and depth == 3:
            counts["too large"] += 1
            return
        whole = case.options["min_samples_leaf"]
        price = price_of(case, trees)
        least: Fraction | None = None
        two = len(trees.labels) == 2
        for leaves in labelled_trees(ranks[:, used], depth, whole):
            wrong = sum(trees.weights[kept[i]] for _, label, rows in leaves for i in rows if codes[i] != label)
            cost = trees.real(wrong) + price * (len(leaves) - 1)
            if (least is None or cost < least) and (not two or in_order(leaves, tuple(signs[j] for j in used))):
                least = cost
        assert least is not None
        try:
            model = case.fitted()
        except ValueError as error:
            _trees.refused(error, counts, *TOO_FINE)
            return
        gap = _trees.weight_of(case.options["max_gap"], trees.total)
        _trees.check_proof(model, least, gap=gap, finished=_trees.unlimited(case.options))
        _trees.check_model(case, model, rng)
        free = case.fitted(monotonic_cst=None, max_gap=0, time_limit=60.0)
        require(free.objective_ <= model.objective_ * (1 + 1e-12), "no order costs more than an order")
        if two:
            _in_order(model, X, signs, trees)
        counts[f"order {model.status_}"] += 1


def _in_order(model: Any, X: Any, signs: Sequence[int], trees: Trees) -> None:
    """Predictions of pairs of cells, one of which is nowhere below the other."""
    values = [sorted({-1.0, *X[name], *(X[name] + 0.5)}) for name in X.columns]
    every = np.array(np.meshgrid(*values)).reshape(len(values), -1).T
    every = every[:: max(1, len(every) // 200)]
    told = np.array([trees.labels.index(label) for label in model.predict(type(X)(every, columns=X.columns))])
    for row, code in zip(every, told, strict=True):
        away = every - row
        above = np.all([away[:, j] * sign >= 0 if sign else away[:, j] == 0 for j, sign in enumerate(signs)], axis=0)
        require((told[above] >= code).all(), f"the class falls from {row.tolist()}")


# -------------------------------------------------------------------------------------------------------------- rates


def table_of_groups(rng: np.random.Generator, kind: str) -> tuple[Case, Any]:
    """A small table with a group of each row."""
    n = int(rng.integers(2, FEW_ROWS + 1))
    options = {**_trees.limits(rng), "max_depth": int(rng.choice([0, 1, 2, 2, 3]))}
    options["alpha"] = float(rng.choice([0, 0, 0.05, 0.125]))
    options["min_samples_leaf"] = int(rng.choice([1, 1, 2]))
    options["criterion"] = str(rng.choice(["errors"] * 4 + ["balanced_accuracy"]))
    X = _trees.table(rng, n)
    groups = rng.permutation(np.concatenate([np.arange(2), rng.integers(0, rng.integers(2, 4), n)])[:n])
    return _trees.classifier(kind, X, two_classes(rng, n), weights_of(rng, n), options), np.array(["f", "m", "x"])[
        groups
    ]


def rates_of(name: str, trees: Trees, groups: Any, positive: int) -> list[dict[str, tuple[Rows, Fraction]]]:
    """For each kind of rate, the rows of each group that count, and their weight; empty where a rate is undefined."""
    found = []
    for (among,) in RATES[name]:
        rows = {
            str(g): frozenset(
                i
                for i in trees.kept
                if groups[i] == g and (among == "all" or (trees.codes[i] == positive) == (among == "positive"))
            )
            for g in sorted({groups[i] for i in trees.kept})
        }
        if len(rows) < 2 or not all(rows.values()):
            return []
        found.append({g: (these, trees.people(these)) for g, these in rows.items()})
    return found


def _rates(chosen: Rows, sides: Any, trees: Trees) -> list[list[Fraction]]:
    return [[trees.people(rows & chosen) / whole for rows, whole in one.values()] for one in sides]


def rates(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The best tree within a ratio of rates, and the tree whose rates differ least within a slack."""
    case, groups = table_of_groups(rng, "rates")
    name, ratio = str(rng.choice(list(RATES))), float(rng.choice([0.5, 0.8, 0.9, 1.0]))
    ask_fairest = rng.random() < 0.5
    with _records.about((str(case), name, ratio, ask_fairest)):
        trees = Trees(case, balanced=case.options["criterion"] == "balanced_accuracy")
        labels = trees.labels
        if len(labels) < 2:
            counts["one class"] += 1
            return
        positive = int(rng.integers(2))
        constraint = getattr(proofwood, name)(ratio=ratio, pos_label=labels[positive])
        sides = rates_of(name, trees, groups, positive)
        for _ in range(10):  # groups without rows that count have no rate
            if not sides:
                groups = rng.permutation(groups)
                sides = rates_of(name, trees, groups, positive)
        if not sides:
            counts["no rate"] += 1
            return
        price = price_of(case, trees)
        every = trees.kept
        costs: dict[Rows, Fraction] = {}
        for chosen, leaves in trees.chosen(case.options["max_depth"]).items():
            wrong = trees.weight((chosen if positive else every - chosen) ^ trees.positive)
            costs[chosen] = trees.real(wrong) + price * (leaves - 1)
        asked = fairest if ask_fairest else within
        with _records.about((constraint, groups.tolist())):
            asked(case, groups, constraint, costs, sides, trees, rng, counts)


def within(
    case: Case, groups: Any, constraint: Any, costs: Any, sides: Any, trees: Trees, rng: Any, counts: Counter[str]
) -> None:
    """Fewest errors under a limit."""
    ratio = targets._share(constraint.ratio)
    meets = [
        cost
        for chosen, cost in costs.items()
        if all(a >= ratio * b for one in _rates(chosen, sides, trees) for a, b in permutations(one, 2))
    ]
    case.more["sensitive_features"] = groups
    options = {**case.options, "constraints": [constraint]}
    case.options.update(options)
    try:
        model = case.fitted()
    except (DataError, InfeasibleError, ValueError) as error:
        _trees.refused(error, counts, *TOO_FINE, *NO_RATE)
        return
    # Prices may leave a gap, which a list of all trees closes: of tests by values, and of weights that add up exactly.
    text = any(column.dtype == object for _, column in case.X.items())
    listed = not text and not _trees.wide(case.weights)
    _trees.check_proof(model, min(meets), finished=listed and _trees.unlimited(case.options))
    case.more.clear()
    _trees.check_model(case, model, rng)
    told = model.predict(case.X)
    chosen = frozenset(i for i in trees.kept if told[i] == constraint.pos_label)
    for one in _rates(chosen, sides, trees):
        require(all(a >= ratio * b for a, b in permutations(one, 2)), f"rates {list(map(float, one))} break the limit")
    counts[f"{type(constraint).__name__} {model.status_}"] += 1


def fairest(
    case: Case, groups: Any, constraint: Any, costs: Any, sides: Any, trees: Trees, rng: Any, counts: Counter[str]
) -> None:
    """The least difference of rates for so much more; also asked of a tree from a file."""
    model = case.fitted()
    if rng.random() < 0.2:
        with TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.json")
            model = proofwood.load(Path(folder) / "model.json")
    weights = () if case.weights is None else (case.weights,)
    slack = [0, 1, 2, 0.1, 0.3][int(rng.integers(5))]
    limit = 1e-5 if rng.random() < 0.2 else 60.0
    try:
        found = model.fairest(
            constraint, case.X, case.y, *weights, sensitive_features=groups, slack=slack, time_limit=limit
        )
    except ValueError as error:
        _trees.refused(error, counts, *TOO_FINE, *NO_RATE)
        return
    most = Fraction(model.objective_) + _trees.weight_of(slack, trees.total)
    most *= 1 + _trees.CLOSE
    least = min(
        max(a - b for one in _rates(chosen, sides, trees) for a, b in permutations(one, 2))
        for chosen, cost in costs.items()
        if cost <= most
    )
    about = f"{found.status}, {found.difference!r}, bound {found.lower_bound!r}, possible {float(least)!r}, {slack}"
    require(Fraction(found.lower_bound) <= least + Fraction(1, 2**50), f"bound too high: {about}")
    require(Fraction(found.difference) >= least - Fraction(1, 2**50), f"fairer than possible: {about}")
    if str(found.status) == "optimal":
        require(Fraction(found.difference) <= least + Fraction(1, 2**50), f"not the fairest: {about}")
    else:
        require("every tree with" in found.summary() and "no tree" not in found.summary(), found.summary())
    require(Fraction(found.tree.recount(case.X, case.y, *weights)) <= most, f"costs too much: {about}")
    _trees.check_texts(found.tree)
    fewest = min(costs.values()) * (1 + _trees.CLOSE)
    require(Fraction(found.tree.lower_bound_) <= fewest, f"a bound above the fewest errors: {about}")
    require(found.tree.loaded_ == model.loaded_, f"a claim of a file is {found.tree.loaded_}, not {model.loaded_}")
    told = found.tree.predict(case.X)
    chosen = frozenset(i for i in trees.kept if told[i] == constraint.pos_label)
    here = max(a - b for one in _rates(chosen, sides, trees) for a, b in permutations(one, 2))
    require(
        abs(here - Fraction(found.difference)) < Fraction(1, 2**50), f"the rates differ by {float(here)!r}: {about}"
    )
    require(found.difference <= found.before, f"less fair than before: {about}, {found.before!r}")
    counts[f"fairest {found.status}"] += 1


# ----------------------------------------------------------------------------------------------------------- measures


def measure(rng: np.random.Generator, counts: Counter[str]) -> None:
    """The greatest F measure, Jaccard index, or precision at a recall."""
    n = int(rng.integers(2, _trees.MOST_ROWS + 1))
    given, hit, paid = MEASURES[int(rng.integers(len(MEASURES)))]
    options = {**_trees.limits(rng), **given, "max_depth": int(rng.choice([0, 1, 2, 3]))}
    options["min_samples_leaf"] = int(rng.choice([1, 1, 2]))
    options["max_gap"] = float(rng.choice([0.0, 0.0, 0.05, 0.2]))
    recall = Fraction(str(given.get("min_recall", 0)))
    weights = weights_of(rng, n) if recall else targets.weights_of(rng, n)
    case = _trees.classifier("measure", _trees.table(rng, n), two_classes(rng, n), weights, options)
    with _records.about(case):
        trees = Trees(case)
        if len(trees.labels) < 2:
            counts["one class"] += 1
            return
        code = int(rng.integers(2))
        case.options["pos_label"] = trees.labels[code]
        positive = trees.positive if code else trees.kept - trees.positive
        least = Fraction(1)
        for chosen in trees.chosen(case.options["max_depth"]):
            missed, called = trees.weight(positive - chosen), trees.weight(chosen - positive)
            if missed > (1 - recall) * trees.weight(positive):
                continue
            lost = paid * missed + called
            least = min(least, lost / (hit * (trees.weight(positive) - missed) + lost))
        try:
            model = case.fitted()
        except ValueError as error:
            _trees.refused(error, counts, *(TOO_FINE if recall else ()))
            return
        gap = targets._share(case.options["max_gap"])
        _trees.check_proof(model, least, gap=gap + Fraction(1, 10**9), finished=_trees.unlimited(case.options))
        _trees.check_model(case, model, rng)
        if not case.options["max_gap"] and _trees.unlimited(case.options) and rng.random() < 0.2:
            targets.other_threads(case, model)
        counts[f"{given['criterion']} {model.status_}"] += 1


# ------------------------------------------------------------------------------------------------------------- limits


def limited(rng: np.random.Generator, counts: Counter[str]) -> None:
    """Less time and more on a larger table; a looser condition is never worse, if both are proved."""
    X, y, weights = _trees.larger(rng)
    groups = np.where(X["1"] + rng.normal(size=len(X)) > 0, "f", "m")
    groups[:2] = "f", "m"
    options: dict[str, Any] = {"max_depth": int(rng.integers(2, 5)), "n_jobs": int(rng.choice([1, 2]))}
    kind, more = str(rng.choice(["order", "rates", "measure"])), {}
    loose: dict[str, Any] = {}
    if kind == "order":
        strict: dict[str, Any] = {"monotonic_cst": rng.integers(-1, 2, X.shape[1]).tolist()}
    elif kind == "rates":
        strict = {"constraints": [proofwood.DemographicParity(ratio=0.9)]}
        loose, more = {"constraints": [proofwood.DemographicParity(ratio=0.7)]}, {"sensitive_features": groups}
    else:
        strict = MEASURES[int(rng.integers(len(MEASURES)))][0]
        loose = {**strict, "max_depth": options["max_depth"] + 1}

    def fit(limit: float, chosen: dict[str, Any] = strict) -> Any:
        return OptimalTreeClassifier(**{**options, **chosen}, time_limit=limit).fit(X, y, weights, **more)

    with _records.about((kind, options, strict, X.shape, weights is not None)):
        _, hard = _trees.short_and_long(fit, rng, counts)
        easy = _trees.in_time(lambda: fit(1.0, loose), 1.0)
        require(easy.lower_bound_ <= hard.objective_ * (1 + 1e-12), "the easier question has a higher bound")
        counts[f"limited {kind}"] += 1


KINDS = (order, rates, rates, measure)


def one_case(number: int) -> Counter[str]:
    """The case of a number."""
    rng = np.random.default_rng(number)
    counts: Counter[str] = Counter()
    with _trees.quiet():
        (limited if rng.random() < 0.01 else KINDS[number % len(KINDS)])(rng, counts)
    return counts
