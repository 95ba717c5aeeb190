"""All extras at once: solvers that cannot live in one process work in one tree of processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOLVERS = ("pyscipopt",)
TOGETHER = f"""
import json, os, sys
import distributed, lightgbm, xgboost
from sklearn.datasets import load_iris
from proofwood import Explainer, OptimalDiagramClassifier

def main():
    X, y = load_iris(return_X_y=True)
    here = y > 0
    X, y = X[here][::4], y[here][::4]
    told = {{}}
    for engine, variant in (("paper", "scipy"), ("paper", "scip"), ("auto", None)):
        diagram = OptimalDiagramClassifier((1, 1), alpha=0.5, max_thresholds=4, engine=engine, variant=variant)
        diagram.set_params(time_limit=8).fit(X, y)
        assert diagram.status_ == "optimal", (engine, variant, diagram.status_)
        told.setdefault("diagrams", []).append(diagram.objective_)
    boosted = [
        xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y - 1),
        lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=3, n_jobs=1, verbose=-1).fit(X, y - 1),
    ]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            for number, model in enumerate(boosted):
                for engine in ("cdcl", "messages"):
                    explainer = Explainer(model, X=X, engine=engine)
                    found = explainer.explain(X[::8], executor="dask", client=client)
                    features = [sorted(explanation.features) for explanation in found]
                    told.setdefault(f"model {{number}}", []).append(features)
                    assert all(explanation.verify().ok for explanation in found)
    told["loaded"] = [name for name in {SOLVERS} if name in sys.modules]
    print(json.dumps(told))

if __name__ == "__main__":
    main()
"""


@pytest.mark.needs(*SOLVERS, "distributed", "lightgbm", "matplotlib", "pandas", "xgboost")
def test_all_extras_work_in_one_tree_of_processes(tmp_path: Path) -> None:
    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("loaded") == []  # every solver stayed in children of its own
    assert len(told["diagrams"]) == 3
    for kind, answers in told.items():
        assert all(answer == answers[0] for answer in answers), (kind, answers)
