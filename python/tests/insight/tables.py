"""The data of the cases. Batches have 32 rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pictures
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 32
PLAIN = 4096  # bytes of a row, which cannot be compressed
DENSE = 512 << 10  # bytes of a row before gzip


def make(directory: Path) -> None:
    """Writes the tables plain, small, dense and images below a directory."""
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, (1024, PLAIN), np.uint8)
    for k in range(8):
        _write(directory / "plain", k, [row.tobytes() for row in noise ^ np.uint8(k)], 128)
        _write(directory / "small", k, [row.tobytes() for row in noise ^ np.uint8(k)], BATCH)
    letters = rng.integers(65, 73, (64, DENSE), np.uint8)
    for k in range(4):
        _write(directory / "dense", k, [row.tobytes() for row in letters ^ np.uint8(k)], 16, compression="gzip", use_dictionary=False)
    drawn = [pictures.encoded(pictures.drawn(i, 640, 480)) for i in range(4)]
    pictures.write(directory / "images", drawn * 64, row_group=32)


def _write(directory: Path, number: int, values: list[bytes], row_group: int, **options: object) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    ids = range(number * len(values), (number + 1) * len(values))
    table = pa.table({"id": pa.array(ids, pa.int64()), "x": pa.array(values, pa.binary())})
    pq.write_table(table, directory / f"part-{number}.parquet", row_group_size=row_group, **options)
