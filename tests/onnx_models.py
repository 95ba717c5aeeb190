"""Small ONNX files of trees: at random, with all kinds of tests and of nodes around them."""

from __future__ import annotations

from typing import Any

import numpy as np

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def tree_nodes(rng: np.random.Generator, n_trees: int, n_columns: int, depth: int) -> dict[str, Any]:
    """Attributes of the nodes of random trees, and the leaves of each as pairs (tree, node)."""
    made: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values")}
    made |= {name: [] for name in ("truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves: list[tuple[int, int]] = []
    for tree in range(n_trees):
        pending, count = [(0, depth)], 1
        while pending:
            node, left = pending.pop(0)
            leaf = left == 0 or (node > 0 and rng.random() < 0.2)
            made["treeids"].append(tree)
            made["nodeids"].append(node)
            made["featureids"].append(0 if leaf else int(rng.integers(n_columns)))
            made["modes"].append("LEAF" if leaf else str(rng.choice(MODES)))
            made["values"].append(0.0 if leaf else float(rng.choice([0.0, 0.1, 1.0, -1.0, rng.normal()])))
            made["missing_value_tracks_true"].append(0 if leaf else int(rng.integers(2)))
            made["truenodeids"].append(0 if leaf else count)
            made["falsenodeids"].append(0 if leaf else count + 1)
            if leaf:
                leaves.append((tree, node))
            else:
                pending += [(count, left - 1), (count + 1, left - 1)]
                count += 2
    return {**{f"nodes_{name}": values for name, values in made.items()}, "leaves": leaves}


def classifier(
    rng: np.random.Generator, *, n_classes: int = 3, post: str = "NONE", base: bool = False, **more: Any
) -> Any:
    """A ``ModelProto`` of random trees of classes; of two, the weights of one."""
    made = tree_nodes(rng, int(rng.integers(1, 5)), 3, int(rng.integers(1, 4)))
    leaves = made.pop("leaves")
    width = 1 if n_classes == 2 else n_classes
    weights = rng.normal(size=(len(leaves), width)).astype(np.float32)
    if n_classes == 2 and post == "NONE":
        weights = np.abs(weights) / (1 + len(set(made["nodes_treeids"])))
    elif n_classes == 2:
        weights[0] = -1.0
    made |= {
        "class_treeids": [tree for tree, _ in leaves for _ in range(width)],
        "class_nodeids": [node for _, node in leaves for _ in range(width)],
        "class_ids": [k for _ in leaves for k in range(width)],
        "class_weights": weights.ravel().tolist(),
        "classlabels_int64s": [10 * k for k in range(n_classes)],
        "post_transform": post,
    }
    if base:
        made["base_values"] = rng.normal(size=width).astype(np.float32).tolist()
    return file("TreeEnsembleClassifier", made, ["label", "scores"], **more)


def regressor(rng: np.random.Generator, *, aggregate: str = "SUM", base: bool = False, **more: Any) -> Any:
    """A ``ModelProto`` of random trees of numbers."""
    made = tree_nodes(rng, int(rng.integers(1, 5)), 3, int(rng.integers(1, 4)))
    leaves = made.pop("leaves")
    made |= {
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [node for _, node in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": rng.normal(size=len(leaves)).astype(np.float32).tolist(),
        "n_targets": 1,
        "aggregate_function": aggregate,
    }
    if base:
        made["base_values"] = [0.25]
    return file("TreeEnsembleRegressor", made, ["number"], **more)


def file(
    op: str,
    attributes: dict[str, Any],
    outputs: list[str],
    *,
    before: Any = (),
    behind: Any = (),
    kind: int = 1,
    columns: int | None = 3,
    inputs: tuple[str, ...] = ("X",),
) -> Any:
    """A file of one ensemble; ``before`` and ``behind`` it are nodes ``(op, domain, attributes)``."""
    from onnx import TensorProto, helper

    nodes, at = [], inputs[0]
    if len(inputs) > 1:
        nodes.append(helper.make_node("Concat", list(inputs), ["joined"], axis=1))
        at = "joined"
    for place, (name, domain, given) in enumerate(before):
        nodes.append(helper.make_node(name, [at], [f"before{place}"], domain=domain, **given))
        at = f"before{place}"
    made = [name if not behind else f"raw_{name}" for name in outputs]
    nodes.append(helper.make_node(op, [at], made, domain="ai.onnx.ml", **attributes))
    for place, (name, domain, given) in enumerate(behind):
        last = place == len(behind) - 1
        for output, source in zip(outputs, made, strict=True):
            if name == "ZipMap" and output == "label":
                nodes.append(helper.make_node("Identity", [source], [output if last else f"{output}{place}"]))
            else:
                nodes.append(
                    helper.make_node(name, [source], [output if last else f"{output}{place}"], domain=domain, **given)
                )
        made = [f"{output}{place}" for output in outputs]
    shape = [None, columns] if len(inputs) == 1 else [None, 1]
    graph = helper.make_graph(
        nodes,
        "trees",
        [helper.make_tensor_value_info(name, kind, shape) for name in inputs],
        [
            helper.make_tensor_value_info(name, TensorProto.INT64 if name == "label" else TensorProto.FLOAT, None)
            for name in outputs
        ],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 15)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def scaler(rng: np.random.Generator) -> tuple[str, str, dict[str, Any]]:
    """A Scaler of three columns, one of them turned."""
    scale = (rng.choice([-1.0, 1.0], 3) * (0.5 + rng.random(3))).astype(np.float32).tolist()
    return "Scaler", "ai.onnx.ml", {"offset": rng.normal(size=3).astype(np.float32).tolist(), "scale": scale}


def imputer(rng: np.random.Generator) -> tuple[str, str, dict[str, Any]]:
    """An Imputer of three columns."""
    return "Imputer", "ai.onnx.ml", {
        "imputed_value_floats": rng.normal(size=3).astype(np.float32).tolist(),
        "replaced_value_float": float("nan"),
    }  # fmt: skip
