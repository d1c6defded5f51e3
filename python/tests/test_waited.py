"""stats()["wait"]: how long a training waited for its batches, and for what."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed._waited import CAUSES, Waited  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402

pytestmark = pytest.mark.usefixtures("runtime")

SLOW = 0.02


def slow(batch: Any) -> Any:
    time.sleep(SLOW)
    return batch


def ids(batch: Any) -> Any:
    return {"id": batch["id"]}


GIVEN: dict[str, Any] = {"batch_size": 100, "columns": ["id"], "cache": False}
ROWS = {**GIVEN, "batch_size": None}

STREAMS: dict[str, Callable[[Path], Any]] = {
    "numpy": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN),
    "numpy, map": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN).map(slow),
    "numpy, rows": lambda shards: shardfeed.StreamingDataset(shards, **ROWS),
    "torch": lambda shards: StreamingDataset(shards, **GIVEN),
    "torch, map": lambda shards: StreamingDataset(shards, **GIVEN).map(slow),
    "torch, rows": lambda shards: StreamingDataset(shards, **ROWS),
    "loader": lambda shards: DataLoader(shards, **GIVEN),
    "loader, collate_fn": lambda shards: DataLoader(shards, collate_fn=slow, **GIVEN),
    "loader, device": lambda shards: DataLoader(shards, device="cpu", **GIVEN),
    "loader, rows": lambda shards: DataLoader(shards, **ROWS),
    "threads": lambda shards: DataLoader(shards, threads=1, collate_fn=slow, **GIVEN),
    "threads, rows": lambda shards: DataLoader(shards, threads=1, collate_fn=ids, **ROWS),
    "workers": lambda shards: DataLoader(shards, num_workers=1, collate_fn=slow, **GIVEN),
}


def waits(stream: Any) -> float:
    """The wait, whose parts add up to it."""
    wait = stream.stats()["wait"]
    assert sum(wait["parts"].values()) == pytest.approx(wait["seconds"], abs=1e-6)
    assert set(wait["parts"]) <= set(CAUSES)
    return wait["seconds"]


def watched(stream: Any, pause: float) -> Iterator[float]:
    """A training whose steps take so long; it yields what a stopwatch at each next says."""
    batches = iter(stream)
    begin = time.perf_counter()
    for _ in batches:
        yield time.perf_counter() - begin
        time.sleep(pause)
        begin = time.perf_counter()
    yield time.perf_counter() - begin


@pytest.mark.parametrize("kind", STREAMS)
def test_the_wait_is_at_most_that_of_a_stopwatch(shards, kind):
    """Time in which the engine waits for the training is not in it."""
    stream = STREAMS[kind](shards)
    expected = sum(watched(stream, 0 if "rows" in kind else 0.02))
    assert 0 < waits(stream) <= expected
    if kind in ("numpy, map", "torch, map", "loader, collate_fn"):
        assert waits(stream) >= 40 * SLOW
    if hasattr(stream, "close"):
        stream.close()


MAPPED = ("numpy, map", "torch, map", "loader, collate_fn", "workers", "threads")


@pytest.mark.parametrize("kind", MAPPED)
def test_functions_are_a_part(shards, kind):
    stream = STREAMS[kind](shards)
    expected = sum(watched(stream, 0))
    wait = stream.stats()["wait"]
    parts = {cause: s for cause, s in wait["parts"].items() if cause != "open" or kind != "workers"}  # else they start
    assert max(parts, key=parts.__getitem__) == "map"
    assert wait["seconds"] == pytest.approx(expected, rel=0.02, abs=40 * 0.001)
    if hasattr(stream, "close"):
        stream.close()


def late(_: int) -> None:
    time.sleep(2)


def test_the_start_of_workers_is_part_of_the_opening(shards):
    with contextlib.closing(DataLoader(shards, num_workers=1, worker_init_fn=late, collate_fn=ids, **GIVEN)) as stream:
        assert sum(1 for _ in stream) == 40
        parts = stream.stats()["wait"]["parts"]
        assert parts["open"] > 2 > parts.get("map", 0), parts


def test_a_training_that_sleeps_hardly_waits(shards):
    stream = DataLoader(shards, **GIVEN)
    with contextlib.closing(stream):
        begin = time.perf_counter()
        steps = list(watched(stream, 0.02))
        whole = time.perf_counter() - begin
        wait = stream.stats()["wait"]
        assert wait["seconds"] == pytest.approx(sum(steps), rel=0.02, abs=len(steps) * 0.001)
        assert wait["of"] == pytest.approx(whole, rel=0.02, abs=0.05)
        assert wait["seconds"] - sum(steps[:2]) < 0.1 * wait["of"]


def test_a_training_that_does_nothing_only_waits(shards):
    stream = DataLoader(shards, **GIVEN)
    with contextlib.closing(stream):
        for _ in range(3):
            assert sum(1 for _ in stream) == 40
        wait = stream.stats()["wait"]
        assert wait["seconds"] > 0.6 * wait["of"], wait


def test_stats_never_start_again(shards):
    stream = DataLoader(shards, **GIVEN)
    with contextlib.closing(stream):
        before = 0.0
        for _ in range(3):
            assert sum(1 for _ in stream) == 40
            now = waits(stream)
            assert now > before
            before = now


def test_rows_by_number_are_counted(shards):
    loader = DataLoader(shardfeed.MapDataset(shards, columns=["id"]), batch_size=100, collate_fn=slow)
    with contextlib.closing(loader):
        steps = list(watched(loader, 0))
        wait = loader.stats()["wait"]
        assert wait["seconds"] == pytest.approx(sum(steps), rel=0.02, abs=len(steps) * 0.001)
        assert max(wait["parts"], key=wait["parts"].__getitem__) == "map"


def test_workers_of_torch_hide_the_wait(shards):
    dataset = StreamingDataset(shards, **GIVEN)
    assert len(list(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1))) == 40
    assert dataset.stats()["wait"] is None


@pytest.mark.parametrize("kind", ["numpy", "torch", "loader", "threads", "workers"])
def test_a_next_in_progress_is_known(shards, tmp_path, kind):
    """What holds it up, in stats() and in the engine's figures, and both grow."""
    go = tmp_path / "go"

    def hang(batch: Any) -> Any:
        while not go.exists():
            time.sleep(0.01)
        return batch

    stream: Any = {
        "numpy": lambda: shardfeed.StreamingDataset(shards, **GIVEN).map(hang),
        "torch": lambda: StreamingDataset(shards, **GIVEN).map(hang),
        "loader": lambda: DataLoader(shards, collate_fn=hang, **GIVEN),
        "threads": lambda: DataLoader(shards, threads=1, collate_fn=hang, **GIVEN),
        "workers": lambda: DataLoader(shards, num_workers=1, collate_fn=Hang(go), **GIVEN),
    }[kind]()
    loop = threading.Thread(target=lambda: [None for _ in stream])
    loop.start()
    try:
        seen = [seen_waiting(stream), seen_waiting(stream)]
    finally:
        go.touch()
        loop.join()
    assert seen[1]["seconds"] > seen[0]["seconds"]
    assert stream.stats()["wait"]["now"] is None
    assert waits(stream) >= seen[1]["seconds"]
    if hasattr(stream, "close"):
        stream.close()


