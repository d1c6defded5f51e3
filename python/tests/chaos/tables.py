"""Tables whose columns all follow from a row's id, so that a trainer can check each value."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

ROWS = {"rows": 9000, "more": 1300, "pictures": 300}
FIRST = {"rows": 0, "more": 1_000_000, "pictures": 0}
SIZE = 8  # of a picture, in pixels
GRID = (2, 3)  # the shape of tensors
DAYS = 60  # of the rows' dates, from FIRST_DAY on
FIRST_DAY = "2026-01-01"
SHARES = (0.0, 0.5, 1.0, 1.5, 2.0)  # how often a row comes by its weight


def x_of(ids: np.ndarray) -> np.ndarray:
    return (ids / 2).astype(np.float32)


def text_of(row: int) -> str:
    return f"row {row} " * (1 + row % 7)


def tokens_of(row: int) -> list[int]:
    return [row * 31 + k for k in range(row % 9)]


def day_of(ids: np.ndarray) -> np.ndarray:
    return np.datetime64(FIRST_DAY) + (ids % DAYS).astype("timedelta64[D]")


def share_of(ids: np.ndarray) -> np.ndarray:
    return np.asarray(SHARES)[ids % len(SHARES)]


def maybe_of(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values of a column, and where it has one."""
    return ids * 0.25, ids % 11 != 0


def grid_of(ids: np.ndarray) -> np.ndarray:
    return (ids[:, None, None] + np.arange(6).reshape(GRID)).astype(np.float32)


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
            columns = {"pictures": pictures, "more": numbers, "rows": lambda ids: {**numbers(ids), **further(ids)}}[name](ids)
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


def further(ids: np.ndarray) -> dict[str, Any]:
    import pyarrow as pa

    maybe, there = maybe_of(ids)
    grids = pa.FixedSizeListArray.from_arrays(pa.array(grid_of(ids).reshape(-1)), 6)
    return {
        "day": pa.array(day_of(ids)),
        "share": pa.array(share_of(ids)),
        "maybe": pa.array(maybe, mask=~there),
        "grid": pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), GRID), grids),
        "array": pa.array([npy(grid) for grid in grid_of(ids)], pa.binary()),
    }


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def pictures(ids: np.ndarray) -> dict[str, Any]:
    import pyarrow as pa

    return {"id": pa.array(ids, pa.int64()), "image": pa.array([png(int(i)) for i in ids], pa.binary())}


def png(row: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (SIZE, SIZE), colour_of(row)).save(out, "PNG")
    return out.getvalue()
