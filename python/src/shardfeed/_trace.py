"""Traces: each ``next`` of a training and each batch on a timeline, in a file for Perfetto."""

from __future__ import annotations

import atexit
import os
import struct
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _trace_file
from ._args._checks import type_name
from ._engine import _launcher
from ._trace_file import BATCH, EVENT, NEXT, PART, READY
from .errors import OptionError

if TYPE_CHECKING:
    from ._engine._raw_batch import RawBatch

__all__ = ["Trace", "of_process"]

_ENV = "SHARDFEED_TRACE"

MOST = 1 << 18  # events of a trace

_MARK = struct.Struct("<Q")


class Trace:
    """What happens to the batches of a training, until :meth:`stop` or the end of the process.

    It has at most 262,144 events and is written once, under its name when it is whole. ``with``
    stops it at the end.
    """

    def __init__(self, path: str | os.PathLike[str], steps: int | None = None, *, given: str = "trace") -> None:
        self.path = _checked(path, given)
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
            raise OptionError(f"{given}: steps must be a whole number of at least 1 or None, got {steps!r}")
        self.over = False
        self.full = False  # it ended because it has MOST events
        self._left = steps
        self._pid = os.getpid()
        self._events = bytearray()
        self._batches = 0
        self._ranks = (0, 1)
        self._offset = _system_time()
        atexit.register(self._exits)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the trace and writes its file. Further calls do nothing."""
        if self.over:
            return
        self.over = True
        atexit.unregister(self._exits)
        if self._pid != os.getpid():  # of the process that it was forked from
            return
        events, self._events = self._events, bytearray()
        _trace_file.write(self.file, events, _trace_file.About(*self._ranks, self._offset, self.full))

    @property
    def file(self) -> Path:
        """The path of the file. Several ranks have one each, such as ``run.rank3.json.gz``."""
        rank, world_size = self._ranks
        if world_size == 1:
            return self.path
        stem, suffix = _split(self.path.name)
        return self.path.with_name(f"{stem}.rank{rank}{suffix}")

    def of_rank(self, rank: int, world_size: int) -> None:
        """Sets the rank of an iteration. The rank of the process has precedence, since replicas
        share the rank of their iterations.
        """
        place = _launcher.place()
        self._ranks = (place.rank, place.world_size) if place is not None and place.world_size > 1 else (rank, world_size)

    def part(self, cause: int, thread: int, begin: int, end: int) -> None:
        """Adds a part of a ``next``."""
        if end > begin:
            self._add(cause, thread, begin, end)

    def next(self, thread: int, begin: int, end: int) -> None:
        """Adds a ``next``, which may be the last one."""
        self._add(NEXT, thread, begin, end)
        if self._left is not None:
            self._left -= 1
        if self.full or self._left == 0:
            self._ends()

    def batch(self, raw: RawBatch) -> None:
        """Adds a batch that is handed out now, and what held it up while it was made."""
        number, finished = self._batches, raw.finished
        self._batches += 1
        begin, parts = 0, []
        for n in range(raw.marks):
            [mark] = _MARK.unpack_from(raw.bytes, raw.trail + 8 * n)
            at = finished - (mark >> 8)
            if begin:
                parts.append((PART + (mark & 255), begin, at))
            begin = at
        figures = raw.epoch, raw.step, raw.valid, raw.used
        self._add(BATCH, number, parts[0][1] if parts else finished, finished, *figures)
        for kind, begin, end in parts:
            self._add(kind, number, begin, end)
        self._add(READY, number, finished, max(finished, time.monotonic_ns()))

    def _add(self, kind: int, of: int, begin: int, end: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> None:
        if len(self._events) < MOST * EVENT.size:
            self._events += EVENT.pack(kind, of, begin, end, a, b, c, d)
        else:
            self.full = True

    def _ends(self) -> None:
        """Stops within a training, which does not end because a trace cannot be written."""
        try:
            self.stop()
        except OSError as e:
            _trace_file.log.error("shardfeed: the trace was not written: %s", e)

    def _exits(self) -> None:
        if self._pid == os.getpid() and self._events and not _is_worker():
            self._ends()


class _OfProcess:
    """The trace that the environment asks for."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.pid = 0


_here = _OfProcess()


def of_process() -> Trace | None:
    """The trace of $SHARDFEED_TRACE, one for all data sets of a process; None without it, and in
    forked children, which would write the same file.
    """
    if not _here.pid:
        _here.pid = os.getpid()
        if path := os.environ.get(_ENV):
            _here.trace = Trace(path, given=_ENV)
    return _here.trace if _here.pid == os.getpid() else None


def _is_worker() -> bool:
    """Whether this process is a worker of torch's DataLoader. The training waits elsewhere."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def _checked(path: Any, given: str) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"{given} needs a path that ends in .json or .json.gz, got {type_name(path)}")
    checked = Path(path).absolute()
    if not _split(checked.name)[0]:
        raise OptionError(f"{given} needs a path that ends in .json or .json.gz, got {str(path)!r}")
    if not checked.parent.is_dir():
        raise OptionError(f"{given}: {checked.parent} is not a directory, make it first")
    return checked


def _split(name: str) -> tuple[str, str]:
    """The name of a file without its suffix, and the suffix; nothing if it has another suffix."""
    for suffix in (".json.gz", ".json"):
        if name.endswith(suffix):
            return name[: -len(suffix)], suffix
    return "", ""


def _system_time() -> int:
    """The difference of the system's time to time.monotonic_ns, in ns: the closest of several looks
    at both, since a process may lose the processor in between.
    """
    looks = []
    for _ in range(9):
        before, system, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        looks.append((after - before, system - (before + after) // 2))
    return min(looks)[1]
