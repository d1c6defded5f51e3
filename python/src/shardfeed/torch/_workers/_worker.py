"""A worker: a process that runs map and collate_fn on batches in the engine's ring."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import socket
import sys
import traceback
from collections import deque
from dataclasses import dataclass
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from struct import pack
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import worker as torch_worker

from ..._calls import ENDS
from ..._columns._layout import Layout
from ..._columns._schema import Schema
from ..._engine._orphan import end_with_the_trainer
from ..._engine._raw_batch import Parser, RawBatch
from ..._engine._ring import Ring, SlotBytes, Watch, slot_bytes, watch
from ..._engine._ring import private as private_copy
from ..._rows import in_order
from ..._transform import Collate, Functions
from .._layout import TensorLayout
from .._tensors import rows
from . import _link as frames
from ._link import Link
from ._transfer import Memory, Packer, Parcel

_LONGEST_TEXT = 64 << 10  # of an error


class Sealed:
    """Objects on their way to a worker. They are pickled with the process that starts, and unpickled
    where an error can be reported.
    """

    def __init__(self, objects: Any) -> None:
        self._objects = objects
        self._data: bytes | None = None

    def __getstate__(self) -> dict[str, Any]:
        assert get_spawning_popen() is not None
        return {"_objects": None, "_data": bytes(ForkingPickler.dumps(self._objects))}

    def open(self) -> Any:
        return self._objects if self._data is None else pickle.loads(self._data)


@dataclass(frozen=True)
class Setting:
    """What a worker gets when it starts."""

    id: int
    workers: int
    seed: int
    environment: dict[str, str]


@dataclass(frozen=True)
class Course:
    """What the batches of an iteration have in common."""

    number: int
    schema: Schema
    row_valid: bool
    rows: bool  # single rows are wanted
    rank: int
    world_size: int


class _Refused(Exception):
    """The trainer gives no slot: it has failed the batch itself, or has left the iteration."""


def caught(error: BaseException) -> tuple[bytes, str]:
    """The pickled type of an error, and its traceback."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT // 2]}\n...\n{text[-_LONGEST_TEXT // 2 :]}"
    try:
        return pickle.dumps(type(error)), text
    except Exception:
        return b"", text


class _KeyText(str):
    """The text of a KeyError, which shows the repr of its argument."""

    __slots__ = ()
    __repr__ = str.__str__


def again(kind: bytes, text: str, where: str) -> Exception:
    """The error of a worker in the trainer: of its type where that takes a text, else a
    RuntimeError.
    """
    text = f"{where}\n{text}"
    try:
        made = pickle.loads(kind)
        error = made(_KeyText(text) if issubclass(made, KeyError) else text)
        if isinstance(error, Exception) and not isinstance(error, ENDS) and text in str(error):
            return error
    except Exception:  # a class that takes other arguments, or that the trainer does not have
        pass
    return RuntimeError(text)


