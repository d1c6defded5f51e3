"""Casts, hashes, scales and matrices, held against numpy and plain Python."""

from __future__ import annotations

import math
import pickle
import struct
import sys
import types
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shardfeed.torch
from shardfeed import MapDataset, NullWarning, StreamingDataset, errors
from shardfeed._columns import _field

_UNLIKE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

_NUMBERS = [
    (kind, values)
    for kind, values in tables.LEAVES
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind)) or pa.types.is_decimal(kind)
]
_RANGES = {"int8": (-(2**7), 2**7), "int16": (-(2**15), 2**15), "int32": (-(2**31), 2**31), "int64": (-(2**63), 2**63)}
_RANGES |= {"uint8": (0, 2**8), "uint16": (0, 2**16), "uint32": (0, 2**32), "uint64": (0, 2**64)}
_FLOATS = ["float32", "float64", "float16", "bfloat16"]


def stored(column: pa.ChunkedArray) -> list:
    """The numbers of a column as int or float; None is a null."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return [None if v is None else float(v) for v in column.to_pylist()]
    if pa.types.is_boolean(kind):
        return [None if v is None else int(v) for v in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [None if v is None else float(v) for v in column.to_pylist()]
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int32() if pa.types.is_date(kind) or pa.types.is_time32(kind) else pa.int64())
    return column.to_pylist()


def numbers_of(column: pa.ChunkedArray) -> list:
    """Those of a column, or the items of its lists of one size: of a null list they are nulls."""
    if not pa.types.is_fixed_size_list(column.type):
        return stored(column)
    return [v for chunk in column.chunks for v in stored(pa.chunked_array([chunk.values]))]


def expected(value, dtype: str, scale=None):
    """The value that a cast makes as a Python number, None where it does not fit."""
    finite = math.isfinite(value)
    if scale is not None:
        value = (float(value) - scale[0]) / scale[1]
    if dtype in _RANGES:
        lo, hi = _RANGES[dtype]
        return int(value) if finite and lo <= int(value) < hi else None
    if dtype == "float64":
        made = float(value)
    else:
        with np.errstate(over="ignore"):
            kind = np.uint64 if isinstance(value, int) and value >= 2**63 else np.int64 if isinstance(value, int) else np.float64
            single = kind(value).astype(np.float32)
            made = float(single.astype(np.float16) if dtype == "float16" else single)
        if dtype == "bfloat16":
            made = float(torch.tensor(made, dtype=torch.float32).to(torch.bfloat16))
    return made if math.isfinite(made) or not finite else None


@st.composite
def numbers(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 40))
    columns, fields = [], []
    for i, (kind, values) in enumerate(draw(st.lists(st.sampled_from(_NUMBERS), min_size=1, max_size=6))):
        size = draw(st.sampled_from([0, 0, 0, 1, 3])) if not pa.types.is_decimal(kind) else 0
        nullable = draw(st.booleans())
        if pa.types.is_floating(kind) and draw(st.booleans()):
            values = st.floats(-1000, 1000, width=16)
        if pa.types.is_integer(kind) and draw(st.booleans()):
            values = st.integers(0, 100)
        if pa.types.is_float16(kind):
            values = values.map(np.float16)
        cell = st.one_of(values, st.none()) if nullable else values
        if size:
            cell, kind = st.lists(cell, min_size=size, max_size=size), pa.list_(kind, size)
            cell = st.one_of(cell, st.none()) if nullable and draw(st.booleans()) else cell
        columns.append(pa.array(draw(st.lists(cell, min_size=rows, max_size=rows)), kind))
        fields.append(pa.field(f"{draw(st.sampled_from('ab'))}{i}", kind, nullable))
    columns.append(pa.array(range(rows)))
    fields.append(pa.field("other", pa.int64(), False))
    order = draw(st.permutations(range(len(fields))))
    return pa.Table.from_arrays([columns[i] for i in order], schema=pa.schema([fields[i] for i in order]))


def features(table: pa.Table, names: list[str], dtype: str, null, scales) -> tuple[list[str], list[list] | None]:
    """The names and the values of a matrix, column by column; no values where one does not fit."""
    known, all_values = [], []
    for name in names:
        column, scale = table[name], scales.get(name)
        of_lists = pa.types.is_fixed_size_list(column.type)
        size = column.type.list_size if of_lists else 1
        values = numbers_of(column)
        made = [null if v is None else expected(v, dtype, scale) for v in values]
        fits = all(m is not None for m in made)
        for k in range(size):
            known.append(f"{name}[{k}]" if of_lists else name)
            all_values.append(made[k::size] if fits else None)
    return known, None if None in all_values else all_values


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@settings(max_examples=120, deadline=None, suppress_health_check=_UNLIKE)
@given(
    table=numbers(),
    batch_size=st.integers(1, 17),
    row_group=st.integers(1, 20),
    dictionary=st.booleans(),
    dtype=st.sampled_from([*_FLOATS, *_FLOATS, "int64", "uint8", "int16", "uint64"]),
    scaled=st.booleans(),
    null=st.sampled_from([None, 3]),
)
def test_stack_of_any(runtime, tmp_path_factory, table, batch_size, row_group, dictionary, dtype, scaled, null):
    path = tmp_path_factory.mktemp("any") / "t.parquet"
    pq.write_table(table, path, row_group_size=row_group, use_dictionary=dictionary)
    members = [name for name in table.column_names if name != "other"]
    if dtype in _RANGES:
        members = [n for n in members if not pa.types.is_decimal(table[n].type)]
    if not members:
        return
    pattern = members[0][0] == "b" and all(n in members for n in table.column_names if n[0] == "b")
    scales = {members[0]: (2.5, 4.0)} if scaled and dtype in _FLOATS else {}
    shown = null if null is not None else math.nan if dtype in _FLOATS else 0
    known, want = features(table, members, dtype, shown, scales)
    dataset = shardfeed.torch.StreamingDataset(
        path,
        batch_size=batch_size,
        shuffle=False,
        cache=False,
        columns=["other"],
        scale=scales,
        stack={"x": {"columns": ["b*", *members] if pattern else members, "dtype": dtype, "null": null}},
    )
    assert list(dataset.schema) == ["other", "x"] and list(dataset.schema["x"].features) == known
    if want is None:
        with pytest.raises(errors.DataError, match="does not fit") as e:
            list(dataset)
        assert e.value.shard == str(path) and e.value.column in members and e.value.row_group is not None
        return
    batches = list(dataset)
    x = torch.cat([b["x"] for b in batches])
    assert x.dtype == getattr(torch, dtype) and x.shape == (table.num_rows, len(known)) and batches[0]["x"].is_contiguous()
    assert torch.cat([b["other"] for b in batches]).tolist() == table["other"].to_pylist()
    for k, values in enumerate(want):
        got = x[:, k].tolist() if dtype != "uint64" else x.numpy()[:, k].tolist()
        tolerance = 1e-14 if dtype == "float64" else 1e-6 if pa.types.is_decimal(table[members[0]].type) or scales else 0
        np.testing.assert_allclose(
            np.array(got, object).astype(float), np.array(values, object).astype(float), rtol=tolerance, err_msg=known[k]
        )


def hashed(value, buckets: int) -> int:
    """The bucket of a number."""
    raw = struct.pack("<d", value or 0.0) if isinstance(value, float) else (value % 2**64).to_bytes(8, "little")
    return xxh64(raw) % buckets


_WAYS = ["as it is", "cast", "hash", "hash and cast", "scale", "scale and cast"]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=_UNLIKE)
@given(table=numbers(), row_group=st.integers(1, 20), dictionary=st.booleans(), data=st.data())
def test_features_of_any(runtime, tmp_path_factory, table, row_group, dictionary, data):
    """Columns that are cast, hashed or scaled stay in the batch, and the resulting integers are in a
    matrix too.
    """
    path = tmp_path_factory.mktemp("any") / "t.parquet"
    pq.write_table(table, path, row_group_size=row_group, use_dictionary=dictionary)
    given: dict[str, dict] = {"cast": {}, "hash": {}, "scale": {}}
    want: dict[str, list | None] = {}
    whole = []  # what can be in a matrix of int64
    for name in table.column_names:
        kind = table[name].type
        numbers_here = numbers_of(table[name])
        leaf = kind.value_type if pa.types.is_fixed_size_list(kind) else kind
        ways = [way for way in _WAYS if "hash" not in way or not pa.types.is_decimal(leaf)]
        way = "as it is" if name == "other" else data.draw(st.sampled_from(ways), name)
        if "hash" in way:
            buckets = given["hash"][name] = data.draw(st.sampled_from([1, 7, 255]), "buckets")
            if way != "hash":
                given["cast"][name] = data.draw(st.sampled_from(["uint8", "int16", "uint64"]), "dtype")
            want[name] = [0 if v is None else hashed(v, buckets) for v in numbers_here]
            whole.append(name)
        elif way != "as it is":
            dtype = data.draw(st.sampled_from(["float32", "float64", "float16"]), "dtype")
            scale = given["scale"][name] = (2.5, 4.0) if "scale" in way else None
            if scale is None:
                del given["scale"][name]
            if way == "scale":
                dtype = "float64" if pa.types.is_float64(leaf) else "float32"
            else:
                given["cast"][name] = dtype
            want[name] = [math.nan if v is None else expected(v, dtype, scale) for v in numbers_here]
    stack = {"x": {"columns": whole, "dtype": "int64", "keep": True}} if whole else None
    dataset = StreamingDataset(path, batch_size=table.num_rows, shuffle=False, cache=False, stack=stack, **given)
    if any(v is None for values in want.values() for v in values):
        with pytest.raises(errors.DataError, match="does not fit"):
            list(dataset)
        return
    (batch,) = dataset
    for name, values in want.items():
        decimal = "decimal" in str(table[name].type)
        got = np.asarray(batch[name], float).reshape(-1)
        np.testing.assert_allclose(got, np.array(values, float), rtol=1e-6 if decimal else 0, err_msg=name)
        assert str(batch[name].dtype) == given["cast"].get(name, "int64" if name in given["hash"] else str(batch[name].dtype))
    if whole:
        columns = [np.asarray(batch[name]).reshape(table.num_rows, -1) for name in table.column_names if name in whole]
        np.testing.assert_array_equal(batch["x"], np.hstack(columns).astype(np.int64))


@pytest.fixture
def table(tmp_path: Path, runtime: Path) -> Path:
    columns = {
        "label": pa.array([1, 2, 3, 4], pa.int64()),
        "num_a": pa.array([1, None, 3, 4], pa.int32()),
        "ids": pa.array([[1, 2], None, [], [300, None]], pa.list_(pa.int32())),
        "num_b": pa.array([0.5, 1.5, None, 3.5]),
        "user": pa.array(["ann", "", None, "x" * 70]),
        "vec": pa.array([[1, 2], [3, 4], [5, None], [7, 8]], pa.list_(pa.int16(), 2)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=3)
    return tmp_path


def only(table: Path, kind=StreamingDataset, **given):
    dataset = kind(table, batch_size=4, shuffle=False, cache=False, **given)
    (batch,) = dataset
    return dataset, batch


def test_stack(table):
    dataset, batch = only(table, columns=["label"], stack={"x": ["vec", "num_*"]})
    assert dataset.schema["x"].features == ("num_a", "num_b", "vec[0]", "vec[1]") and str(dataset.schema["x"]) == "list<float>[4]"
    want = np.array([[1, 0.5, 1, 2], [math.nan, 1.5, 3, 4], [3, math.nan, 5, math.nan], [4, 3.5, 7, 8]], np.float32)
    np.testing.assert_array_equal(batch["x"], want, strict=True)
    assert batch["x"].flags.c_contiguous and list(batch) == ["label", "x"]
    assert batch.valid("x").tolist() == batch.valid("x", items=True).tolist() == (~np.isnan(want)).tolist() and batch.nulls("x") == 3
    tensors = shardfeed.torch.StreamingDataset(
        table, batch_size=3, shuffle=False, cache=False, stack={"x": ["vec", "num_*"]}, columns=["label"]
    )
    masks = [b["x_valid"] for b in tensors.with_valid("x", "label")]
    assert torch.cat(masks).tolist() == (~np.isnan(want)).tolist() and [m.shape for m in masks] == [(3, 4), (1, 4)]
    assert batch.to_pylist()[1] == {"label": 2, "x": [None, 1.5, 3, 4]}
    again = pickle.loads(pickle.dumps(batch))
    np.testing.assert_array_equal(again["x"], want)
    assert again.schema["x"].features == dataset.schema["x"].features


def test_stack_of_rows(table):
    dataset = StreamingDataset(table, batch_size=None, shuffle=False, cache=False, columns=["label"], stack={"x": ["num_b", "label"]})
    assert [row["x"].tolist() for row in dataset][3] == [4, 3.5]


def test_stack_keeps(table):
    _, batch = only(table, stack={"x": {"columns": ["num_*", "label"], "keep": ["label"]}})
    assert list(batch) == ["label", "ids", "user", "vec", "x"]
    _, batch = only(table, stack={"x": {"columns": ["num_*", "label"], "keep": True}}, cast={"label": "int8"})
    assert list(batch) == ["label", "num_a", "ids", "num_b", "user", "vec", "x"] and batch["label"].dtype == np.int8


def test_stack_nulls(table):
    stack = {"columns": ["num_*"], "null": 0}
    _, batch = only(table, stack={"x": stack}, null={"num_b": -1.5, "user": ""})
    assert batch["x"].tolist() == [[1, 0.5], [0, 1.5], [3, -1.5], [4, 3.5]]
    _, batch = only(table, stack={"x": ["num_*"]}, null={"x": 7}, scale={"num_b": (0.5, 2)})
    assert batch["x"].tolist() == [[1, 0], [7, 0.5], [3, 7], [4, 1.5]]
    with pytest.warns(NullWarning, match="column 'x' holds nulls"):
        _, batch = only(table, stack={"x": {"columns": ["num_a"], "dtype": "int64"}})
        assert batch["x"].tolist() == [[1], [0], [3], [4]]
        del batch
    only(table, columns=["label"], stack={"x": {"columns": ["num_a"], "dtype": "int64"}}, null={"num_a": 9})[1]["x"]  # no warning


def test_null_of_floats(table):
    """Numbers that JSON lacks stand in place of nulls, in matrices and elsewhere."""
    _, batch = only(
        table,
        columns=["num_b"],
        null={"num_b": math.inf},
        stack={"x": {"columns": ["num_a", "num_b"], "null": -math.inf, "keep": ["num_b"]}},
    )
    assert batch["num_b"].tolist() == [0.5, 1.5, math.inf, 3.5]
    assert batch["x"].tolist() == [[1, 0.5], [-math.inf, 1.5], [3, math.inf], [4, 3.5]]
    _, batch = only(table, columns=["num_b"], null={"num_b": math.nan})
    assert math.isnan(batch["num_b"][2])


def test_stack_of_row_ids(table):
    _, batch = only(table, columns=["label"], row_ids=True, stack={"x": ["_row", "num_b"]}, null={"x": 0})
    assert batch["x"].tolist() == [[0.5, 0], [1.5, 1], [0, 2], [3.5, 3]]
    assert list(batch) == ["label", "source", "x"]


def test_stack_of_directories(tmp_path, runtime):
    for day in (3, 4):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"a": [1, 2], "t": ["x", None]}), tmp_path / f"day={day}" / "p.parquet")
    pq.write_table(pa.table({"a": [5]}), tmp_path / "day=4" / "q.parquet")
    dataset = StreamingDataset(
        tmp_path,
        batch_size=5,
        shuffle=False,
        missing="null",
        columns=["a"],
        vocabulary={"t": ["x"]},
        stack={"x": {"columns": ["day", "a", "t"], "null": -1}},
    )
    (batch,) = dataset
    assert batch["x"].tolist() == [[1, 0, 3], [2, -1, 3], [1, 0, 4], [2, -1, 4], [5, -1, 4]]


def test_cast(table):
    dataset, batch = only(table, cast={"label": np.int32, "ids": torch.int64, "num_?": "float64"}, null={"ids": -1})
    assert batch["label"].dtype == np.int32 and batch["num_a"].dtype == np.float64
    assert batch["ids"].tolist() == [[1, 2], [], [], [300, -1]] and batch["ids"].values.dtype == np.int64
    np.testing.assert_array_equal(batch["num_a"], [1, math.nan, 3, 4])
    assert dataset.schema["label"].dtype == np.int32
    _, batch = only(table, columns=["ids"], cast={"ids": "float16"}, pad={"ids": -0.5})
    np.testing.assert_array_equal(batch["ids"], np.array([[1, 2], [-0.5, -0.5], [-0.5, -0.5], [300, math.nan]], np.float16), strict=True)


def test_cast_misfit(table):
    dataset = StreamingDataset(table, batch_size=1, shuffle=False, cache=False, columns=["label", "ids"], cast={"ids": "uint8"})
    batches = iter(dataset)
    assert next(batches)["ids"].tolist() == [[1, 2]]
    with pytest.raises(
        errors.DataError,
        match=r't.parquet: row group 1, column "ids": row 0 of the row group: 300 does not fit uint8 \(take a type that holds it\)',
    ) as e:
        list(batches)
    assert e.value.row_group == 1 and e.value.column == "ids" and e.value.hint == "take a type that holds it"


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_bfloat16(table):
    dataset, batch = only(
        table,
        shardfeed.torch.StreamingDataset,
        cast={"num_b": "bfloat16", "ids": "bfloat16"},
        stack={"x": {"columns": ["vec"], "dtype": torch.bfloat16}},
    )
    assert batch["num_b"].dtype == torch.bfloat16 and batch["num_b"].tolist()[::3] == [0.5, 3.5] and batch["num_b"].isnan()[2]
    assert batch["ids"].values.dtype == torch.bfloat16 and batch["ids"].values.tolist()[:3] == [1, 2, 300]
    assert batch["x"].dtype == torch.bfloat16 and batch["x"].shape == (4, 2) and batch["x"][3].tolist() == [7, 8]
    assert str(dataset.schema["x"]) == "list<bfloat16>[2]"
    _, batch = only(table, cast={"num_b": "bfloat16"})
    bits = batch["num_b"].view(np.uint16)  # of ml_dtypes.bfloat16 where that is installed
    assert (bits[0].astype(np.uint32) << 16).view(np.float32) == 0.5
    assert batch.to_arrow()["num_b"].type == pa.uint16()


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_bfloat16_of_ml_dtypes(table, monkeypatch):
    """The package adds a dtype of two bytes to numpy. Where it is not installed a stand-in has its
    size, so that what numpy batches have and where they go on is the same.
    """
    try:
        import ml_dtypes

        kind = np.dtype(ml_dtypes.bfloat16)
    except ImportError:
        kind = np.dtype([("bits", "<u2")])
        monkeypatch.setitem(sys.modules, "ml_dtypes", types.SimpleNamespace(bfloat16=kind))
    _field._bfloat16.cache_clear()
    try:
        given = {"cast": {"num_b": "bfloat16", "ids": "bfloat16"}, "stack": {"x": {"columns": ["num_a", "vec"], "dtype": "bfloat16"}}}
        dataset, batch = only(table, columns=["num_b", "ids"], null={"num_b": -2, "x": 0}, **given)
        assert dataset.schema["num_b"].dtype == batch["num_b"].dtype == batch["x"].dtype == batch["ids"].values.dtype == kind
        values = {
            "num_b": [0.5, 1.5, -2, 3.5],
            "x": [[1, 1, 2], [0, 3, 4], [3, 5, 0], [4, 7, 8]],
        }
        again = pickle.loads(pickle.dumps(batch))
        for name, want in values.items():
            for b in (batch, again):
                bits = np.ascontiguousarray(b[name]).view(np.uint16)
                assert (bits.astype(np.uint32) << 16).view(np.float32).tolist() == want
        assert batch.to_arrow()["num_b"].type == pa.uint16() and batch.to_arrow()["num_b"].to_pylist()[0] == 0x3F00
        _, tensors = only(table, shardfeed.torch.StreamingDataset, columns=["num_b"], null={"num_b": -2}, cast={"num_b": "bfloat16"})
        assert tensors["num_b"].dtype == torch.bfloat16 and tensors["num_b"].tolist() == values["num_b"]
    finally:
        monkeypatch.undo()
        _field._bfloat16.cache_clear()


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0, as its specification has it."""
    p1, p2, p3, p4, p5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
    mask = 2**64 - 1

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> 64 - by) & mask

    def turn(lane: int, word: int) -> int:
        return rotated((lane + word * p2) & mask, 31) * p1 & mask

    at, h = 0, p5
    if len(data) >= 32:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while at + 32 <= len(data):
            lanes = [turn(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(map(rotated, lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            h = ((h ^ turn(0, lane)) * p1 + p4) & mask
    h = (h + len(data)) & mask
    while at + 8 <= len(data):
        h = (rotated(h ^ turn(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= len(data):
        h = (rotated(h ^ struct.unpack_from("<I", data, at)[0] * p1 & mask, 23) * p2 + p3) & mask
        at += 4
    for byte in data[at:]:
        h = rotated(h ^ byte * p5 & mask, 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


def test_hash(table):
    _, batch = only(table, hash={"user": 1000, "label": 50, "ids": 7}, cast={"user": "int32"}, null={"user": 1000, "ids": -1})
    assert batch["user"].tolist() == [xxh64(s.encode()) % 1000 for s in ("ann", "")] + [1000, xxh64(b"x" * 70) % 1000]
    assert batch["user"].dtype == np.int32 and batch["label"].dtype == np.int64
    assert batch["label"].tolist() == [xxh64(struct.pack("<q", n)) % 50 for n in (1, 2, 3, 4)]
    assert batch["ids"].tolist()[3] == [xxh64(struct.pack("<q", 300)) % 7, -1]


def test_hash_in_a_matrix(table):
    stack = {"columns": ["user", "label"], "dtype": "int64", "null": 99}
    _, batch = only(table, hash={"user": 99}, stack={"c": stack})
    assert batch["c"].tolist() == [[1, xxh64(b"ann") % 99], [2, xxh64(b"") % 99], [3, 99], [4, xxh64(b"x" * 70) % 99]]


def test_scale(table):
    _, batch = only(table, scale={"num_*": (1, 2), "vec": (0, 4)}, cast={"vec": "float64"})
    assert batch["num_a"].dtype == np.float32 and batch["num_b"].dtype == np.float64 and batch["vec"].dtype == np.float64
    np.testing.assert_array_equal(batch["num_a"], np.array([0, math.nan, 1, 1.5], np.float32))
    np.testing.assert_array_equal(batch["num_b"], [-0.25, 0.25, math.nan, 1.25])
    np.testing.assert_array_equal(batch["vec"], [[0.25, 0.5], [0.75, 1], [1.25, math.nan], [1.75, 2]])


def test_rows_by_number(table):
    dataset = MapDataset(table, cache=False, columns=["label"], stack={"x": ["num_*"]}, cast={"label": "uint8"})
    assert dataset[3]["x"].tolist() == [4, 3.5] and dataset[[3, 0]]["x"].tolist() == [[4, 3.5], [1, 0.5]]
    assert dataset[[1]]["label"].dtype == np.uint8 and dataset.schema["x"].features == ("num_a", "num_b")
    loader = shardfeed.torch.DataLoader(dataset, batch_size=2)
    assert [b["x"].shape for b in loader] == [(2, 2), (2, 2)]


@pytest.mark.filterwarnings("ignore::shardfeed.PaddingWarning")
def test_resume_and_tail(table):
    """The rows of a padded tail are in the matrix, and a state does not know of features."""
    given = {"batch_size": 3, "rank": 0, "world_size": 1, "tail": "pad", "seed": 3, "cache": False}
    plain = StreamingDataset(table, columns=["label"], **given)
    stacked = StreamingDataset(table, columns=["label"], stack={"x": {"columns": ["label"], "keep": True}}, **given)
    seen = [(b["label"].tolist(), b["x"][:, 0].tolist(), b.row_valid.tolist()) for b in stacked]
    assert [x for _, x, _ in seen] == [label for label, _, _ in seen] == [b["label"].tolist() for b in plain]
    assert [valid for _, _, valid in seen][-1] == [True, False, False]
    first = next(iter(StreamingDataset(table, columns=["label"], **given)))
    stacked = StreamingDataset(table, columns=["label"], stack={"x": ["label"]}, **given)
    stacked.load_state_dict(first.state)
    assert [b["x"][:, 0].tolist() for b in stacked] == [x for _, x, _ in seen[1:]]


def test_packed(tmp_path, runtime):
    """Tokens of blocks are cast, and what is made of them is not."""
    pack = shardfeed.Pack({"ids": 4}, with_columns=["position_ids", "doc_ids", "cu_seqlens"], labels="same")
    given = {"batch_size": 1, "columns": ["ids"], "pack": pack, "cache": False, "seed": 2}
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table({"ids": pa.array([[1, 2, 3], [4], [5, 6, 7, 8, 9]], pa.list_(pa.int32()))}), table)
    plain, cast = (shardfeed.torch.StreamingDataset(table, **given, **more) for more in ({}, {"cast": {"ids": "int64"}}))
    seen = 0
    for a, b in zip(plain, cast):
        assert b["ids"].dtype == torch.int64 and a["ids"].dtype == torch.int32 and list(a) == list(b)
        for name in ("ids", "labels", "position_ids", "doc_ids"):
            assert a[name].tolist() == b[name].tolist()
        seen += 1
    assert seen == len(cast) > 0
    with pytest.raises(errors.OptionError, match=r'stack\["x"\] contradicts pack'):
        shardfeed.torch.StreamingDataset(table, **given, stack={"x": ["ids"]})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cast": {"label": "int33"}}, "cast of column 'label' must be float32, .* got 'int33'; did you mean 'int32'?"),
        ({"cast": ["label"]}, r"cast must be a dict by name, as in cast={'label': 'int32'}, got \['label'\]"),
        ({"cast": {"label": object}}, "cast of column 'label' must be float32"),
        ({"cast": {"user": "int32"}}, r'cast\["user"\] does not apply to column "user": it is string, which is not a number'),
        ({"hash": {"user": 0}}, "hash of column 'user' must be at least 1, got 0"),
        ({"hash": {"user": None}}, "hash of column 'user' must be a whole number, got None"),
        ({"scale": {"label": (1, 0)}}, r"scale of column 'label' must have a finite mean and a deviation above 0, got \(1, 0\)"),
        ({"scale": {"label": (math.nan, 1)}}, r"must have a finite mean and a deviation above 0, got \(nan, 1\)"),
        ({"scale": {"label": (1, math.inf)}}, r"must have a finite mean and a deviation above 0, got \(1, inf\)"),
        ({"scale": {"user": (1, 2)}}, r'scale\["user"\] does not apply to column "user": it is string, which is not a number'),
        ({"scale": {"label": (1, 2)}, "cast": {"label": "int32"}}, "scaled values are floats, not int32"),
        ({"hash": {"num_b": 10}, "cast": {"num_b": "float32"}}, "a hash is an integer, not float"),
        ({"hash": {"label": 1000}, "cast": {"label": "int8"}}, "int8 does not hold 1000 buckets"),
        ({"scale": {"label": (True, 2)}}, r"must be a mean and a deviation, as in \(12.5, 3.1\), got \(True, 2\)"),
        ({"scale": {"label": 3}}, r"scale of column 'label' must be a mean and a deviation, as in \(12.5, 3.1\), got 3"),
        (
            {"stack": {"x": "label"}},
            r"the columns of stack 'x' must be a list of names or patterns such as 'num_\*', got 'label': give \['label'\]",
        ),
        ({"stack": {"x": {"column": ["label"]}}}, "stack 'x' takes columns, dtype, null, keep, got 'column'; did you mean 'columns'?"),
        (
            {"stack": {"x": ["label"], "y": ["user"]}},
            r'stack\["y"\] cannot have column "user": it is string; give its hash or its vocabulary',
        ),
        ({"stack": {"x": ["nothing_*"]}}, r'stack\["x"\] cannot have "nothing_\*": no column that is read matches it'),
        ({"stack": {"label": ["num_a"]}}, r'stack\["label"\] must have another name: the batch has a column "label" already'),
    ],
)
def test_refused(table, given, text):
    with pytest.raises(errors.OptionError, match=text):
        StreamingDataset(table, batch_size=4, cache=False, **given)


def test_refused_at_once(table):
    with pytest.raises(errors.OptionError, match=r'(?s)cast\["nope"\].*hash\["none"\].*stack\["x"\]'):
        StreamingDataset(table, batch_size=4, cache=False, cast={"nope": "int8"}, hash={"none": 5}, stack={"x": ["ids"]})
