"""Files that would fill the memory are refused by what they say of themselves, before anything is unpacked."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import struct
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import proofwood
from proofwood import Explainer, OptimalTreeClassifier
from proofwood.certificates.check import check_certificate
from proofwood.certificates.drup import CertificateError
from proofwood.data.old_workbook import _texts, bytes_of_old_workbook
from proofwood.data.sizes import FlatTable, bytes_of_arrow, bytes_of_parquet, bytes_of_workbook
from proofwood.data.tables import _bytes_of_texts, read_table
from proofwood.ensembles.readers.catboost_sizes import bytes_of_cbm
from proofwood.estimators.storage import ModelFileError
from proofwood.exceptions import DataError
from proofwood.files import allowing
from tests.command_line import failed, worked
from tests.workbooks import old_cell, old_workbook, record, write_old_workbook, write_workbook

REFUSED = r"has [\d,]+ bytes and takes about [\d,]+ in memory, but only [\d,]+ are permitted: .* raise max_bytes"
ROOM = 2**27
"""Bytes that a refusal may take; what the files below hold is many times more."""


def limited(call):
    """What a call raises in a process that has no more memory than it has by now, and ``ROOM``."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        text = "nothing was raised"
        try:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
            signal.alarm(60)  # threads of polars are not here: what goes on to read the table waits for ever
            call()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the other process looks at it
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


def packed_lists(rows, values):
    """A column of long lists, whose rows are few."""
    return pl.DataFrame({"a": pl.Series([[0] * values] * rows), "y": ["x"] * rows})


def parquet(path):
    """A column of 2**28 equal numbers, in parts: each of them is run-length encoded."""
    part = pl.DataFrame({"a": pl.repeat(1, 2**24, eager=True)})
    pl.concat([part] * 4, rechunk=False).write_parquet(path, row_group_size=2**24)


def parquet_of_lists(path):
    packed_lists(4, 2**22).write_parquet(path)


def arrow(path):
    pl.DataFrame({"a": pl.repeat(1, 2**25, eager=True)}).write_ipc(path, compression="zstd")


def arrow_of_lists(path):
    packed_lists(4, 2**22).write_ipc(path, compression="zstd")


def arrow_of_texts(path):
    pl.DataFrame({"a": ["x" * 2**20] * 2**8 + ["y" * (2**20 - k) for k in range(2**8)]}).write_ipc(
        path, compression="zstd"
    )  # fmt: skip


def shared_texts(n):
    """A column whose rows all refer to one long text."""
    return pl.DataFrame({"a": pl.Series(["x" * 2**18]).gather([0] * n)})


def corners(path):
    """A sheet of two cells, far from each other."""
    write_workbook(path, {"t": [["a", "b"], [1, 2]]})
    rewritten(path, "xl/worksheets/sheet1.xml", lambda text: re.sub(rb'r="B2"', b'r="XFD1048576"', text))


def corners_in_other_words(path):
    write_workbook(path, {"t": [["a", "b"], [1, 2]]})
    rewritten(path, "xl/worksheets/sheet1.xml", lambda text: re.sub(rb'r="B2"', b"r = 'xfd1048576'", text))


def ragged(path):
    """Cells that do not say where they are, many in the first row."""
    write_workbook(path, {"t": [["a", "b"], [1, 2]]})
    rows = b"<row>" + b"<c><v>1</v></c>" * 16384 + b"</row>" + b"<row><c><v>1</v></c></row>" * 2**18
    body = b"<sheetData>" + rows + b"</sheetData>"
    rewritten(path, "xl/worksheets/sheet1.xml", lambda text: re.sub(rb"<sheetData>.*</sheetData>", body, text))


def repeated_texts(path):
    """A sheet whose cells all refer to one long text."""
    write_workbook(path, {"t": [["a"], *([k % 7] for k in range(30_000))]})
    text = b"<sst><si><t>" + b"x" * 30_000 + b"</t></si></sst>"
    rewritten(
        path,
        "xl/worksheets/sheet1.xml",
        lambda part: re.sub(rb'<c r="(\w+)"[^>]*><v>\d+</v></c>', rb'<c r="\1" t="s"><v>0</v></c>', part),
        {"xl/sharedStrings.xml": text},
    )


