"""Every type of parquet: what it is in numpy, and that no value changes on the way to Python and to pyarrow."""

from __future__ import annotations

import datetime as dt
import pickle
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import slots

from shardfeed._batch import Batch
from shardfeed._columns._columns import Bytes, Ragged
from shardfeed._columns._field import Field
from shardfeed._columns._layout import Layout
from shardfeed._columns._schema import Schema

D = Decimal

# Name, type in pyarrow, values, dtype of the column in numpy, what the values are there with nulls
# as zeros (None: as pyarrow has them).
FIXED = [
    ("bool", pa.bool_(), [True, None, False, True], "?", [True, False, False, True]),
    ("int8", pa.int8(), [-128, None, 127], "i1", [-128, 0, 127]),
    ("int16", pa.int16(), [-(2**15), None, 2**15 - 1], "i2", [-(2**15), 0, 2**15 - 1]),
    ("int32", pa.int32(), [-(2**31), None, 2**31 - 1], "i4", [-(2**31), 0, 2**31 - 1]),
    ("int64", pa.int64(), [-(2**63), None, 2**63 - 1], "i8", [-(2**63), 0, 2**63 - 1]),
    ("uint8", pa.uint8(), [0, None, 255], "u1", [0, 0, 255]),
    ("uint16", pa.uint16(), [0, None, 65535], "u2", [0, 0, 65535]),
    ("uint32", pa.uint32(), [0, None, 2**32 - 1], "u4", [0, 0, 2**32 - 1]),
    ("uint64", pa.uint64(), [0, None, 2**64 - 1], "u8", [0, 0, 2**64 - 1]),
    ("float16", pa.float16(), [np.float16(1.5), None], "f2", [1.5, np.nan]),
    ("float32", pa.float32(), [1.5, None, float("inf")], "f4", [1.5, np.nan, np.inf]),
    ("float64", pa.float64(), [0.1, None, -0.0], "f8", [0.1, np.nan, -0.0]),
    ("date", pa.date32(), [dt.date(2024, 2, 29), None, dt.date(1901, 1, 1)], "M8[D]", ["2024-02-29", "1970-01-01", "1901-01-01"]),
    ("time ms", pa.time32("ms"), [dt.time(1, 2, 3, 4000), None], "m8[ms]", [3723004, 0]),
    ("time us", pa.time64("us"), [dt.time(1, 2, 3, 4), None], "m8[us]", [3723000004, 0]),
    ("time ns", pa.time64("ns"), [dt.time(23, 59, 59), None], "m8[ns]", [86399 * 10**9, 0]),
    ("timestamp ms", pa.timestamp("ms"), [dt.datetime(1969, 12, 31, 23, 59, 59), None], "M8[ms]", ["1969-12-31T23:59:59", "1970-01-01"]),
    (
        "timestamp us",
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), None],
        "M8[us]",
        ["2024-01-01", "1970-01-01"],
    ),
    ("timestamp ns", pa.timestamp("ns"), [dt.datetime(2024, 1, 1), None], "M8[ns]", ["2024-01-01", "1970-01-01"]),
    ("decimal 9", pa.decimal128(9, 2), [D("-1234567.89"), None], "i8", [-123456789, 0]),
    ("decimal 18", pa.decimal128(18, 0), [D(10**18 - 1), None, D(-(10**18) + 1)], "i8", [10**18 - 1, 0, -(10**18) + 1]),
    ("fixed binary", pa.binary(3), [b"abc", None, b"\0\0x"], "V3", [b"abc", b"\0\0\0", b"\0\0x"]),
]


def batch_of(columns: dict[str, pa.Array] | pa.Table, **header: int) -> Batch:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    raw, schema = slots.write(table, **header)
    return Batch(raw, Layout(schema), {"epoch": 0, "position": 0})


