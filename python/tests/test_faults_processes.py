"""Forks, threads, interrupts and torch workers, in the middle of an epoch: nothing hangs, nothing is lost, nothing is taken twice."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from threads import WITHIN, in_threads

from shardfeed import StreamingDataset, errors
from shardfeed._turn import Turn

ROWS = 4000

pytestmark = pytest.mark.usefixtures("job")


def ids(batches: Iterator) -> list[int]:
    return sorted(i for batch in batches for i in batch["id"].tolist())


def in_child(work: Callable[[], object]) -> str:
    """Does work in a child that os.fork makes; returns what it returned, or the name of its error. It must not hang."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as e:
            said = type(e).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + WITHIN
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    with open(read, encoding="utf-8") as answer:
        return answer.read()


def test_fork_in_the_midst_of_an_epoch(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=64)
    iterator = iter(dataset)
    batch = next(iterator)
    kept = batch["id"].tolist()
    assert in_child(lambda: next(iterator)) == "ForkError"
    assert in_child(lambda: (batch["id"].tolist() == kept, batch.release())) == "(True, None)"
    assert in_child(lambda: len(list(dataset))) == "63"
    assert in_child(lambda: (len(dataset), dataset.stats()["rows"] >= 0)) == "(63, True)"
    rest = ids(iterator)
    assert sorted(kept + rest) == list(range(ROWS)) and batch["id"].tolist() == kept


def test_an_iterator_that_a_thread_uses_is_free_in_a_child() -> None:
    turn = Turn()
    with turn.lock:
        assert in_child(lambda: turn.lock.acquire(blocking=False)) == "True"
        assert turn.lock.locked()
    assert not turn.lock.locked()


def test_fork_while_a_thread_takes_batches(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=8)
    iterator, stop = iter(dataset), threading.Event()

    def take() -> None:
        while not stop.is_set():
            list(dataset)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        next(iterator)
        for _ in range(5):
            assert in_child(lambda: len(list(dataset))) == "500"
            assert in_child(lambda: next(iterator)) == "ForkError"
    finally:
        stop.set()
        thread.join()


def count(dataset: StreamingDataset, found: multiprocessing.Queue) -> None:
    found.put(len(ids(iter(dataset))))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(shards: Path, method: str) -> None:
    dataset = StreamingDataset(shards, batch_size=64)
    iterator = iter(dataset)
    next(iterator)
    context = multiprocessing.get_context(method)
    found = context.Queue()
    children = [context.Process(target=count, args=(dataset, found)) for _ in range(2)]
    for child in children:
        child.start()
    assert [found.get(timeout=WITHIN) for _ in children] == [ROWS, ROWS]
    for child in children:
        child.join(WITHIN)
        assert child.exitcode == 0
    assert sum(batch.rows for batch in iterator) == ROWS - 64


@pytest.mark.usefixtures("_often")
def test_threads_that_share_an_iterator(shards: Path) -> None:
    iterator = iter(StreamingDataset(shards, batch_size=8))
    found: list[int] = []
    in_threads(4, lambda: [found.extend(batch["id"].tolist()) for batch in iterator])
    assert sorted(found) == list(range(ROWS))


@pytest.mark.usefixtures("_often")
def test_an_iterator_that_another_thread_closes(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=8)
    for _ in range(10):
        iterator = iter(dataset)
        next(iterator)
        closing = threading.Timer(0.005, iterator.close)
        closing.start()
        in_threads(2, lambda iterator=iterator: list(iterator))
        closing.join()
    assert ids(iter(dataset)) == list(range(ROWS))


@pytest.mark.usefixtures("_often")
def test_threads_with_iterators_of_their_own(shards: Path) -> None:
    one, other = StreamingDataset(shards, batch_size=64), StreamingDataset(shards, batch_size=32, columns=["x"])

    def work() -> None:
        assert ids(iter(one)) == list(range(ROWS))
        for a, b in zip(one, other):
            assert (a["id"][:32].dtype, b["x"].dtype) == ("int64", "float32")
        one.stats(), one.state_dict(), len(other)

    in_threads(4, work)


