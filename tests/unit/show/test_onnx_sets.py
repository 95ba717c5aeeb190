"""Sets of levels in ONNX take no more nodes than the tree, and decide as the model does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proofwood import OptimalBDDClassifier, OptimalTreeClassifier

pytestmark = pytest.mark.needs("onnx", "onnxruntime")


def run(exported, frame):
    import onnxruntime

    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {}
    for one in session.get_inputs():
        if one.name == "X":
            return session.run(["label"], {"X": frame.to_numpy(float)})[0]
        column = frame[one.name].to_numpy()
        text = one.type == "tensor(string)"
        column = np.where(pd.isna(column), "", column).astype(str) if text else column.astype(float)
        inputs[one.name] = column[:, np.newaxis]
    return session.run(["label"], inputs)[0]


def nodes_of(exported):
    (ensemble,) = [node for node in exported.graph.node if node.op_type == "TreeEnsembleRegressor"]
    return len(next(one.ints for one in ensemble.attribute if one.name == "nodes_nodeids"))


def tables(seed):
    random = np.random.default_rng(seed)
    rows = 2500
    city = random.choice([f"city {k:03d}" for k in range(120)], rows).astype(object)
    city[random.random(rows) < 0.05] = None
    frame = pd.DataFrame(
        {"city": city, "age": random.integers(18, 80, rows), "job": random.choice(list("abcdefgh"), rows)}
    )
    score = np.array([hash_of(one) for one in city]) + (frame["age"] > 40) * 0.3 + (frame["job"] < "d") * 0.4
    return frame, np.where(score + random.normal(0, 0.2, rows) > 0.9, "yes", "no")


def hash_of(city):
    return 0.5 if city is None else (int(city[5:]) * 37 % 101) / 101


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sets_keep_the_nodes_of_the_tree(seed):
    frame, y = tables(seed)
    model = OptimalTreeClassifier(max_depth=4, time_limit=3, categorical_features=["city"]).fit(frame, y)
    assert model.model_.by_levels.any()
    exported = model.to_onnx()
    assert nodes_of(exported) == model.model_.n_nodes
    new = pd.concat([frame, frame.assign(city="a new city"), frame.assign(job="z", city=None)])
    np.testing.assert_array_equal(run(exported, new), model.predict(new))


def test_coded_categories_and_shared_nodes():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"code": random.integers(0, 12, 400), "x": random.random(400)})
    y = np.isin(frame["code"], [0, 4, 7, 11]) ^ (frame["x"] > 0.6)
    for model in (
        OptimalTreeClassifier(max_depth=3, categorical_features=["code"]),
        OptimalBDDClassifier(max_features=4, max_thresholds=5, categorical_features=["code"]),
    ):
        model.fit(frame, y)
        assert model.model_.by_levels.any()
        new = pd.concat([frame, frame.assign(code=77)])
        np.testing.assert_array_equal(run(model.to_onnx(), new), model.predict(new))
