"""Types of partition columns."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardfeed
from shardfeed.errors import OptionError, ShardfeedError

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402


def write(root: Path, *directories: str) -> Path:
    for n, directory in enumerate(directories):
        (root / directory).mkdir(parents=True)
        pq.write_table(pa.table({"id": [n]}), root / directory / "a.parquet")
    return root


def column(root: Path, name: str, **given: Any) -> Any:
    data = shardfeed.StreamingDataset(root, batch_size=10, shuffle=False, cache=False, **given)
    return next(iter(data))[name]


def test_a_type_does_not_depend_on_the_months_that_are_there(runtime: Path, tmp_path: Path) -> None:
    late, every = write(tmp_path / "late", "month=10", "month=12"), write(tmp_path / "every", "month=01", "month=10", "month=12")
    assert column(late, "month").dtype == column(every, "month").dtype == np.int64
    assert column(every, "month").tolist() == [1, 10, 12]
    assert column(every, "id", filters="month = 12").tolist() == [2]


@pytest.mark.parametrize(
    ("of", "values"),
    [
        ("int32", np.array([1, 12], "int32")),
        (np.uint8, np.array([1, 12], "uint8")),
        ("float32", np.array([1, 12], "float32")),
        ("string", ["01", "12"]),
        (str, ["01", "12"]),
    ],
)
def test_a_type_is_given(runtime: Path, tmp_path: Path, of: Any, values: Any) -> None:
    found = column(write(tmp_path / "t", "month=01", "month=12"), "month", partition_types={"month": of})
    assert found.tolist() == list(values)
    assert getattr(values, "dtype", None) == getattr(found, "dtype", None)


def test_dates_and_booleans(runtime: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "t", "d=2026-01-02/b=true", "d=2026-01-03/b=false")
    assert column(root, "b").dtype == np.bool_
    assert column(root, "id", filters="b and d = '2026-01-02'").tolist() == [0]
    assert column(root, "d", partition_types={"d": datetime.date, "b": "string"}).dtype == np.dtype("M8[D]")


def test_every_way_in_takes_types(runtime: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "t", "month=01", "month=12")
    given: Any = {"partition_types": {"month": "string"}}
    assert shardfeed.MapDataset(root, cache=False, **given).schema["month"].type == "string"
    chosen = shardfeed.select(
        root, lambda batch: np.array([m == "01" for m in batch["month"]]), save=tmp_path / "rows", workers=1, cache=False, **given
    )
    assert chosen.rows == 1


def test_what_a_type_cannot_be(runtime: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "t", "month=01", "month=x")
    with pytest.raises(
        OptionError, match=r"type of partition 'month' must be float32, .* date or string, got 'int33'; did you mean 'int32'"
    ):
        column(root, "month", partition_types={"month": "int33"})
    with pytest.raises(ShardfeedError, match=r'has the value "x", which is not of type int32 .give partition_types another type for it'):
        column(root, "month", partition_types={"month": "int32"})
    with pytest.raises(ShardfeedError, match=r'column "mont": the types of partitions name it'):
        column(root, "month", partition_types={"mont": "int32"})


def test_directories_of_different_depths(runtime: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "t", "y=1/m=2", "y=2")
    with pytest.raises(ShardfeedError, match=r'no partition key "m".*set missing to null'):
        column(root, "m")
    assert column(root, "id", missing="null", filters="m is null").tolist() == [1]
