"""The worker processes of a loader."""

from __future__ import annotations

import _thread
import contextlib
import os
import pickle
import select
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from struct import unpack_from
from typing import Any

import numpy as np
import torch

from ..._engine._ring import Ring, SlotBytes
from ..._transform import seed_of
from ...errors import WorkerError
from . import _link as frames
from . import _start
from ._ahead import Task
from ._link import Link, pair
from ._outputs import Outputs
from ._transfer import Maker, Unpacker
from ._worker import Course, Sealed, Setting, again, run

_PATIENCE = 5.0  # seconds that a worker has for the batch in hand when it is asked to end

_SERVER_ENDS = 30.0  # seconds that multiprocessing's fork server has to end

_started = 0  # pools of this process, each of which has a seed of its own


class Job(Task):
    """A batch that a worker works on, and its result."""

    __slots__ = ("course", "finish", "given", "maker", "number", "numbers", "out", "rest", "slot", "used", "worker")

    def __init__(self, epoch: int = -1, step: int = -1) -> None:
        self.epoch = epoch
        self.step = step
        self.places: Sequence[Any] = ()
        self.done = False
        self.error: BaseException | None = None
        self.course = 0  # the number of the iteration
        self.number = 0
        self.worker: Worker | None = None
        self.given: SlotBytes | None = None  # of the batch, while the worker may use it
        self.slot: SlotBytes | None = None  # the same, while the worker works or the result uses it
        self.used = 0  # bytes of it
        self.out: SlotBytes | None = None  # of the result
        self.finish = 0  # bytes used of that
        self.numbers: Sequence[int] = ()
        self.maker: Maker | None = None
        self.rest = b""

    def fail(self, error: BaseException) -> None:
        self.done, self.error, self.slot, self.out = True, error, None, None


class Worker:
    """A process, as the trainer sees it."""

    def __init__(self, number: int, process: Any, link: Link) -> None:
        self.number = number
        self.process = process
        self.link = link
        self.unpacker = Unpacker()
        self.rings: set[int] = set()
        self.jobs: dict[int, Job] = {}  # that it works on, in their order
        self.heard = False
        self.lost: WorkerError | None = None


def _begin(process: Any) -> None:
    """Starts a process.

    An interrupt in the middle of an earlier start ends multiprocessing's fork server. The next start
    is refused until that process is gone, which takes seconds on a busy machine. Then there is a new
    one.
    """
    pause, end = 0.01, time.monotonic() + _SERVER_ENDS
    while True:
        try:
            return _start.start(process)
        except (ConnectionError, EOFError):
            if time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.3)


