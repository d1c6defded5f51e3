"""How fast a training would be if its data were free: batches as they come, and repeated ones."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed import Headspace  # noqa: E402
from shardfeed.errors import StateError  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402
from shardfeed.torch import _headspace as headspace  # noqa: E402

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]

GIVEN: dict[str, Any] = {"batch_size": 10, "columns": ["id", "tokens"], "shuffle": False, "cache": False, "headspace": 4}
LOOP = 2 + 3 * 12  # steps


def same(batch: Any) -> Any:
    return batch


LOADERS: dict[str, Any] = {
    "plain": lambda shards: DataLoader(shards, **GIVEN),
    "collate_fn": lambda shards: DataLoader(shards, collate_fn=same, **GIVEN),
    "threads": lambda shards: DataLoader(shards, threads=2, collate_fn=same, **GIVEN),
    "workers": lambda shards: DataLoader(shards, num_workers=1, collate_fn=same, **GIVEN),
    "a data set": lambda shards: DataLoader(StreamingDataset(shards, **{k: v for k, v in GIVEN.items() if k != "headspace"}), headspace=4),
    "rows": lambda shards: DataLoader(shards, **{**GIVEN, "batch_size": None}),
    "rows by number": lambda shards: DataLoader(shardfeed.MapDataset(shards, columns=["id", "tokens"]), batch_size=10, headspace=4),
}


def first(batch: Any) -> int:
    return int(batch["id"].reshape(-1)[0])


@pytest.mark.parametrize("kind", LOADERS)
def test_batches_as_they_come_and_repeated_ones(shards: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "shardfeed"), LOADERS[kind](shards) as loader:
        held = list(loader)  # all slots: those that repeat need none
        assert len(held) == len(loader) == LOOP
        found = [first(batch) for batch in held]
        for n in range(3):
            fresh, again = found[2 + 12 * n : 8 + 12 * n], found[8 + 12 * n : 14 + 12 * n]
            assert len(set(fresh)) == 6 and fresh == sorted(fresh)
            assert again == fresh[:2] * 3
        with pytest.raises(StateError, match="headspace repeats batches and drops others, so it has no state"):
            loader.state_dict()
        if kind != "rows by number":
            with pytest.raises(StateError, match="no state to save"):
                loader.dataset.state_dict()
            assert isinstance(loader.verdict().headspace, Headspace) and "; data free: " in loader.verdict().line
    with pytest.raises(StateError):
        loader.state_dict()
    lines = [record.getMessage() for record in caplog.records]
    assert f"headspace is a diagnosis: batches repeat, the loop ends after {LOOP} steps, and there is no state to save" in str(lines)
    assert any(line.startswith("headspace: data free: ") for line in lines)
    assert not any("each exactly once" in line for line in lines)


def test_a_step_may_change_its_batch(shards: Path) -> None:
    with DataLoader(shards, **GIVEN) as loader:
        for batch in loader:
            batch["more"] = batch.pop("id")
            assert sorted(batch) == ["more", "tokens"]


def test_epochs_that_are_shorter(shards: Path) -> None:
    with DataLoader(shards, **GIVEN).take(5) as loader:
        assert len(loader) == LOOP == sum(1 for _ in loader)
        assert loader.dataset.stats()["audit"] is None


def test_slow_data_has_headspace(shards: Path) -> None:
    def slow(batch: Any) -> Any:
        time.sleep(0.02)
        return batch

    with DataLoader(shards, collate_fn=slow, **GIVEN) as loader:
        began = time.monotonic()
        for _ in loader:
            time.sleep(0.01)
        took = time.monotonic() - began
        found, wait = loader.verdict().headspace, loader.stats()["wait"]
    assert found is not None and found.steps == 4 and found.share > 0.3
    assert wait is not None and wait["of"] < took - 18 * 0.01  # without the repeated ones


def test_what_is_dropped(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that got ready meanwhile would make the next measurement too good."""
    monkeypatch.setattr(headspace, "_READY", 60.0)
    with DataLoader(shards, slots=8, **GIVEN) as loader:
        found = []
        for batch in loader:
            found.append(first(batch))
            if len(found) in (14, 26):
                time.sleep(0.5)
    assert found[14] > found[7] + 10 and found[26] > found[19] + 10


@pytest.mark.parametrize(
    ("now", "free", "text"),
    [
        (390.0, 412.0, "data free: 412 steps/s, now 390 steps/s: 5.3 % to be had"),
        (390.0, 391.0, "data free: 391 steps/s, now 390 steps/s: nothing to be had"),
        (2.5, 2.0, "data free: 2 steps/s, now 2.5 steps/s: nothing to be had"),
    ],
)
def test_the_line(now: float, free: float, text: str) -> None:
    assert str(Headspace(50, now, free)) == text