def run(sock: socket.socket, setting: Setting, sealed: Sealed) -> None:
    """The life of a worker. It ends with the trainer, or when the trainer closes the link."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal; the trainer ends its workers
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update(setting.environment)
    link = Link(sock)
    end_with_the_trainer()
    try:
        worker = _Worker(link, setting, sealed)
    except Exception as error:
        kind, text = caught(error)
        _send(link, frames.FAILED, frames.FAILED_FRAME.pack(0, 0, 0, 0), pickle.dumps((kind, text)))
        return
    with contextlib.suppress(EOFError):  # the trainer has closed the link
        while True:
            worker.take(*worker.next())


def _send(link: Link, kind: int, *parts: bytes) -> None:
    try:
        link.send(kind, *parts)
    except OSError:  # the trainer wants nothing more
        sys.exit(0)


class _Worker:
    def __init__(self, link: Link, setting: Setting, sealed: Sealed) -> None:
        self._link = link
        torch.set_num_threads(1)
        random.seed(setting.seed)
        torch.manual_seed(setting.seed)
        np.random.seed(setting.seed % 2**32)
        self._dataset, collate, init = sealed.open()
        self._collate = () if collate is None else (Collate(collate),)
        torch_worker._worker_info = torch_worker.WorkerInfo(
            id=setting.id, num_workers=setting.workers, seed=setting.seed, dataset=self._dataset
        )
        if init is not None:
            init(setting.id)
        self._rings: dict[int, Ring] = {}
        self._kept: dict[int, tuple[Watch, bytes]] = {}  # batches that functions keep, by their jobs
        self._gone: deque[Watch] = deque()  # and have dropped
        self._packer = Packer()
        self._parser = Parser()
        self._course: Course | None = None
        self._layout: TensorLayout | None = None
        self._functions = Functions((), 0)  # of the course
        self._later: deque[tuple[int, bytes]] = deque()  # frames that came while this waited for a slot

    def next(self) -> tuple[int, bytes]:
        """The next frame."""
        return self._later.popleft() if self._later else (self._link.next(), self._link.payload())

    def take(self, kind: int, payload: bytes) -> None:
        if kind == frames.JOB:
            self._job(*frames.JOB_FRAME.unpack(payload))
        elif kind == frames.RING:
            self._map(payload)
        elif kind == frames.BEGIN:
            self._course = course = pickle.loads(payload)
            dataset = self._dataset
            self._layout = TensorLayout(Layout(course.schema, plain=True), dataset._masks, row_valid=course.row_valid)
            self._functions = Functions((*dataset._transforms, *self._collate), course.rank)

    def _map(self, payload: bytes) -> None:
        number, slots, size, count = frames.RING_FRAME.unpack_from(payload)
        used = set(memoryview(payload)[frames.RING_FRAME.size :].cast("I"))
        assert len(used) == count
        descriptor = self._link.descriptor()
        try:
            self._rings = {n: ring for n, ring in self._rings.items() if n in used}
            self._rings[number] = Ring(descriptor, number, slots, size)
        finally:
            os.close(descriptor)

    def _job(
        self, course: int, job: int, flags: int, count: int, number: int, index: int, seq: int, offset: int, used: int, to: int, slot: int
    ) -> None:
        memory = slot_bytes(self._rings[number], index, job)
        kept = watch(memory, self._gone.append)
        raw: RawBatch | None = None
        try:
            raw, batch = self._raw(memory, offset, used, private=bool(flags & frames.PRIVATE))
            packed, failed = self._made(raw, count, batch, lambda size: self._slot(course, job, size, (to, slot))), None
        except SystemExit:
            raise
        except BaseException as e:
            packed, failed = None, caught(e)
        del raw, memory
        given, keeps = self._settle(kept, frames.GIVEN_BACK.pack(number, index, seq))
        n = len(given) // frames.GIVEN_BACK.size
        if packed is None:
            _send(self._link, frames.FAILED, frames.FAILED_FRAME.pack(course, job, keeps, n), given, pickle.dumps(failed))
            return
        flags = keeps | frames.USES_BATCH if packed.uses_batch else keeps
        head = frames.DONE_FRAME.pack(course, job, flags, packed.number, len(packed.numbers), n, len(packed.structure), packed.used)
        numbers = pack(f"<{len(packed.numbers)}q", *packed.numbers)
        _send(self._link, frames.DONE, head, numbers, given, packed.structure, packed.rest)

    def _raw(self, memory: SlotBytes, offset: int, used: int, *, private: bool) -> tuple[RawBatch, tuple[int, int]]:
        """Returns the batch in a slot, and the address range that the trainer has too."""
        if private:
            copy = private_copy(memory, used)
            return self._parser.batch(copy, memoryview(copy), None, offset, used), (0, 0)
        begin = memory.ring.address + memory.index * memory.ring.slot_size
        return self._parser.batch(memory, memory.ring.views[memory.index], memory.ring, offset, used), (begin, begin + used)

    def _settle(self, last: Watch, place: bytes) -> tuple[bytes, int]:
        """Returns the places of slots that this process no longer uses, except the last batch's; and
        a flag if that one is kept.
        """
        given, keeps, gone = [], frames.KEEPS_BATCH, self._gone
        while gone:
            slot = gone.popleft()
            if slot is last:
                keeps = 0
            else:
                given.append(self._kept.pop(slot.seq)[1])
        if keeps:
            self._kept[last.seq] = last, place
        return b"".join(given), keeps

    def _made(self, raw: RawBatch, count: int, batch: tuple[int, int], memory: Memory) -> Parcel:
        """Makes and writes the result. No reference to the batch's slot is left when it returns,
        unless the functions keep some.
        """
        assert self._layout is not None
        value: Any = self._layout.tensors(raw)
        value = self._functions(value, raw.epoch, raw.step) if count < 0 else self._rows(value, raw, count)
        try:
            return self._packer.pack(value, batch, memory)
        except (pickle.PicklingError, AttributeError, TypeError) as e:
            raise TypeError(
                f"what map and collate_fn made cannot be sent to the trainer: {e}. Tensors, arrays, numbers, texts, containers of them, "
                "and what pickle takes can"
            ) from e

    def _rows(self, batch: Any, raw: RawBatch, count: int) -> tuple[list[Any], list[tuple[int, bytes, str]]]:
        """What the functions make of each row, and the errors of some."""
        assert self._course is not None
        values: list[Any] = []
        errors: list[tuple[int, bytes, str]] = []
        first = raw.position // self._course.world_size
        dealt = raw.deal(count)
        for n, ((_, step, _), row) in enumerate(zip(dealt, in_order(rows(batch), dealt))):
            try:
                values.append(self._functions(row, raw.epoch, first + step))
            except SystemExit:
                raise
            except BaseException as e:
                values.append(None)
                errors.append((n, *caught(e)))
        return values, errors

    def _slot(self, course: int, job: int, size: int, to: tuple[int, int]) -> np.ndarray:
        """The memory for a result: the slot that came with the batch, or one that is large enough."""
        number, index = to
        ring = self._rings.get(number)
        if ring is None or ring.slot_size < size:
            _send(self._link, frames.NEED, frames.NEED_FRAME.pack(course, job, size))
            number, index = self._granted(course, job)
            ring = self._rings[number]
        return ring.bytes[index * ring.slot_size : (index + 1) * ring.slot_size]

    def _granted(self, course: int, job: int) -> tuple[int, int]:
        """Waits for a slot. The batches that follow wait until this one is done."""
        while True:
            kind = self._link.next()
            payload = self._link.payload()
            if kind == frames.GRANT:
                of, which, number, index = frames.GRANT_FRAME.unpack(payload)
                if (of, which) == (course, job):
                    if number == frames.NO_RING:
                        raise _Refused
                    return number, index
            elif kind == frames.RING:
                self._map(payload)
            else:
                self._later.append((kind, payload))