def packed_parts(path):
    write_workbook(path, {"t": [["a"], [1]]})
    rewritten(path, "xl/worksheets/sheet1.xml", lambda text: text + b" " * 2**28)


def lying_parts(path):
    """An archive whose list says that its parts are small."""
    packed_parts(path)
    data = bytearray(path.read_bytes())
    for head, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = -1
        while (at := data.find(head, at + 1)) >= 0:
            if struct.unpack_from("<I", data, at + place)[0] > 2**20:
                struct.pack_into("<I", data, at + place, 1000)
    path.write_bytes(data)


def repeated_rows(path):
    """A sheet of OpenDocument that says how often a row is repeated."""
    cell = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>'
    row = f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>'
    content = f"<x><table:table>{row}</table:table></x>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)


def rewritten(path, name, change, more=None):
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()} | (more or {})
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, data in parts.items():
            archive.writestr(part, data)


def old_corners(path):
    path.write_bytes(old_workbook([old_cell(0, 0, 1.0, ()), old_cell(65_535, 65_535, 1.0, ())]))


def old_declared(path):
    """A sheet that says how large it is, for which the reader makes room before it sees a cell."""
    path.write_bytes(old_workbook([record(0x200, struct.pack("<IIHHH", 0, 2**32 - 1, 0, 65_535, 0))]))


def old_texts(path):
    texts = ["x" * 4000]
    path.write_bytes(old_workbook([old_cell(row, 0, texts[0], texts) for row in range(20_000)], texts))


def old_sheets(path):
    """Many sheets, all at the same place in the file."""
    path.write_bytes(old_workbook([old_cell(0, 0, 1.0, ()), old_cell(65_535, 9, 1.0, ())], n_sheets=100))


def gzipped(path):
    packer = zlib.compressobj(wbits=31)
    path.write_bytes(
        b"".join([packer.compress(b"a,y\n"), *(packer.compress(b"1,2\n" * 2**18) for _ in range(200)), packer.flush()])
    )


def separators(path):
    path.write_bytes(b"a,y\n" + b",\n" * 2**10)


