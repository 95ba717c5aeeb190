"""What a table gives to say: texts that were read as numbers, cells in the way, gaps, spellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proofwood.data.kinds import Kind
from proofwood.data.schema import forms_of, new_table, taken_by, training_table
from proofwood.data.table_hints import target_hints
from proofwood.data.text_format import TextFormat, text_format
from proofwood.data.text_forms import EITHER, NumberForm
from proofwood.exceptions import DataError
from proofwood.hints import About

N = 120
NUMBERS = np.arange(N) * 37.25 % 1000


def hints(frame: Any, **options: Any) -> dict[About, tuple[str, ...]]:
    return {hint.about: hint.columns for hint in training_table(frame, **options)[2]}


def text(values: Any) -> str:
    return "; ".join(map(str, training_table(values)[2]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_text_becomes_numbers(frame: Any) -> None:
    words = [f"{number:.2f} €".replace(".", ",") for number in NUMBERS]
    words[3] = "?"
    values, schema, said = training_table(frame({"amount": words, "word": ["a", "b"] * (N // 2)}))
    (column, _) = schema.columns
    assert (column.kind, column.unit, column.missing, column.levels) == (Kind.NUMERIC, "€", 1, ())
    expected = NUMBERS.copy()
    expected[3] = np.nan
    assert np.array_equal(values[:, 0], expected, equal_nan=True)
    assert [(hint.about, hint.columns) for hint in said] == [(About.READ, ("amount",)), (About.GAPS, ("amount",))]
    assert str(said[0]) == "read from text: 'amount' as numbers written like 1.234,5 €"
    assert str(said[1]) == "read as missing values: '?' in 'amount', between numbers"
    new = new_table(frame({"amount": ["1.000,25 €", "7", "-"], "word": ["a", "c", "b"]}), schema)
    assert np.array_equal(new[:, 0], [1000.25, 7, np.nan], equal_nan=True)
    numbers = new_table(frame({"amount": [1.5, 2, 3], "word": ["a", "c", "b"]}), schema)
    assert numbers[:, 0].tolist() == [1.5, 2, 3]
    with pytest.raises(DataError, match="column 'amount' holds 'x': expected numbers written like"):
        new_table(frame({"amount": ["x"], "word": ["a"]}), schema)
    assert taken_by(schema)[0].text


def test_dates_and_whole_numbers() -> None:
    days = pd.Timestamp("2019-12-25") + pd.to_timedelta(np.arange(N), unit="D")
    frame = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "n": [f"{k} months" for k in range(N)]})
    values, schema, _ = training_table(frame)
    assert [column.kind for column in schema.columns] == [Kind.DATE, Kind.INTEGER]
    assert values[:, 0].tolist() == days.to_numpy().astype("datetime64[D]").astype(int).tolist()
    assert new_table(pd.DataFrame({"day": ["1.1.2021"], "n": ["3"]}), schema).tolist() == [[18628.0, 3.0]]
    stamps = new_table(pd.DataFrame({"day": pd.to_datetime(["2021-01-01"]), "n": [3]}), schema)
    assert stamps.tolist() == [[18628.0, 3.0]]


def test_the_decimal_mark_of_another_column_decides() -> None:
    open_ = [f"{k + 1},{k:03}" for k in range(N)]
    commas = [f"{number:.2f}".replace(".", ",") for number in NUMBERS]
    assert hints(pd.DataFrame({"a": open_})) == {About.OPEN: ("a",), About.LEFT_OUT: ("a",)}
    values, schema, said = training_table(pd.DataFrame({"a": open_, "b": commas}))
    assert [hint.about for hint in said] == [About.READ]
    assert values[1, 0] == 2.001
    assert schema.columns[0].form == "number ,"


def test_other_columns_decide_the_mark_of_whole_shares_and_the_order_of_dates() -> None:
    frame = pd.DataFrame(
        {
            "price": [f"{k},5" for k in range(40)],
            "share": [f"{k} %" for k in range(40)],
            "paid": ["31/01/2020", "01/02/2020"] * 20,
            "sent": ["01/02/2020", "02/03/2020"] * 20,
        }
    )
    _, schema, hints = training_table(frame)
    assert forms_of(schema)[1] == NumberForm(",", "%")
    assert schema.columns[3].kind is Kind.DATE
    assert not [hint for hint in hints if hint.about is About.OPEN]
    new = pd.DataFrame({"price": ["1,5"], "share": ["39,5 %"], "paid": ["01/12/2020"], "sent": ["02/12/2020"]})
    read = new_table(new, schema)
    assert read[0, 1] == 39.5
    assert read[0, 3] - read[0, 2] == 1
    both = frame.assign(other=[f"{k}.5" for k in range(40)], there=["01/31/2020", "02/01/2020"] * 20)
    _, schema, hints = training_table(both)
    assert forms_of(schema)[1] == NumberForm(EITHER, "%")
    assert [hint.columns for hint in hints if hint.about is About.OPEN] == [("sent",)]


def test_the_mark_that_the_user_says_decides_for_units() -> None:
    frame = pd.DataFrame({"share": ["67 %", "12 %"] * 30, "weight": ["1,234 kg", "2,345 kg"] * 30})
    with text_format(TextFormat(decimal=",")):
        values, schema, hints = training_table(frame)
    assert set(forms_of(schema).values()) == {NumberForm(",", "%"), NumberForm(",", "kg")}
    assert values[0].tolist() == [67, 1.234]
    assert not [hint for hint in hints if hint.about is About.OPEN]


def test_what_is_open_is_asked_about_and_can_be_said() -> None:
    frame = pd.DataFrame({"day": [f"{k % 12 + 1:02}/{k % 11 + 1:02}/2020" for k in range(N)]})
    assert "'day' is text of dates, written like 31/12/2020 or 12/31/2020, and was not read: say which" in text(frame)
    values, schema, _ = training_table(frame, written_as={"day": "31/12/2020"})
    assert schema.columns[0].kind is Kind.DATE
    assert values[1, 0] == np.datetime64("2020-02-02").astype(int)
    with pytest.raises(DataError, match="expected dates written like 2020-12-31"):
        training_table(frame, written_as={"day": "2020-12-31"})
    for wrong, why in (
        ({"dya": "31/12/2020"}, "written_as names 'dya'"),
        ({"day": "01/02/2020"}, "which number is the day"),
        ("31/12/2020", "examples by the names of columns"),
    ):
        with pytest.raises(ValueError, match=why):
            training_table(frame, written_as=wrong)  # type: ignore[arg-type]


def test_cells_in_the_way_are_shown_and_can_be_gaps() -> None:
    frame = pd.DataFrame({"amount": ["oops" if k == 50 else str(number) for k, number in enumerate(NUMBERS)]})
    assert hints(frame) == {About.IN_THE_WAY: ("amount",), About.LEFT_OUT: ("amount",)}
    assert "but for 'oops', and was not read: correct it, or pass missing_values={'amount': ['oops']}" in text(frame)
    assert "identifier" not in text(frame)
    for given in ("oops", ["oops"], {"amount": "oops"}, {0: ["oops", 5]}):
        values, schema, said = training_table(frame, missing_values=given)
        assert np.isnan(values[50, 0])
        assert not said  # plain numbers but for what the user says
        assert np.isnan(new_table(pd.DataFrame({"amount": ["oops"]}), schema)[0, 0])
    with pytest.raises(ValueError, match="missing_values holds"):
        training_table(frame, missing_values=[None])


def test_numbers_can_stand_for_gaps() -> None:
    age = np.arange(N) % 60 + 20
    age[::10] = 999
    frame = pd.DataFrame({"age": age, "size": NUMBERS})
    assert hints(frame) == {About.GAPS: ("age",)}
    assert "missing_values={'age': [999]}" in text(frame)
    for table in (frame, frame.to_numpy()):
        values, schema, said = training_table(table, missing_values=999)
        assert not said
        assert np.isnan(values[::10, 0]).all()
        assert schema.columns[0].missing == N / 10
        new = new_table(table[:1] if table is not frame else frame.iloc[:1], schema)
        assert np.isnan(new[0, 0])
        assert taken_by(schema)[0].text


@pytest.mark.parametrize("values", [np.arange(N) % 60 + 40, np.repeat([1, 99], N // 2), np.r_[np.arange(N - 1), 999]])
def test_numbers_that_are_near_or_rare_or_the_only_others_are_no_gaps(values: np.ndarray) -> None:
    assert About.GAPS not in hints(pd.DataFrame({"a": values, "b": NUMBERS}))


def test_spellings_and_marks_of_gaps_in_levels() -> None:
    frame = pd.DataFrame({"job": ["clerk", "clerk ", "Boss", "boss", "?"] * (N // 5), "size": NUMBERS})
    assert hints(frame) == {About.SPELLINGS: ("job",), About.GAPS: ("job",)}
    assert "in 'job' ('Boss', 'boss')" in text(frame)
    assert "missing_values={'job': ['?']}" in text(frame)
    values, schema, _ = training_table(frame, missing_values={"job": ["?"]})
    assert np.isnan(values[4::5, 0]).all()
    assert "?" not in schema.columns[0].levels


@pytest.mark.parametrize(
    "words",
    [["007", "008"], ["A1", "B2"], ["1-2", "3-4"], ["1", "2", "3+"], ["12a", "13b"]],
    ids=lambda words: words[0],
)
def test_codes_stay_text(words: list[str]) -> None:
    frame = pd.DataFrame({"code": (words * N)[:N], "size": NUMBERS})
    _, schema, said = training_table(frame)
    assert schema.columns[0].kind is Kind.NOMINAL
    assert not said


def test_declared_categories_stay_text() -> None:
    words = [str(k % 3) for k in range(N)]
    for frame in (
        pd.DataFrame({"code": pd.Categorical(words)}),
        pl.DataFrame({"code": pl.Series(words, dtype=pl.Categorical)}),
    ):
        assert training_table(frame)[1].columns[0].kind is Kind.NOMINAL
    named = training_table(pd.DataFrame({"code": words}), categorical_features=["code"])[1]
    assert named.columns[0].levels == ("0", "1", "2")
    assert training_table(pd.DataFrame({"code": words}))[1].columns[0].kind is Kind.INTEGER


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1" * 30, "2" * 30], Kind.NOMINAL),
        (["1e400", "2"], Kind.NOMINAL),
        (["1e30", "2.5"], Kind.NUMERIC),
        (["1e30", "-2e30"], Kind.NUMERIC),
        (["1e-400", "2"], Kind.NUMERIC),
        (["-" + "1" * 20 + ".5", "2.5"], Kind.NUMERIC),
    ],
)
def test_numbers_of_any_size_are_read_or_stay_text(texts: list[str], kind: Kind) -> None:
    frame = pd.DataFrame({"a": texts * (N // 2), "size": NUMBERS})
    values, schema, _ = training_table(frame)
    assert schema.columns[0].kind is kind
    if kind is Kind.NUMERIC:
        assert values[:2, 0].tolist() == [float(text) for text in texts]


def test_identifiers_of_many_digits_stay_text() -> None:
    frame = pd.DataFrame({"iban": [str(10**20 + k) for k in range(N)], "size": NUMBERS})
    assert hints(frame) == {About.LEFT_OUT: ("iban",)}


# -------------------------------------------------------------------------------------------- columns beside the target


def told(X: pd.DataFrame, codes: np.ndarray) -> tuple[str, ...]:
    values, schema, _ = training_table(X)
    found = target_hints(values, schema.columns, schema.left_out, codes)
    return found[0].columns if found else ()


def test_columns_that_tell_the_target_are_named() -> None:
    codes = np.arange(N) * 7 % 10 % 3
    frame = pd.DataFrame(
        {
            "copy": np.array(["a", "b", "c"])[codes],
            "number": codes * 2.5,
            "later": np.where(codes == 1, np.nan, codes),
            "order": codes + np.arange(N) / 1000,
            "nearly": np.where(np.arange(N) == 5, 7, codes),
            "noise": np.arange(N) % 4,
        }
    )
    frame.loc[5, "noise"] = 5
    assert told(frame, codes) == ("copy", "number", "later", "order", "nearly")
    frame.loc[6:8, "nearly"] = 7
    assert told(frame, codes) == ("copy", "number", "later", "order")
    assert told(frame, np.zeros(N, dtype=int)) == ()
    assert told(frame.head(60), codes[:60]) == ()


def test_none_keeps_a_column_as_text():
    frame = pd.DataFrame({"code": ["12", "13"] * 30, "day": ["2024-01-01", "2024-01-02"] * 30, "k": range(60)})
    kinds = [str(column.kind) for column in training_table(frame)[1].columns]
    assert kinds == ["integer", "date", "integer"]
    _, schema, hints = training_table(frame, written_as={"code": None, "day": None})
    assert [str(column.kind) for column in schema.columns] == ["nominal", "nominal", "integer"]
    assert not any("written like" in str(hint) for hint in hints)
    assert forms_of(schema) == {0: None, 1: None}
    read = training_table(frame)[1]
    assert forms_of(read) == {0: NumberForm(".,", "")}
    again = training_table(frame.head(8), written_as=forms_of(read))[1]
    assert [column.form for column in again.columns] == [column.form for column in read.columns]
