"""Batches that are worked on ahead of their use, and handed out in their order."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from .._batch import Batch as ArrayBatch
from .._iterator import BatchIterator
from .._iterator import Place as EnginePlace
from .._raw_batch import RawBatch
from .._ring import Ring
from ..errors import FeedTimeoutError, ProtocolError
from ._device import holds
from ._epoch import Stamp

if TYPE_CHECKING:
    from ._loader import DataLoader

Place = tuple[int, int]  # an epoch, and a position in it


class Task:
    """A batch that is worked on."""

    __slots__ = ("error", "places", "what")

    def __init__(self, what: str) -> None:
        self.what = what  # for messages
        self.places: list[Place] = []  # after the batch, or after each of its rows
        self.error: BaseException | None = None


class Came(NamedTuple):
    """A batch or row, or its error, and the place after it."""

    value: Any
    place: Place
    error: BaseException | None


# What came of single rows: their values, and the errors of some, by number.
Rows = tuple[list[Any], dict[int, BaseException]]

S = TypeVar("S", bound=Task)


class Ahead(Generic[S]):
    """The batches of one iteration, each with its stamp: a loader's source. Subclasses have the
    batches worked on.

    The place of the iteration is that after the last batch that was handed out, whatever has been
    begun.
    """

    def __init__(self, loader: DataLoader[Any], most: int) -> None:
        self.rings: tuple[Ring, ...] = ()  # in which the last batch lies
        self._loader = loader
        self._iterator = iter(loader.dataset)
        self._most = most  # tasks at once
        self._tasks: deque[S] = deque()
        self._came: deque[Came] = deque()  # rows of the last task
        self._end: Place | None = None  # after the iteration; the engine has no more batches
        self._torn = False  # an interrupt may have lost a batch
        self._closed = False

    # What subclasses do

    def _begin(self, batches: BatchIterator) -> None:
        """Called before the first batch."""

    def _task(self, what: str) -> S:
        """A task without work."""
        raise NotImplementedError

    def _send(self, task: S, raw: RawBatch, rows: int) -> None:
        """Has a batch worked on. rows is -1 for a batch, else how many single rows are wanted."""
        raise NotImplementedError

    def _has_space(self, batches: BatchIterator) -> bool:
        """Whether a further batch can be worked on."""
        return True

    def _done(self, task: S) -> bool:
        """Whether there is a result. It does not wait."""
        raise NotImplementedError

    def _wait(self, task: S, batches: BatchIterator | None) -> None:
        """Waits until the task may be done, or batches may have one."""
        raise NotImplementedError

    def _result(self, task: S) -> Any:
        """What came of a batch, or the Rows. It raises the task's error."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """Ends all work. It may be called again, by any thread."""
        raise NotImplementedError

    # A loader's source

    @property
    def holds(self) -> int:
        return holds(self.rings)

    def __next__(self) -> tuple[Any, Stamp]:
        if self._torn:
            self.close()
            self._torn = False
            raise ProtocolError("an interrupt has struck where batches are handed to workers: begin a new iteration")
        self._torn = True
        try:
            came = self._next()
        except Exception:
            self._torn = False
            raise
        at = self._at()
        at.epoch, at.position = came.place  # also after an error: the next batch follows
        self._torn = False
        if came.error is not None:
            raise came.error
        return came.value, (at.start, *came.place)

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """A wait, which loses nothing when it is interrupted."""
        self._torn = False
        yield
        self._torn = True

    def _at(self) -> EnginePlace:
        place = self._iterator.place
        assert place is not None
        return place

    def _next(self) -> Came:
        if self._came:
            return self._came.popleft()
        batches = self._batches()
        while batches is not None and not self._closed:
            self._fill(batches)
            if not self._tasks:
                break
            task = self._tasks[0]
            if not self._done(task):
                self._wait(task, batches if self._may_take(batches) else None)
            elif (came := self._handed_out(self._tasks.popleft())) is not None:
                return came
        if self._end is not None and not self._closed:
            at = self._at()
            at.epoch, at.position = self._end
        raise StopIteration

    def _batches(self) -> BatchIterator | None:
        """The engine's batches; None when nothing is left of the epoch."""
        iterator = self._iterator
        if iterator._batches is None and not self._closed:
            iterator.begin()
            if iterator._batches is not None:
                self._begin(iterator._batches)
        return iterator._batches

    def _handed_out(self, task: S) -> Came | None:
        if not task.places:  # it has no batch
            assert task.error is not None
            raise task.error
        if self._iterator._rows is not None:
            values, errors = self._result(task)
            self._came.extend(Came(v, place, errors.get(n)) for n, (v, place) in enumerate(zip(values, task.places)))
            return self._came.popleft() if self._came else None
        try:
            return Came(self._result(task), task.places[0], None)
        except Exception as error:
            return Came(None, task.places[0], error)

    def _may_take(self, batches: BatchIterator) -> bool:
        return self._end is None and len(self._tasks) < self._most and self._has_space(batches)

    def _fill(self, batches: BatchIterator) -> None:
        """Has the batches worked on that are there. Without any work it waits for one."""
        while self._end is None and (not self._tasks or (self._may_take(batches) and batches.ready())):
            self._take(batches)

    def _take(self, batches: BatchIterator) -> None:
        place, rows = batches.place, self._iterator._rows
        before = place.epoch, place.position
        try:
            raw = self._raw(batches)
        except StopIteration:
            self._end = place.epoch, place.position
            return
        except Exception as error:
            if not self._tasks or isinstance(error, FeedTimeoutError):
                raise
            self._end = before  # the batches before it come first
            self._tasks.append(self._task("the end"))
            self._tasks[-1].error = error
            return
        finally:
            behind = place.epoch, place.position
            place.epoch, place.position = before
        task = self._task(f"step {raw.step} of epoch {raw.epoch}")
        if rows is None:
            task.places = [behind]
        else:
            task.places = [row.behind for row in rows.places(ArrayBatch(raw, batches.layout, place.start), behind)]
            if not task.places:
                return
        self._tasks.append(task)
        self._send(task, raw, -1 if rows is None else len(task.places))

    def _raw(self, batches: BatchIterator) -> RawBatch:
        if self._tasks:
            return batches.take()  # it is there
        with self._interruptible():
            return batches.take()

    def ready(self) -> bool:
        """Whether the next batch, or the end, is there."""
        if self._tasks:
            return self._done(self._tasks[0])
        return bool(self._came) or self._end is not None

    def close(self) -> None:
        """Ends the iteration. It never waits, and any thread may call it."""
        self._closed = True
        self._came.clear()
        self._give_up()
        self._iterator.close()
