"""One iteration of a DataLoader: where its batches come from, and how they are handed out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from threading import get_ident
from time import monotonic_ns as now
from typing import Any

from .. import _spans
from .._calls import interrupted
from .._engine._ring import Ring
from .._transform import Collate
from .._turn import Turn
from .._waited import Waited
from ._device import holds
from ._feed import Feed
from ._iterator import TensorIterator

# The engine's state without epoch and position, those two, and the sum of the iteration so far.
Stamp = tuple[Mapping[str, Any], int, int, int]


class Epoch:
    """The batches of one iteration of a loader, with the position of each.

    The iteration starts with its first batch. Several threads may take batches: each comes once.
    """

    def __init__(self, loader: Feed) -> None:
        self._loader = loader
        self._waited = loader._waited
        _spans.look()
        self._profiler = _spans.profiler
        self._source: Any = None
        self._batches: Any = None
        self._turn = Turn()
        self._closed = False
        self._broken: type[BaseException] | None = None  # what interrupted it

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        waited = self._waited
        if waited is not None:  # as Waited.start, without the calls
            watch = waited.watches.get(get_ident()) or waited.another()
            watch.at = watch.began = waited.started = now()
            if not watch.plain or self._profiler._is_profiler_enabled:
                waited.mark(watch)
        try:
            try:
                batch, stamp = self._next()
            finally:
                if waited is None:
                    pass
                elif watch.plain and (at := watch.at):  # as Waited.stop
                    waited.last = to = now()
                    watch.handed += to - at
                    watch.at = 0
                else:
                    waited.end(watch)
        except Exception:
            raise
        except BaseException as e:
            self._interrupted(e)
            raise
        loader = self._loader
        last = loader._stamp
        # The furthest of several threads counts. No call: an interrupt strikes before or after the hand-over.
        if last is None or last[0] is not stamp[0] or stamp[1:] > last[1:]:
            loader._stamp = stamp
        return batch

    def _interrupted(self, by: BaseException) -> None:
        """Ends an iteration in which a batch may be lost."""
        self._broken = type(by)  # the error itself would have the frames that have this iteration, and its batches
        self.close()

    def _next(self) -> tuple[Any, Any]:
        with self._turn.lock:
            if self._closed:
                raise StopIteration if self._broken is None else interrupted(self._broken)
            if self._batches is None:
                self._source, self._batches = self._loader._open()
            try:
                batch, stamp = next(self._batches)
            finally:
                if self._closed:  # meanwhile, by another thread
                    self._batches.close()
            if self._closed:
                raise StopIteration
            return batch, stamp

    def ready(self) -> bool:
        """Whether a batch is probably there."""
        return self._source is not None and bool(self._source.ready())

    def close(self) -> None:
        """Ends the iteration, also for a thread that waits for a batch."""
        self._closed = True
        turn = self._turn.lock
        if not turn.acquire(blocking=False):
            if self._source is not None:
                self._source.close()  # wakes the other thread, which closes the batches
            return
        try:
            if self._batches is not None:
                self._batches.close()
        finally:
            turn.release()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_batches", None) is not None and not is_finalizing():
            self._batches.close()


class Local:
    """Batches that this process makes, each with its stamp."""

    def __init__(self, loader: Feed, image_cpu_share: float | None = None) -> None:
        self._batches: TensorIterator = iter(loader.dataset)
        self._batches.image_cpu_share = image_cpu_share
        self._batches.counts = False
        if loader.collate_fn is not None:
            self._batches.then(Collate(loader.collate_fn))

    def __next__(self) -> tuple[Any, Stamp]:
        batches = self._batches
        batch = next(batches)
        place = batches.place
        assert place is not None
        return batch, (place.start, *place.after, place.total)

    def divide(self, image_cpu_share: float) -> None:
        """Gives the engine another share of the images, in batches that it has not begun."""
        if (connection := self._batches.connection) is not None:
            connection.divide(image_cpu_share)

    @property
    def waited(self) -> Waited:
        return self._batches.waited

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The rings of the last batch."""
        ring = self._batches.ring
        return () if ring is None else (ring,)

    @property
    def holds(self) -> int:
        return holds(self.rings)

    def ready(self) -> bool:
        return self._batches.ready()

    def close(self) -> None:
        self._batches.close()


def as_it_is(value: Any) -> Any:
    return value
