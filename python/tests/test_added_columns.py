"""Masks that batches and rows get never replace a column of the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shardfeed

pa = pytest.importorskip("pyarrow")
pytest.importorskip("torch")

import pyarrow.parquet as pq  # noqa: E402

import shardfeed.torch  # noqa: E402
from shardfeed.errors import OptionError  # noqa: E402


@pytest.fixture(scope="module")
def table(runtime: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with columns of the names that masks have, two of them as partitions."""
    out = tmp_path_factory.mktemp("added") / "price_valid=1" / "part_valid=2"
    out.mkdir(parents=True)
    columns = {"price": [1.0, None, 3.0], "id_valid": [7, 8, 9], "_row_valid": ["a", "b", "c"], "id": [1, 2, 3], "s": [{"m": 1}] * 3}
    pq.write_table(pa.table({**columns, "part": [1, 2, 3], "s.m_valid": [4, 5, 6]}), out / "a.parquet")
    return out.parent.parent


def numpy(table: Path, **given: Any) -> Any:
    return shardfeed.StreamingDataset(table, shuffle=False, cache=False, **{"batch_size": 3, **given})


def tensors(table: Path, **given: Any) -> Any:
    return shardfeed.torch.StreamingDataset(table, shuffle=False, cache=False, **{"batch_size": 3, **given})


def loader(table: Path, **given: Any) -> Any:
    return shardfeed.torch.DataLoader(table, shuffle=False, cache=False, **{"batch_size": 3, **given})


@pytest.mark.parametrize("make", [tensors, loader])
@pytest.mark.parametrize("column", ["price", "id", "part", "s.m"])
def test_a_mask_of_nulls_replaces_no_column(table: Path, make: Callable[..., Any], column: str) -> None:
    with pytest.raises(OptionError, match=rf"with_valid\('{column}'\) adds a column '{column}_valid', and the data has one: leave"):
        make(table).with_valid(column)
    names = [column, "id"] if column != "id" else ["id"]
    if column in ("id", "s.m"):  # the others are partitions, which are always there
        assert f"{column}_valid" in next(iter(make(table, columns=names).with_valid(column, column)))


@pytest.mark.parametrize("make", [numpy, tensors, loader])
@pytest.mark.parametrize("batch_size", [3, None])
def test_a_mask_of_rows_replaces_no_column(table: Path, make: Callable[..., Any], batch_size: int | None) -> None:
    text = r"adds a column '_row_valid', and the data has one: leave that column out of columns=, or rename it with sources="
    with pytest.raises(OptionError, match=f"with_row_valid {text}"):
        make(table, batch_size=batch_size, with_row_valid=True)
    with pytest.raises(OptionError, match=f"filter {text}"):
        make(table, batch_size=batch_size).filter(lambda batch: batch["id"] > 0)
    first = next(iter(make(table, batch_size=batch_size, columns=["id", "_row_valid"])))
    assert "_row_valid" in first


def test_two_masks_of_one_name(table: Path) -> None:
    data = tensors(table, columns=["id"], row_ids=True)
    assert "_row_valid" in next(iter(data.with_valid("_row")))
    with pytest.raises(
        OptionError, match=r"adds a column '_row_valid', and with_valid.'_row'. adds one too|and with_row_valid adds one too"
    ):
        tensors(table, columns=["id"], row_ids=True, with_row_valid=True).with_valid("_row")


def test_the_name_of_a_matrix(table: Path) -> None:
    with pytest.raises(OptionError, match=r"with_row_valid adds a column '_row_valid', and the data has one"):
        tensors(table, columns=["price"], stack={"_row_valid": ["id"]}, with_row_valid=True)
