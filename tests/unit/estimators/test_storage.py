"""Saved models come back exactly, and files that are none are refused with a reason."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofwood.estimators.storage import (
    SCHEMA,
    ModelFileError,
    SavedModel,
    from_json,
    load,
    save,
    to_json,
)
from proofwood.model.node_table import LEAF, OBLIQUE, NodeTable, Normals
from proofwood.result import ProgressEvent, Result, Stats, Status
from tests.tables import NAN, table_of


def everything():
    """A model that uses every part of the schema."""
    table = table_of(
        [OBLIQUE, 2, 0],
        [1, 3, 3],
        [2, 4, 4],
        [0, 1],
        [0.1 + 0.2, NAN, np.inf],
        label=[0, 0, 1, 0, 1],
        weight=[[1 / 3, 2.5], [0.1, 0.2], [0, 1e-320], [4, 0], [0, 1.5e308]],
        rows=[10, 5, 5, 4, 6],
        missing_low=[False, True, False, True, True],
        levels=[None, {0, 3}, None, None, None],
        normals=Normals([0, 2, 2, 2, 2, 2], [0, 1], [1.0, -2.0]),
    )
    return SavedModel(
        table=table,
        classes=np.array(["no", "yés"]),
        n_features=3,
        feature_names=("length", 'a "quoted"\nname', "shape"),
        columns={"kinds": ["number", "number", "level"], "levels": {"shape": ["round", "long"]}},
        estimator="SomeLearner",
        parameters={
            "max_depth": 3,
            "alpha": 0.0,
            "class_weight": {0: 1.0, "b": 2},
            "limit": math.inf,
            "pair": (1, None),
        },
        result=Result(
            model=table,
            objective=12.0,
            unit="errors",
            lower_bound=7.5,
            status=Status.FEASIBLE,
            stats=Stats(0.25, "search", "time_limit", {"subproblems": 2**60}),
            trace=(ProgressEvent(0.0, math.inf, -math.inf), ProgressEvent(0.25, 12.0, 7.5)),
        ),
    )


def assert_same(one, other):
    assert one.table == other.table
    np.testing.assert_array_equal(np.isnan(one.table.threshold), np.isnan(other.table.threshold))
    assert one.classes.dtype == other.classes.dtype
    assert [(type(a), a) for a in one.classes.tolist()] == [(type(b), b) for b in other.classes.tolist()]
    for name in ("n_features", "feature_names", "columns", "estimator", "parameters", "result"):
        assert getattr(one, name) == getattr(other, name), name


def leaf(classes, **more):
    n = len(classes)
    return SavedModel(NodeTable([LEAF], [NAN], [LEAF], [LEAF], [0], np.ones((1, n)), [n], [True]), classes, **more)


def test_everything_comes_back(tmp_path):
    save(everything(), tmp_path / "model.json")
    assert_same(load(tmp_path / "model.json"), everything())
    assert_same(load(str(tmp_path / "model.json")), everything())
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"], "no partial file is left"


def test_the_file_is_strict_json_of_the_documented_shape():
    def refuse(constant):
        raise AssertionError(constant)

    document = json.loads(to_json(everything()), parse_constant=refuse)
    assert (document["format"], document["schema"]) == ("proofwood-model", SCHEMA)
    nodes = document["model"]["nodes"]
    assert nodes["threshold"] == [0.1 + 0.2, None, "inf", None, None]
    assert nodes["levels"] == [None, [0, 3], None, None, None]
    assert (
        document["model"]["parameters" if "parameters" in document["model"] else "estimator"]["name"] == "SomeLearner"
    )


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-1, 1]),
        np.array([2, 7], dtype=np.uint8),
        np.array([2**63 - 1, -(2**63)]),
        np.array([0.5, 1e-320]),
        np.array([0.1, 0.2], dtype=np.float32),
        np.array([False, True]),
        np.array(["a", "bc", "Δ"]),
        np.array(["2020-01-01", "-0044-03-15"], dtype="datetime64[D]"),
        np.array(["2020-01-01T00:00:00.000000001", "1900-01-01"], dtype="datetime64[ns]"),
        np.array([1, -7], dtype="timedelta64[25s]"),
        np.array(["a", 1, 2.0, None, True], dtype=object),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_labels_of_any_type_keep_it(classes):
    assert_same(from_json(to_json(leaf(classes))), leaf(classes))


@pytest.mark.parametrize("actions", [None, np.array(["wait", "call"])])
def test_numbers_and_what_they_cost_come_back(actions):
    values = [[1 / 3], [-1e-320], [0.1 + 0.2]] if actions is None else [[1 / 3, 0.1], [-0.0, 2.5], [1e308, 0.1 + 0.2]]
    more = {"weight": [[5.0], [2.0], [3.0]], "values": values, "loss": [1e300, 1 / 7, 0.0]}
    model = SavedModel(table_of([0], [1], [2], [0, 0 if actions is None else 1], **more), actions)
    again = from_json(to_json(model))
    assert again.table == model.table
    assert again.table.values.tobytes() == model.table.values.tobytes()
    assert again.table.loss.tobytes() == model.table.loss.tobytes()
    assert (again.classes is None) is (actions is None)
    with pytest.raises(ValueError, match="predicts labels, but classes is None"):
        SavedModel(model.table.changed(values=None, label=[0, 0, 0]), None)


def test_labels_that_have_no_json_form_are_refused():
    with pytest.raises(TypeError, match=r"complex128.*y\.astype\(str\)"):
        to_json(leaf(np.array([1j, 2])))
    with pytest.raises(TypeError, match="NaT, which is not a label"):
        to_json(leaf(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")))
    with pytest.raises(TypeError, match=r"parameters\['callback'\] cannot be saved"):
        to_json(leaf(np.array([0, 1]), parameters={"callback": print}))


@pytest.mark.parametrize(
    ("several", "saved"),
    [
        (range(100, 400, 100), [100, 200, 300]),
        (np.arange(2), [0, 1]),
        ({999, 7}, [7, 999]),
        (frozenset(["x", 2, "a", 1.5]), [1.5, 2, "a", "x"]),
        (pd.Series([3, 1]), [3, 1]),
        (pl.Series([3, 1]), [3, 1]),
        (pd.Index(["b", "a"]), ["b", "a"]),
        ({"c": {9, 8}, "d": range(2)}, {"c": [8, 9], "d": [0, 1]}),
    ],
)
def test_several_values_are_saved_as_a_list(several, saved):
    model = leaf(np.array([0, 1]), parameters={"missing_values": several})
    assert from_json(to_json(model)).parameters == {"missing_values": saved}


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(parameters=st.dictionaries(st.text(max_size=5), plain, max_size=4))
def test_parameters_come_back_with_their_types(parameters):
    again = from_json(to_json(leaf(np.array([0, 1]), parameters=parameters))).parameters
    assert repr(again) == repr(parameters)  # unlike ==, tells 1, 1.0 and True, and 0.0 and -0.0 apart


@given(threshold=st.floats(allow_nan=False), weight=st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_every_float_comes_back_exactly(threshold, weight):
    edges = ([1, LEAF, LEAF], [2, LEAF, LEAF])
    table = NodeTable(
        [0, LEAF, LEAF], [threshold, NAN, NAN], *edges, [0, 0, 1], [[weight, 1.0]] * 3, [2, 1, 1], [True] * 3
    )
    again = from_json(to_json(SavedModel(table, np.array([0, 1])))).table
    assert again.threshold.tobytes() == table.threshold.tobytes()
    assert again.weight.tobytes() == table.weight.tobytes()


def test_numbers_that_disagree_are_refused():
    with pytest.raises(ValueError, match="classes has shape"):
        SavedModel(leaf(np.array([0, 1])).table, np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="feature_names has 1 names, expected 3"):
        SavedModel(everything().table, np.array([0, 1]), n_features=3, feature_names=("a",))
    with pytest.raises(ValueError, match="n_features is 2, but the node table tests column 2"):
        SavedModel(everything().table, np.array([0, 1]), n_features=2)


# ------------------------------------------------------------ damaged files


def written(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    text = to_json(everything())
    for length in range(0, len(text.rstrip()), 7):
        with pytest.raises(ModelFileError, match=r"model\.json' is (truncated|empty|damaged)") as caught:
            load(written(tmp_path, text[:length]))
        if length > 20:
            assert "Save the model again" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04\xff\xfe", "is not a proofwood model: it is not text"),
        (b"a,b\n1,2\n", "is not a proofwood model: it is not JSON"),
        (b"[1, 2]", "is not a proofwood model: it is JSON"),
        (b'{"format": "other"}', "is not a proofwood model: it is JSON"),
        (b"", "is empty"),
        (b'{"format": "proofwood-model", "schema": NaN}', "NaN is not a JSON number"),
        (b'{"format": "proofwood-model"}', "schema is None"),
        (b'{"format": "proofwood-model", "schema": true}', "schema is True"),
        (b'{"format": "proofwood-model", "schema": 1}', "model is missing"),
        (b'{"format": "proofwood-model", "schema": 1, "model": 3}', "model is 3, expected a mapping"),
        (b'{"format": "proofwood-model", "schema": 1, oops', "invalid JSON at line 1"),
        (b"{" + b'"a":[' * 100_000, "damaged|truncated"),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path, content, says):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=says) as caught:
        load(path)
    assert "model.json" in str(caught.value)


def test_a_later_schema_says_to_upgrade(tmp_path):
    document = json.loads(to_json(everything()))
    document["schema"] = SCHEMA + 1
    with pytest.raises(ModelFileError, match=r"schema version 2.*pip install --upgrade proofwood"):
        load(written(tmp_path, json.dumps(document)), check=False)


def edited(*keys, to):
    document = json.loads(to_json(everything()))
    place = document["model"]
    for key in keys[:-1]:
        place = place[key]
    if to is ...:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    return json.dumps(document)


@pytest.mark.parametrize(
    ("keys", "to", "says"),
    [
        (("nodes", "low", 0), 9, "in model.nodes, low and high must be the numbers of later nodes"),
        (("nodes", "low", 0), "1", r'model\.nodes\.low\[0\] is "1", expected a 64-bit integer'),
        (("nodes", "low", 0), 1.5, r"model\.nodes\.low\[0\] is 1\.5, expected a 64-bit integer"),
        (("nodes", "low", 0), 2**70, "expected a 64-bit integer"),
        (("nodes", "low", 0), True, "is true, expected a 64-bit integer"),
        (("nodes", "low"), [1, 3], "in model.nodes, low has shape"),
        (("nodes", "low"), ..., "model.nodes.low is missing"),
        (("nodes", "weight", 0, 0), -1.0, "not negative"),
        (("nodes", "weight", 0, 0), None, "finite"),
        (("nodes", "weight", 0), [1.0], "rows of different lengths"),
        (("nodes", "weight", 0), 1.0, r"weight\[0\] is 1\.0, expected a list"),
        (("nodes", "weight"), [], "weight has shape"),
        (("nodes", "threshold", 0), None, "threshold must be nan"),
        (("nodes", "threshold", 0), "0.3", r'threshold\[0\] is "0\.3", expected a number'),
        (("nodes", "threshold", 0), 10**400, "too large"),
        (("nodes", "label", 4), 2, "outside the class codes from 0 to 1"),
        (("nodes", "missing_low", 0), 1, "values other than true and false"),
        (("nodes", "levels", 1), 3, r"levels\[1\] is 3, expected a list"),
        (("nodes", "levels", 1), [-1], "negative code"),
        (("nodes", "normals"), None, "normals is None"),
        (("nodes", "normals", "values"), [1.0], "both have"),
        (("nodes",), [], r"model\.nodes is \[\], expected a mapping"),
        (("n_features",), 2, "n_features is 2"),
        (("n_features",), 2**53 + 1, "expected a number of columns from 0 to 16,777,216"),
        (("n_features",), -1, "n_features is -1"),
        (("n_features",), True, "n_features is true, expected an integer"),
        (("feature_names",), ["a", "b"], "feature_names has 2 names"),
        (("feature_names", 1), 3, r"feature_names\[1\] is 3, expected a string"),
        (("classes", "values"), ["no"], "classes has shape"),
        (("classes", "values"), ["no", 1], "expected a string"),
        (("classes", "values"), ["no", "longer"], "too long for its dtype"),
        (("classes", "dtype"), "int64", "values other than integers"),
        (("classes", "dtype"), "bool", "values other than true and false"),
        (("classes", "dtype"), "M8[D]", "expected a dtype of"),
        (("classes",), {"dtype": "uint8", "values": [1, 300]}, "integers of dtype uint8"),
        (("estimator", "name"), 3, r"estimator\.name is 3, expected a string"),
        (
            ("estimator", "parameters", "limit"),
            {"$float": "big"},
            r"parameters\['limit'\] is .* expected a plain value",
        ),
        (("estimator", "parameters", "limit"), {"$map": [[[1], 2]]}, "expected a plain value"),
        (("result", "status"), "best", "status is 'best'"),
        (("result", "status"), "optimal", "status is 'optimal', but lower_bound is 7.5"),
        (("result", "lower_bound"), 13.0, "a lower bound that is not above it"),
        (("result", "objective"), None, "expected a finite objective"),
        (("result", "counters", "subproblems"), 0.5, "values other than integers"),
        (("result", "trace", 0), [1, 2], "list of 3 numbers"),
        (("result", "unit"), ..., r"model\.result\.unit is missing"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_an_inconsistent_file_is_refused_with_the_place(tmp_path, keys, to, says, check):
    with pytest.raises(ModelFileError, match=says) as caught:
        load(written(tmp_path, edited(*keys, to=to)), check=check)
    assert "model.json' is damaged or was edited by hand" in str(caught.value)


def test_a_consistent_edit_is_refused_unless_asked_for(tmp_path):
    path = written(tmp_path, edited("result", "status", to="within_gap"))
    with pytest.raises(ModelFileError, match=r"was changed after it was written.*check=False"):
        load(path)
    assert load(path, check=False).result.status == "within_gap"
    document = json.loads(to_json(everything()))
    del document["sha256"]
    with pytest.raises(ModelFileError, match="was changed"):
        load(written(tmp_path, json.dumps(document)))


def test_layout_does_not_matter_to_the_checksum(tmp_path):
    document = json.loads(to_json(everything()))
    assert_same(load(written(tmp_path, json.dumps(document, sort_keys=True, indent=7))), everything())
    assert_same(load(written(tmp_path, "\ufeff" + json.dumps(document))), everything())


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    save(everything(), path)
    with pytest.raises(TypeError):
        save(leaf(np.array([0, 1]), parameters={"callback": print}), path)
    assert_same(load(path), everything())
    assert len(list(tmp_path.iterdir())) == 1


def test_saving_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    save(everything(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert_same(load(tmp_path / "real.json"), everything())


def test_a_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.json")


def test_the_documented_example_is_a_model():
    page = Path(__file__).parents[3] / "docs" / "reference" / "model-file.md"
    example = page.read_text(encoding="utf-8").partition("```json\n")[2].partition("```")[0]
    model = from_json(example)
    assert model.classes.tolist() == ["no", "yes"]
    assert to_json(model) == example


def test_the_documented_checksum_is_the_one_written():
    document = json.loads(to_json(everything()))
    canonical = json.dumps(document["model"], sort_keys=True, separators=(",", ":"))
    assert document["sha256"] == hashlib.sha256(canonical.encode()).hexdigest()
