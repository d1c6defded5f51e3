"""INT96 timestamps: exact values, or an error that has the value."""

from __future__ import annotations

import datetime as dt
import io
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed.torch
from shardfeed import MapDataset, StreamingDataset
from shardfeed.errors import DataError

pytestmark = pytest.mark.usefixtures("job")

NANO = pa.timestamp("ns")
DAY = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
TIMES = [DAY, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, dt.datetime(1700, 1, 1), dt.datetime(2262, 1, 1)]
FAR = [dt.datetime(2024, 1, 2), dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime(1, 1, 1), None]


@pytest.fixture
def shards(tmp_path):
    """Every place where an INT96 value can be."""
    columns = {
        "t": pa.array(TIMES, NANO),
        "ragged": pa.array([[DAY, None, TIMES[1]], [], None, [TIMES[3]], [TIMES[4]] * 2], pa.list_(NANO)),
        "pair": pa.array([TIMES[:2], [TIMES[1], None], None, [TIMES[3]] * 2, [TIMES[4]] * 2], pa.list_(NANO, 2)),
        "s": pa.array([{"t": t, "i": i} for i, t in enumerate(TIMES)], pa.struct([("t", NANO), ("i", pa.int32())])),
        "m": pa.array([[("k", t)] for t in TIMES], pa.map_(pa.string(), NANO)),
        "deep": pa.array([[[t], [DAY, t]] for t in TIMES], pa.list_(pa.list_(NANO))),
        "rows": pa.array([[{"t": t}] for t in TIMES], pa.list_(pa.struct([("t", NANO)]))),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    return tmp_path


@pytest.fixture
def far(tmp_path):
    """Times that Spark writes, and nanoseconds of 64 bits do not hold."""
    path = tmp_path / "far"
    path.mkdir()
    pq.write_table(
        pa.table({"t": pa.array(FAR, pa.timestamp("us")), "id": [0, 1, 2, 3]}), path / "a.parquet", use_deprecated_int96_timestamps=True
    )
    return path


def first(address, cls=StreamingDataset, **options):
    return next(iter(cls(str(address), batch_size=5, shuffle=False, **options)))


@pytest.mark.parametrize("shuffle", [False, True])
def test_values_are_those_of_pyarrow(shards, shuffle):
    want = pq.read_table(shards / "a.parquet")
    batch = next(iter(StreamingDataset(str(shards), batch_size=5, shuffle=shuffle, row_ids=True)))
    order = batch["_row"].tolist()
    got = batch.to_arrow()
    for name in want.column_names:
        assert got[name].type == want[name].type
        assert got[name].to_pylist() == want[name].take(order).to_pylist(), name


def test_rows_by_number(shards):
    want = pq.read_table(shards / "a.parquet")
    got = MapDataset(str(shards))[[4, 0, 2]].to_arrow()
    assert got.to_pylist() == want.take([4, 0, 2]).to_pylist()


def test_a_null_is_zero(shards):
    batch = first(shards)
    assert batch.valid("t").tolist() == [t is not None for t in TIMES]
    assert batch["t"][2] == np.datetime64(0, "ns") and batch["pair"][1][1] == np.datetime64(0, "ns")
    assert next(iter(shardfeed.torch.DataLoader(str(shards), batch_size=5, shuffle=False, columns=["t"])))["t"][2] == 0


def test_options_take_the_column(shards):
    nanos = np.array([np.datetime64(t, "ns").astype("i8") for t in TIMES])
    nanos[2] = 7
    assert first(shards, null={"t": 7})["t"].astype("i8").tolist() == nanos.tolist()
    assert first(shards, null={"t": 7}, cast={"t": "int64"})["t"].tolist() == nanos.tolist()
    assert first(shards, cast={"t": "datetime64[us]"})["t"].tolist() == [t or dt.datetime(1970, 1, 1) for t in TIMES]
    assert first(shards, cast={"ragged": "datetime64[ms]"})["ragged"].values.dtype == np.dtype("M8[ms]")
    stacked = first(shards, stack={"x": {"columns": ["t", "pair"], "dtype": "int64", "null": 7}})["x"]
    assert stacked.shape == (5, 3) and stacked[:, 0].tolist() == nanos.tolist() and stacked[1, 2] == 7
    scaled = first(shards, scale={"t": (1e18, 1e17)}, null={"t": 0})["t"]
    want = ((nanos.astype("f8") - 1e18) / 1e17).astype("f4")
    want[2] = 0
    assert scaled.tolist() == want.tolist()
    assert first(shards, pad={"ragged": 0})["ragged"].shape == (5, 3)


def test_filters(far):
    for text, want in [
        ("t > '9000-01-01'", [1]),
        ("t < '0100-01-01'", [2]),
        ("t is null", [3]),
        ("t < '2200-01-01' and t > '1900-01-01'", [0]),
    ]:
        assert first(far, filters=text, columns=["id"])["id"].tolist() == want
    assert first(far, filters="t < '2200-01-01' and t > '1900-01-01'")["t"].tolist() == [np.datetime64("2024-01-02", "ns").item()]


@pytest.mark.parametrize("cls", [StreamingDataset, shardfeed.torch.DataLoader])
def test_a_value_that_nanoseconds_do_not_hold_is_an_error(far, cls):
    for options in ({}, {"cast": {"t": "int64"}}, {"stack": {"x": ["t"]}}, {"scale": {"t": (0, 1)}}):
        place = r"a\.parquet: row group 0, .*column \"t\": row 1 of the row group: "
        with pytest.raises(DataError, match=place + "9999-12-31T23:59:59 does not fit"):
            first(far, cls, **options)


def test_microseconds_hold_it(far):
    assert first(far, cast={"t": "datetime64[us]"}).to_arrow()["t"].to_pylist() == FAR
    tensor = next(iter(shardfeed.torch.DataLoader(str(far), batch_size=4, shuffle=False, cast={"t": np.dtype("M8[us]")})))["t"]
    assert tensor.tolist() == [0 if t is None else np.datetime64(t, "us").astype("i8") for t in FAR]


def test_cat(far, engine_binary):
    lines = subprocess.run([engine_binary, "cat", str(far), "--columns", "t"], capture_output=True, text=True, check=True).stdout
    assert '{"t":"9999-12-31T23:59:59.000000000"}' in lines
    arrow = subprocess.run([engine_binary, "cat", str(far), "--format", "arrow"], capture_output=True)
    assert arrow.returncode != 0 and b"9999-12-31T23:59:59 does not fit a timestamp in ns" in arrow.stderr
    assert b"row 1 of the row group: 9999" in arrow.stderr
    arrow = subprocess.run(
        [engine_binary, "cat", str(far), "--format", "arrow", "--cast", "t=datetime64[us]"], capture_output=True, check=True
    )
    assert pa.ipc.open_stream(io.BytesIO(arrow.stdout)).read_all()["t"].to_pylist() == FAR