def interrupt(thread: int, heard: threading.Event) -> None:
    """Strikes a thread until it has heard: Python drops an interrupt that strikes a finalizer."""
    signal.pthread_kill(thread, signal.SIGINT)
    while not heard.wait(5):
        signal.pthread_kill(thread, signal.SIGINT)


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.long)])
def test_interrupts(shards: Path, count: int) -> None:
    """Whatever Ctrl-C strikes, what comes next works, and nothing stays open."""
    dataset = StreamingDataset(shards, batch_size=64)
    list(dataset)
    dice = random.Random(count)
    trainer, engine = psutil.Process(), psutil.Process(dataset._control().welcome["pid"])
    gc.collect()
    own, held = trainer.num_fds(), engine.num_fds()
    main = threading.main_thread().ident
    assert main is not None
    for _ in range(count):
        heard = threading.Event()
        hit = threading.Timer(0.012 * dice.random(), interrupt, (main, heard))
        with pytest.raises(KeyboardInterrupt):
            hit.start()
            while True:
                for batch in dataset:
                    del batch  # the last one would keep its ring, which is a file
                len(dataset), dataset.set_epoch(1), dataset.stats()
        heard.set()
        hit.join()
        assert ids(iter(dataset)) == list(range(ROWS))
    deadline = time.monotonic() + 60
    while (engine.num_fds() > held or trainer.num_fds() > own) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert engine.num_fds() <= held
    assert trainer.num_fds() <= own, os.listdir("/proc/self/fd")


def test_an_error_of_the_users(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=64)
    for epoch in range(3):
        with pytest.raises(ZeroDivisionError):
            for batch in dataset:
                assert batch.epoch == epoch
                1 / 0  # noqa: B018 - the error
    assert {batch.epoch for batch in dataset} == {3}


def broken(batch: dict) -> dict:
    if (batch["id"] == 1234).any():
        raise ZeroDivisionError("of the user's")
    return batch


def torch_loader(shards: Path, kind: str, function: Callable[[dict], dict] | None = None, batch_size: int = 100):
    torch = pytest.importorskip("torch")
    import shardfeed.torch as feed

    dataset = feed.StreamingDataset(shards, batch_size=batch_size, columns=["id"])
    dataset = dataset if function is None else dataset.map(function)
    if kind == "own":
        return dataset, feed.DataLoader(dataset, num_workers=2)
    return dataset, torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=kind == "persistent")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["own", "torch", "persistent"])
def test_torch_workers(shards: Path, kind: str) -> None:
    """An error in a worker, a worker that is killed, an engine that is killed: an error each time, and the next epoch is whole."""
    _, loader = torch_loader(shards, kind, broken)
    with pytest.raises(ZeroDivisionError, match="of the user's"):
        list(loader)
    dataset, loader = torch_loader(shards, kind, batch_size=10)
    iterator = iter(loader)
    next(iterator)
    others = {process.pid for process in psutil.Process().children(recursive=True)}
    del iterator
    assert ids(iter(loader)) == list(range(ROWS))
    iterator = iter(loader)
    next(iterator)
    workers = [process for process in psutil.Process().children(recursive=True) if process.pid not in others or kind == "persistent"]
    if kind != "persistent":  # torch's own error or ours, and persistent workers do not come back
        workers[-1].kill()
        with pytest.raises(RuntimeError):
            list(iterator)
        iterator = iter(loader)
        next(iterator)
    psutil.Process(dataset._control().welcome["pid"]).kill()
    with pytest.raises(errors.EngineGone, match="its log is"):
        list(iterator)
    with contextlib.suppress(errors.EngineGone):  # a persistent worker may find out only now
        if kind == "torch":  # nothing is left that counted the epochs
            with pytest.raises(errors.StateError, match="set_epoch"):
                list(loader)
            dataset.set_epoch(7)
        else:
            list(loader)
    assert ids(iter(loader)) == list(range(ROWS))


def test_the_state_of_what_torch_workers_read_is_not_guessed(shards: Path) -> None:
    dataset, loader = torch_loader(shards, "torch")
    next(iter(dataset))  # a look at the first batch, as people take
    assert dataset.state_dict()["shardfeed"]["position"] == 100
    list(loader)
    with pytest.raises(errors.StateError, match="StatefulDataLoader"):
        dataset.state_dict()


def test_what_torch_cannot_do_here(shards: Path) -> None:
    torch = pytest.importorskip("torch")
    import shardfeed.torch as feed

    dataset = feed.StreamingDataset(shards, batch_size=100)
    with pytest.raises(errors.OptionError, match="function of a batch"):
        dataset.map(None)
    if not torch.cuda.is_available():
        with pytest.raises(errors.OptionError, match="no CUDA"):
            feed.DataLoader(dataset, device="cuda")
        assert len(list(feed.DataLoader(dataset, pin_memory=True))) == 40
