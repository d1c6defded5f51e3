"""shardfeed.select: a function chooses rows once, and later runs read them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import shardfeed
from shardfeed import Batch, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")


def sevens(batch: Batch) -> np.ndarray:
    return np.asarray(batch["id"] % 7 == 0)


def read(shards: Path, rows: Path) -> list[int]:
    return sorted(i for b in StreamingDataset(shards, batch_size=64, columns=["id"], rows=rows) for i in b["id"].tolist())


@pytest.mark.parametrize("workers", [1, 3])
def test_rows_are_read_by_later_runs(shards: Path, tmp_path: Path, workers: int) -> None:
    keep = tmp_path / "keep.rows"
    told = shardfeed.select(shards, sevens, columns=["id"], save=keep, batch_size=64, workers=workers)
    assert told == (str(keep), len(range(0, 4000, 7)), 4000)
    assert read(shards, keep) == list(range(0, 4000, 7))
    assert os.listdir(tmp_path) == ["keep.rows"], "nothing else is left"


def test_an_earlier_list_is_replaced(shards: Path, tmp_path: Path) -> None:
    keep = tmp_path / "keep.rows"
    shardfeed.select(shards, sevens, columns=["id"], save=keep)
    before = keep.read_bytes()
    shardfeed.select(shards, lambda b: b["id"] >= 0, columns=["id"], save=keep)
    assert keep.read_bytes() != before


def test_other_files_are_not_replaced(shards: Path, tmp_path: Path) -> None:
    for content in (b"weights of a model", b"shardfeed"):
        other = tmp_path / "model.bin"
        other.write_bytes(content)
        with pytest.raises(errors.OptionError, match="exists and is not a list of rows: name another file, or remove it"):
            shardfeed.select(shards, sevens, save=other)
        assert other.read_bytes() == content
    with pytest.raises(errors.OptionError, match="there is no directory"):
        shardfeed.select(shards, sevens, save=tmp_path / "there" / "keep.rows")
    with pytest.raises(errors.OptionError, match="which is a directory"):
        shardfeed.select(shards, sevens, save=tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_function_is_the_users(shards: Path, tmp_path: Path, workers: int) -> None:
    def fails(batch: Batch) -> np.ndarray:
        raise LookupError(f"no score for row {batch['id'][0]}")

    with pytest.raises(LookupError, match="no score for row"):
        shardfeed.select(shards, fails, columns=["id"], save=tmp_path / "keep.rows", batch_size=64, workers=workers)
    with pytest.raises(errors.OptionError, match=r"the function of select must return a bool for each of the 64 rows, got int64\[64\]"):
        shardfeed.select(shards, lambda b: b["id"], columns=["id"], save=tmp_path / "keep.rows", batch_size=64, workers=workers)
    assert os.listdir(tmp_path) == []


def test_an_error_that_cannot_be_pickled(shards: Path, tmp_path: Path) -> None:
    def fails(batch: Batch) -> np.ndarray:
        class Local(Exception): ...

        raise Local("not found")

    with pytest.raises(errors.ShardfeedError, match="the function of select failed: Local: not found"):
        shardfeed.select(shards, fails, columns=["id"], save=tmp_path / "keep.rows", batch_size=64, workers=2)


def test_a_killed_process_is_an_error(shards: Path, tmp_path: Path) -> None:
    def dies(batch: Batch) -> np.ndarray:
        os.kill(os.getpid(), signal.SIGKILL)
        return sevens(batch)

    with pytest.raises(errors.EngineError, match=r"of 2 that ran the function of select ended early|torch worker"):
        shardfeed.select(shards, dies, columns=["id"], save=tmp_path / "keep.rows", batch_size=64, workers=2)
    assert os.listdir(tmp_path) == []


def test_wrong_arguments(shards: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.OptionError, match="batch_size must be a multiple of 8, got 100"):
        shardfeed.select(shards, sevens, save=tmp_path / "keep.rows", batch_size=100)
    with pytest.raises(errors.OptionError, match="function must be a function of a batch, got 'id > 3'"):
        shardfeed.select(shards, "id > 3", save=tmp_path / "keep.rows")  # type: ignore[arg-type]
