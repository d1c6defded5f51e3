"""Traces: the steps of a training, its batches and loads on a timeline, in a file for Perfetto."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._args._checks import type_name
from ._engine import _launcher
from ._engine._raw_batch import EPOCH, STEP, VALID
from ._program import find_binary
from ._version import __version__
from .errors import OptionError

if TYPE_CHECKING:
    from ._engine._raw_batch import RawBatch

__all__ = ["Trace", "of_process"]

log = logging.getLogger("shardfeed")

_ENV = "SHARDFEED_TRACE"

MOST = 1 << 18  # events of a trace

# Kinds of events. Below NEXT they are parts of a ``next``, by their cause.
END, ABOUT, NEXT, BATCH = -2, -1, 16, 17

# Kind, thread, start, end; of NEXT also the cause of its last part, and when that starts; of ABOUT and
# END other numbers.
EVENT = struct.Struct("<8q")

# BATCH, number, marks, when it was finished, epoch, step, rows, bytes, when it was handed out; its
# marks follow.
_BATCH = struct.Struct("<9q")
_SENT = 256  # events that are sent at once
_SENT_EVERY = 10**9  # ns
_PIPE = 1 << 20  # bytes of events that the program has not read, before the training waits for it
_ANSWER = 5.0  # s that the program may take to follow the engine


# The numbers of EVENT, or of a batch: its header, bytes, when it was handed out, and its marks.
_Event = tuple[int, int, int, int, int, int, int, int] | tuple[tuple[int, ...], int, int, bytes]


class Trace:
    """What happens to the batches of a training, until :meth:`stop` or the end of the process.

    It has at most 262,144 events of the training. Another process writes the file, which has its
    name when it is whole. ``with`` stops it at the end.
    """

    def __init__(self, path: str | os.PathLike[str], steps: int | None = None, *, given: str = "trace") -> None:
        self.path = _checked(path, given)
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
            raise OptionError(f"{given}: steps must be a whole number of at least 1 or None, got {steps!r}")
        self.over = False
        self._left = steps
        self._pid = os.getpid()
        self._room = MOST
        self._events: list[_Event] = []  # to be sent
        self._sent_at = 0
        self._batches = 0
        self._ranks = (0, 1)
        self._recorder = _Recorder()
        atexit.register(self._exits)

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the trace, and waits until its file is written. Further calls do nothing."""
        if self._pid == os.getpid():  # else of the process that it was forked from
            self._end()
            self._recorder.wait()

    @property
    def full(self) -> bool:
        """Whether it ended because it has MOST events."""
        return self._room < 0

    @property
    def file(self) -> Path:
        """The path of the file. Several ranks have one each, such as ``run.rank3.json.gz``."""
        rank, world_size = self._ranks
        if world_size == 1:
            return self.path
        stem, suffix = _split(self.path.name)
        return self.path.with_name(f"{stem}.rank{rank}{suffix}")

    def of_rank(self, rank: int, world_size: int, engine: str = "", dataset: str = "") -> None:
        """Sets the rank of an iteration, and where its loads are. The rank of the process has
        precedence, since replicas share the rank of their iterations.
        """
        place = _launcher.place()
        self._ranks = (place.rank, place.world_size) if place is not None and place.world_size > 1 else (rank, world_size)
        if not self.over and self._pid == os.getpid() and not _is_worker():
            self._recorder.send(self._about(rank, engine, dataset))
            self._recorder.answered(_ANSWER)

    def _about(self, rank: int = 0, engine: str = "", dataset: str = "") -> bytes:
        about = {"file": str(self.file), "pid": self._pid, "version": __version__, "rank": self._ranks[0], "world_size": self._ranks[1]}
        text = json.dumps({**about, "socket": engine, "dataset": dataset, "data_rank": rank}).encode()
        return EVENT.pack(ABOUT, len(text), 0, 0, 0, 0, 0, 0) + text

    def part(self, cause: int, thread: int, begin: int, end: int) -> None:
        """Adds a part of a ``next``."""
        if end > begin:
            self._room -= 1
            if self._room >= 0:
                self._events.append((cause, thread, begin, end, 0, 0, 0, 0))

    def next(self, thread: int, begin: int, end: int, cause: int, at: int) -> None:
        """Adds a ``next``, which may be the last one, and its last part from at on."""
        self._room -= 2
        if self._room >= 0:
            self._events.append((NEXT, thread, begin, end, cause, at, 0, 0))
        if self._left is not None:
            self._left -= 1
        if self._room < 0 or self._left == 0:
            self._end()
            self._recorder.wait_beside()
        elif len(self._events) >= _SENT or end - self._sent_at >= _SENT_EVERY:
            self._sent_at = end
            self._send()

    def batch(self, raw: RawBatch) -> None:
        """Adds a batch that is handed out now, and its trail: what held it up while it was made."""
        header, used = raw.header, raw.used
        marks = header[-1]
        self._room -= 2 + marks
        if self._room >= 0:
            self._events.append((header, used, monotonic_ns(), *struct.unpack_from(f"<{8 * marks}s", raw.bytes, used - 8 * marks)))

    def _encoded(self, events: list[_Event]) -> Iterator[bytes]:
        """The bytes of events. Many at once take less time than each in its step."""
        for event in events:
            if len(event) == 8:
                yield EVENT.pack(*event)
                continue
            header, used, handed, marks = event
            self._batches += 1
            yield _BATCH.pack(BATCH, self._batches - 1, header[-1], header[-2], header[EPOCH], header[STEP], header[VALID], used, handed)
            yield marks

    def _send(self) -> None:
        """Sends the events so far. Other threads may add some meanwhile."""
        n = len(self._events)
        events = b"".join(self._encoded(self._events[:n]))
        del self._events[:n]
        if self._pid == os.getpid() and not _is_worker():
            self._recorder.send(events)

    def _end(self) -> None:
        if self.over:
            return
        self.over = True
        atexit.unregister(self._exits)
        if not self._recorder.running:
            self._recorder.send(self._about())
        self._send()
        self._recorder.send(EVENT.pack(END, int(self.full), 0, 0, 0, 0, 0, 0))
        self._recorder.close()

    def _exits(self) -> None:
        if self._pid == os.getpid() and self._room < MOST and not _is_worker():
            self._end()
            self._recorder.report()


