"""What stands under nulls, padded lists, vocabularies: what the engine makes of the arguments, seen from Python."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import NullWarning, Ragged, StreamingDataset, errors


@pytest.fixture
def table(tmp_path: Path, runtime: Path) -> Path:
    columns = {
        "i": pa.array([1, None, 3], pa.int32()),
        "f": pa.array([1.5, None, 3.5], pa.float32()),
        "b": pa.array([True, None, False]),
        "t": pa.array(["x", None, "z"]),
        "raw": pa.array([b"x", None, b"z"]),
        "day": pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]),
        "l": pa.array([[1, 2, 3], None, [4, None]], pa.list_(pa.int64())),
        "lf": pa.array([[1.0], [None, 2.0], []], pa.list_(pa.float64())),
        "s": pa.array([{"a": 1, "f": 1.5}, None, {"a": None, "f": None}], pa.struct([("a", pa.int16()), ("f", pa.float64())])),
        "whole": pa.array([1, 2, 3]),
        "id": pa.array([b"\1" * 16, None, b"\2" * 16], pa.binary(16)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path


def only(table: Path, **given):
    dataset = StreamingDataset(table, batch_size=3, shuffle=False, cache=False, **given)
    (batch,) = dataset
    return dataset, batch


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_without_null(table):
    dataset, batch = only(table)
    assert batch["i"].tolist() == [1, 0, 3] and batch["i"].dtype == np.int32
    np.testing.assert_array_equal(batch["f"], np.array([1.5, np.nan, 3.5], np.float32))
    assert batch["b"].tolist() == [True, False, False]
    assert batch["t"].tolist() == ["x", "", "z"] and batch["raw"].tolist() == [b"x", b"", b"z"]
    assert batch["day"].astype(str).tolist() == ["2024-01-01", "1970-01-01", "2024-01-03"]
    assert batch["l"].tolist() == [[1, 2, 3], [], [4, 0]]
    np.testing.assert_array_equal(batch["lf"].values, [1.0, np.nan, 2.0])
    np.testing.assert_array_equal(batch["s"]["f"], [1.5, np.nan, np.nan])
    assert batch["s"]["a"].tolist() == [1, 0, 0]
    for name in ("i", "f", "b", "t", "raw", "day", "l", "s", "id"):
        assert batch.valid(name).tolist() == [True, False, name != "s" or True], name
    assert batch.valid("whole").all() and batch.nulls("whole") == 0
    assert batch.to_pylist() == pq.read_table(table / "t.parquet").to_pylist()
    assert all(field.dtype == batch.schema[name].dtype for name, field in dataset.schema.items())


def test_one_warning_for_a_column(table):
    with pytest.warns(NullWarning) as caught:
        dataset, _ = only(table, columns=["i", "f", "t", "l", "s", "whole", "lf"])
    said = sorted(str(w.message).split(" holds")[0] for w in caught)
    assert said == ["column 'i'", "column 'l'", "column 's'", "column 't'"]
    assert "1 of 3 values of this batch, and they are shown as 0: batch.valid('i') is the mask, null={'i': value}" in str(caught[0].message)
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(dataset)


def test_no_warning_where_nothing_is_null(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, batch = only(table, columns=["f", "whole", "lf"])
        assert batch.schema["whole"].nullable
        only(table, columns=["i", "t", "l", "s"], null={"i": 1, "t": "?", "l": 0, "s.a": 0})


def test_null(table):
    given = {"i": -1, "f": 0.5, "b": True, "t": "?", "raw": b"\0\xff", "day": 1, "l": 9, "lf": -1.0, "s.a": -7, "id": b"\3" * 16}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullWarning)
        _, batch = only(table, null=given)
    assert batch["i"].tolist() == [1, -1, 3] and batch["f"].tolist() == [1.5, 0.5, 3.5] and batch["b"].tolist() == [True, True, False]
    assert batch["t"].tolist() == ["x", "?", "z"] and batch["raw"].tolist() == [b"x", b"\0\xff", b"z"]
    assert batch["day"].astype(str).tolist()[1] == "1970-01-02"
    assert batch["id"][1].tobytes() == b"\3" * 16
    assert batch["s"]["a"].tolist() == [1, -7, -7]
    assert batch["l"].tolist() == [[1, 2, 3], [], [4, 9]]
    assert batch["lf"].tolist() == [[1.0], [-1.0, 2.0], []]
    assert batch.valid("i").tolist() == [True, False, True], "the mask stays"


@pytest.mark.parametrize("null", [{"i": 2**40}, {"i": "x"}, {"nothing": 1}, {"t": 5}, {"id": b"short"}])
def test_null_that_cannot_be(table, null):
    with pytest.raises(errors.ShardfeedError) as caught:
        only(table, null=null)
    assert next(iter(null)) in str(caught.value)


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_pad(table):
    dataset, batch = only(table, columns=["l", "lf"], pad={"l": -1})
    assert batch["l"].tolist() == [[1, 2, 3], [-1, -1, -1], [4, 0, -1]]
    assert batch["l_lengths"].tolist() == [3, 0, 2] and batch["l_lengths"].dtype == np.int32
    assert isinstance(batch["lf"], Ragged)
    assert list(dataset.schema) == list(batch) == ["l", "lf", "l_lengths"]
    assert dataset.schema["l"].shape == (-1,) and dataset.schema["l"].is_dense and dataset.schema["l_lengths"].added
    assert batch.valid("l").tolist() == [True, False, True]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_max_length_and_sides(table):
    _, batch = only(table, columns=["l"], pad={"l": 0}, max_length=2)
    assert batch["l"].tolist() == [[1, 2], [0, 0], [4, 0]] and batch["l_lengths"].tolist() == [2, 0, 2]
    _, batch = only(table, columns=["l"], pad={"l": {"value": 7, "side": "left", "cut": "left", "max_length": 2, "to_max": True}})
    assert batch["l"].tolist() == [[2, 3], [7, 7], [4, 0]]
    _, batch = only(table, columns=["l"], pad={"l": {"value": 7, "multiple": 4}})
    assert batch["l"].shape == (3, 4) and batch["l"][0].tolist() == [1, 2, 3, 7]


def test_vocabulary(table):
    with pytest.warns(NullWarning, match="'t'"):
        dataset, batch = only(table, columns=["t"], vocabulary={"t": {"z": 1, "x": 0}})
    assert batch["t"].tolist() == [0, 0, 1] and dataset.schema["t"].dtype == np.int64
    with pytest.raises(errors.ShardfeedError, match="vocabulary"):
        only(table, columns=["t"], vocabulary={"t": ["x", "y"]})


def test_required_members_of_null_structs(tmp_path, runtime):
    kind = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    structs = pa.array([{"a": 1}, None, {"a": 3}], kind)
    pq.write_table(pa.table({"s": structs}), tmp_path / "t.parquet")
    with pytest.warns(NullWarning, match="'s'"):
        _, batch = only(tmp_path)
    assert batch["s"]["a"].tolist() == [1, 0, 3]
    arrow = batch.to_arrow()["s"]
    arrow.validate(full=True)
    assert arrow.type == kind and arrow.field(0).null_count == 0 and arrow.equals(structs)