class Hang:
    """A function for workers that waits for a file."""

    def __init__(self, go: Path) -> None:
        self.go = go

    def __call__(self, batch: Any) -> Any:
        while not self.go.exists():
            time.sleep(0.01)
        return batch


def seen_waiting(stream: Any) -> dict[str, Any]:
    """The next() in progress in stats(), once the engine has told it too, of a longer wait than a second."""
    dataset = getattr(stream, "dataset", stream)
    for _ in range(6000):
        wait = stream.stats()["wait"]
        told = dataset._judged(False)["verdict"]
        if wait["now"] is not None and told["cause"] == wait["now"]["cause"] and told["seconds"] >= 1:
            assert wait["now"]["cause"] in ("map", "open")  # a worker that has sent nothing may still start
            assert sum(wait["parts"].values()) == pytest.approx(wait["seconds"], abs=1e-6)
            return dict(wait["now"])
        time.sleep(0.01)
    raise AssertionError(f"no wait is seen: {wait}, {told}")


def test_a_wait_is_charged_as_the_engine_explains_it():
    waited = Waited()
    watch = waited.start()
    begin = time.monotonic_ns()
    time.sleep(0.002)
    waited.held([[CAUSES.index("room"), begin - 5], [CAUSES.index("storage"), begin + 10**6], [CAUSES.index("decode"), begin + 10**18]])
    report = waited.report()
    assert report["parts"]["storage"] == pytest.approx(0.001, abs=1e-4)
    assert set(report["parts"]) <= {"room", "storage", "decode"}
    assert report["now"] is None  # it has not lasted a second
    told: list[Any] = []
    waited.tell(told.append)
    waited.held([[CAUSES.index("room"), begin]])  # is over
    waited.stop(watch)
    waited.tell(told.append)
    assert sum(t["seconds"] for t in told) == pytest.approx(waited.report()["seconds"])
    assert all(seconds >= 0 for t in told for seconds in t["parts"].values())
    assert "room" not in told[-1]["parts"]


def test_a_short_epoch_waits_no_longer_than_it_lasts(tmp_path):
    pq.write_table(pa.table({"id": np.arange(64)}), tmp_path / "a.parquet")
    with contextlib.closing(DataLoader(tmp_path, batch_size=32, shuffle=True)) as stream:
        for _ in range(40):
            for _ in stream:
                pass
        wait = stream.stats()["wait"]
    assert wait["seconds"] <= wait["of"] + 0.001
