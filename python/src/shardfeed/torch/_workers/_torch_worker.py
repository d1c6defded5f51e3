"""Torch workers: processes of a DataLoader. The k-th of K takes each K-th step of the stream."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch.utils.data import get_worker_info

_SENDS = "torch.nested._internal.nested_tensor"


@dataclass(frozen=True)
class Worker:
    """The torch worker that this process is."""

    id: int
    workers: int
    loader: str  # names the loader's iterator, the same in all its workers

    def iteration(self, count: int) -> str:
        """The name of the count-th iteration of a loader's workers, the same for all of them."""
        return f"{self.loader}-{count}"

    def first(self, position: int, global_batch: int) -> int:
        """The position of this worker's first step, in an iteration that starts at position."""
        return position + self.id * global_batch


def _nothing() -> None:
    return None


@dataclass
class Part:
    """A torch worker's part of its loader's iteration."""

    count: int = 0  # iterations so far
    iterator: Callable[[], Any] = _nothing  # a weak reference to this iteration's
    start: Mapping[str, Any] | None = None  # the engine's state where the iteration began; None before
    first: int = 0  # where this worker's first step began
    restored: int | None = None  # this worker's next step, from a loaded state
    asked: int | None = None  # the epoch that was set before the state was loaded

    def next_step(self, worker: Worker, global_batch: int) -> int:
        """The position of this worker's next step, once the iteration has started."""
        iterator = self.iterator()
        if iterator is None or iterator.position is None:
            return self.first
        return int(iterator.position) + worker.workers * global_batch


def current() -> Worker | None:
    """Returns the torch worker that this process is, or None."""
    info: Any = get_worker_info()
    if info is None:
        return None
    return Worker(info.id, info.num_workers, f"{os.getppid()}-{info.seed - info.id}")


def prepare() -> None:
    """Imports what torch imports when a worker sends its first tensor.

    Torch imports it in the thread that sends. The import fails when a garbage collection strikes
    and a finalizer imports something too (CPython gh-106176). Then torch drops the batch and waits
    for it forever.
    """
    if _SENDS in sys.modules:
        return
    collecting = gc.isenabled()
    gc.disable()
    try:
        with contextlib.suppress(ImportError):
            importlib.import_module(_SENDS)
    finally:
        if collecting:
            gc.enable()
