"""The nodes of a job count the samples of a data set together.

Each engine counts a part of the row groups first, then what the others lack. This carries what one
has counted to the others, in a thread, through the store of the process group:

    counting       how many nodes count, each of which has a number
    counted N      how many segments node N has handed on
    counted N I    segment I of them

A segment is a file of the engine, in a directory beside its socket: own has the segments of this
node, and theirs gets the segments of other nodes. Without them an engine counts everything.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_EVERY = 0.2  # seconds between two looks

log = logging.getLogger("shardfeed")


class Counting:
    """This node's part in the counting of one data set."""

    def __init__(self, store: Any, key: str, directory: Path, nodes: int) -> None:
        """The engine's socket is in directory. nodes is how many are expected."""
        self._store, self._key = store, key
        self.number = int(store.add(f"{key}/counting", 1)) - 1
        self.path = directory / f"{secrets.token_hex(8)}.counts"
        self.members = {"counts": self.path.name, "count_number": self.number, "count_of": max(nodes, self.number + 1)}  # of OPEN
        self._sent: list[str] = []
        self._taken: dict[int, int] = {}
        self._found: Callable[[bytes], object] | None = None

    @contextlib.contextmanager
    def carried(self, found: Callable[[bytes], object] | None = None) -> Iterator[dict[str, Any]]:
        """Carries counts meanwhile, and yields members of OPEN.

        found gets the inventory that the engine writes before it counts.
        """
        self._found = found
        try:
            for part in ("own", "theirs"):
                (self.path / part).mkdir(mode=0o700, parents=True)
            self._take()
        except (OSError, RuntimeError) as e:
            log.debug("counts are not shared: %s", e)
            shutil.rmtree(self.path, ignore_errors=True)
            yield {}
            return
        ended = threading.Event()
        carrier = threading.Thread(target=self._carry, args=(ended,), name="shardfeed counts", daemon=True)
        carrier.start()
        try:
            yield self.members
        finally:
            ended.set()
            carrier.join()
            shutil.rmtree(self.path, ignore_errors=True)

    def _carry(self, ended: threading.Event) -> None:
        try:
            while not ended.wait(_EVERY):
                self._send()
                self._take()
            self._send()
        except (OSError, RuntimeError) as e:  # other waits raise what the store raises
            log.debug("counts are no longer shared: %s", e)

    def _send(self) -> None:
        for path in sorted((self.path / "own").glob("*.sfc")):
            if path.name not in self._sent:
                self._store.set(f"{self._key}/counted {self.number} {len(self._sent)}", path.read_bytes())
                self._sent.append(path.name)
                self._store.add(f"{self._key}/counted {self.number}", 1)
        if self._found is not None and (path := self.path / "found").exists():
            found, self._found = self._found, None
            found(path.read_bytes())

    def _take(self) -> None:
        for node in range(self._store.add(f"{self._key}/counting", 0)):
            if node == self.number:
                continue
            first, end = self._taken.get(node, 0), self._store.add(f"{self._key}/counted {node}", 0)
            for segment in range(first, end):
                path = self.path / "theirs" / f"{node}-{segment}.sfc"
                with open(path.with_suffix(".new"), "xb", opener=_private) as file:
                    file.write(self._store.get(f"{self._key}/counted {node} {segment}"))
                path.with_suffix(".new").rename(path)
            self._taken[node] = end


def forget(store: Any, key: str) -> None:
    """Takes all segments out of the store, once every node has opened."""
    for node in range(store.add(f"{key}/counting", 0)):
        for segment in range(store.add(f"{key}/counted {node}", 0)):
            store.delete_key(f"{key}/counted {node} {segment}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
