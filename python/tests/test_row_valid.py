"""The mask of padding, ``_row_valid``: it comes when asked for, on any number of ranks, and never
otherwise.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardfeed

torch = pytest.importorskip("torch")

import shardfeed.torch  # noqa: E402
from shardfeed import errors  # noqa: E402

ROWS = 4000

KINDS = {
    "torch": lambda shards, **given: shardfeed.torch.StreamingDataset(shards, batch_size=64, **given),
    "torch rows": lambda shards, **given: shardfeed.torch.StreamingDataset(shards, batch_size=None, **given),
    "numpy rows": lambda shards, **given: shardfeed.StreamingDataset(shards, batch_size=None, **given),
    "loader": lambda shards, **given: shardfeed.torch.DataLoader(shards, batch_size=64, **given),
    "loader with workers": lambda shards, **given: shardfeed.torch.DataLoader(shards, batch_size=64, num_workers=2, **given),
}


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    dataset = shardfeed.StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def open_rank(kind: str, shards: Path, rank: int, world_size: int, **given: Any) -> Any:
    return KINDS[kind](shards, columns=["id"], cache=False, rank=rank, world_size=world_size, **given)


def ids(batch: Any) -> list[int]:
    mask = batch["_row_valid"]
    return batch["id"][mask].tolist() if getattr(mask, "ndim", 0) else [int(batch["id"])] if mask else []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("tail", [None, "pad", "short", "drop", "carry"])
def test_the_mask_depends_on_the_argument_alone(shards: Path, kind: str, world_size: int, tail: str | None) -> None:
    seen = []
    for rank in range(world_size):
        plain = open_rank(kind, shards, rank, world_size, tail=tail)
        assert all("_row_valid" not in batch for batch in itertools.islice(plain, 2))
        found = list(open_rank(kind, shards, rank, world_size, tail=tail, with_row_valid=True))
        seen += [i for batch in found for i in ids(batch)]
    assert len(seen) == len(set(seen))
    assert len(seen) == ROWS or tail in ("drop", "carry")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """The warnings, here and in forked torch workers."""
    logger, handler = logging.getLogger("py.warnings"), logging.FileHandler(tmp_path / "log")
    logger.addHandler(handler)
    logging.captureWarnings(True)
    yield tmp_path / "log"
    logging.captureWarnings(False)
    logger.removeHandler(handler)
    handler.close()


@pytest.mark.parametrize("kind", ["torch", "torch rows", "numpy rows", "loader with workers"])
@pytest.mark.parametrize(("given", "lines"), [({}, 1), ({"with_row_valid": True}, 0), ({"tail": "short"}, 0)])
def test_padding_is_told_once_unless_its_mask_was_asked_for(shards: Path, log: Path, kind: str, given: Any, lines: int) -> None:
    opened = open_rank(kind, shards, 0, 3, **given)
    for _ in range(2):
        assert sum(1 for _ in opened) == len(opened)
    told = [line for line in log.read_text().splitlines() if "padding" in line]
    assert len(told) == lines
    assert all(
        "PaddingWarning: shardfeed: the last of " in line and "with_row_valid=True" in line and '"_row_valid"' in line for line in told
    )


def test_the_mask_of_rows_is_not_that_of_nulls(shards: Path) -> None:
    dataset = shardfeed.torch.StreamingDataset(shards, batch_size=64, columns=["id"], cache=False, with_row_valid=True)
    assert set(next(iter(dataset.with_valid("id")))) == {"id", "id_valid", "_row_valid"}
    assert set(next(iter(dataset.map(dict)))) == {"id", "_row_valid"}


def test_what_is_refused(shards: Path) -> None:
    with pytest.raises(errors.OptionError, match="with_row_valid must be True or False, got 1"):
        shardfeed.StreamingDataset(shards, batch_size=64, with_row_valid=1)  # type: ignore[arg-type]
