"""Faults of processes, files and servers, while a job runs and between its attempts."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import psutil

from chaos.nodes import Node
from chaos.scenario import Fault
from chaos.stores import HDFS, S3

if TYPE_CHECKING:
    from chaos.attempt import Attempt

# Errors that ranks may end with after a rank or the engine was killed.
EXCUSED = ("EngineGone", "RankMismatchError", "RankError", "EngineStartError")

OF_GROUPS = ("RuntimeError", "DistBackendError", "DistNetworkError", "DistStoreError")

STOPPED = (0.3, 3.0)  # seconds that a process is stopped
OUTAGE = (0.3, 6.0)  # seconds that a store is away; far below the time for which reads are tried again


class Injector:
    """Lets the faults of an attempt happen, and ends what they began."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        due = attempt.scenario.faults
        self._due = list(due[attempt.number]) if attempt.number < len(due) else []
        self._began: float | None = None
        self._undo: list[tuple[float, Callable[[], None]]] = []

    def __enter__(self) -> Injector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for _, undo in self._undo:
            undo()

    def holding(self) -> bool:
        """Whether something is stopped, so that no progress is expected."""
        return bool(self._undo)

    def step(self, now: float) -> None:
        """Lets happen what is due. The first call is the moment of the first batch."""
        self._began = self._began or now
        for end, undo in [pair for pair in self._undo if pair[0] <= now]:
            self._undo.remove((end, undo))
            undo()
        while self._due and now - self._began >= self._due[0].after:
            self._happen(self._due.pop(0), now)

    def _happen(self, fault: Fault, now: float) -> None:
        dice = random.Random(fault.seed)
        if HAPPENS[fault.kind](self, dice, now):
            self._attempt.met.append(fault.kind)

    def _until(self, end: float, undo: Callable[[], None]) -> None:
        self._undo.append((end, undo))

    def kill_rank(self, dice: random.Random, now: float) -> bool:
        running = [rank for rank, process in enumerate(self._attempt.ranks) if process.poll() is None]
        if not running:
            return False
        rank = dice.choice(running)
        self._attempt.killed.add(rank)
        self._attempt.ranks[rank].kill()
        return True

    def kill_engine(self, dice: random.Random, now: float) -> bool:
        return self._kill(dice.choice((self._attempt.nodes, [self._node(dice)])))

    def _kill(self, nodes: Sequence[Node]) -> bool:
        """Kills the engines of some nodes."""
        engines = [engine for node in nodes for engine in node.engines()]
        for engine in engines:
            self._attempt.killed_at.update(k for k, node in enumerate(self._attempt.nodes) if node in nodes)
            with contextlib.suppress(psutil.NoSuchProcess):
                engine.kill()
        return bool(engines)

    def kill_both(self, dice: random.Random, now: float) -> bool:
        killed = self.kill_rank(dice, now)
        return self.kill_engine(dice, now) or killed

    def kill_all(self, dice: random.Random, now: float) -> bool:
        return self._kill_nodes(self._attempt.nodes)

    def kill_node(self, dice: random.Random, now: float) -> bool:
        return self._kill_nodes([self._node(dice)])

    def _kill_nodes(self, nodes: Sequence[Node]) -> bool:
        for rank, process in enumerate(self._attempt.ranks):
            if process.poll() is None and self._attempt.nodes[self._attempt.node(rank)] in nodes:
                self._attempt.killed.add(rank)
                process.kill()
        self._kill(nodes)
        return True

    def stop_rank(self, dice: random.Random, now: float) -> bool:
        process = dice.choice(self._attempt.ranks)
        if process.poll() is not None:
            return False
        process.send_signal(signal.SIGSTOP)
        self._until(now + dice.uniform(*STOPPED), lambda: process.send_signal(signal.SIGCONT))
        return True

    def stop_engine(self, dice: random.Random, now: float) -> bool:
        engines = self._attempt.engines()
        for engine in engines:
            with contextlib.suppress(psutil.NoSuchProcess):
                engine.suspend()
            self._until(now + dice.uniform(*STOPPED), lambda engine=engine: resume(engine))  # type: ignore[misc]
        return bool(engines)

    def stop_store(self, dice: random.Random, now: float) -> bool:
        store = self._attempt.store
        assert isinstance(store, S3 | HDFS)
        stopped = store.stop()
        if stopped:
            self._until(time.monotonic() + dice.uniform(*OUTAGE), store.start)
        return stopped

    def flip(self, dice: random.Random, now: float) -> bool:
        return flip(encoded(self._node(dice).cache), dice)

    def cut(self, dice: random.Random, now: float) -> bool:
        cache = self._node(dice).cache
        return cut(encoded(cache) + decoded(cache), dice)

    def remove(self, dice: random.Random, now: float) -> bool:
        cache = self._node(dice).cache
        return remove(encoded(cache) + decoded(cache), dice)

    def damage_index(self, dice: random.Random, now: float) -> bool:
        return dice.choice((flip, cut, remove))(index(self._node(dice).cache), dice)

    def remove_all(self, dice: random.Random, now: float) -> bool:
        """Removes what is below the directory of a cache."""
        for path in self._node(dice).cache.iterdir():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        return True

    def disk_errors(self, dice: random.Random, now: float) -> bool:
        """Lets an engine's writes to files fail, or its reads of the cache's, by a tracer."""
        node = self._node(dice)
        engines, files = node.engines(), encoded(node.cache) + decoded(node.cache) + index(node.cache)
        reads = bool(files) and dice.random() < 0.5
        call, places = ("pread64", files[:200]) if reads else ("pwrite64,fsync,fdatasync,fallocate,ftruncate", [])
        for engine in engines:
            command = ["strace", "-f", "-qqq", "-o", os.devnull, "-p", str(engine.pid), "-e", f"inject={call}:error=EIO"]
            process = subprocess.Popen([*command, *(word for path in places for word in ("-P", str(path)))], stderr=subprocess.DEVNULL)
            self._until(now + dice.uniform(*STOPPED), lambda process=process: end(process))  # type: ignore[misc]
        return bool(engines)

    def fill_disk(self, dice: random.Random, now: float) -> bool:
        filler = self._node(dice).cache / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))
        self._until(now + dice.uniform(*STOPPED), lambda: filler.unlink(missing_ok=True))
        return True

    def take_names(self, dice: random.Random, now: float) -> bool:
        """Takes all names that a disk has left, while it has room."""
        fillers = self._node(dice).cache / "fillers"
        with contextlib.suppress(OSError):
            fillers.mkdir(exist_ok=True)
            for k in itertools.count():
                (fillers / str(k)).touch()
        self._until(now + dice.uniform(*STOPPED), lambda: shutil.rmtree(fillers, ignore_errors=True))
        return True

    def read_only(self, dice: random.Random, now: float) -> bool:
        node = self._node(dice)
        happened = node.remount("ro")
        if happened:
            self._until(now + dice.uniform(*STOPPED), lambda: node.remount("rw"))
        return happened

    def lose_disk(self, dice: random.Random, now: float) -> bool:
        """Takes a disk away, and puts an empty one in its place."""
        node = self._node(dice)
        node.unmount()
        node.mount()
        return True

    def _node(self, dice: random.Random) -> Node:
        return dice.choice(self._attempt.nodes)


