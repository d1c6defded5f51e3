"""Null lists of a declared size: embeddings of rows that have none."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed.torch
from shardfeed import MapDataset, NullWarning, StreamingDataset

pytestmark = pytest.mark.usefixtures("job")

NAN = float("nan")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    three = [[1.0, 2.0, 3.0], None, [4.0, None, 6.0]]
    columns = {
        "e": pa.array(three, pa.list_(pa.float32(), 3)),
        "i": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int64(), 2)),
        "n": pa.array([[[1.0, 2.0]], None, [None]], pa.list_(pa.list_(pa.float32(), 2), 1)),
        "s": pa.array([{"e": [1.0]}, None, {"e": None}], pa.struct([("e", pa.list_(pa.float64(), 1))])),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    return tmp_path


@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
@pytest.mark.parametrize(
    ("column", "options", "want"),
    [
        ("e", {}, [[1, 2, 3], [NAN, NAN, NAN], [4, NAN, 6]]),
        ("e", {"null": {"e": -1}}, [[1, 2, 3], [-1, -1, -1], [4, -1, 6]]),
        ("e", {"cast": {"e": "float16"}, "null": {"e": -2}}, [[1, 2, 3], [-2, -2, -2], [4, -2, 6]]),
        ("e", {"scale": {"e": (1, 2)}}, [[0, 0.5, 1], [NAN, NAN, NAN], [1.5, NAN, 2.5]]),
        ("e", {"scale": {"e": (1, 2)}, "null": {"e": 9}}, [[0, 0.5, 1], [9, 9, 9], [1.5, 9, 2.5]]),
        ("i", {"null": {"i": -1}}, [[1, 2], [-1, -1], [3, -1]]),
        ("i", {"cast": {"i": "float32"}}, [[1, 2], [NAN, NAN], [3, NAN]]),
        ("n", {}, [[[1, 2]], [[NAN, NAN]], [[NAN, NAN]]]),
        ("n", {"null": {"n": 5}}, [[[1, 2]], [[5, 5]], [[5, 5]]]),
    ],
)
def test_items_of_null_lists(rows: Path, kind: Any, column: str, options: dict, want: list) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NullWarning)
        (batch,) = kind(rows, batch_size=3, columns=[column], shuffle=False, **options)
    np.testing.assert_array_equal(np.asarray(batch[column]), np.array(want))


def test_members_and_matrices(rows: Path) -> None:
    (batch,) = StreamingDataset(rows, batch_size=3, columns=["s"], shuffle=False, null={"s.e": 7})
    assert batch["s.e"].tolist() == [[1], [7], [7]]
    (batch,) = StreamingDataset(rows, batch_size=3, columns=["e"], shuffle=False, stack={"x": ["e"]})
    np.testing.assert_array_equal(batch["x"], [[1, 2, 3], [NAN, NAN, NAN], [4, NAN, 6]])


def test_by_number(rows: Path) -> None:
    assert MapDataset(rows, columns=["i"], null={"i": -1})[1]["i"].tolist() == [-1, -1]


def test_integers_are_zero_and_a_warning_says_so(rows: Path) -> None:
    with pytest.warns(NullWarning, match=r"'i' holds nulls .* shown as 0: .*null=\{'i': value\} shows another value"):
        (batch,) = StreamingDataset(rows, batch_size=3, columns=["i"], shuffle=False)
        assert batch["i"].tolist() == [[1, 2], [0, 0], [3, 0]]


def test_arrow_has_the_nulls(rows: Path) -> None:
    (batch,) = StreamingDataset(rows, batch_size=3, columns=["e"], shuffle=False)
    assert batch.to_pylist()[1] == {"e": None}
