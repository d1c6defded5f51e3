"""A connection to the engine: one data set, and one iteration of it at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _redact, errors
from ..errors import FeedTimeoutError, ProtocolError
from . import _progress
from . import _protocol as protocol
from ._channel import Channel, unexpected
from ._process import Engine
from ._raw_batch import RawBatch

_WAITING = "waiting for a batch"


class Connection(Channel):
    """The trainer's side of a connection. One thread at a time may use it; batches may be dropped in any thread, at any time.

    Every wait ends after timeout seconds without a sign of the engine. In a forked child it is closed: make a new one there.
    """

    def __init__(
        self,
        engine: Engine,
        open: dict[str, Any] | None,
        *,
        timeout: float | None = 600.0,
        before: Mapping[str, Any] | None = None,
        told: Callable[[], object] | None = None,
    ) -> None:
        """Finds or starts the engine, and opens the data set that open describes (Open of the protocol). With None it opens nothing.

        before is an earlier answer for the same data set object: shards that changed since are refused. told is called when the engine
        reports its progress.
        """
        self.end: dict[str, Any] | None = None
        self.held: Callable[[Sequence[Sequence[int]]], object] | None = None  # is called with what holds up the batch, during a long wait
        self.opening: Callable[[str], object] | None = None  # is called with what the engine does before an iteration starts
        self.map_epoch = 0  # of random crops in rows by number
        self._iterating = False
        self._leaving = False
        self._told = told
        self._asked = 0  # TAKEs that are not answered
        super().__init__(engine, timeout)
        self.opened: dict[str, Any] = {}
        if open is None:
            return
        try:
            self.opened = self._request(protocol.OPEN, open, protocol.OPENED, f"opening {_shown(open)}")
            _check_unchanged(open, before or {}, self.opened)
        except BaseException:
            self.close()
            raise

    def join(self, **join: Any) -> dict[str, Any]:
        """Starts an iteration, or takes part in it, and returns Joined."""
        self._finish("beginning an iteration")
        self.end = None
        joined = self._request(protocol.JOIN, join, protocol.JOINED, "beginning an iteration")
        self._iterating = True
        return joined

    def next(self, timeout: float | None = None) -> RawBatch | None:
        """Returns the iteration's next batch; None at its end, which ``end`` describes."""
        if not self._iterating or self._leaving:
            self._check_ended()
            return None
        if self.loans.gone:
            self.loans.settle(self.patience)
        try:
            announced = self._awaited(timeout)
            return self._batch(announced) if announced is not None else self._next(timeout)
        except ProtocolError:
            self.close()
            raise

    def _awaited(self, timeout: float | None) -> tuple[int, ...] | None:
        """The numbers of the next frame if it is a BATCH; _next deals with all else."""
        try:
            return self._inbox.batch(self.timeout if timeout is None else timeout, _WAITING)
        except EOFError:
            raise self._gone(_WAITING) from None
        except FeedTimeoutError as e:
            raise self._late(e) from None

    def _next(self, timeout: float | None) -> RawBatch | None:
        """Does what next does when another frame comes before the BATCH, or the end."""
        kind = self._receive(timeout, _WAITING)
        if kind == protocol.BATCH:
            return self._batch(self._announced())
        if kind not in (protocol.END, protocol.ERROR):
            raise unexpected(kind, "a batch")
        answer = self._decode(kind)
        self._iterating = False
        if kind == protocol.ERROR:
            raise self._failed(answer, _WAITING)
        self.end = answer
        return None

    def more(self) -> RawBatch | None:
        """Returns the batch after the last one of next, if it was read with it. While many are held
        it returns None: further ones do not become copies for this.
        """
        ring = self._rings.newest
        if ring is None or len(self.loans.held) >= ring.ahead:
            return None
        announced = self._inbox.read_batch()
        return None if announced is None else self._batch(announced)

    def map(self, *, locate: Sequence[int] = (), epoch: int | None = None, **more: Any) -> dict[str, Any]:
        """Opens rows by number, and returns Mapped. Not while rows are asked for.

        epoch selects the random draws of later rows; None keeps the current one. more has other
        members of Map.
        """
        self._finish("opening rows by number")
        request = {"locate": list(locate), "epoch": epoch, **more}
        mapped = self._request(protocol.MAP, request, protocol.MAPPED, "opening rows by number")
        if epoch is not None:
            self.map_epoch = epoch
        return mapped

    def rows(self, rows: np.ndarray) -> RawBatch:
        """Returns rows by number. No others may be asked for yet."""
        try:
            self.take(rows)
            return self.taken()
        except Exception:
            raise
        except BaseException:  # between the two: the next request would get these rows
            self.close()
            raise

    def take(self, rows: np.ndarray) -> None:
        """Asks for rows by number. taken returns them, in the order of the requests."""
        self._check()
        try:
            self.loans.settle()
            self._outbox.post(protocol.take(rows))
            self._asked += 1
        except BaseException:  # an interrupt: whether they were asked for is not known
            self.close()
            raise

    def taken(self) -> RawBatch:
        """Returns the next rows that were asked for. An error of the engine is that of these rows alone; after any other one the connection
        is closed.
        """
        try:
            kind = self._receive(None, "waiting for rows")
            if kind == protocol.BATCH:
                batch = self._batch(self._announced())
                self._asked -= 1
                return batch
            if kind != protocol.ERROR:
                raise unexpected(kind, "a batch")
            failure = self._decode(kind)
        except BaseException:  # such as an interrupt: the answer may still come, and would be taken for that of the next request
            self.close()
            raise
        self._asked -= 1
        raise self._failed(failure, "waiting for rows")

    @property
    def asked(self) -> int:
        """How many requests of take are not answered."""
        return self._asked

    def ready(self) -> bool:
        """Reports whether a frame of the engine is there already: a batch in most cases. If not, unused slots go back."""
        if self.closed:
            return False
        if ready := self._inbox.ready():
            return ready
        self.loans.settle()
        return False

    def settle(self, *, now: bool = True) -> int:
        """Gives unused slots back, and returns how many more batches may come before one is copied
        out of the ring. Without now, an engine that waits hears of it only when they are many.
        """
        self.loans.settle(1 if now else self.patience)
        ring = self._rings.newest
        return 1 if ring is None else ring.most - 1 - len(self.loans)

    def leave(self) -> None:
        """Ends the iteration. It never waits: the next request drops batches that still come."""
        if not self._iterating or self._leaving or self.closed:
            return
        try:
            self._leaving = True
            self.loans.settle()
            self._outbox.post(protocol.encode(protocol.LEAVE, {}))
        except BaseException:  # an interrupt: the next request would wait for the answer of a LEAVE that was not sent
            self.close()
            raise

    def set_epoch(self, *, rank: int, epoch: int, serial: str) -> dict[str, Any]:
        """Tells the epoch of the session's next iteration; returns Session. Not during an iteration of this connection."""
        self._finish("setting the epoch")
        request = {"rank": rank, "epoch": epoch, "serial": serial}
        return self._request(protocol.EPOCH, request, protocol.SESSION, "setting the epoch")

    def ask(self, *, rank: int, world_size: int, **what: Any) -> dict[str, Any]:
        """Returns Session: where the session of a rank stands. what are other members of Ask. Not during an iteration."""
        self._finish("asking for the session")
        request = {"rank": rank, "world_size": world_size, **what}
        return self._request(protocol.ASK, request, protocol.SESSION, "asking for the session")

    def tell_waited(self, rank: int, wait: Mapping[str, Any]) -> None:
        """Sends the engine how long the training loop waited since the last such message."""
        if not self.closed:
            self._outbox.post(protocol.encode(protocol.WAITED, {"rank": rank, **wait}))

    def divide(self, image_cpu_share: float) -> None:
        """Sets the share of the JPEGs that the engine decodes, in batches that it has not begun.

        It is for an iteration, or rows by number, that began with a share.
        """
        if not self.closed:
            self._outbox.post(protocol.encode(protocol.SHARE, {"image_cpu_share": image_cpu_share}))

    def meet(self, *, name: str, **what: Any) -> dict[str, Any]:
        """Returns Met: the progress of a meeting of ranks. what are other members of Meet."""
        self._finish("meeting other ranks")
        return self._request(protocol.MEET, {"name": name, **what}, protocol.MET, "meeting other ranks")

    def choose(self, *, bits: str, save: str) -> dict[str, Any]:
        """Has the engine write a list of rows, and returns Selected. Not during an iteration."""
        self._finish("writing the list of rows")
        return self._request(protocol.SELECT, {"bits": bits, "save": save}, protocol.SELECTED, "writing the list of rows")

    def close(self) -> None:
        """Ends what the engine does for this connection. Batches that are held stay as they are."""
        self._iterating = False
        super().close()

    def _finish(self, doing: str) -> None:
        """Makes the connection ready for a request: the iteration that was left has to end first."""
        if self._leaving:
            try:
                self._drop_rest(doing)
            except BaseException:  # such as an interrupt: the slot of a batch, or the end, may have been lost
                self.close()
                raise
        if self._iterating:
            raise ProtocolError(f"{doing}: this connection is in an iteration")
        if self._asked:
            raise ProtocolError(f"{doing}: this connection waits for rows")

    def _drop_rest(self, doing: str) -> None:
        """Drops batches until the engine has ended the iteration that was left."""
        while True:
            kind = self._receive(None, doing)
            if kind == protocol.BATCH:
                self._drop()
            elif kind == protocol.END and self._decode(kind).get("left"):
                break
        self._leaving = self._iterating = False

    def _request(self, kind: int, value: dict[str, Any], answer: int, doing: str) -> dict[str, Any]:
        self._check()
        request = protocol.encode(kind, value)
        try:
            self.loans.settle()
            self._outbox.post(request)
            with _progress.Line() as progress:
                while (got := self._receive(None, doing)) == protocol.PROGRESS:
                    doing_now = self._decode(got)
                    progress.show(doing_now)
                    if self.opening is not None:
                        self.opening(str(doing_now.get("doing")))
                    if self._told is not None:
                        self._told()
            if got not in (answer, protocol.ERROR):
                raise unexpected(got, protocol.name(answer))
            answered = self._decode(got)
        except BaseException:  # such as an interrupt: the answer may still come, and would be taken for that of the next request
            self.close()
            raise
        if got == protocol.ERROR:
            raise self._failed(answered, doing)
        return answered

    def _hear(self, marks: Sequence[Sequence[int]]) -> None:
        """Passes on what holds up a batch that is waited for."""
        if self.held is not None and self._iterating and marks:
            self.held(marks)

    def _check_ended(self) -> None:
        """Raises an error if there is no iteration, running or at its end."""
        self._check()
        if self.end is None and not self._leaving:
            raise ProtocolError("this connection has no iteration: it was not begun, or it failed")


def _shown(open: Mapping[str, Any]) -> str:
    """The addresses of an Open."""
    addresses = open["spec"].get("addresses") or ["the data set"]
    return ", ".join(map(_redact.address, addresses[:3])) + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")


def _check_unchanged(open: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises DataError when a data set would continue with other shards than it began with."""
    if any(name in before and before[name] != now.get(name) for name in ("manifest", "versions")):
        raise errors.DataError(
            f"{_shown(open)}: changed since it was listed for this data set: make a new data set, or loader, to read what is there now "
            f"({now.get('shards')} shards of {now.get('rows')} rows; before, {before.get('shards')} of {before.get('rows')})"
        )