@pytest.mark.parametrize("name, kind, values, dtype, expected", FIXED, ids=[row[0] for row in FIXED])
def test_fixed(name, kind, values, dtype, expected):
    array = pa.array(values, kind)
    batch = batch_of({"x": array})
    got = batch["x"]
    assert got.dtype == np.dtype(dtype) == batch.schema["x"].dtype
    want = np.array(expected, "S3").view("V3") if dtype == "V3" else np.array(expected, dtype)
    np.testing.assert_array_equal(got, want)
    assert batch.valid("x").tolist() == [v is not None for v in values]
    assert batch.nulls("x") == 1
    assert batch.to_arrow()["x"].equals(array)
    assert batch.to_pylist() == [{"x": v} for v in array.to_pylist()]


@pytest.mark.parametrize("name, kind, values, dtype, expected", FIXED, ids=[row[0] for row in FIXED])
def test_fixed_in_lists(name, kind, values, dtype, expected):
    ragged = pa.array([values, None, [], values[:1]], pa.list_(kind))
    dense = pa.array([values, None, values], pa.list_(kind, len(values)))
    batch = batch_of({"x": ragged})
    assert isinstance(batch["x"], Ragged)
    assert batch["x"].values.dtype == np.dtype(dtype)
    assert batch["x"].lengths.tolist() == [len(values), 0, 0, 1]
    assert batch.valid("x").tolist() == [True, False, True, True]
    assert batch.valid("x", items=True).tolist() == [v is not None for v in values + values[:1]]
    assert batch.to_arrow()["x"].equals(ragged)
    batch = batch_of({"x": dense})
    assert batch["x"].shape == (3, len(values)) and batch["x"].dtype == np.dtype(dtype)
    assert batch.schema["x"].shape == (len(values),)
    assert batch.valid("x", items=True)[0].tolist() == [v is not None for v in values]
    assert batch.to_arrow()["x"].equals(dense)


def test_wide_decimals():
    for precision, words in ((38, 2), (76, 4)):
        make = pa.decimal128 if precision <= 38 else pa.decimal256
        top, bottom = D(10**precision - 1), D(1 - 10**precision)
        array = pa.array([top, None, bottom, D(-1)], make(precision, 0))
        batch = batch_of({"x": array})
        assert batch["x"].shape == (4, words) and batch["x"].dtype == np.uint64
        assert batch.schema["x"].shape == (words,)
        numbers = [int.from_bytes(row.tobytes(), "little", signed=True) for row in batch["x"]]
        assert numbers == [int(top), 0, -int(top), -1]
        assert batch.to_arrow()["x"].equals(array)


def test_bytes_of_texts_and_binary():
    texts = ["", "plain", "łódź 語 🎉", None, "a\0b"]
    batch = batch_of({"t": pa.array(texts), "b": pa.array([None if t is None else t.encode() for t in texts])})
    assert batch["t"].tolist() == ["", "plain", "łódź 語 🎉", "", "a\0b"]
    assert batch["b"].tolist() == [b"", b"plain", "łódź 語 🎉".encode(), b"", b"a\0b"]
    assert batch["t"][2] == batch["t"][-3] == "łódź 語 🎉"
    assert batch["t"][1:3].tolist() == ["plain", "łódź 語 🎉"]
    assert list(batch["t"]) == batch["t"].tolist() == batch["t"].to_numpy().tolist() == np.asarray(batch["t"]).tolist()
    assert batch["t"].lengths.tolist() == [0, 5, len("łódź 語 🎉".encode()), 0, 3]
    assert batch.valid("t").tolist() == [True, True, True, False, True]
    assert batch.to_arrow()["t"].to_pylist() == texts
    with pytest.raises(IndexError):
        batch["t"][5]
    with pytest.raises(ValueError, match="always a copy"):
        batch["t"].__array__(copy=False)
    assert batch["t"][::2].tolist() == ["", "łódź 語 🎉", "a\0b"]


