"""However an epoch ends, trainer and engine keep no descriptor, ring, thread, process or memory of
it.
"""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shardfeed import StreamingDataset

MOST_GROWTH = 24 << 20  # bytes of memory: heaps settle


def held(process: psutil.Process) -> tuple[int, int]:
    """Descriptors and rings of a process."""
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    return process.num_fds(), maps.count("memfd:")


def own(process: psutil.Process) -> int:
    """Anonymous memory of a process in bytes.

    A program's pages count as private while only one process runs it.
    """
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Anonymous:"))) << 10


def at_rest(of: Callable[[], object]) -> object:
    """The counts, once they have not changed for a second: an engine frees abandoned iterations
    after a moment.
    """
    found = of()
    since = time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.05)
        if (now := of()) != found:
            found, since = now, time.monotonic()
    return found


def settled(of: Callable[[], object], wanted: object, seconds: float = 60) -> object:
    """What there is once it is as wanted, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while (found := of()) != wanted and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    return found


def whole(dataset: StreamingDataset) -> None:
    for batch in dataset:
        batch["x"].sum()


def kept(dataset: StreamingDataset) -> None:
    assert len(list(dataset)) == 63


def abandoned(dataset: StreamingDataset) -> None:
    next(iter(dataset))


def failed(dataset: StreamingDataset) -> None:
    with contextlib.suppress(ZeroDivisionError):
        for _ in dataset:
            1 / 0  # noqa: B018 - the error


def in_a_cycle(dataset: StreamingDataset) -> None:
    iterator = iter(dataset)
    cycle = [iterator, next(iterator)]
    cycle.append(cycle)  # type: ignore[arg-type]


def two_at_once(dataset: StreamingDataset) -> None:
    one, other = iter(dataset), iter(dataset)
    next(one), next(other), next(one)


def another_data_set(dataset: StreamingDataset) -> None:
    next(iter(StreamingDataset(dataset._spec["addresses"], batch_size=100, columns=["x"])))


def in_a_thread(dataset: StreamingDataset) -> None:
    thread = threading.Thread(target=whole, args=(dataset,))
    thread.start()
    thread.join()


WAYS = [whole, kept, abandoned, failed, in_a_cycle, two_at_once, another_data_set, in_a_thread]


@pytest.mark.parametrize("epochs", [40, pytest.param(400, marks=pytest.mark.long)])
def test_epochs(job: str, shards: Path, epochs: int) -> None:
    dataset = StreamingDataset(shards, batch_size=64)
    trainer, engine = psutil.Process(), psutil.Process(dataset._control().welcome["pid"])

    def now() -> tuple[tuple[int, int], tuple[int, int], int, int]:
        gc.collect()
        return held(trainer), held(engine), trainer.num_threads(), len(trainer.children())

    for way in WAYS:
        way(dataset)
    whole(dataset)
    before = at_rest(now)
    memory = own(trainer), own(engine)
    for epoch in range(epochs):
        WAYS[epoch % len(WAYS)](dataset)
    whole(dataset)
    assert settled(now, before) == before
    assert own(trainer) - memory[0] < MOST_GROWTH and own(engine) - memory[1] < MOST_GROWTH


@pytest.mark.long
@pytest.mark.parametrize("persistent", [False, True])
def test_epochs_of_torch_workers(job: str, shards: Path, persistent: bool) -> None:
    torch = pytest.importorskip("torch")
    import shardfeed.torch as feed

    dataset = feed.StreamingDataset(shards, batch_size=200, columns=["id"])
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=persistent)
    engine = psutil.Process(dataset._control().welcome["pid"])

    def epoch() -> None:
        assert sorted(i for batch in loader for i in batch["id"].tolist()) == list(range(4000))

    for _ in range(3):
        epoch()
    before, memory = at_rest(lambda: held(engine)), own(engine)
    for _ in range(100 if persistent else 20):
        epoch()
    assert settled(lambda: held(engine), before) == before
    assert own(engine) - memory < MOST_GROWTH


@pytest.mark.long
def test_a_trainer_that_stops_reading(job: str, shards: Path) -> None:
    """It costs the engine no processor and no more memory."""
    dataset = StreamingDataset(shards, batch_size=8)
    iterator = iter(dataset)
    next(iterator)
    engine = psutil.Process(dataset._control().welcome["pid"])
    time.sleep(1)
    before, memory = sum(engine.cpu_times()[:2]), own(engine)
    time.sleep(5)
    assert sum(engine.cpu_times()[:2]) - before < 0.1 and own(engine) - memory < 4 << 20
    assert sum(batch.rows for batch in iterator) == 4000 - 8
