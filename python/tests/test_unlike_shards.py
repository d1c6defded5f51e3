"""Shards whose columns have other types, or no values: the types that hold them all, and what options make of the rest."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed.torch
from shardfeed import Source, StreamingDataset
from shardfeed.errors import DataError, OptionError, SchemaError, ShardfeedError

pytestmark = pytest.mark.usefixtures("job")

DAY, FAR = dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(9999, 12, 31)
US, NS, MS = pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ms")


def write(directory, *columns, **options):
    """A shard of each column x; an id numbers all rows."""
    first = 0
    for i, x in enumerate(columns):
        table = pa.table({"x": x, "id": pa.array(range(first, first + len(x)), pa.int64())})
        pq.write_table(table, directory / f"{i}.parquet", row_group_size=options.get("rows", 2))
        first += len(x)
    return str(directory)


def read(address, n=64, **options):
    return next(iter(StreamingDataset(address, batch_size=n, shuffle=False, **options)))


WIDER = {
    "int8 and float16": ([1, -128], pa.int8(), [1.5, None], pa.float16(), pa.float16()),
    "int16 and float16": ([2**15 - 1], pa.int16(), [1.5], pa.float16(), pa.float32()),
    "int32 and double": ([-(2**31), 5], pa.int32(), [1.5, None], pa.float64(), pa.float64()),
    "uint32 and float": ([2**32 - 1], pa.uint32(), [1.5], pa.float32(), pa.float64()),
    "float16 and double": ([1.5, -2.0], pa.float16(), [1.1, None], pa.float64(), pa.float64()),
    "ms and us": ([DAY, FAR], MS, [DAY, None], US, US),
    "us and ns": ([DAY, None], US, [DAY], NS, NS),
    "ms and ns in UTC": ([DAY], pa.timestamp("ms", "UTC"), [DAY], pa.timestamp("ns", "UTC"), pa.timestamp("ns", "UTC")),
    "date and us": ([DAY.date(), None], pa.date32(), [DAY], US, US),
    "date and ns": ([DAY.date(), None], pa.date32(), [DAY], NS, NS),
    "times": ([dt.time(1, 2, 3)], pa.time32("ms"), [dt.time(4, 5, 6, 7)], pa.time64("us"), pa.time64("us")),
    "decimals": ([Decimal("1.25"), Decimal("-9.99")], pa.decimal128(5, 2), [Decimal("0.0001")], pa.decimal128(18, 4), pa.decimal128(18, 4)),
    "wide decimals": ([Decimal("-1.25")], pa.decimal128(38, 2), [Decimal("0.01")], pa.decimal128(30, 20), pa.decimal256(56, 20)),
    "decimal and int64": ([Decimal("1.25")], pa.decimal128(5, 2), [-(2**62), None], pa.int64(), pa.decimal128(21, 2)),
    "string and binary": (["a", None], pa.string(), [b"\xff"], pa.binary(), pa.binary()),
    "binary and fixed": ([b"x", None], pa.binary(), [b"abcd", b"efgh"], pa.binary(4), pa.binary()),
    "fixed of other lengths": ([b"xy"], pa.binary(2), [b"abcd"], pa.binary(4), pa.binary()),
    "lists": ([[1, 2], None, []], pa.list_(pa.int32()), [[1.5, None]], pa.list_(pa.float64()), pa.list_(pa.float64())),
    "structs": ([{"t": DAY}], pa.struct([("t", US)]), [{"t": DAY}], pa.struct([("t", NS)]), pa.struct([("t", NS)])),
}


@pytest.mark.parametrize("case", WIDER)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_type_that_holds_both(tmp_path, case, swapped):
    a, a_type, b, b_type, want_type = WIDER[case]
    parts = [pa.array(a, a_type), pa.array(b, b_type)]
    if swapped:
        parts.reverse()
    got = read(write(tmp_path, *parts)).to_arrow()["x"]
    assert got.type == want_type

    def wider(v):
        if isinstance(v, str):
            return v.encode()
        if pa.types.is_timestamp(want_type) and isinstance(v, dt.date) and not isinstance(v, dt.datetime):
            return dt.datetime(v.year, v.month, v.day)
        return v

    values = [wider(v) for p in parts for v in p.to_pylist()]
    assert [v if v is None or not isinstance(want_type, pa.TimestampType) else v.replace(tzinfo=None) for v in got.to_pylist()] == [
        v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v for v in values
    ]


@pytest.mark.parametrize("dictionary", [False, True])
def test_filters_and_statistics_compare_the_wider_type(tmp_path, dictionary):
    """Each row group alone has one value, so that bounds decide."""
    parts = [pa.array([1, 2, 300], pa.int32()), pa.array([1.5, 2.5, 300.25], pa.float64()), pa.array([2.5], pa.float16())]
    address = write(tmp_path, *parts, rows=1)
    for text, want in [
        ("x > 2", [2, 4, 5, 6]),
        ("x = 2.5", [4, 6]),
        ("x in (1, 2.5)", [0, 4, 6]),
        ("x < 1.25", [0]),
        ("x != 300", [0, 1, 3, 4, 5, 6]),
    ]:
        assert read(address, filters=text, columns=["id"])["id"].tolist() == want, text


def test_filters_on_times_of_other_units(tmp_path):
    address = write(
        tmp_path, pa.array([DAY, FAR], US), pa.array([DAY + dt.timedelta(days=1)], NS), pa.array([dt.date(2024, 1, 2)], pa.date32()), rows=1
    )
    for text, want in [
        ("x > '2024-01-03'", [1, 2]),
        ("x = '2024-01-02 03:04:05'", [0]),
        ("x >= '9999-01-01'", [1]),
        ("x < '2024-01-02 01:00:00'", [3]),
    ]:
        assert read(address, filters=text, columns=["id"])["id"].tolist() == want, text
    assert read(address, filters="x < '2200-01-01'").to_arrow()["x"].type == NS
    with pytest.raises(DataError, match="9999-12-31T00:00:00 does not fit a timestamp in ns"):
        read(address)
    assert read(address, cast={"x": "datetime64[us]"}).to_arrow()["x"].to_pylist()[1] == FAR


UNLIKE = {
    "int64 and double": (pa.array([2**60, 3], pa.int64()), pa.array([1.5, None], pa.float64()), "float64", [2.0**60, 3.0, 1.5, None]),
    "to an integer": (pa.array([7, 3], pa.int64()), pa.array([1.5, None], pa.float64()), "int32", [7, 3, 1, None]),
    "uint64 and int64": (pa.array([1], pa.uint64()), pa.array([-1], pa.int64()), "int64", [1, -1]),
    "bool and int8": (pa.array([True]), pa.array([3], pa.int8()), "int8", [1, 3]),
    "decimal and double": (pa.array([Decimal("1.5")]), pa.array([2.5]), "float32", [1.5, 2.5]),
    "local and UTC": (pa.array([DAY], US), pa.array([DAY], pa.timestamp("us", "UTC")), "datetime64[us]", [DAY, DAY]),
    "lists": (pa.array([[1]], pa.list_(pa.int64())), pa.array([[1.5]], pa.list_(pa.float64())), "float32", [[1.0], [1.5]]),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_a_cast_decides_where_no_type_holds_both(tmp_path, case):
    a, b, dtype, want = UNLIKE[case]
    address = write(tmp_path, a, b)
    with pytest.raises(SchemaError, match=r"its type is .* here and .* in .*; cast the column"):
        read(address)
    assert read(address, columns=["id"])["id"].tolist() == list(range(len(want)))
    assert read(address, cast={"x": dtype}).to_arrow()["x"].to_pylist() == want


def test_other_options_decide_too(tmp_path):
    address = write(tmp_path, pa.array([10, 20], pa.int64()), pa.array([1.5, None]))
    assert read(address, scale={"x": (10, 2)})["x"].tolist()[:3] == [0.0, 5.0, -4.25]
    stacked = read(address, stack={"m": {"columns": ["x", "id"], "null": -1}})["m"]
    assert stacked.tolist() == [[10.0, 0.0], [20.0, 1.0], [1.5, 2.0], [-1.0, 3.0]]
    assert read(address, cast={"x": "float32"}, filters="x > 1.6", columns=["id", "x"])["id"].tolist() == [0, 1]


def test_a_value_that_the_cast_does_not_hold(tmp_path):
    address = write(tmp_path, pa.array([1, 2**40], pa.int64()), pa.array([1.5]))
    with pytest.raises(DataError, match=r"0\.parquet: row group 0, column \"x\".*1099511627776 does not fit int32"):
        read(address, cast={"x": "int32"})


def test_text_and_numbers_stay_an_error(tmp_path):
    address = write(tmp_path, pa.array(["1"]), pa.array([1]))
    with pytest.raises(SchemaError, match=r"no type holds both without loss; leave the column out"):
        read(address, cast={"x": "int32"})


def test_shards_without_rows_have_no_say(tmp_path):
    address = write(tmp_path, pa.array([], pa.string()), pa.array([1, 2]), pa.array([], pa.list_(pa.int8())))
    table = pa.table({"id": pa.array([], pa.int64()), "only_here": pa.array([], pa.int64())})
    pq.write_table(table, tmp_path / "3.parquet")
    batch = read(address)
    assert batch["x"].tolist() == [1, 2] and list(batch) == ["x", "id"]
    assert read(address, filters="x > 1")["x"].tolist() == [2]
    assert read(address, missing="null", columns=["only_here", "id"]).valid("only_here").tolist() == [False, False]


def test_sources_unite_in_the_same_way(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write(tmp_path / "a", pa.array([1, 2], pa.int32()))
    pq.write_table(pa.table({"y": pa.array([1.5]), "id": pa.array([2])}), tmp_path / "b" / "0.parquet")
    sources = {
        "a": Source(str(tmp_path / "a"), filters="x > 0"),
        "b": Source(str(tmp_path / "b"), rename={"y": "x"}, filters="x > 0"),
    }
    dataset = StreamingDataset(sources=sources, batch_size=3)
    x = next(iter(dataset))["x"]
    assert x.dtype == np.float64 and 1.5 in x.tolist() and set(x.tolist()) <= {1.0, 1.5, 2.0}


@pytest.fixture
def empty(tmp_path):
    columns = {
        "id": pa.array(range(6)),
        "x": pa.nulls(6),
        "items": pa.array([[], None, [None], [], [], [None, None]], pa.list_(pa.null())),
        "s": pa.array([{"a": None, "b": 1}] * 6, pa.struct([("a", pa.null()), ("b", pa.int32())])),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    return str(tmp_path)


@pytest.mark.parametrize(
    "options, want, dtype",
    [
        ({"null": {"x": 3}}, [3] * 6, "int64"),
        ({"null": {"x": 0.5}}, [0.5] * 6, "float64"),
        ({"null": {"x": True}}, [True] * 6, "bool"),
        ({"null": {"x": "none"}}, ["none"] * 6, "object"),
        ({"cast": {"x": "int32"}, "null": {"x": -1}}, [-1] * 6, "int32"),
        ({"cast": {"x*": "int8"}}, [0] * 6, "int8"),
        ({"cast": {"x": "datetime64[us]"}, "null": {"x": 0}}, [dt.datetime(1970, 1, 1)] * 6, "<M8[us]"),
        ({"scale": {"x": (1, 2)}, "null": {"x": 0}}, [0.0] * 6, "float32"),
        ({"hash": {"x": 10}, "null": {"x": 9}}, [9] * 6, "int64"),
        ({"vocabulary": {"x": ["a"]}, "null": {"x": -100}}, [-100] * 6, "int64"),
        ({"pad": {"x": 7}}, [[7]] * 6, "int64"),
    ],
    ids=str,
)
def test_a_column_without_values_takes_the_type_that_options_need(empty, options, want, dtype):
    x = read(empty, columns=["id", "x"], **options)["x"]
    assert x.tolist() == want and (dtype == "object" or x.dtype == np.dtype(dtype))


def test_lists_and_members_without_values(empty):
    assert read(empty, columns=["items"], pad={"items": 7}, null={"items": 7})["items"].tolist() == [[7, 7]] * 6
    assert read(empty, columns=["items"], cast={"items": "int32"}, null={"items": 5})["items"].tolist() == [[], [], [5], [], [], [5, 5]]
    assert read(empty, columns=["s"], null={"s.a": 4})["s"]["a"].tolist() == [4] * 6


def test_a_matrix_of_a_column_without_values(empty):
    batch = next(
        iter(
            shardfeed.torch.DataLoader(
                empty, batch_size=6, shuffle=False, stack={"m": {"columns": ["x", "id"], "null": 3}}, columns=["id", "x"]
            )
        )
    )
    assert batch["m"].tolist() == [[float(i), 3.0] for i in range(6)]


def test_filters_on_a_column_without_values(empty):
    for text, want in [
        ("x is null", list(range(6))),
        ("x > 5 or id = 3", [3]),
        ("not x in ('a', 'b') or id < 2", [0, 1]),
        ("len(x) > 2 or id = 5", [5]),
    ]:
        assert read(empty, filters=text, columns=["id"])["id"].tolist() == want, text
    with pytest.raises(OptionError, match="at least one row"):
        read(empty, filters="x = 1")
    with pytest.raises(ShardfeedError, match="weight must be from 0 to 255 in every row, got null"):
        read(empty, weight="x")


def test_columns_without_values_go_with_any_shard(empty, tmp_path):
    other = tmp_path / "z.parquet"
    pq.write_table(pa.table({"id": [6], "x": ["a"], "items": [[1, 2]], "s": [{"a": 2.5, "b": 1}]}), other)
    batch = read(empty)
    assert batch["x"].tolist()[-1] == "a" and batch["s"]["a"].tolist()[-1] == 2.5
    assert (
        batch["items"].tolist() == [[], [], [0], [], [], [0, 0], [1, 2]]
        and batch.valid("items", items=True).tolist() == [False] * 3 + [True] * 2
    )
