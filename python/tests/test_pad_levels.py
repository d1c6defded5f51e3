"""Padding of lists of lists: dense at each level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import shardfeed.torch
from shardfeed import MapDataset, StreamingDataset
from shardfeed.errors import OptionError

pytestmark = pytest.mark.usefixtures("job")

ROWS: list[Any] = [[[1.0], [2.0, 3.0]], [], None, [[4.0, 5.0, 6.0], [], [7.0]]]
LENGTHS, INNER = [2, 0, 0, 3], [[1, 2, 0], [0, 0, 0], [0, 0, 0], [3, 0, 1]]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = {
        "a": pa.array(ROWS, pa.list_(pa.list_(pa.float32()))),
        "flat": pa.array([[1], [2, 3], [], [4]], pa.list_(pa.int64())),
        "box": pa.array([[[[1, 2]], []], [], [], [[[3, 4], [5, 6]]]], pa.list_(pa.list_(pa.list_(pa.int32(), 2)))),
        "text": pa.array([[["x"]], [], [], []]),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    return tmp_path


def dense(value: float, lists: int = 3, items: int = 3) -> np.ndarray:
    out = np.full((4, lists, items), value, np.float32)
    for i, row in enumerate(ROWS):
        for k, items_of in enumerate((row or [])[:lists]):
            out[i, k, : len(items_of)] = items_of[:items]
    return out


def read(path: Path, kind: Any = StreamingDataset, **options: Any) -> Any:
    (batch,) = kind(path, batch_size=4, shuffle=False, columns=["a"], **options)
    return batch


@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
def test_longest(table: Path, kind: Any) -> None:
    batch = read(table, kind, pad={"a": -1})
    np.testing.assert_array_equal(np.asarray(batch["a"])[[0, 1, 3]], dense(-1)[[0, 1, 3]])
    assert batch["a_lengths"].tolist() == LENGTHS
    assert batch["a_lengths_2"].tolist() == INNER


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"pad": {"a": 0}, "max_length": 2}, dense(0, 2, 2)),
        ({"pad": {"a": 0}, "max_length": (3, 1)}, dense(0, 3, 1)),
        ({"pad": {"a": 0}, "max_length": {"a": [None, 2]}}, dense(0, 3, 2)),
        ({"pad": {"a": {"max_length": (2, None)}}}, dense(0, 2, 3)),
        ({"pad": {"a": {"multiple": 4}}}, dense(0, 4, 4)),
        ({"pad": {"a": {"multiple": (1, 8)}}}, dense(0, 3, 8)),
        ({"pad": {"a": {"max_length": (5, 4), "to_max": True}}}, dense(0, 5, 4)),
        ({"pad": {"a": {"max_length": 4, "multiple": (2, 4), "to_max": True}}}, dense(0, 4, 4)),
    ],
)
def test_sizes(table: Path, options: dict[str, Any], want: np.ndarray) -> None:
    batch = read(table, null={"a": 0}, **options)
    np.testing.assert_array_equal(batch["a"][[0, 1, 3]], want[[0, 1, 3]])
    shape = batch.schema["a"].shape
    assert shape == (want.shape[1:] if "to_max" in str(options) else (-1, -1))
    assert batch.schema["a_lengths_2"].shape == shape[:1]


def test_other_ways(table: Path) -> None:
    row = MapDataset(table, columns=["a"], pad={"a": 0})[[0, 3]]
    np.testing.assert_array_equal(row["a"], dense(0)[[0, 3]])
    loader = shardfeed.torch.DataLoader(table, batch_size=2, shuffle=False, columns=["a"], pad={"a": 0}, num_workers=2, collate_fn=dict)
    assert [tuple(batch["a"].shape) for batch in loader] == [(2, 2, 2), (2, 3, 3)]
    rows = list(shardfeed.torch.DataLoader(table, batch_size=None, shuffle=False, columns=["a"], pad={"a": 0}))
    assert torch.equal(rows[3]["a"][: LENGTHS[3], :3], torch.from_numpy(dense(0)[3]))
    arrow = read(table, pad={"a": 0}).to_arrow()
    arrow.validate(full=True)
    assert arrow["a"].to_pylist()[0] == dense(0)[0].tolist()
    (boxes,) = StreamingDataset(table, batch_size=4, shuffle=False, columns=["box"], pad={"box": 9}, cast={"box": "int64"})
    assert boxes["box"].shape == (4, 2, 2, 2)
    assert boxes["box"][3].tolist() == [[[3, 4], [5, 6]], [[9, 9], [9, 9]]]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
def test_to_padded(table: Path, kind: Any) -> None:
    column = read(table, kind)["a"]
    np.testing.assert_array_equal(np.asarray(column.to_padded(-1)), dense(-1))
    np.testing.assert_array_equal(np.asarray(column.to_padded(0, 2)), dense(0, 2, 2))
    np.testing.assert_array_equal(np.asarray(column.to_padded(0, (4, None))), dense(0, 4, 3))
    np.testing.assert_array_equal(np.asarray(column[2:].to_padded()), dense(0)[2:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": ["flat"], "pad": {"flat": 0}, "max_length": (2, 3)},
            r"list<int64>, and sizes of 2 levels of lists are given; it has 1",
        ),
        ({"columns": ["text"], "pad": {"text": 0}}, r"list<list<string>>; only lists of fixed-width values"),
        ({"columns": ["a"], "pad": {"a": {"to_max": True, "max_length": (2, None)}}}, "to_max needs a max_length"),
        ({"columns": ["a"], "pad": {"a": 0}, "max_length": (2, 0)}, "max_length of column 'a' must be at least 1, got 0"),
        ({"columns": ["a"], "pad": {"a": {"max_length": (1, 2), "multiple": (1, 2, 3)}}}, "for 2 levels of lists and multiple for 3"),
    ],
)
def test_refused(table: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        list(StreamingDataset(table, batch_size=4, **options))
