"""Iterations: one epoch of batches, or what a state leaves of it."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from . import _overlong, _state
from ._audit import Delivery, log_lost
from ._batch import Batch
from ._calls import interrupted
from ._columns._layout import Layout
from ._columns._nulls import NullWatch
from ._engine._connection import Connection
from ._engine._raw_batch import RawBatch
from ._turn import Turn
from ._waited import Waited
from .errors import FeedTimeoutError, ShardfeedError, nearer

S = TypeVar("S")


class Place:
    """Where an iteration stands, after the batches that it has handed out. It outlives it.

    A batch counts when it is handed out: the last thing that an iterator does is to move the place,
    so neither an error nor an interrupt counts a batch that did not arrive. Python handles signals
    in calls: iterators move it without one.
    """

    __slots__ = ("after", "delivery", "start", "total")

    def __init__(self, start: Mapping[str, Any], delivery: Delivery | None = None) -> None:
        self.start = start  # the engine's state where the iteration began
        self.delivery = delivery  # for the audit of the epoch; None without one
        self.total = 0  # sum of the batches that were handed out
        self.after = int(start["epoch"]), int(start["position"])

    def move(self, after: tuple[int, int], total: int = 0) -> None:
        """Notes the epoch and position after a batch, and its sum. Of several threads the furthest
        counts.
        """
        self.total += total
        if after > self.after:
            self.after = after

    @property
    def epoch(self) -> int:
        return self.after[0]

    @property
    def position(self) -> int:
        return self.after[1]

    def state(self) -> dict[str, Any]:
        epoch, position = self.after
        return _state.pack({**self.start, "epoch": epoch, "position": position}, self.records(self.after, self.total))

    def records(self, after: tuple[int, int], total: int) -> list[dict[str, Any]]:
        """The audit's records for a state after batches of this iteration."""
        return [] if self.delivery is None else self.delivery.records(after, total)


