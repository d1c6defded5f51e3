"""Batches that are far larger than the footers foretell stay within the memory, or are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.usefixtures("job")

ROWS = 3000
CODES = np.random.default_rng(1).integers(0, 8, ROWS).astype(np.int32)
REPEATED = pa.DictionaryArray.from_arrays(pa.array(CODES), pa.array([chr(97 + i) * 100_000 for i in range(8)]))


def repeated() -> pa.Table:
    return pa.table({"c": REPEATED})


def in_lists() -> pa.Table:
    return pa.table({"c": pa.ListArray.from_arrays(pa.array(np.arange(ROWS + 1, dtype=np.int32)), REPEATED)})


def in_structs() -> pa.Table:
    return pa.table({"c": pa.StructArray.from_arrays([REPEATED, pa.array(range(ROWS))], ["text", "id"])})


def in_maps() -> pa.Table:
    offsets = pa.array(np.arange(ROWS + 1, dtype=np.int32))
    return pa.table({"c": pa.MapArray.from_arrays(offsets, pa.array([str(i) for i in range(ROWS)]), REPEATED.dictionary_decode())})


def by_length() -> pa.Table:
    return pa.table({"c": [b"x" * (100_000 if i >= ROWS - 600 else 10) for i in range(ROWS)]})


def outlier() -> pa.Table:
    lists = [[1]] * ROWS
    lists[1234] = [2] * 20_000
    return pa.table({"c": pa.array(lists, pa.list_(pa.int64()))})


READ = """
    import json, os, sys
    from shardfeed import MapDataset, StreamingDataset, errors

    def peak(process):
        with open(f"/proc/{process}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))

    options = json.loads(sys.argv[2])
    rows, failed = 0, None
    dataset = StreamingDataset(sys.argv[1], batch_size=300, **options)
    try:
        for batch in dataset:
            rows += batch.rows
    except errors.MemoryLimitError as e:
        failed = str(e)
    print(json.dumps([rows, failed, peak(dataset._engine_pid)]))
"""


def read(path: Path, **options: object) -> tuple[int, str | None, int]:
    command = [sys.executable, "-c", textwrap.dedent(READ), str(path), json.dumps(options)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    rows, failed, peak = json.loads(ran.stdout)
    return rows, failed, peak


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    ("table", "more"),
    [(repeated, {}), (in_lists, {}), (in_structs, {}), (in_maps, {}), (by_length, {"unit_rows": 300}), (outlier, {"pad": {"c": 0}})],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_batches_larger_than_foretold(tmp_path: Path, table: Callable[[], pa.Table], more: dict, shuffle: bool) -> None:
    """Batches of 29 to 46 MiB: two of them need 58 to 92."""
    pq.write_table(table(), tmp_path / "a.parquet")
    for memory in (48, 160):
        rows, failed, peak = read(tmp_path, memory=f"{memory}MiB", shuffle=shuffle, **more)
        assert peak < (1.1 * memory + 64) * 2**20
        if memory == 160:
            assert rows == ROWS and failed is None
        elif failed is not None:
            assert "MiB" in failed and "batch_size" in failed
        else:
            assert rows == ROWS


def test_the_error_names_what_is_large(tmp_path: Path) -> None:
    pq.write_table(outlier(), tmp_path / "a.parquet")
    _, failed, _ = read(tmp_path, memory="40MiB", pad={"c": 0})
    assert failed is not None
    for part in ("a batch of 300 rows needs", '"c" take', "in row group 0 of", "a.parquet", "memory of 40.0 MiB", "batch_size", "columns"):
        assert part in failed
