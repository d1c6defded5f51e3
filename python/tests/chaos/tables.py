"""Tables whose columns all follow from a row's id, so that a trainer can check each value."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

ROWS = {"rows": 9000, "more": 1300, "pictures": 300}
FIRST = {"rows": 0, "more": 1_000_000, "pictures": 0}
SIZE = 8  # of a picture, in pixels


def x_of(ids: np.ndarray) -> np.ndarray:
    return (ids / 2).astype(np.float32)


def text_of(row: int) -> str:
    return f"row {row} " * (1 + row % 7)


def tokens_of(row: int) -> list[int]:
    return [row * 31 + k for k in range(row % 9)]


def colour_of(row: int) -> tuple[int, int, int]:
    return row % 256, row // 256, 7 * row % 256


def make(directory: Path) -> None:
    """Writes every table below directory. It needs pyarrow and Pillow; nothing else of a job does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, rows in ROWS.items():
        (directory / name).mkdir(parents=True)
        files = 3 if name == "more" else 5
        for k, ids in enumerate(np.array_split(np.arange(FIRST[name], FIRST[name] + rows), files)):
            columns = pictures(ids) if name == "pictures" else numbers(ids)
            pq.write_table(pa.table(columns), directory / name / f"part-{k}.parquet", row_group_size=max(20, len(ids) // 6))


def numbers(ids: np.ndarray) -> dict[str, Any]:
    import pyarrow as pa

    return {
        "id": pa.array(ids, pa.int64()),
        "x": pa.array(x_of(ids)),
        "label": pa.array(ids % 7, pa.int32()),
        "text": pa.array([text_of(int(i)) for i in ids]),
        "tokens": pa.array([tokens_of(int(i)) for i in ids], pa.list_(pa.int32())),
    }


def pictures(ids: np.ndarray) -> dict[str, Any]:
    import pyarrow as pa

    return {"id": pa.array(ids, pa.int64()), "image": pa.array([png(int(i)) for i in ids], pa.binary())}


def png(row: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (SIZE, SIZE), colour_of(row)).save(out, "PNG")
    return out.getvalue()
