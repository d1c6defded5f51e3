"""Batches that are worked on ahead of their use, and handed out in their order."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from ..._batch import Batch as ArrayBatch
from ..._engine._raw_batch import RawBatch
from ..._engine._ring import Ring
from ..._iterator import BatchIterator
from ..._transform import Collate
from ..._waited import MAP, OPEN, Waited
from ...errors import FeedTimeoutError
from .._device import holds
from .._epoch import Stamp
from .._feed import Feed

Place = tuple[int, int]  # an epoch, and a position in it

_REPORTED = 1.0  # seconds of a wait after which the engine hears of it


class Task:
    """A batch that is worked on."""

    __slots__ = ("done", "epoch", "error", "places", "step", "sums")

    def __init__(self, epoch: int = -1, step: int = -1) -> None:
        self.epoch = epoch
        self.step = step
        self.places: Sequence[Place] = ()  # after the batch, or after each of its rows
        self.sums: Sequence[int] = ()  # what these add to the audit
        self.done = False
        self.error: BaseException | None = None

    @property
    def what(self) -> str:
        """The batch, for messages."""
        return f"step {self.step} of epoch {self.epoch}"


class Came(NamedTuple):
    """A row, or its error, the place after it, and what it adds to the audit."""

    value: Any
    place: Place
    sum: int
    error: BaseException | None


# What came of single rows: their values, and the errors of some, by number.
Rows = tuple[list[Any], dict[int, BaseException]]

S = TypeVar("S", bound=Task)
R = TypeVar("R")


class Ahead(Generic[S]):
    """The batches of one iteration, each with its stamp: a loader's source. Subclasses have the
    batches worked on.

    The place of the iteration is that after the last batch that was handed out, whatever has been
    begun.
    """

    def __init__(self, loader: Feed, most: int) -> None:
        self.rings: tuple[Ring, ...] = ()  # of the last batch
        self._loader = loader
        self.waited: Waited = loader.dataset._waited
        self._timeout: float | None = loader.dataset._timeout
        self._iterator = iter(loader.dataset)
        if loader.collate_fn is not None:
            self._iterator.then(Collate(loader.collate_fn))
        self._most = most  # tasks at once
        self._tasks: deque[S] = deque()
        self._came: deque[Came] = deque()  # rows of the last task
        self._lacking = 0  # what bundles without rows add to the audit, with the next row
        self._end: Place | None = None  # after the iteration; the engine has no more batches
        self._failed = False  # the last task has an error of the engine in place of a batch
        self._torn = False  # an interrupt may have lost a batch
        self._inside = False  # a thread takes a batch
        self._closed = False

    # What subclasses do

    def _begin(self, batches: BatchIterator) -> None:
        """Called before the first batch."""

    _task: type[S]

    def _send(self, task: S, raw: RawBatch, rows: int) -> None:
        """Has a batch worked on. rows is -1 for a batch, else the steps of which single rows are wanted."""
        raise NotImplementedError

    def _has_space(self, batches: BatchIterator) -> bool:
        """Whether a further batch can be worked on."""
        return True

    def _await_space(self) -> None:
        """Waits until a first batch can be worked on. It raises FeedTimeoutError."""

    def _done(self, task: S) -> bool:
        """Whether there is a result. It does not wait."""
        return task.done

    def _wait(self, task: S, batches: BatchIterator | None, timeout: float) -> bool | None:
        """Waits until the task may be done, or batches may have one. It returns whether to look for
        batches; None after the timeout.
        """
        raise NotImplementedError

    def _cause(self, task: S) -> int:
        """What a wait for the task is for."""
        return MAP

    def _late(self, task: S) -> FeedTimeoutError:
        raise NotImplementedError

    def _result(self, task: S) -> Any:
        """What came of a batch, or the Rows. It raises the task's error."""
        raise NotImplementedError

    def _give_up(self) -> None:
        """Ends all work. It may be called again, by any thread."""
        raise NotImplementedError

    def _stopped(self, error: BaseException) -> None:
        """Called when no batch came."""

    # A loader's source

    @property
    def holds(self) -> int:
        return holds(self.rings)

    def __next__(self) -> tuple[Any, Stamp]:
        self._torn = self._inside = True
        try:
            value, place, total = self._next()
            at = self._iterator.place
            assert at is not None
            at.move(place, total)
            self._torn = False
            return value, (at.start, *place, at.total)
        except BaseException as error:
            if isinstance(error, Exception):
                self._torn = False
            self._inside = False
            self._stopped(error)
            if self._closed:
                self._tasks.clear()
            raise
        finally:
            self._inside = False

    def _interruptible(self, wait: Callable[..., R], *given: Any) -> R:
        """Calls what waits. An interrupt in it loses nothing."""
        self._torn = False
        came = wait(*given)
        self._torn = True
        return came

    def _next(self) -> tuple[Any, Place, int]:
        if self._came:
            return self._next_row()
        watch = None if self._iterator._rows is None else self.waited.start()
        try:
            return self._next_done()
        finally:
            if watch is not None:
                self.waited.stop(watch)

    def _next_done(self) -> tuple[Any, Place, int]:
        batches, tasks = self._iterator._batches, self._tasks
        if batches is None:
            batches = self._batches()
        look, space = True, False
        while batches is not None and not self._closed:
            if look:
                space = self._fill(batches)
            if not tasks:
                break
            if not tasks[0].done:
                look = self._await(tasks[0], batches, space) and not tasks[0].done
            elif self._iterator._rows is None:
                return self._handed_out(tasks.popleft())
            elif self._rows_came(tasks.popleft()):
                return self._next_row()
            else:
                look = True
        if (at := self._iterator.place) is not None and self._end is not None and not self._closed:
            at.move(self._end)
            self._loader.dataset._audited(at)
        raise StopIteration

    def _await(self, task: S, batches: BatchIterator, space: bool) -> bool:
        """Waits as _wait, and reports a long wait."""
        begin = monotonic()
        while True:
            cause = self._cause(task)
            self.waited.turns_to(cause)
            left = math.inf if self._timeout is None else self._timeout - (monotonic() - begin)
            look = self._wait(task, batches if space else None, min(_REPORTED, max(0, left)))
            if look is not None:
                self.waited.spent(cause)
                return look
            if left <= _REPORTED:
                raise self._late(task)
            batches.report()
            self.waited.spent(cause)

    def _batches(self) -> BatchIterator | None:
        """The engine's batches; None when nothing is left of the epoch."""
        iterator = self._iterator
        if iterator._batches is None and not self._closed:
            iterator.begin()
            self.waited.spent(OPEN)
            if iterator._batches is not None:
                iterator._batches.ended = None  # the batches are handed out later
                self._begin(iterator._batches)
                self.waited.spent(OPEN)
        return iterator._batches

    def _handed_out(self, task: S) -> tuple[Any, Place, int]:
        self._check(task)
        return self._result(task), task.places[0], task.sums[0]

    def _check(self, task: S) -> None:
        """Raises the error of the engine that came in place of a batch."""
        if not task.places:
            assert task.error is not None
            self._failed = False
            raise task.error

    def _rows_came(self, task: S) -> bool:
        """Takes the rows of a batch, and returns whether there are any."""
        self._check(task)
        values, errors = self._result(task)
        self._came.extend(Came(v, place, total, errors.get(n)) for n, (v, place, total) in enumerate(zip(values, task.places, task.sums)))
        return bool(self._came)

    def _next_row(self) -> tuple[Any, Place, int]:
        row = self._came.popleft()
        if row.error is not None:
            raise row.error
        return row.value, row.place, row.sum

    def _fill(self, batches: BatchIterator) -> bool:
        """Has the batches worked on that are there, and returns whether there is space for others.
        Without any work it waits for one.
        """
        tasks = self._tasks
        while self._end is None and not self._failed:
            if tasks:
                if len(tasks) >= self._most or not self._has_space(batches):
                    return False
                if not batches.ready():
                    return True
            else:
                self._await_space()
                self.waited.spent(MAP)
            self._take(batches)
        return False

    def _take(self, batches: BatchIterator) -> None:
        place, rows = batches.place, self._iterator._rows
        before = place.after
        try:
            raw = batches.take() if self._tasks else self._interruptible(batches.take)  # it is there while there are tasks
        except StopIteration:
            self._end, place.after = place.after, before  # the batches before it come first
            return
        except Exception as error:
            if not self._tasks or isinstance(error, FeedTimeoutError):
                raise
            self._failed = True  # the batches before it come first
            end = self._task()
            end.error, end.done = error, True
            self._tasks.append(end)
            return
        task = self._task(raw.epoch, raw.step)
        if rows is None:
            task.places, task.sums = (raw.after,), (raw.sum,)
        else:
            each = rows.places(ArrayBatch(raw, batches.layout, place.start), raw)
            if not each:  # all are lost
                self._lacking += raw.sum
                return
            sums = [row.sum for row in each]
            sums[0], self._lacking = sums[0] + self._lacking, 0
            task.places, task.sums = [row.after for row in each], sums
        self._tasks.append(task)
        self._send(task, raw, -1 if rows is None else rows.steps(raw))

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
        if not self._inside:
            self._tasks.clear()  # a thread that is inside does it
        self._iterator.close()