class BatchIterator:
    """The batches of one iteration.

    close, and dropping it, end the iteration in the engine; batches that are held stay valid.
    Several threads may share it: each batch comes once.
    """

    _is_finalizing = staticmethod(sys.is_finalizing)

    def __init__(
        self,
        connection: Connection,
        place: Place,
        layout: Layout,
        nulls: NullWatch,
        done: Callable[[Connection], None],
        waited: Waited,
        *,
        explain: Callable[[bool], None] = lambda epoch: None,
        told: Callable[[], None] = lambda: None,
        rank: int = 0,
        bundle: int = 1,
    ) -> None:
        self.place = place
        self.rank = rank
        self.bundle = bundle  # steps in one batch
        self.ended: Callable[[Place], None] | None = None  # is called at the end of the epoch
        self.output_bytes = 0  # reserved in the engine for results of workers
        self.layout = layout
        self.waited = waited
        self._next = connection.next
        self._nulls = nulls
        self._done = done
        self._explain = explain
        self._told = told
        self._turn = Turn()
        self._ahead: deque[tuple[RawBatch, Any]] = deque()  # batches made before their turn
        self._sum = 0  # of the batches so far
        self._broken: Exception | None = None  # why it ended before its last batch
        nulls.begin()
        connection.held = _hearer(weakref.ref(self))
        self._connection: Connection | None = connection  # last: __del__ uses it
        _overlong.watch(self)

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Batch:
        try:
            raw, batch = self.batch()
            _, after, total = raw.moves
        except Exception:
            raise
        except BaseException as e:
            self.interrupted(e)
            raise
        place = self.place
        place.total += total
        if after > place.after:  # as move, without a call: an interrupt strikes before or after the hand-over
            place.after = after
        return batch

    def batch(self) -> tuple[RawBatch, Batch]:
        """The next batch. It does not move the place."""
        waited = self.waited
        watch = waited.start()
        try:
            return self.make(self._batch)
        finally:
            waited.stop(watch)

    def _batch(self, raw: RawBatch) -> Batch:
        return Batch(raw, self.layout, self.place.start)

    def take(self) -> RawBatch:
        """The next batch, without its columns. It does not move the place."""
        return self.make(_itself, ahead=False)[0]

    def make(self, made_of: Callable[[RawBatch], S], *, ahead: bool = True) -> tuple[RawBatch, S]:
        """The next batch, and what is made of it. It does not move the place.

        With ahead it also makes the batches that have come with this one: the code is in the
        processor's caches now, and each training step drives it out. They count as taken in their
        turn.
        """
        try:
            with self._turn.lock:
                return self._next_made(made_of, ahead)
        except ShardfeedError as e:
            raise nearer(e)  # noqa: B904 - the same error
        except Exception:
            raise
        except BaseException as e:  # the slot of a batch may be lost: the connection is not used again
            self.interrupted(e)
            raise

    def _next_made(self, made_of: Callable[[RawBatch], S], ahead: bool) -> tuple[RawBatch, S]:
        connection, waiting = self._connection, self._ahead
        if waiting and connection is not None and not connection.closed:
            if connection.loans.gone:
                connection.loans.settle(connection.patience)
            raw, made = waiting.popleft()
        else:
            raw, made = self._received(), None
        if made is None:
            made = made_of(raw)
            if ahead and self._connection is not None:
                self._make_ahead(self._connection, made_of)
        self._sum += raw.sum
        if self.waited.trace is not None:
            self.waited.trace.batch(raw)
        nulls = self._nulls
        if nulls.noted or nulls.counts is not None:
            nulls.see(raw.nodes)
        if self._connection is None:  # another thread has closed it meanwhile
            waiting.clear()
        return raw, made

    def interrupted(self, by: BaseException) -> None:
        """Ends an iteration in which a batch may be lost."""
        self.failed(interrupted(type(by)))

    def _received(self) -> RawBatch:
        """The next batch of the engine."""
        connection = self._connection
        if connection is None:
            raise StopIteration if self._broken is None else self._broken.with_traceback(None)
        try:
            raw = self._next()
        except FeedTimeoutError:
            self.report()
            raise  # the batch may still come, and the caller may ask again
        except Exception as e:
            if self._connection is None and isinstance(e, ShardfeedError):  # another thread closed it meanwhile
                connection.close()
                raise StopIteration from None
            self.failed(e)
            raise
        if raw is None:
            self._finish()
            raise StopIteration
        waited = self.waited
        if (raw.header[-2] > (at := waited.started) or at >= waited.due) and waited.received(raw):
            self.report()
        return raw

    def report_overlong(self) -> None:
        if self.waited.overlong():
            self.report()

    def report(self) -> None:
        """Sends the engine the wait so far, and logs the reason of a first slow minute."""
        if self._connection is None:
            return
        self.waited.tell(self._tell)
        self._told()
        if self.waited.slow_minute():
            self._explain(False)

    def _tell(self, wait: Mapping[str, Any]) -> None:
        if (connection := self._connection) is not None:
            connection.tell_waited(self.rank, wait)

    def _make_ahead(self, connection: Connection, made_of: Callable[[RawBatch], Any]) -> None:
        try:
            while (raw := connection.more()) is not None:
                try:
                    made = made_of(raw)
                except Exception:
                    made = None  # it raises again in its turn
                self._ahead.append((raw, made))
        except ShardfeedError as e:
            self.failed(e)
            raise

    def ready(self) -> bool:
        """Whether the next batch or the end is there."""
        return self._connection is None or bool(self._ahead) or self._connection.ready()

    @property
    def connection(self) -> Connection | None:
        """What the batches come by; None after the end."""
        return self._connection

    def _finish(self) -> None:
        """Ends the epoch: the state is the beginning of the next one."""
        self.waited.ends()
        self._explain(True)
        self.waited.tell(self._tell)
        connection, self._connection = self._connection, None
        if connection is None:
            return
        end = connection.end or {}
        if state := end.get("state"):
            self.place.move((int(state["epoch"]), int(state["position"])))
        self._done(connection)
        self._nulls.end()
        log_lost(self.rank, int(self.place.start["epoch"]), self._sum)
        if self.ended is not None:
            self.ended(self.place)

    def failed(self, error: Exception) -> None:
        """Ends the iteration. Further batches raise the error: no loop takes this for the end."""
        connection, self._connection = self._connection, None
        self._ahead.clear()
        self.waited.ends()
        if connection is not None:
            self._broken = error
            connection.close()
            self._nulls.end()

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        connection, self._connection = self._connection, None
        if connection is None or self._is_finalizing():  # at the interpreter's end modules may be gone; the kernel closes it
            return
        self.waited.ends()
        with contextlib.suppress(Warning):  # where warnings are errors, the iteration ends nevertheless
            self._nulls.end()
        if not connection.usable:
            return
        turn = self._turn.lock
        if not turn.acquire(blocking=False):  # a waiting thread closes it
            connection.wake()
            return
        try:
            self._ahead.clear()
            connection.leave()
        finally:
            turn.release()
        self._done(connection)

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()


def _hearer(of: weakref.ref[BatchIterator]) -> Callable[[Sequence[Sequence[int]]], None]:
    """A function that charges a wait in progress as the engine explains it."""

    def hear(marks: Sequence[Sequence[int]]) -> None:
        if (batches := of()) is not None:
            batches.waited.held(marks)
            batches.report()

    return hear


def _itself(raw: RawBatch) -> RawBatch:
    return raw