class Pool:
    """K worker processes. One iteration at a time uses them."""

    def __init__(self, functions: Any, workers: int, context: Any, init: Any, rank: int, outputs: Outputs) -> None:
        """Starts the processes. functions are the data set and collate_fn."""
        global _started
        _started += 1
        self.outputs = outputs
        self.closed = False
        self.workers: list[Worker] = []
        self._woken = False
        self.needs: list[tuple[Worker, Job, int]] = []  # workers that wait for a slot, and its bytes
        self.kept: dict[tuple[int, int, int, int], Any] = {}  # slots of done jobs that functions keep, by worker and place
        self._course = 0
        self._jobs = 0
        self._rings: weakref.WeakSet[Ring] = weakref.WeakSet()  # that workers have mapped
        self._poll = select.poll()
        self._by_descriptor: dict[int, Worker] = {}
        self._pid = os.getpid()
        seed = seed_of(torch.initial_seed() % 2**64, _started, rank, 0) >> 1
        try:
            for number in range(workers):
                setting = Setting(number, workers, seed + number, dict(os.environ))
                self._start(context, setting, Sealed((*functions, init)))
        except KeyboardInterrupt as e:
            self.close()
            raise e.with_traceback(None)  # noqa: B904 - the frames of multiprocessing say nothing
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, setting: Setting, sealed: Sealed) -> None:
        ours, theirs = pair()
        link = Link(ours)
        try:
            process = context.Process(target=run, args=(theirs, setting, sealed), name=f"shardfeed-worker-{setting.id}", daemon=True)
            _begin(process)
        except BaseException:
            link.close()
            raise
        finally:
            theirs.close()
        worker = Worker(setting.id, process, link)
        self.workers.append(worker)
        self._by_descriptor[link.fileno()] = worker
        self._poll.register(link.fileno(), select.POLLIN)

    # Iterations

    def begin(self, **course: Any) -> int:
        """Starts an iteration, and returns its number."""
        self._course += 1
        payload = pickle.dumps(Course(number=self._course, **course), 5)
        for worker in self.workers:
            self._send(worker, frames.BEGIN, payload)
        return self._course

    def send(self, job: Job, slot: SlotBytes, offset: int, used: int, rows: int, *, private: bool) -> None:
        """Has the worker that has the least to do work on a batch."""
        self._jobs += 1
        job.course, job.number = self._course, self._jobs
        worker = self.workers[0]
        for other in self.workers:
            if len(other.jobs) < len(worker.jobs):
                worker = other
        job.worker, job.given, job.slot, job.used = worker, slot, slot, used
        worker.jobs[job.number] = job
        if worker.lost is not None:
            self._lose(worker)
            return
        ring, to, at = slot.ring.number, frames.NO_RING, 0
        if ring not in worker.rings:
            self._introduce(worker, slot.ring)
        if self.outputs.ring is not None and (out := self.outputs.lend(keep=1)) is not None:
            job.out = out
            to, at = self._introduce(worker, out.ring), out.index
        flags = frames.PRIVATE if private else 0
        frame = frames.WHOLE_JOB.pack(
            frames.JOB_FRAME.size, frames.JOB, job.course, job.number, flags, rows, ring, slot.index, slot.seq, offset, used, to, at
        )
        try:
            worker.link.post(frame)
        except OSError:  # it has ended: reading raises the error, after what it has still sent
            return

    def _introduce(self, worker: Worker, ring: Ring) -> int:
        """The number of a ring, which the worker has mapped then."""
        number = ring.number
        if number not in worker.rings:
            worker.rings.add(number)
            self._rings.add(ring)
            used = sorted(ring.number for ring in self._rings)
            payload = frames.RING_FRAME.pack(number, ring.slots, ring.slot_size, len(used)) + np.array(used, np.uint32).tobytes()
            self._send(worker, frames.RING, payload, descriptor=ring.file.fileno())
        return number

    def _send(self, worker: Worker, kind: int, payload: bytes, descriptor: int | None = None) -> None:
        if worker.lost is None:
            with contextlib.suppress(OSError):  # it has ended: reading raises the error, after what it has still sent
                worker.link.send(kind, payload, descriptor=descriptor)

    # What workers send

    def wait(self, timeout: float | None, other: int | None) -> list[tuple[int, int]]:
        """Waits until a worker has sent something, or another descriptor can be read. Nothing comes
        after the timeout.
        """
        if other is None:
            return self._poll.poll(None if timeout is None else timeout * 1000)
        self._poll.register(other, select.POLLIN)
        try:
            return self._poll.poll(None if timeout is None else timeout * 1000)
        finally:
            self._poll.unregister(other)

    def idle(self) -> bool:
        """Whether a worker has nothing to do."""
        return not all(worker.jobs for worker in self.workers)

    def job(self) -> Job | None:
        """A batch that a worker works on."""
        return next((job for worker in self.workers for job in worker.jobs.values()), None)

    def take(self, events: Iterable[tuple[int, int]]) -> None:
        """Takes what workers have sent."""
        for descriptor, _ in events:
            if (worker := self._by_descriptor.get(descriptor)) is not None:
                self._take(worker)

    def _take(self, worker: Worker) -> None:
        link = worker.link
        try:
            if not link.read(wait=False):
                return
            worker.heard = True
            while kind := link.next(wait=False):
                if kind == frames.DONE:
                    self._done(worker, link)
                elif kind == frames.FAILED:
                    self._failed(worker, link.payload())
                elif kind == frames.NEED:
                    _, number, size = frames.NEED_FRAME.unpack(link.payload())
                    self.needs.append((worker, worker.jobs[number], size))
        except EOFError:
            self._poll.unregister(link.fileno())
            self._by_descriptor.pop(link.fileno(), None)
            self._lose(worker)

    def _done(self, worker: Worker, link: Link) -> None:
        buffer = link.buffer
        _, number, flags, structure, count, given, new, used = frames.DONE_FRAME.unpack_from(buffer, link.at)
        at = link.at + frames.DONE_FRAME.size
        job = worker.jobs.pop(number)
        job.numbers = unpack_from(f"<{count}q", buffer, at)
        at += 8 * count
        if given or flags & frames.KEEPS_BATCH:
            at = self._give_back(worker, job, flags, buffer, at, given)
        job.maker = worker.unpacker.learn(structure, bytes(buffer[at : at + new])) if new else worker.unpacker.makers[structure]
        at += new
        if at < link.end:
            job.rest = bytes(buffer[at : link.end])
        job.given, job.finish, job.done = None, used, True
        if not used:
            job.out = None
        if not flags & frames.USES_BATCH:
            job.slot = None

    def _failed(self, worker: Worker, payload: bytes) -> None:
        _, number, flags, given = frames.FAILED_FRAME.unpack_from(payload)
        job = worker.jobs.pop(number, None)
        at = self._give_back(worker, job, flags, payload, frames.FAILED_FRAME.size, given)
        error, text = pickle.loads(payload[at:])
        if job is None:  # it has failed to start, and ends
            worker.lost = WorkerError(f"{self.name(worker)} failed to start:\n{text}{_start.hint(text)}")
        elif job.error is None:
            job.fail(again(error, text, f"Caught in {self.name(worker)} at {job.what}."))

    def _give_back(self, worker: Worker, job: Job | None, flags: int, frame: bytes | bytearray, at: int, count: int) -> int:
        """Drops slots that the worker does not use any more, and returns where the rest of the frame
        is.
        """
        end = at + count * frames.GIVEN_BACK.size
        for place in frames.GIVEN_BACK.iter_unpack(frame[at:end]):
            self.kept.pop((worker.number, *place), None)
        if job is not None and job.given is not None and flags & frames.KEEPS_BATCH:
            self.kept[worker.number, job.given.ring.number, job.given.index, job.given.seq] = job.given
        return end

    def grant(self, head: Job | None, course: int) -> None:
        """Gives slots to workers that wait for one. The last free one is for the first job of the
        iteration: those after it keep theirs until it is handed out.
        """
        waiting, self.needs = self.needs, []
        for worker, job, size in waiting:
            slot: SlotBytes | None = None
            if job.course == course and not self.closed:
                job.out = None
                try:
                    slot = self.outputs.lend(size, keep=0 if job is head else 1)
                except Exception as e:
                    job.fail(e)
                else:
                    if slot is None:
                        self.needs.append((worker, job, size))
                        continue
            number = frames.NO_RING if slot is None else self._introduce(worker, slot.ring)
            job.out = slot
            self._send(worker, frames.GRANT, frames.GRANT_FRAME.pack(job.course, job.number, number, 0 if slot is None else slot.index))

    # Ends

    def name(self, worker: Worker) -> str:
        """A worker for a message."""
        return f"worker {worker.number} of {len(self.workers)} (process {worker.process.pid})"

    def _lose(self, worker: Worker) -> None:
        """Fails what a worker had to do when it ended."""
        if worker.lost is None:
            if not self._woken:
                worker.process.join(_PATIENCE)
                if not worker.heard and (worker.process.exitcode or 0) > 0:
                    self._await_others()
            worker.lost = WorkerError(_start.end_of(self.name(worker), worker.process.exitcode, heard=worker.heard))
        for job in worker.jobs.values():
            job.fail(job.error or WorkerError(str(worker.lost).replace(_start.WHERE, job.what)))
        worker.jobs.clear()
        self.kept = {key: slot for key, slot in self.kept.items() if key[0] != worker.number}
        self.needs = [need for need in self.needs if need[0] is not worker]

    def _await_others(self) -> None:
        """Waits for workers that probably fail as one did that could not start, so that what they
        print comes before the error.
        """
        deadline = time.monotonic() + _PATIENCE
        for other in self.workers:
            if not other.heard and other.lost is None:
                other.process.join(max(0.0, deadline - time.monotonic()))

    def wake(self) -> None:
        """Ends the links, for a thread that waits on them. Any thread may call this."""
        self._woken = True
        for worker in self.workers:
            worker.link.wake()

    def usable(self) -> bool:
        """Whether all workers are there."""
        if self.closed or self._woken or self._pid != os.getpid():
            return False
        if any(worker.link.fileno() < 0 for worker in self.workers):  # collected as garbage, the link before its pool
            return False
        self.take(self.wait(0, None))
        return all(worker.lost is None for worker in self.workers)

    def close(self) -> None:
        """Ends the workers, without a wait. Slots that they use stay until they have ended."""
        if self.closed:
            return
        self.closed = True
        held = list(self.kept.values()), [list(worker.jobs.values()) for worker in self.workers]
        for worker in self.workers:
            worker.link.close()
        self.outputs.close()
        if self._pid != os.getpid():
            return
        processes = [worker.process for worker in self.workers]
        if any(process.exitcode is None for process in processes):
            # Without threading.Thread, whose start waits for the thread: an interrupt there could
            # leave it waiting for ever.
            with contextlib.suppress(RuntimeError):  # the interpreter ends, and multiprocessing ends its processes
                _thread.start_new_thread(_reap, (processes, held))

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "_pid") and not is_finalizing():
            self.close()


def _reap(processes: Iterable[Any], held: Any) -> None:
    """Waits until the processes have ended, and after a while kills the ones that have not."""
    deadline = time.monotonic() + _PATIENCE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for process in processes:
        if process.exitcode is None:
            process.kill()
    for process in processes:
        process.join()
    del held