BOMBS = {
    "parquet": (parquet, ".parquet"),
    "lists": (parquet_of_lists, ".parquet"),
    "arrow": (arrow, ".arrow"),
    "arrow-lists": (arrow_of_lists, ".arrow"),
    "arrow-texts": (arrow_of_texts, ".arrow"),
    "corners": (corners, ".xlsx"),
    "corners-otherwise": (corners_in_other_words, ".xlsx"),
    "ragged": (ragged, ".xlsx"),
    "repeated-texts": (repeated_texts, ".xlsx"),
    "packed-parts": (packed_parts, ".xlsx"),
    "lying-parts": (lying_parts, ".xlsx"),
    "repeated-rows": (repeated_rows, ".ods"),
    "old-corners": (old_corners, ".xls"),
    "old-declared": (old_declared, ".xls"),
    "old-texts": (old_texts, ".xls"),
    "old-sheets": (old_sheets, ".xls"),
    "gzip": (gzipped, ".csv"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are looked at as Linux has them")
@pytest.mark.parametrize("name", BOMBS)
def test_a_table_that_would_fill_the_memory_is_refused(tmp_path, name):
    make, ending = BOMBS[name]
    path = tmp_path / f"t{ending}"
    make(path)
    told = limited(lambda: read_table(path, max_bytes=2**26))
    assert re.fullmatch("DataError: " + re.escape(str(path)) + f" {REFUSED}.*", told), told


def test_texts_that_rows_share_count_for_each_row(tmp_path):
    path = tmp_path / "t.parquet"
    shared_texts(2**9).write_parquet(path)
    if path.stat().st_size < 2**20:  # older releases of polars store the text more than once
        with pytest.raises(DataError, match=r"takes about 134,217,728 in memory"):
            read_table(path)
    assert _bytes_of_texts(shared_texts(2**14)["a"], tmp_path) == 2**32  # which 32 bits do not hold


def test_the_limit_is_raised_by_a_parameter(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": pl.repeat(1, 2**24, eager=True), "y": pl.repeat("x", 2**24, eager=True)}).write_parquet(path)
    assert re.search(REFUSED, failed("fit", path, "--target", "y"))
    assert read_table(path, max_bytes=2**32).height == 2**24
    small = tmp_path / "s.csv"
    small.write_text("a,y\n" + "1,x\n2,y\n" * 20)
    assert re.search(REFUSED, failed("fit", small, "--target", "y", "--max-bytes", 100))
    worked("fit", small, "--target", "y", "--max-bytes", "1MB", "--max-depth", 1, "--out", tmp_path / "m.json")
    assert re.search(REFUSED, failed("show", tmp_path / "m.json", "--max-bytes", 100))
    assert "--max-bytes '-1' is not an amount of memory" in failed("fit", small, "--target", "y", "--max-bytes", "-1")
    with pytest.raises(ValueError, match="max_bytes='x': expected a number of bytes"), allowing("x"):
        pass


def test_an_estimate_is_no_less_than_what_a_table_takes(tmp_path):
    generator = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "a": generator.normal(size=5000),
            "b": generator.integers(0, 3, 5000),
            "c": generator.choice(["x", "yy" * 20, None], 5000).tolist(),
            "d": [[1, 2]] * 5000,
        }
    )
    size = frame.select("a", "b").estimated_size()
    for compression in ("zstd", "uncompressed"):
        frame.write_parquet(tmp_path / "t.parquet", compression=compression, row_group_size=700)
        frame.write_ipc(tmp_path / "t.arrow", compression=compression)
        for estimate in (
            bytes_of_parquet((tmp_path / "t.parquet").read_bytes()),
            bytes_of_arrow((tmp_path / "t.arrow").read_bytes()),
        ):
            assert size < estimate < 10 * frame.estimated_size()
    write_workbook(tmp_path / "t.xlsx", {"t": frame.select("a", "b").rows()})
    data = (tmp_path / "t.xlsx").read_bytes()
    assert 32 * 2 * 5000 <= bytes_of_workbook(data, 2**32) < 10 * 32 * 2 * 5000
    write_old_workbook(tmp_path / "t.xls", frame.select("a", "b", "c").rows())
    estimate = bytes_of_old_workbook((tmp_path / "t.xls").read_bytes(), 2**32)
    assert frame.select("a", "b", "c").estimated_size() + 32 * 3 * 5000 <= estimate < 10 * 32 * 3 * 5000


def test_an_old_workbook_is_read_with_texts_that_go_on_in_the_next_record(tmp_path):
    write_old_workbook(tmp_path / "t.xls", [["a", "y"], [1.5, "x"], [None, "yé"], [2.5, "x"]])
    small = (tmp_path / "t.xls").read_bytes()
    assert bytes_of_old_workbook(small, 2**32) < 2 * len(small)
    text = "ab" * 3000
    parts = [struct.pack("<IIHB", 1, 1, len(text), 0) + text[:4000].encode(), b"\1" + text[4000:].encode("utf-16-le")]
    stream = record(0xFC, parts[0]) + record(0x3C, parts[1])
    assert _texts(stream, 4, len(parts[0])) == [16 + 3 * len(text)]
    with pytest.raises(ValueError, match="more texts than it has"):
        _texts(record(0xFC, struct.pack("<II", 2**31 - 1, 2**31 - 1)), 4, 8)


@pytest.mark.needs("fastexcel")
def test_an_old_workbook_becomes_a_table(tmp_path):
    write_old_workbook(tmp_path / "t.xls", [["a", "y"], [1.5, "x"], [None, "yé"], [2.5, "x"]])
    assert read_table(tmp_path / "t.xls").rows() == [(1.5, "x"), (None, "yé"), (2.5, "x")]


@pytest.mark.parametrize(
    ("place", "number", "message"),
    [
        (30, 60, "the sectors have 2"),
        (44, 2**30, "more sectors than it has"),
        (72, 2**30, "more sectors than it has"),
        (512, 0, "is a loop"),
        (1024 + 128 + 120, 2**31, "declares a part that is larger than the file"),
    ],
)
def test_an_old_workbook_that_lies_about_its_sectors_is_refused(tmp_path, place, number, message):
    path = tmp_path / "t.xls"
    write_old_workbook(path, [["a", "y"], [1.5, "x"]])
    data = bytearray(path.read_bytes())
    struct.pack_into("<H" if place == 30 else "<I", data, place + (4 if place == 512 else 0), number or 1)
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"cannot read .* as an Excel workbook: .*{message}"):
        read_table(path)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".xlsx", ".xls"])
