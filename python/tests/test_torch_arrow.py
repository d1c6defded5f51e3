"""Batches of tensors for pyarrow and other readers of its PyCapsule interface."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")

from shardfeed._columns import _arrow  # noqa: E402
from shardfeed.torch import Batch, Bytes, Ragged, StreamingDataset  # noqa: E402


@pytest.fixture(params=["ctypes", "pyarrow"])
def exporter(request, monkeypatch):
    """Both ways to export: without pyarrow, and through it."""
    monkeypatch.setattr(_arrow, "pyarrow_is_loaded", lambda: request.param == "pyarrow")


def read(batch: Batch) -> pa.Table:
    """pyarrow.table takes dicts as dicts, so the batch is read as a stream."""
    return pa.RecordBatchReader.from_stream(batch).read_all()


def test_columns(exporter):
    offsets = torch.tensor([0, 1, 3], dtype=torch.int32)
    batch = Batch(
        x=torch.tensor([1.5, 2.5], requires_grad=True),
        dense=torch.arange(8).reshape(2, 2, 2),
        flag=torch.tensor([True, False]),
        half=torch.tensor([0.5, 1], dtype=torch.float16),
        text=Bytes(torch.tensor(list(b"abc"), dtype=torch.uint8), offsets, True),
        tokens=Ragged(torch.tensor([1, 2, 3]), offsets),
        inner={"a": torch.tensor([1, 2])},
        host=np.array([1, 2]),
    )
    got = read(batch)
    assert got.to_pydict() == {
        "x": [1.5, 2.5],
        "dense": [[[0, 1], [2, 3]], [[4, 5], [6, 7]]],
        "flag": [True, False],
        "half": [0.5, 1.0],
        "text": ["a", "bc"],
        "tokens": [[1], [2, 3]],
        "inner": [{"a": 1}, {"a": 2}],
        "host": [1, 2],
    }
    assert batch.to_arrow().equals(got.to_batches()[0])
    assert pa.array(batch["text"]).to_pylist() == ["a", "bc"]
    assert pa.array(batch["tokens"]).to_pylist() == [[1], [2, 3]]


def test_nothing_is_copied(exporter):
    tensor = torch.arange(4)
    column = read(Batch(x=tensor))["x"].chunk(0)
    assert column.buffers()[1].address == tensor.data_ptr()
    del tensor
    assert column.to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"x": torch.zeros(2, dtype=torch.bfloat16)}, "column 'x' is torch.bfloat16, which numpy and Arrow lack: convert it"),
        ({"x": {"y": torch.zeros(2, dtype=torch.bfloat16)}}, "column 'x.y' is torch.bfloat16"),
        ({"x": torch.zeros(2, dtype=torch.complex64)}, "column 'x' has dtype complex64, which has no Arrow type"),
        ({"x": ["a", "b"]}, "column 'x' is a list, which has no Arrow type: make it an array, or leave it out"),
        ({"x": torch.tensor(1)}, "column 'x' is a single number, not one for each row"),
    ],
)
def test_what_arrow_lacks(exporter, columns, text):
    with pytest.raises(TypeError, match=text):
        read(Batch(columns))


def test_columns_of_other_lengths(exporter):
    with pytest.raises(ValueError, match="column 'y' has 3 rows, column 'x' has 2: Arrow needs as many in all"):
        read(Batch(x=torch.zeros(2), y=torch.zeros(3)))


def test_dlpack():
    for column in (Bytes(torch.zeros(0, dtype=torch.uint8), torch.zeros(1, dtype=torch.int32)), Ragged(torch.zeros(0), torch.zeros(1))):
        assert tuple(column.__dlpack_device__()) == (1, 0)
        with pytest.raises(BufferError, match=r"no single tensor: take \.values and \.offsets"):
            torch.from_dlpack(column)


def test_masks_are_columns(exporter, tmp_path, job):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, None, 3], "t": ["a", "b", "c"]}), tmp_path / "t.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=3, shuffle=False, with_row_valid=True).with_valid("x")
    got = read(next(iter(dataset)))
    assert got.to_pydict() == {"x": [1, 0, 3], "t": ["a", "b", "c"], "x_valid": [True, False, True], "_row_valid": [True] * 3}
