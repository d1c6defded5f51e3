"""The file of a trace: trace events of Chrome as JSON, as torch.profiler writes them."""

from __future__ import annotations

import contextlib
import gzip
import heapq
import io
import json
import logging
import os
import socket
import struct
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from ._causes import CAUSES
from ._version import __version__

log = logging.getLogger("shardfeed")

# Times of torch.profiler count from the last multiple of three months, so that they fit a float.
_BASE_NS = 7_889_238 * 10**9

# The kinds of events. Below NEXT they are parts of a ``next``, by their cause.
NEXT, BATCH, READY, PART = 16, 17, 18, 32  # PART and above: parts of a batch, by their cause

# Kind, number of the thread or batch, start, end; for a batch also epoch, step, rows and bytes. The
# first event of a batch is BATCH, and the last READY.
EVENT = struct.Struct("<8q")

_NAMES = {NEXT: "shardfeed.next", BATCH: "shardfeed.batch", READY: "ready"}
_TRACKS = 900_000_000  # our first track; threads have lower numbers


class About(NamedTuple):
    """Facts about a trace. offset is the system's time minus time.monotonic_ns."""

    rank: int
    world_size: int
    offset: int
    full: bool


def write(path: Path, events: bytearray, about: About) -> None:
    """Writes a file. It gets its name when it is whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
    try:
        with open(temporary, "xb") as file, _packed(path.name, file) as packed, io.TextIOWrapper(packed, "utf-8") as text:
            _print(text, events, about)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _packed(name: str, file: BinaryIO) -> Any:
    return gzip.GzipFile(name, "wb", 3, file) if name.endswith(".gz") else file


def _print(to: TextIO, events: bytearray, about: About) -> None:
    now = time.monotonic_ns() + about.offset
    base = now - now % _BASE_NS
    head = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        "host_name": socket.gethostname(),
        "distributedInfo": {"rank": about.rank, "world_size": about.world_size},
        "shardfeed": {"version": __version__, "complete": not about.full},
    }
    to.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
    to.write(",\n".join(_lines(events, about.rank, about.offset - base)))
    to.write("\n]}\n")


def _lines(events: bytearray, rank: int, clock: int) -> Iterator[str]:
    """The events of a file, each on a line: first the names of their tracks."""
    tracks, pid = _Tracks(events), os.getpid()
    lines = [_line(event, tracks.of(event), clock) for event in EVENT.iter_unpack(events)]
    yield json.dumps({"pid": pid, "ph": "M", "name": "process_name", "tid": 0, "ts": 0, "args": {"name": f"rank {rank}"}})
    for name, track in tracks.names.items():
        yield json.dumps({"pid": pid, "ph": "M", "name": "thread_name", "tid": track, "ts": 0, "args": {"name": name}})
        sort = {"sort_index": track - _TRACKS - 1_000_000}  # above the threads
        yield json.dumps({"pid": pid, "ph": "M", "name": "thread_sort_index", "tid": track, "ts": 0, "args": sort})
    yield from lines


class _Tracks:
    """The numbers of tracks: a track of ``next`` for each thread, and enough tracks of batches that
    no two overlap.
    """

    def __init__(self, events: bytearray) -> None:
        self.names: dict[str, int] = {}
        self._threads: dict[int, int] = {}
        self._batches: dict[int, int] = {}
        free: list[tuple[int, int]] = []  # when tracks are free, and which
        for begin, end, batch in _spans(events):
            if free and free[0][0] <= begin:
                heapq.heapreplace(free, (end, track := free[0][1]))
            else:
                heapq.heappush(free, (end, track := len(free)))
            self._batches[batch] = track

    def of(self, event: tuple[int, ...]) -> int:
        kind, of = event[:2]
        if kind > NEXT:
            return self._named(f"shardfeed batches {self._batches[of] + 1:03d}")
        n = self._threads.setdefault(of, len(self._threads) + 1)
        return self._named("shardfeed next" if n == 1 else f"shardfeed next {n}")

    def _named(self, name: str) -> int:
        return self.names.setdefault(name, _TRACKS + len(self.names))


def _spans(events: bytearray) -> list[tuple[int, int, int]]:
    """Start, hand-over and number of each batch, in the order of their starts."""
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for kind, of, begin, end, *_ in EVENT.iter_unpack(events):
        if kind > NEXT:
            begins.setdefault(of, begin)
            ends[of] = end
    return sorted((begin, ends[of], of) for of, begin in begins.items())


def _line(event: tuple[int, ...], track: int, clock: int) -> str:
    """One event. It is put together here, since there are many."""
    kind, _, begin, end, epoch, step, rows, size = event
    at, took = begin + clock, end - begin
    args = f',"args":{{"epoch":{epoch},"step":{step},"rows":{rows},"bytes":{size}}}' if kind == BATCH else ""
    return (
        f'{{"ph":"X","cat":"shardfeed","name":"{_name(kind)}","pid":{os.getpid()},"tid":{track},'
        f'"ts":{at // 1000}.{at % 1000:03d},"dur":{took // 1000}.{took % 1000:03d}{args}}}'
    )


def _name(kind: int) -> str:
    return _NAMES.get(kind) or CAUSES[kind % PART]