def test_damaged_files_are_refused_and_nothing_else(tmp_path, ending):
    good = tmp_path / f"good{ending}"
    frame = pl.DataFrame({"a": [1.5, 2.5, None], "b": ["x", "y", "x"]})
    if ending == ".parquet":
        frame.write_parquet(good)
    elif ending == ".arrow":
        frame.write_ipc(good, compression="zstd")
    else:
        pytest.importorskip("fastexcel")
        rows = [["a", "b"], *frame.rows()]
        write_workbook(good, {"t": rows}) if ending == ".xlsx" else write_old_workbook(good, rows)
    data = good.read_bytes()
    generator = np.random.default_rng(0)
    path = tmp_path / f"t{ending}"
    for _ in range(150):
        broken = bytearray(data)
        for at in generator.integers(0, len(data), 3).tolist():
            broken[at] = int(generator.integers(0, 256))
        path.write_bytes(broken)
        try:
            read_table(path)
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017 - many are still whole


# ------------------------------------------------------------------------------------------------ models, certificates

HUGE = (2**62, -(2**62), 2**31 - 1)


def places(document, at=()):
    """Where numbers stand in a JSON document."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*at, key))
    elif isinstance(document, list):
        for key, value in enumerate(document[:3]):
            yield from places(value, (*at, key))
    elif (isinstance(document, int | float) and not isinstance(document, bool)) or (
        isinstance(document, str) and document.isdigit()
    ):
        yield at


def changed(document, at, value):
    """The document with another number in a place."""
    copy = json.loads(json.dumps(document))
    part = copy
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = str(value) if isinstance(part[at[-1]], str) else value
    return copy


def require_small(call, path, document, errors):
    """That each number of a document may be huge, and the call takes little memory and refuses it, or does not care."""
    for at in places(document):
        for value in HUGE:
            path.write_text(json.dumps(changed(document, at, value)))
            tracemalloc.start()
            try:
                call(path)
            except errors:
                pass
            finally:
                most = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            assert most < ROOM, (at, value)


@pytest.fixture(scope="module")
def learned():
    generator = np.random.default_rng(0)
    X = pl.DataFrame({"a": generator.normal(size=90).round(1), "c": generator.choice(["x", "y", "z"], 90)})
    y = np.where((X["a"].to_numpy() > 0) ^ (X["c"].to_numpy() == "x"), "yes", "no")
    return X, OptimalTreeClassifier(max_depth=2).fit(X, y)


def test_huge_numbers_in_a_model_file(tmp_path, learned):
    learned[1].save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    require_small(proofwood.load, tmp_path / "t.json", document, ModelFileError)
    with pytest.raises(ModelFileError, match=REFUSED):
        proofwood.load(tmp_path / "m.json", max_bytes=1000)


@pytest.mark.parametrize("kind", ["abductive", "contrastive", "robustness"])
def test_huge_numbers_in_a_certificate(tmp_path, learned, kind):
    X, model = learned
    found = getattr(Explainer(model), kind)(X[:1], certificate=True)
    made = (found.nearest if kind == "robustness" else found).certificate
    document = json.loads(json.dumps(made, default=lambda value: value.tolist()))
    require_small(check_certificate, tmp_path / "t.json", document, CertificateError)
    (tmp_path / "c.json").write_text(json.dumps(document))
    assert all(check.passed for check in check_certificate(tmp_path / "c.json"))
    with pytest.raises(CertificateError, match=REFUSED):
        check_certificate(tmp_path / "c.json", max_bytes=1000)
    wide = changed(document, ("axes",), document["axes"] * 2_000_000)
    with pytest.raises(CertificateError, match=rf"certificate {REFUSED}"):
        check_certificate(wide)


def saved_model(library, folder):
    """The file of a small model of a library, which is text."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 2)).round(2)
    y = (X[:, 0] > X[:, 1]).astype(int)
    if library == "xgboost":
        import xgboost

        xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, y).save_model(folder / "m.json")
        return folder / "m.json"
    if library == "lightgbm":
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1).fit(X, y)
        model.booster_.save_model(folder / "m.txt")
        return folder / "m.txt"
    import catboost

    model = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=0, allow_writing_files=False, thread_count=1)
    model.fit(X, y).save_model(str(folder / "m.json"), format="json")
    return folder / "m.json"


