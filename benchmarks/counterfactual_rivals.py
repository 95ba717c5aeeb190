"""A rival's search for the nearest row of another class, in a Python of its own; ``counterfactuals.py`` starts it.

``PYTHON counterfactual_rivals.py NAME FOLDER LIMIT`` reads ``model.pickle`` and ``X.npy`` of the folder, says in one
line of JSON what it took to prepare, and then answers each number of a row with a line: seconds of the processor,
whether the answer is proved nearest, the row found, and a bound. It imports the rival, numpy, and what pickles need.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Answer = dict[str, Any]
"""``proved``, ``row`` (None without one), ``distance`` by the rival's own account, ``lower`` bound (None: not told)."""
Ask = Callable[[Rows, int], Answer]
TIE = 1e-12
"""Share of the votes from a half on that a row needs to be of class 1: ties go to class 0."""


def oceanpy(model: Any, X: Rows, limit: float) -> Ask:
    """OCEAN by constraint programming (CP-SAT), on one worker."""
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    _, mapper = parse_features(frame, drop_constant=False, scale=False)
    explainer = ConstraintProgrammingExplainer(model, mapper=mapper)

    def ask(row: Rows, target: int) -> Answer:
        found = explainer.explain(row, y=target, norm=1, max_time=limit, num_workers=1)
        status = explainer.get_solving_status()
        lower = explainer.solver.BestObjectiveBound() / explainer._obj_scale
        return {
            "proved": status in ("OPTIMAL", "INFEASIBLE"),
            "row": None if found is None else found.to_numpy().tolist(),
            "distance": None if found is None else explainer.get_objective_value(),
            "lower": lower,
        }

    return ask


def treecf(model: Any, X: Rows, limit: float) -> Ask:
    """The exact search of treecf, as it is set by default, without a limit of nodes."""
    from treecf import Counterfactual, Explainer, Target

    explainer = Explainer(model, normalizers=np.ones(X.shape[1]))
    half = 0.5 + TIE if "RandomForest" in type(model).__name__ else 0.0

    def ask(row: Rows, target: int) -> Answer:
        aim = Target.raw(op=">=" if target else "<=", value=half)
        found = explainer.explain(row, aim, backend="exact", time_budget_s=limit, node_budget=2**62, seed=0)
        there = isinstance(found, Counterfactual)
        return {
            "proved": found.proof in ("optimal", "certified"),
            "row": found.x_cf.tolist() if there else None,
            "distance": found.distance if there else None,
            "lower": found.solver_stats.get("lower_bound"),
        }

    return ask


def dice(model: Any, X: Rows, limit: float) -> Ask:
    """One row of the genetic search of DiCE, which proves nothing and has no limit of time."""
    import dice_ml
    import pandas as pd

    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(target=model.predict(X).astype(int))
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="target")
    search = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="genetic")

    def ask(row: Rows, target: int) -> Answer:
        query = pd.DataFrame([row], columns=names)
        made = search.generate_counterfactuals(query, total_CFs=1, desired_class=target, verbose=False)
        found = made.cf_examples_list[0].final_cfs_df
        if found is None or not len(found):
            return {"proved": False, "row": None, "distance": None, "lower": None}
        there = found[names].to_numpy(dtype=np.float64)[0]
        return {"proved": False, "row": there.tolist(), "distance": float(np.abs(there - row).sum()), "lower": None}

    return ask


RIVALS: dict[str, tuple[Callable[[Any, Rows, float], Ask], str]] = {
    "oceanpy": (oceanpy, "oceanpy"),
    "treecf": (treecf, "treecf"),
    "DiCE": (dice, "dice-ml"),
}


def main() -> None:
    """Command line."""
    name, folder, limit = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    out, sys.stdout = sys.stdout, sys.stderr  # rivals may print
    warnings.simplefilter("ignore")
    make, package = RIVALS[name]
    with (folder / "model.pickle").open("rb") as stream:
        model = pickle.load(stream)
    X = np.load(folder / "X.npy")
    predicted = np.asarray(model.predict(X)).astype(np.int64)
    begin = time.process_time()
    ask = make(model, X, limit)
    first = {
        "prepared": time.process_time() - begin,
        "predictions": hashlib.sha256(predicted.tobytes()).hexdigest(),
        "version": importlib.metadata.version(package),
    }
    print(json.dumps(first), file=out, flush=True)
    for line in sys.stdin:
        at = int(line)
        begin = time.process_time()
        answer = ask(X[at], 1 - int(predicted[at]))
        answer["seconds"] = time.process_time() - begin
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
