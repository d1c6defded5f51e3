"""``shardfeed cat --format arrow`` and ``csv`` against pyarrow."""

from __future__ import annotations

import io
import subprocess

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import tables
from hypothesis import HealthCheck, given, reject, settings
from test_types import FIXED

UNLIKE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


def cat(engine_binary, path, *arguments: str) -> bytes:
    done = subprocess.run([engine_binary, "cat", path, *arguments], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def stream(engine_binary, path, *arguments: str) -> pa.Table:
    table = pa.ipc.open_stream(cat(engine_binary, path, "--format", "arrow", *arguments)).read_all()
    table.validate(full=True)
    return table


def test_all_types(engine_binary, tmp_path):
    columns = {name: pa.array(values[:2], kind) for name, kind, values, _, _ in FIXED}
    columns |= {
        "text": pa.array(["a", None]),
        "bytes": pa.array([None, b"\0"]),
        "texts": pa.array([["a", None], None]),
        "dense": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
        "struct": pa.array([{"a": 1, "b": ["x"]}, None]),
        "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    want = pq.read_table(tmp_path / "t.parquet")
    got = stream(engine_binary, tmp_path / "t.parquet")
    assert got.to_pylist() == want.to_pylist()
    assert [f.type for f in got.schema if f.name != "map"] == [f.type for f in want.schema if f.name != "map"]


@settings(max_examples=40, deadline=None, suppress_health_check=UNLIKE)
@given(table=tables.tables(max_rows=30))
def test_any_table(engine_binary, tmp_path_factory, table):
    path = tmp_path_factory.mktemp("any") / "t.parquet"
    pq.write_table(table, path, row_group_size=7)
    try:
        want = pq.read_table(path)
    except pa.ArrowInvalid:  # it does not read all that it writes: a null around a list of one size
        reject()
    assert stream(engine_binary, path).to_pylist() == want.to_pylist()


def test_many_batches(engine_binary, shards):
    want = pq.read_table(shards)
    assert stream(engine_binary, shards).equals(want.cast(stream(engine_binary, shards).schema))
    assert stream(engine_binary, shards, "--limit", "0").num_rows == 0
    assert sorted(stream(engine_binary, shards, "--shuffle", "--columns", "id")["id"].to_pylist()) == list(range(4000))


def test_csv(engine_binary, tmp_path):
    table = pa.table({"n": [1, None, 3], "t": ['a,"b"', "", "two\nlines"], "f": [0.5, 1e300, None]})
    pq.write_table(table, tmp_path / "t.parquet")
    options = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    got = pa.csv.read_csv(
        io.BytesIO(cat(engine_binary, tmp_path / "t.parquet", "--format", "csv")), parse_options=parse, convert_options=options
    )
    assert got["n"].to_pylist() == [1, None, 3]
    assert got["t"].to_pylist() == ['a,"b"', "", "two\nlines"]
    assert got["f"].to_pylist() == [0.5, 1e300, None]


@pytest.mark.parametrize("arguments", [("--format", "arrow"), ("--format", "csv")])
def test_a_reader_that_goes_away(engine_binary, shards, arguments):
    process = subprocess.Popen([engine_binary, "cat", shards, "--epochs", "50", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1000)
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