XGBOOST_TREE = ("learner", "gradient_booster", "model", "trees", 0)
HOSTILE = [
    ("xgboost", ("learner", "learner_model_param", "num_feature"), "takes about"),
    ("xgboost", ("learner", "learner_model_param", "num_class"), "takes about"),
    ("xgboost", ("learner", "gradient_booster", "model", "tree_info", 0), "tree_info is not valid"),
    ("xgboost", (*XGBOOST_TREE, "left_children", 0), "a node that does not exist"),
    ("xgboost", (*XGBOOST_TREE, "right_children", 0), "a node that does not exist"),
    ("xgboost", (*XGBOOST_TREE, "split_indices", 0), "a column that does not exist: expected columns from 0 to 1"),
    ("xgboost", (*XGBOOST_TREE, "parents", 1), "the parents of the nodes"),
    ("catboost", ("oblivious_trees", 0, "splits", 0, "split_index"), "the split_index of a split"),
    ("catboost", ("features_info", "float_features", 0, "flat_feature_index"), "the model tests column"),
    ("catboost", ("model_info", "class_params", "class_to_label", 0), "cannot read the classes"),
    ("lightgbm", "num_class=", "takes about"),
    ("lightgbm", "num_tree_per_iteration=", "takes about"),
    ("lightgbm", "max_feature_idx=", "feature_names and"),
    ("lightgbm", "num_leaves=", "numbers in all trees"),
    ("lightgbm", "left_child=", "a node that does not exist"),
    ("lightgbm", "tree_sizes=", "where tree_sizes says"),
]


@pytest.mark.parametrize(
    ("library", "place", "message"), [pytest.param(*one, marks=pytest.mark.needs(one[0])) for one in HOSTILE]
)
def test_huge_numbers_in_the_file_of_a_library(tmp_path, library, place, message):
    path = saved_model(library, tmp_path)
    text = path.read_text()
    Explainer(str(path))
    with pytest.raises(ValueError, match=REFUSED):
        Explainer(str(path), max_bytes=100)
    told = []
    for value in HUGE:
        if isinstance(place, str):
            made = re.sub(rf"(?m)^{place}-?\d+", f"{place}{value}", text)
            assert made != text
        else:
            made = json.dumps(changed(json.loads(text), place, value))
        path.write_text(made)
        tracemalloc.start()
        try:
            Explainer(str(path))
        except (TypeError, ValueError) as error:
            told.append(str(error))
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert most < ROOM
    assert any(message in text for text in told), told


CBM = Path(__file__).parents[2] / "boosted" / "catboost-1.2.10-binary.cbm"


