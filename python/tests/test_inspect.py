"""What ``shardfeed inspect`` says of statistics, sort order and metadata, against pyarrow."""

from __future__ import annotations

import json
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq


def inspect(engine_binary, path) -> dict:
    done = subprocess.run([engine_binary, "inspect", path, "--json"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_details(engine_binary, tmp_path):
    table = pa.table({"id": [1, 2, 3, 4], "t": ["b", None, "a", "c"], "d": [0.5, -1.5, None, 2.5], "l": [[1], [None], [], None]})
    table = table.replace_schema_metadata({"source": "test"})
    order = pq.SortingColumn(0), pq.SortingColumn(1, descending=True)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=3, sorting_columns=order)
    report = inspect(engine_binary, tmp_path / "t.parquet")
    shard = report["shards"][0]
    assert shard["row_group_rows"] == [3, 1]
    assert shard["sorted_by"] == ["id", "t descending"]
    assert {"key": "source", "value": "test"} in shard["key_value_metadata"]
    columns = {c["path"]: (c["nulls"], c["min"], c["max"]) for c in report["total"]["columns"]}
    assert columns == {"id": (0, 1, 4), "t": (1, "a", "c"), "d": (1, -1.5, 2.5), "l.list.element": (3, 1, 1)}


def test_without_statistics(engine_binary, tmp_path):
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t.parquet", write_statistics=False)
    column = inspect(engine_binary, tmp_path / "t.parquet")["total"]["columns"][0]
    assert (column["nulls"], column["min"], column["max"]) == (None, None, None)
