"""Columns of numpy's files, as petastorm writes them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed.torch
from shardfeed import Image, MapDataset, Npy, StreamingDataset
from shardfeed.errors import DataError, OptionError

pytestmark = pytest.mark.usefixtures("job")

ROWS = 6


def npy(value: np.ndarray, *, compressed: bool = False) -> bytes:
    """A value as NdarrayCodec writes it, or CompressedNdarrayCodec."""
    memory = io.BytesIO()
    if compressed:
        np.savez_compressed(memory, arr=value)
    else:
        np.save(memory, value)
    return memory.getvalue()


def values(dtype: str = "float32", shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    return (np.arange(ROWS * np.prod(shape, dtype=int)) % 100).astype(dtype).reshape(ROWS, *shape)


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    pq.write_table(pa.table({"id": range(ROWS), **columns}), path / "a.parquet", row_group_size=4)
    return path


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", ">f4", ">i8"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 1, 3)])
def test_values(tmp_path: Path, shape: tuple[int, ...], dtype: str, compressed: bool) -> None:
    want = values(dtype, shape)
    write(tmp_path, {"m": [npy(v, compressed=compressed) for v in want]})
    name = np.dtype(dtype).newbyteorder("=").name
    dataset = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images={"m": Npy(shape, name)})
    (batch,) = dataset
    np.testing.assert_array_equal(batch["m"], want)
    assert (batch["m"].shape, batch["m"].dtype) == ((ROWS, *shape), np.dtype(name))
    assert (dataset.schema["m"].shape, dataset.schema["m"].dtype) == (shape, np.dtype(name))


def test_fortran_order(tmp_path: Path) -> None:
    want = values("int16", (2, 3, 4))
    write(tmp_path, {"m": [npy(np.asfortranarray(v)) for v in want]})
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images={"m": Npy((2, 3, 4), np.int16)})
    np.testing.assert_array_equal(batch["m"], want)


def test_other_ways(tmp_path: Path) -> None:
    want = values()
    write(tmp_path, {"m": [npy(v) for v in want], "s": [{"a": npy(v), "k": i} for i, v in enumerate(want)]})
    images = {"m": Npy((3, 4), "float32"), "s.a": Npy((3, 4), "float32")}
    loader = shardfeed.torch.DataLoader(tmp_path, batch_size=3, shuffle=False, images=images, num_workers=2, collate_fn=dict)
    np.testing.assert_array_equal(np.concatenate([b["m"] for b in loader]), want)
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=images)
    np.testing.assert_array_equal(batch["s.a"], want)
    assert batch["s"]["k"].tolist() == list(range(ROWS))
    np.testing.assert_array_equal(MapDataset(tmp_path, images=images)[4]["m"], want[4])
    rows = list(StreamingDataset(tmp_path, batch_size=None, images=images, seed=3))
    assert all((row["m"] == want[row["id"]]).all() for row in rows)


def test_damaged_rows(tmp_path: Path) -> None:
    files: list[bytes | None] = [npy(v) for v in values()]
    files[1], files[4] = None, npy(np.zeros((4, 3), np.float32))
    write(tmp_path, {"m": files})
    images = {"m": Npy((3, 4), "float32")}
    with pytest.raises(DataError, match=r"row 1: it is null.*on_error"):
        list(StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=images))
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=images, on_error="mask", max_lost=1.0)
    assert batch["id"][batch.row_valid].tolist() == [0, 2, 3, 5]
    np.testing.assert_array_equal(batch["m"][batch.row_valid], values()[[0, 2, 3, 5]])
    assert not batch["m"][~batch.row_valid].any()
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=images, on_error="skip", max_lost=1.0)
    assert batch["id"].tolist() == [0, 2, 3, 5]
    write(tmp_path, {"m": [files[4]] * ROWS})
    with pytest.raises(DataError, match=r"float32 of shape \(4, 3\), and the column is declared as float32 of shape \(3, 4\)"):
        list(StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=images))


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((), "float32", "shape of Npy must be whole numbers"),
        ((0, 3), "float32", "shape of Npy must be whole numbers of at least 1"),
        ((None, 3), "float32", "shape of Npy must be whole numbers"),
        ("3", "float32", "shape of Npy must be whole numbers"),
        ((3,), "bfloat16", "dtype of Npy must be bool, .* or float64, got 'bfloat16'"),
        ((2**20, 2**20), "float32", "less than 2 GiB"),
    ],
)
def test_refused(shape: Any, dtype: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Npy(shape, dtype)
    with pytest.raises(OptionError, match=r"must be a shardfeed.Image, .* a shardfeed.Npy"):
        StreamingDataset("x", batch_size=1, images={"m": "npy"})  # type: ignore[dict-item]
    assert repr(Npy((3, 4), "float32")) == "Npy(shape=(3, 4), dtype='float32')"
    assert Image(size=1) != Npy((1,), "uint8")
