"""Batches that worker processes make."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._engine._raw_batch import RawBatch
from ..._engine._ring import SlotBytes, private
from ..._iterator import BatchIterator
from ..._waited import MAP, OPEN
from ...errors import FeedTimeoutError, WorkerError
from .._feed import Feed
from ._ahead import Ahead
from ._pool import Job, Pool
from ._worker import again

_AHEAD = 2  # batches of each worker
_HELD = 3  # batches of the result ring that the trainer may hold before further ones are copied
_NOTHING = np.empty(0, np.uint8)


class Processes(Ahead[Job]):
    """Batches that worker processes make, of which each has some in hand."""

    _task = Job

    def __init__(self, loader: Feed) -> None:
        super().__init__(loader, loader.num_workers * (loader.prefetch_factor or _AHEAD))
        device = loader.device
        self._copies = loader.prefetch if device is not None and device.type == "cuda" else 0  # to the device, ahead
        self._iterator.outputs = self._most + _HELD + self._copies  # slots for results
        self._pool: Pool | None = None
        self._course = 0
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
            rank=iterator.rank,
            world_size=1 if rows is None else rows.world_size,
        )

    # The engine's slots

    def _has_space(self, batches: BatchIterator) -> bool:
        """Whether a slot of the engine and one for the result are free. The engine works on with the
        others.
        """
        connection, pool, tasks = batches.connection, self._pool, self._tasks
        assert pool is not None
        if connection is None:
            return True  # the end comes next
        if connection.settle(now=False) < 1 and connection.settle() < 1:
            return False
        if 0 < self._flight <= len(tasks) and self._lent() >= self._flight:
            return False
        return self._flight > 0 and len(tasks) < pool.outputs.slots - 1

    def _await_space(self) -> None:
        """Waits for slots that workers still use for batches of iterations before, which were left.
        One is for the result, and one for the batch if it is copied.
        """
        pool = self._pool
        while pool is not None and pool.outputs.free() < 2 and (job := pool.job()) is not None:
            if not self._pump(self._timeout, None):
                raise self._late(job)

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
        lent = 0
        for job in self._tasks:
            if job.slot is not None:
                lent += 1
        return lent

    def _crowded(self, more: int = 0) -> bool:
        """Whether the trainer holds more slots of the engine, or functions in workers keep them, than
        work can spare.
        """
        batches = self._iterator._batches
        connection = None if batches is None else batches.connection
        if connection is None:
            return False
        most = self._keeps + more + self._lent()
        if len(connection.loans) <= most:
            return False
        connection.settle()  # until then it counts slots that are free
        return len(connection.loans) > most

    def _send(self, job: Job, raw: RawBatch, rows: int) -> None:
        pool = self._pool
        assert pool is not None
        if self._flight == 0:
            self._measure()
        slot, private = raw.bytes, bool(pool.kept) and self._crowded(1)
        if not isinstance(slot, SlotBytes):  # it was copied, as nearly all slots of the engine are held
            lent = pool.outputs.lend(raw.used)
            if lent is None:
                raise WorkerError("all memory for batches is in use: drop those that are held")
            lent[: raw.used] = slot[: raw.used]
            slot, private = lent, True
        pool.send(job, slot, raw.offset, raw.used, rows, private=private)

    # Results

    @property
    def holds(self) -> int:
        """The slots of each ring that are not for work."""
        return min(self._keeps, _HELD + self._copies - 1)

    def _done(self, job: Job) -> bool:
        if not job.done:
            self._pump(0, None)
        return job.done

    def _cause(self, job: Job) -> int:
        return MAP if job.worker is None or job.worker.heard else OPEN  # it starts

    def _wait(self, job: Job, batches: BatchIterator | None, timeout: float) -> bool | None:
        pool = self._pool
        assert pool is not None
        running = self._iterator._batches
        connection = None if running is None else running.connection
        if connection is not None:
            connection.settle()  # the engine works while this waits
        descriptor = None
        if batches is not None and connection is not None and pool.idle():  # else a result comes before a worker needs a batch
            descriptor = connection.fileno()
        events = self._pump(timeout, descriptor)
        if not events:
            return None
        return descriptor is None or any(came == descriptor for came, _ in events)

    def _late(self, job: Job) -> FeedTimeoutError:
        pool, worker = self._pool, job.worker
        assert pool is not None
        assert worker is not None
        return FeedTimeoutError(
            f"{pool.name(worker)} has not finished {job.what} within {self._timeout:g} s: give more timeout=, or find "
            f"what map waits for (py-spy dump --pid {worker.process.pid})"
        )

    def _pump(self, timeout: float | None, descriptor: int | None) -> list[tuple[int, int]]:
        """Deals with what workers have sent. Nothing comes after the timeout."""
        pool = self._pool
        assert pool is not None
        events = pool.wait(0, None) if timeout == 0 else self._interruptible(pool.wait, timeout, descriptor)
        pool.take(events)
        if pool.needs:
            self._grant()
        return events

    def _grant(self) -> None:
        if self._pool is not None and self._pool.needs:
            self._pool.grant(self._tasks[0] if self._tasks else None, self._course)

    def _result(self, job: Job) -> Any:
        pool = self._pool
        assert pool is not None
        if job.error is not None:
            if isinstance(job.error, WorkerError) and job.worker is not None and job.worker.lost is not None:
                self._closed = True
            raise job.error
        value = self._unpacked(job, pool)
        if pool.needs:
            self._grant()
        if self._iterator._rows is None:
            return value
        values, errors = value
        where = "" if job.worker is None else f"Caught in {pool.name(job.worker)} at row {{}} of {job.what}."
        return values, {n: again(kind, text, where.format(n)) for n, kind, text in errors}

    def _unpacked(self, job: Job, pool: Pool) -> Any:
        """The result, in the slots where the worker wrote it. When the trainer holds many, it is
        copied, so that its workers have slots to go on.
        """
        slot, out = job.slot, job.out
        batch: np.ndarray = _NOTHING
        made: np.ndarray = _NOTHING
        self.rings = ()
        if slot is not None:
            batch, self.rings = slot, (slot.ring,)
            if self._crowded():
                batch = private(batch, job.used)
        if out is not None:
            made, self.rings = out, (*self.rings, out.ring)
            if pool.outputs.free() < 2:
                made = private(made, job.finish)
        assert job.maker is not None
        value = job.maker(job.numbers, (batch, made), job.rest)
        job.slot = job.out = None
        return value

    # The end

    def _stopped(self, error: BaseException) -> None:
        if isinstance(error, StopIteration) and self._end is not None and not self._closed:
            self._leave()
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