def with_one_feature_often(data, n):
    """A model of CatBoost whose list of columns has one column of ``n`` borders ``n`` times, all the same bytes."""
    trees = FlatTable.root(data, 8).table(1)
    size = struct.unpack_from("<I", data, 4)[0]
    new = bytearray(data[: 8 + size])
    new += bytes(-len(new) % 4)
    place = trees._place(5)
    struct.pack_into("<I", new, place, len(new) - place)
    feature = len(new) + 4 + 4 * n + 14 + 2  # behind the list, and what says where its fields are
    new += struct.pack("<I", n)
    for _ in range(n):
        new += struct.pack("<I", feature - len(new))
    new += struct.pack("<7H2x", 14, 16, 0, 0, 0, 4, 0)  # the borders alone
    assert len(new) == feature
    new += struct.pack("<iI8x", 16, 12) + struct.pack("<I", n) + bytes(4 * n)
    struct.pack_into("<I", new, 4, len(new) - 8)
    return bytes(new + data[8 + size :])


def with_dimension(data, number):
    """A model of CatBoost that says how many outputs it has."""
    new = bytearray(data)
    struct.pack_into("<i", new, FlatTable.root(data, 8).table(1)._place(0), number)
    return bytes(new)


def test_a_model_of_catboost_is_measured():
    data = CBM.read_bytes()
    assert 50 * len(data) < bytes_of_cbm(data) < 500 * len(data)
    assert bytes_of_cbm(with_one_feature_often(data, 10_000)) > 300 * 10_000**2
    assert bytes_of_cbm(with_dimension(data, 2**31 - 1)) > 300 * (2**31 - 1)
    for cut in range(8, 1000, 97):
        with pytest.raises(ValueError, match="the lists in the CatBoost file are damaged"):
            bytes_of_cbm(data[:cut])


@pytest.mark.needs("catboost")
@pytest.mark.parametrize(
    "change", [lambda data: with_one_feature_often(data, 10_000), lambda data: with_dimension(data, 2**30)]
)
def test_a_model_of_catboost_that_would_fill_the_memory_is_refused(tmp_path, change):
    path = tmp_path / "m.cbm"
    path.write_bytes(change(CBM.read_bytes()))
    told = limited(lambda: Explainer(str(path)))
    assert re.search(f"ValueError: {re.escape(str(path))}: the CatBoost model {REFUSED}", told), told


@pytest.mark.needs("lightgbm")
def test_a_tree_of_lightgbm_that_leads_in_a_circle_is_refused(tmp_path):
    path = saved_model("lightgbm", tmp_path)
    path.write_text(re.sub(r"(?m)^left_child=-?\d+", "left_child=0", path.read_text(), count=1))
    with pytest.raises(ValueError, match="leads to a node that comes before it"):
        Explainer(str(path))


@pytest.mark.needs("onnx")
def test_huge_numbers_in_an_onnx_file(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    def written(columns, column):
        node = helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["y"], domain="ai.onnx.ml", n_targets=1,
            nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[column, 0, 0],
            nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0],
            nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
            target_weights=[1.0, 2.0],
        )  # fmt: skip
        given = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, columns])
        made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])
        proto = helper.make_model(
            helper.make_graph([node], "trees", [given], [made]),
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)],
        )
        onnx.save(proto, tmp_path / "m.onnx")
        return tmp_path / "m.onnx"

    for columns, column in ((2**62, 0), (2**31 - 1, 0), (None, 2**62)):
        with pytest.raises(ValueError, match="raise max_bytes"):
            Explainer(written(columns, column), target=(">=", 1.5))
    with pytest.raises(ValueError, match=REFUSED):
        Explainer(written(2, 0), target=(">=", 1.5), max_bytes=100)


@pytest.mark.needs("xgboost")
def test_a_ubjson_of_many_small_values_is_refused(tmp_path):
    path = tmp_path / "m.ubj"
    path.write_bytes(b"{L" + struct.pack(">q", 1) + b"a[" + b"Z" * 2**19 + b"]}")
    with pytest.raises(ValueError, match="raise max_bytes"):
        Explainer(str(path), max_bytes=2**22)


def test_lists_in_lists_of_lists_are_refused(tmp_path: Path) -> None:
    """A damaged Parquet file may name lists within lists without end: they are refused before the stack ends."""
    metadata = b"\x19" + b"\x19" * 5000 + b"\x00"
    path = tmp_path / "deep.parquet"
    path.write_bytes(b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DataError, match="nested too deeply"):
        read_table(path)