class _Recorder:
    """The process that writes a trace: it gets the events, and asks the engine for its loads."""

    def __init__(self) -> None:
        self._program = find_binary()
        self._process: subprocess.Popen[bytes] | None = None
        self._sending = threading.Lock()
        self._waiting = threading.Lock()
        self._error: OSError | None = None

    @property
    def running(self) -> bool:
        return self._process is not None

    def send(self, data: bytes) -> None:
        """Sends data. The first call starts the process. A process that has ended gets nothing: wait
        has its error.
        """
        with self._sending:
            if self._process is None:
                command, pipe = [str(self._program), "trace", "record"], subprocess.PIPE
                # In a session of its own: an interrupt of the training does not end it.
                self._process = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, pipesize=_PIPE, start_new_session=True
                )
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    left = memoryview(data)
                    while left:
                        left = left[self._process.stdin.write(left) :]

    def answered(self, patience: float) -> None:
        """Waits until loads are recorded."""
        if self._process is not None and self._process.stdout is not None:
            with contextlib.suppress(OSError):
                if select.select([self._process.stdout], [], [], patience)[0]:
                    self._process.stdout.read(1)

    def close(self) -> None:
        """Lets the process write the file and end."""
        with self._sending:
            if self._process is not None and self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
                self._process.stdin = None

    def wait(self) -> None:
        """Waits until the file is written. Raises its error, in each call."""
        with self._waiting:
            process = self._process
            if process is not None and process.returncode is None:
                _, said = process.communicate()
                if process.returncode:
                    self._error = OSError(
                        said.decode(errors="replace").strip() or f"shardfeed trace record ended with {process.returncode}"
                    )
        if self._error is not None:
            raise self._error

    def report(self) -> None:
        """Waits, within a training, which does not end because a trace cannot be written."""
        try:
            self.wait()
        except OSError as e:
            log.error("shardfeed: the trace was not written: %s", e)

    def wait_beside(self) -> None:
        """Waits in a thread, which the end of the program waits for."""
        threading.Thread(target=self.report, name="shardfeed trace").start()


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
