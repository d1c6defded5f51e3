"""Worker processes and threads of our loader, on the real engine: the same batches, order and state
for any number of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402

ROWS, STEPS = 4000, 32
WAYS: dict[str, dict[str, int]] = {
    "no workers": {},
    "one worker": {"num_workers": 1},
    "two workers": {"num_workers": 2},
    "four workers": {"num_workers": 4},
    "two threads": {"threads": 2},
    "five threads": {"threads": 5},
}


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    """One engine for the module: a data set that stays open keeps it."""
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def open_shards(shards: Path, batch_size: int | None = 128, **given: Any) -> StreamingDataset[Any]:
    return StreamingDataset(shards, batch_size=batch_size, **({"cache": False, "seed": 7, "shuffle_buffer": 1000} | given))


def ids(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


@pytest.fixture(scope="module")
def epochs(one_engine, shards) -> list[list[list[int]]]:
    """What the epochs of open_shards are."""
    dataset = open_shards(shards)
    return [ids(dataset) for _ in range(4)]


def changed(batch: Any) -> Any:
    batch["x"] = batch["x"] * 2
    batch["label"].add_(1)
    return {**batch, "sum": batch["id"].sum(), "words": batch["text"].tolist()[:2]}


def noise(batch: Any, generator: torch.Generator) -> Any:
    return {"id": batch["id"], "noise": torch.rand(3, generator=generator)}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_for_any_number(shards, epochs, way):
    with DataLoader(open_shards(shards).map(changed), **WAYS[way]) as loader:
        assert len(loader) == STEPS
        batches = list(loader)
        assert ids(batches) == epochs[0]
        for batch in batches:
            assert torch.equal(batch["x"], batch["id"].float())
            assert torch.equal(batch["label"], (batch["id"] % 7 + 1).to(torch.int32))
            assert batch["sum"] == batch["id"].sum() and batch["words"] == [f"row {i}" for i in batch["id"][:2]]
            assert batch["tokens"].tolist() == [list(range(i, i + i % 5)) for i in batch["id"].tolist()]
        assert ids(loader) == epochs[1]
        for batch in loader:
            assert batch["id"].tolist() == epochs[2][0]
            break
        assert ids(loader) == epochs[3], "an epoch that was left is used up"
        loader.set_epoch(1)
        assert ids(loader) == epochs[1]
