"""Why a training waits: the verdict, and the lines of the log."""

from __future__ import annotations

import dataclasses
import logging
import time
from pathlib import Path
from typing import Any

import pytest

import shardfeed
from shardfeed._verdict import Verdict
from shardfeed._waited import MAP, Waited

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]


def open_shards(shards: Path, **given: Any) -> shardfeed.StreamingDataset:
    return shardfeed.StreamingDataset(shards, batch_size=200, cache=False, **given)


def test_before_the_first_batch(shards: Path) -> None:
    verdict = open_shards(shards).verdict()
    assert str(verdict) == "no batch was read yet" and verdict.cause == "" and verdict.rank == -1 and verdict.parts == {}


def test_a_trainer_that_takes_the_time(shards: Path) -> None:
    dataset = open_shards(shards)
    for _ in dataset:
        time.sleep(0.1)
    verdict = dataset.verdict(epoch=True)
    assert verdict.cause == "trainer" and "nothing to do here" in verdict.line and verdict == dataset.verdict(epoch=True)
    assert verdict.rank == 0 and verdict.ranks == (0,) and verdict.world_size == 1 and verdict.of > 1
    assert sum(verdict.parts.values()) == pytest.approx(verdict.seconds)


@pytest.mark.parametrize("workers", [0, 2])
def test_slow_functions(shards: Path, workers: int) -> None:
    pytest.importorskip("torch")
    from shardfeed.torch import DataLoader

    def slow(batch: Any) -> Any:
        time.sleep(0.2)
        return batch

    with DataLoader(shards, batch_size=200, cache=False, collate_fn=slow, threads=workers) as loader:
        for _ in loader:
            pass
        verdict = loader.verdict()
    assert verdict.cause == "map" and verdict.kind == ("few workers" if workers else "slow map"), verdict
    assert verdict.share > 0.5 and "map and collate_fn" in str(verdict)


def test_each_epoch_has_a_line(shards: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset = open_shards(shards)
    with caplog.at_level(logging.INFO, "shardfeed"):
        for _ in range(2):
            for _ in dataset:
                pass
        next(iter(dataset))  # one that is left early has none
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("epoch: ")]
    assert len(lines) == 2 and all(line.startswith("epoch: waited ") for line in lines), lines


def test_without_a_log_the_engine_is_not_asked(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.getLogger("shardfeed").setLevel(logging.NOTSET)
    monkeypatch.setattr(shardfeed.StreamingDataset, "_judged", lambda *_: pytest.fail("asked"))
    for _ in open_shards(shards):
        pass


def test_one_rank_speaks_for_its_machine(shards: Path, caplog: pytest.LogCaptureFixture) -> None:
    ranks = [open_shards(shards, rank=r, world_size=2) for r in range(2)]
    with caplog.at_level(logging.INFO, "shardfeed"):
        iterators = [iter(rank) for rank in ranks]
        for batches in zip(*iterators):
            del batches
        for rest in iterators:
            assert next(rest, None) is None
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("epoch: ")]
    assert len(lines) == 1 and ranks[1].verdict(epoch=True).world_size == 2, lines


def test_the_first_slow_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waited, clock, slow = Waited(), [0], []
    monkeypatch.setattr("shardfeed._waited.now", lambda: clock[0])

    def minute(waits: float) -> None:
        for _ in range(61):
            watch = waited.start()
            clock[0] += round(waits * 10**9)
            waited.spent(MAP)
            waited.stop(watch)
            clock[0] += round((1 - waits) * 10**9)
            waited.tell(lambda _: None)
            if waited.slow_minute():
                slow.append(round(clock[0] / 10**9))

    minute(0.05)
    assert not slow
    minute(0.2)
    assert len(slow) == 1
    minute(0.3)
    assert len(slow) == 1  # the first one only


def test_a_verdict_is_a_value(shards: Path) -> None:
    dataset = open_shards(shards)
    for _ in dataset:
        pass
    verdict = dataset.verdict()
    assert isinstance(verdict, Verdict) and set(dataclasses.asdict(verdict)) > {"share", "cause", "rank", "cure"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.cause = ""  # type: ignore[misc]
    assert "<table>" in verdict._repr_html_() and "waited" in verdict._repr_html_()


def test_rows_by_number_have_none(shards: Path) -> None:
    pytest.importorskip("torch")
    from shardfeed.torch import DataLoader

    loader = DataLoader(shardfeed.MapDataset(shards), batch_size=10)
    with pytest.raises(shardfeed.errors.OptionError, match="rows by number has no verdict"):
        loader.verdict()