def test_lists_of_everything():
    texts = [["a", None, "語"], [], None, ["z"]]
    nested = [[[1, 2], []], None, [[3]], []]
    structs = [[{"a": 1, "s": "x"}, None], [], None, [{"a": None, "s": "y"}]]
    dense_texts = [["a", "b"], ["", None], ["d", "e"], ["f", "g"]]
    kinds = {
        "texts": (texts, pa.list_(pa.string())),
        "nested": (nested, pa.list_(pa.list_(pa.int16()))),
        "structs": (structs, pa.list_(pa.struct([("a", pa.int32()), ("s", pa.string())]))),
        "dense_texts": (dense_texts, pa.list_(pa.string(), 2)),
        "matrices": ([[[1, 2, 3], [4, 5, 6]]] * 4, pa.list_(pa.list_(pa.int8(), 3), 2)),
        "mixed": ([[[1], [2, 3]]] * 4, pa.list_(pa.list_(pa.int8()), 2)),
    }
    table = pa.table({name: pa.array(values, kind) for name, (values, kind) in kinds.items()})
    batch = batch_of(table)
    assert batch["texts"].tolist() == [["a", "", "語"], [], [], ["z"]]
    assert batch["texts"][0].tolist() == ["a", "", "語"]
    assert batch["nested"].tolist() == [[[1, 2], []], [], [[3]], []]
    assert batch["nested"][0][0].tolist() == [1, 2]
    assert batch["structs"].tolist() == [[{"a": 1, "s": "x"}, {"a": 0, "s": ""}], [], [], [{"a": 0, "s": "y"}]]
    assert batch["structs"][3]["s"].tolist() == ["y"]
    assert batch["dense_texts"].tolist() == [["a", "b"], ["", ""], ["d", "e"], ["f", "g"]]
    assert batch["matrices"].shape == (4, 2, 3) and batch["matrices"][0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert batch["mixed"].tolist() == [[[1], [2, 3]]] * 4
    assert [a.shape for a in batch["nested"].to_numpy()[0]] == [(2,), (0,)]
    assert batch.to_pylist() == table.to_pylist()
    assert batch.valid("structs.item.a").tolist() == [True, False, False]


def test_structs_and_maps():
    structs = [{"a": 1, "in": {"t": "x"}}, None, {"a": None, "in": None}]
    kind = pa.struct([("a", pa.float32()), ("in", pa.struct([("t", pa.string())]))])
    maps = [[("k", 1.5), ("l", None)], None, []]
    table = pa.table({"s": pa.array(structs, kind), "m": pa.array(maps, pa.map_(pa.string(), pa.float64()))})
    batch = batch_of(table)
    assert list(batch["s"]) == ["a", "in"]
    np.testing.assert_array_equal(batch["s"]["a"], [1, np.nan, np.nan])
    assert batch["s"]["in"]["t"].tolist() == batch["s.in.t"].tolist() == ["x", "", ""]
    assert batch.valid("s").tolist() == [True, False, True]
    assert batch.valid("s.in").tolist() == [True, False, False]
    assert batch["m"].values["key"].tolist() == ["k", "l"]
    assert batch["m"][0]["value"][0] == 1.5
    assert batch.valid("m", items=True).tolist() == [True, True]
    assert batch.to_pylist() == table.to_pylist()
    for wrong in ("s.zz", "zz", "s.in.t.u", "."):
        with pytest.raises(KeyError):
            batch[wrong]
        with pytest.raises(KeyError):
            batch.valid(wrong)
    with pytest.raises(TypeError):
        batch.valid("s", items=True)


def test_null_column():
    batch = batch_of({"n": pa.nulls(3), "x": pa.array([1, 2, 3])})
    assert np.isnan(batch["n"]).all() and len(batch["n"]) == 3
    assert batch.schema["n"].dtype == np.float64
    assert batch.to_arrow()["n"].equals(pa.nulls(3))


def raw_of(field: Field, data: bytes, rows: int) -> Batch:
    memory = np.frombuffer(bytes(256) + data, np.uint8).copy()
    return Batch(slots.Raw(memory, (rows, 0, 0, 0, 256, len(data), 0, 0), rows, rows), Layout(Schema([field])), {})


def test_types_that_pyarrow_does_not_write():
    ids = [uuid.UUID(int=1), uuid.UUID(int=2**127)]
    batch = raw_of(Field("u", "fixed", "uuid", 16), b"".join(i.bytes for i in ids), 2)
    assert batch["u"].dtype == np.dtype("V16") and batch["u"][1].tobytes() == ids[1].bytes
    assert batch.to_pylist() == [{"u": i if hasattr(pa, "uuid") else i.bytes} for i in ids]

    batch = raw_of(Field("i", "fixed", "interval", 12), np.array([1, 2, 3], "<u4").tobytes(), 1)
    assert batch["i"][0].tolist() == (1, 2, 3) and batch["i"].dtype.names == ("months", "days", "milliseconds")
    assert batch.to_arrow()["i"].to_pylist() == [np.array([1, 2, 3], "<u4").tobytes()]


@pytest.mark.parametrize(
    "field, width, plain",
    [
        (Field("x", "fixed", "date", 4), 4, ("<i4", ())),
        (Field("x", "fixed", "timestamp", 8, unit="us"), 8, ("<i8", ())),
        (Field("x", "fixed", "time", 8, unit="ns"), 8, ("<i8", ())),
        (Field("x", "fixed", "decimal", 16, precision=38), 16, ("<i8", (2,))),
        (Field("x", "fixed", "interval", 12), 12, ("<i4", (3,))),
        (Field("x", "fixed", "uuid", 16), 16, ("u1", (16,))),
        (Field("x", "fixed", "fixed binary", 5), 5, ("u1", (5,))),
    ],
    ids=lambda p: p.type if isinstance(p, Field) else "",
)
def test_plain_layout_has_dtypes_of_tensors(field, width, plain):
    raw = slots.Raw(np.zeros(256 + 3 * width, np.uint8), (3, 0, 0, 0, 256, 3 * width, 0, 0), 3, 3)
    got = Batch(raw, Layout(Schema([field]), plain=True), {})["x"]
    assert (got.dtype, got.shape[1:]) == (np.dtype(plain[0]), plain[1]) and len(got) == 3


def test_empty_batch():
    kinds = [row[1] for row in FIXED] + [pa.string(), pa.list_(pa.string()), pa.map_(pa.string(), pa.int8()), pa.struct([("a", pa.int8())])]
    table = pa.table({f"c{i}": pa.array([], kind) for i, kind in enumerate(kinds)})
    batch = batch_of(table)
    for name in batch:
        column = batch[name]
        assert len(column["a"] if isinstance(column, dict) else column) == 0
    assert batch.to_arrow().num_rows == 0
    assert batch.to_pylist() == []


def test_nothing_is_copied():
    table = pa.table({"x": pa.array([1.0, 2.0]), "t": ["a", "b"], "l": [[1], [2, 3]], "ts": pa.array([1, 2], pa.timestamp("us"))})
    raw, schema = slots.write(table)
    batch = Batch(raw, Layout(schema), {})
    for part in (batch["x"], batch["t"].values, batch["t"].offsets, batch["l"].values, batch["l"].offsets, batch["ts"]):
        assert np.shares_memory(part, raw.bytes)
    arrow = batch.to_arrow()
    memory = raw.bytes.__array_interface__["data"][0]
    for name in table.column_names:
        for buffer in arrow[name].buffers():
            assert buffer is None or memory <= buffer.address < memory + raw.bytes.nbytes, name
    assert batch["x"] is batch["x"]


def test_pickles_are_plain_copies():
    table = pa.table(
        {
            "x": [1.5, None],
            "t": ["a", "語"],
            "l": [[1], [2, 3]],
            "s": [{"a": "q"}, None],
            "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())),
        }
    )
    raw, schema = slots.write(table, valid=1, epoch=2, step=3, position=6, next_epoch=2, next_position=8)
    batch = Batch(raw, Layout(schema), {"epoch": 0, "position": 0, "seed": 9})
    again = pickle.loads(pickle.dumps(batch))
    assert again.to_pylist() == table.to_pylist()
    assert (again.rows, again.epoch, again.step, again.position, again.padding) == (2, 2, 3, 6, 1)
    assert again.row_valid.tolist() == [True, False]
    assert again.state == batch.state == {"version": 1, "shardfeed": {"epoch": 2, "position": 8, "seed": 9}}
    assert not np.shares_memory(again._raw.bytes, raw.bytes)
    for name in ("t", "l", "m"):
        column = pickle.loads(pickle.dumps(batch[name][1:]))
        assert column.tolist() == batch[name].tolist()[1:]
        assert column.offsets[0] == 0
    one = pickle.dumps(Bytes(np.zeros(10**6, np.uint8), np.array([0, 10**6 - 1, 10**6], np.int32))[1:])
    assert len(one) < 1000


def test_copy_and_release():
    raw, schema = slots.write(pa.table({"x": [1, 2], "t": ["a", "b"]}))
    batch = Batch(raw, Layout(schema), {})
    own = batch.copy()
    batch.release()
    raw.bytes[:] = 0xFF
    assert raw.released
    assert own["x"].tolist() == [1, 2] and own["t"].tolist() == ["a", "b"]
    for use in (lambda: batch["x"], lambda: batch.rows, lambda: batch.state, lambda: batch.valid("x"), batch.to_arrow, batch.copy):
        with pytest.raises(ValueError, match="released"):
            use()
    assert "released" in repr(batch)


def test_batch_is_a_mapping():
    batch = batch_of({"x": pa.array([1, 2]), "a.b": pa.array([3, 4])})
    assert list(batch) == list(batch.keys()) == ["x", "a.b"] and len(batch) == 2 and "x" in batch and "y" not in batch
    assert {name: column.tolist() for name, column in batch.items()} == {"x": [1, 2], "a.b": [3, 4]}
    assert dict(batch)["a.b"] is batch["a.b"]
    assert batch.valid("a.b").all()
    with pytest.raises(KeyError):
        batch["y"]
    assert batch.get("y") is None
    assert "x: int64" in repr(batch)


def test_rows():
    table = pa.table({"x": [1.5, 2.5], "t": ["a", "b"], "l": [[1], [2, 3]], "s": [{"a": "q"}, {"a": "r"}]})
    rows = list(batch_of(table).to_rows())
    assert [(r["x"], r["t"], r["l"].tolist(), r["s"]) for r in rows] == [(1.5, "a", [1], {"a": "q"}), (2.5, "b", [2, 3], {"a": "r"})]
    assert isinstance(rows[0]["x"], np.float64)


def test_names_that_repeat():
    schema = Schema(
        [Field("x", "fixed", "int8", 1), Field("x", "fixed", "int16", 2), Field("x#2", "fixed", "int8", 1), Field("x", "fixed", "int8", 1)]
    )
    assert list(schema) == ["x", "x#2", "x#2#2", "x#3"]
    assert schema["x#2"].dtype == np.int16


def test_schema_reads_json_and_prints():
    node = {"name": "l", "kind": "list", "type": "none", "nullable": True, "list_size": -1, "later": 1}
    node["children"] = [{"name": "element", "kind": "fixed", "type": "double", "width": 8}]
    schema = Schema.from_json(
        [node, {"name": "ts", "kind": "fixed", "type": "timestamp", "width": 8, "unit": "us", "utc": True, "children": None}]
    )
    assert schema["l"].shape == (-1,) and schema["l"].dtype == np.float64 and schema["l"].is_dense
    assert repr(schema) == "l   list<double>[padded]  float64[-1]     nullable\nts  timestamp(us, UTC)    datetime64[us]"
    assert schema["ts"].nodes == 1 and schema["l"].nodes == 2


def test_to_padded():
    ragged = Ragged(np.arange(6), np.array([1, 3, 3, 6], np.int32))
    assert ragged.to_padded(-1).tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]
    assert ragged.to_padded(0, 2).tolist() == [[1, 2], [0, 0], [3, 4]]
    with pytest.raises(TypeError):
        Ragged(Bytes(np.zeros(0, np.uint8), np.zeros(1, np.int32)), np.zeros(1, np.int32)).to_padded()


def test_without_pyarrow(monkeypatch):
    import sys

    from shardfeed._columns import _pyarrow

    batch = batch_of({"x": pa.array([1])})
    monkeypatch.setattr(_pyarrow, "pa", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"Batch\.to_arrow\(\) needs pyarrow.*pip install pyarrow"):
        batch.to_pylist()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        batch.to_pandas()


def test_to_pandas():
    frame = batch_of({"x": pa.array([1.5, None]), "t": pa.array(["a", None])}).to_pandas()
    assert frame["x"].isna().tolist() == [False, True]
    assert frame["t"].tolist()[0] == "a" and frame["t"].isna().tolist() == [False, True]
