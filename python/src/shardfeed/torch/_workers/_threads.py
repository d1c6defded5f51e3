"""Threads of the trainer that run map and collate_fn, for functions that release the GIL."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any

from ..._engine._raw_batch import RawBatch
from ..._iterator import BatchIterator
from ..._rows import in_order
from ...errors import FeedTimeoutError
from .._feed import Feed
from .._tensors import rows as rows_of
from ._ahead import Ahead, Task

_AHEAD = 2  # batches of each thread


class ThreadTask(Task):
    """A batch in a thread, and what came of it.

    The gate is a plain lock, open when the task is done: an interrupt in the wait for an Event
    could leave that one's own lock taken, and the thread that sets it would hang.
    """

    __slots__ = ("gate", "raw", "rows", "value")

    def __init__(self, epoch: int = -1, step: int = -1) -> None:
        super().__init__(epoch, step)
        self.raw: RawBatch | None = None
        self.rows = -1
        self.value: Any = None
        self.gate = threading.Lock()
        self.gate.acquire()

    def open(self) -> None:
        """Wakes who waits for the task."""
        with contextlib.suppress(RuntimeError):  # it is open
            self.gate.release()


class Threads(Ahead[ThreadTask]):
    """Batches that threads of this process make."""

    _task = ThreadTask

    def __init__(self, loader: Feed) -> None:
        super().__init__(loader, loader.threads * (loader.prefetch_factor or _AHEAD))
        self._count = loader.threads
        self._work: queue.SimpleQueue[ThreadTask | None] = queue.SimpleQueue()

    def _begin(self, batches: BatchIterator) -> None:
        make = _Making(self._iterator)
        for n in range(self._count):
            threading.Thread(target=_run, args=(self._work, make), name=f"shardfeed-thread-{n}", daemon=True).start()

    def _send(self, task: ThreadTask, raw: RawBatch, rows: int) -> None:
        task.raw, task.rows = raw, rows
        self._work.put(task)

    def _wait(self, task: ThreadTask, batches: BatchIterator | None, timeout: float) -> bool | None:
        came = self._interruptible(task.gate.acquire, True, timeout)
        return True if came or task.done else None

    def _late(self, task: ThreadTask) -> FeedTimeoutError:
        return FeedTimeoutError(
            f"a thread has not finished {task.what} within {self._timeout:g} s: give more timeout=, or find what map waits for"
        )

    def _result(self, task: ThreadTask) -> Any:
        if task.raw is not None:
            ring = task.raw.ring
            self.rings = () if ring is None else (ring,)
        if task.error is not None:
            raise task.error
        return task.value

    def _give_up(self) -> None:
        for _ in range(self._count):
            self._work.put(None)
        for task in list(self._tasks):
            task.open()


class _Making:
    """What the threads run. It has nothing of the iteration that the threads would keep alive."""

    def __init__(self, iterator: Any) -> None:
        self._layout = iterator._layout
        self._functions = iterator._functions
        self._world_size = 1 if iterator._rows is None else iterator._rows.world_size

    def __call__(self, task: ThreadTask) -> None:
        raw = task.raw
        assert raw is not None
        batch = self._layout.tensors(raw)
        if task.rows < 0:
            task.value = self._made(batch, raw.epoch, raw.step)
            return
        values: list[Any] = []
        errors: dict[int, BaseException] = {}
        task.value = values, errors
        dealt = raw.deal(task.rows)
        for n, ((_, step, _), row) in enumerate(zip(dealt, in_order(rows_of(batch), dealt))):
            try:
                values.append(self._made(row, raw.epoch, raw.position // self._world_size + step))
            except BaseException as error:
                values.append(None)
                errors[n] = error

    def _made(self, value: Any, epoch: int, step: int) -> Any:
        return value if self._functions is None else self._functions(value, epoch, step)


def _run(work: queue.SimpleQueue[ThreadTask | None], make: _Making) -> None:
    """The life of a thread. It holds no batch while it waits."""
    while (task := work.get()) is not None:
        try:
            make(task)
        except BaseException as error:
            task.error = error
        task.done = True
        task.open()
        del task