HAPPENS: dict[str, Callable[[Injector, random.Random, float], bool]] = {
    "kill rank": Injector.kill_rank,
    "kill engine": Injector.kill_engine,
    "kill rank and engine": Injector.kill_both,
    "kill all": Injector.kill_all,
    "stop rank": Injector.stop_rank,
    "stop engine": Injector.stop_engine,
    "stop the store": Injector.stop_store,
    "flip cache": Injector.flip,
    "cut cache": Injector.cut,
    "remove cache": Injector.remove,
    "damage index": Injector.damage_index,
    "kill node": Injector.kill_node,
    "remove all of the cache": Injector.remove_all,
    "disk errors": Injector.disk_errors,
    "fill disk": Injector.fill_disk,
    "take the names": Injector.take_names,
    "read-only disk": Injector.read_only,
    "lose disk": Injector.lose_disk,
}


def at_rest(cache: Path, seed: int) -> list[str]:
    """Damages some files of a cache that no process uses; returns what it did."""
    dice = random.Random(seed)
    happened = []
    for _ in range(dice.randint(0, 3)):
        damage = dice.choice((flip, cut, remove))
        files = dice.choice((encoded, decoded, index))
        if damage(files(cache), dice):
            happened.append(f"{damage.__name__} {files.__name__} at rest")
    return happened


def flip(files: list[Path], dice: random.Random) -> bool:
    """Flips bits in one file: a few, or one in each 64 KiB."""
    if not files:
        return False
    with contextlib.suppress(OSError), dice.choice(files).open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        places = [dice.randrange(size) for _ in range(dice.choice((1, 4, size // 65536 + 1)))] if size else []
        for offset in places:
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 1 << dice.randrange(8)]))
    return True


def cut(files: list[Path], dice: random.Random) -> bool:
    """Cuts one file short."""
    if not files:
        return False
    path = dice.choice(files)
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        os.truncate(path, dice.choice((0, min(100, size), size // 2, max(0, size - 1000))))
    return True


def remove(files: list[Path], dice: random.Random) -> bool:
    """Removes one file."""
    if files:
        dice.choice(files).unlink(missing_ok=True)
    return bool(files)


def encoded(cache: Path) -> list[Path]:
    """The files with chunks of shards."""
    return _files(cache, "v1/?/*")


def decoded(cache: Path) -> list[Path]:
    """The files with decoded row groups."""
    return _files(cache, "v1/d?-*/*")


def index(cache: Path) -> list[Path]:
    """The files of the index of footers."""
    return _files(cache, "index/**/*")


def _files(cache: Path, pattern: str) -> list[Path]:
    return sorted(path for path in cache.glob(pattern) if path.is_file())


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def resume(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.resume()
