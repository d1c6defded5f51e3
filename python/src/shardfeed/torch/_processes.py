"""Batches that worker processes make."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .._iterator import BatchIterator
from .._raw_batch import RawBatch
from .._ring import Ring, private
from .._slot import Slot
from ..errors import FeedTimeoutError, WorkerError
from ._ahead import Ahead, Task
from ._pool import Job, Pool
from ._worker import again

if TYPE_CHECKING:
    from ._loader import DataLoader

_AHEAD = 2  # batches of each worker
_HELD = 3  # batches of the result ring that the trainer may hold before further ones are copied
_NOTHING = np.empty(0, np.uint8)


class ProcessTask(Task):
    """A batch that a worker works on."""

    __slots__ = ("job",)

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.job: Job | None = None


class Processes(Ahead[ProcessTask]):
    """Batches that worker processes make, of which each has some in hand."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader, loader.num_workers * (loader.prefetch_factor or _AHEAD))
        self._timeout = loader.dataset._timeout
        device = loader.device
        self._copies = loader.prefetch if device is not None and device.type == "cuda" else 0  # to the device, ahead
        self._iterator.outputs = self._most + _HELD + self._copies  # slots for results
        self._pool: Pool | None = None
        self._course = 0
        self._inside = False
        self._flight = 0  # slots of the engine that workers may have; 0: not known yet
        self._keeps = 0  # and that the trainer may hold before further ones are copied

    def _begin(self, batches: BatchIterator) -> None:
        iterator = self._iterator
        pool = self._pool = self._loader._take_pool(iterator.outputs)
        pool.outputs.reserve(batches.output_bytes, self._loader._reserve)
        rows = iterator._rows
        self._course = pool.begin(
            schema=batches.layout.schema,
            row_valid=self._loader.dataset._with_row_valid,
            rows=rows is not None,
            rank=iterator._rank,
            world_size=1 if rows is None else rows.world_size,
        )

    def _task(self, what: str) -> ProcessTask:
        return ProcessTask(what)

    # The engine's slots

    def _has_space(self, batches: BatchIterator) -> bool:
        """Whether a slot of the engine and one for the result are free. The engine works on with the
        others.
        """
        connection = batches.connection
        assert self._pool is not None
        if connection is None:
            return True  # the end comes next
        spare = connection.settle(now=False)
        if spare < 1:
            spare = connection.settle()
        return spare >= 1 and self._lent() < max(1, self._flight) and len(self._tasks) < max(1, self._pool.outputs.slots - 1)

    def _measure(self) -> None:
        """Divides the slots, once the ring is there."""
        batches = self._iterator._batches
        connection = None if batches is None else batches.connection
        if self._flight == 0 and connection is not None and connection.ring is not None:
            usable = connection.settle() + len(connection.loans)
            self._flight = max(1, min(self._most, usable - (2 if usable > 4 else 1), usable - min(self._copies + 2, usable // 2)))
            self._keeps = max(0, usable - self._flight)

    def _lent(self) -> int:
        """Tasks that have a slot of the engine."""
        return sum(1 for task in self._tasks if task.job is not None and task.job.slot is not None)

    def _held(self) -> int:
        """Slots of the engine that the trainer holds, or functions in workers keep."""
        batches = self._iterator._batches
        connection = None if batches is None else batches.connection
        return 0 if connection is None else len(connection.loans) - self._lent()

    def _send(self, task: ProcessTask, raw: RawBatch, rows: int) -> None:
        pool = self._pool
        assert pool is not None
        job = task.job = pool.job(task.what)
        self._measure()
        slot, memory, private = raw.slot, raw.bytes, self._held() - 1 > self._keeps
        if not isinstance(slot, Slot):  # it was copied, as nearly all slots of the engine are held
            lent = pool.outputs.lend(raw.used)
            if lent is None:
                raise WorkerError("all memory for batches is in use: drop those that are held")
            slot, memory, private = lent, np.asarray(lent), True
            memory[: raw.used] = raw.bytes[: raw.used]
        pool.send(job, slot, memory, raw.offset, raw.used, rows, private=private)

    # Results

    @property
    def holds(self) -> int:
        """The slots of each ring that are not for work."""
        return min(self._keeps, _HELD + self._copies - 1)

    def _done(self, task: ProcessTask) -> bool:
        if task.job is None or task.job.done:
            return True
        self._pump(0, None)
        return task.job.done

    def _wait(self, task: ProcessTask, batches: BatchIterator | None) -> None:
        if (running := self._iterator._batches) is not None and running.connection is not None:
            running.connection.settle()  # the engine works while this waits
        connection = None if batches is None else batches.connection
        descriptor = None if connection is None else connection.fileno()
        if not self._pump(self._timeout, descriptor):
            assert task.job is not None and task.job.worker is not None and self._pool is not None
            raise FeedTimeoutError(
                f"{self._pool.name(task.job.worker)} has not finished {task.what} within {self._timeout:g} s: give more timeout=, or find "
                f"what map waits for (py-spy dump --pid {task.job.worker.process.pid})"
            )

    def _pump(self, timeout: float | None, descriptor: int | None) -> bool:
        """Deals with what workers have sent. It returns False after the timeout."""
        pool = self._pool
        assert pool is not None
        if timeout == 0:
            events = pool.wait(0, None)
        else:
            with self._interruptible():
                events = pool.wait(timeout, descriptor)
        pool.take(events)
        if pool.needs:
            self._grant()
        return bool(events)

    def _grant(self) -> None:
        if self._pool is not None and self._pool.needs:
            head = self._tasks[0].job if self._tasks else None
            self._pool.grant(head, self._course)

    def _result(self, task: ProcessTask) -> Any:
        job, pool = task.job, self._pool
        assert job is not None and pool is not None
        if job.error is not None:
            if isinstance(job.error, WorkerError) and job.worker is not None and job.worker.lost is not None:
                self._closed = True
            raise job.error
        value = self._unpacked(job, pool)
        self._grant()
        if self._iterator._rows is None:
            return value
        values, errors = value
        where = "" if job.worker is None else f"Caught in {pool.name(job.worker)} at row {{}} of {task.what}."
        return values, {n: again(kind, text, where.format(n)) for n, kind, text in errors}

    def _unpacked(self, job: Job, pool: Pool) -> Any:
        """The result, in the slots where the worker wrote it. When the trainer holds many, it is
        copied, so that its workers have slots to go on.
        """
        rings: list[Ring] = []
        batch = out = _NOTHING
        if job.slot is not None and job.memory is not None:
            batch = job.memory
            rings.append(job.slot.ring)
            if self._held() > self._keeps:
                batch = private(batch, job.used)
        if job.out is not None:
            out = np.asarray(job.out)
            rings.append(job.out.ring)
            if pool.outputs.free() < 2:
                out = private(out, job.finish)
        self.rings = tuple(rings)
        assert job.maker is not None
        value = job.maker(job.numbers, (batch, out), job.rest)
        job.slot = job.memory = job.out = None
        return value

    # The end

    def _next(self) -> Any:
        self._inside = True
        try:
            return super()._next()
        except StopIteration:
            if self._end is not None and not self._closed:
                self._leave()
            raise
        finally:
            self._inside = False
            if self._closed:
                self._give_up()

    def _leave(self) -> None:
        """Gives the workers back at the end of the epoch."""
        pool, self._pool = self._pool, None
        if pool is not None:
            self._loader._give_pool_back(pool)

    def _give_up(self) -> None:
        pool = self._pool
        if pool is None:
            return
        if self._inside or self._torn:
            pool.wake()  # its messages may be cut: no further iteration uses it
        if not self._inside:
            self._tasks.clear()
            self._leave()

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if getattr(self, "_pool", None) is not None and not is_finalizing():
            self.close()
