"""A connection to the engine: one data set, and one iteration of it at a time."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _redact, errors
from ..errors import EngineGone, FeedTimeoutError, ForkError, ProtocolError
from . import _progress, _runtime
from . import _protocol as protocol
from ._inbox import Inbox
from ._loans import Loans
from ._outbox import Outbox
from ._process import Engine
from ._raw_batch import Parser, RawBatch
from ._ring import Ring, Rings, private

log = logging.getLogger("shardfeed")

_GREETINGS = 5  # tries: an engine may end just when a trainer connects, and the next one is started
_WAITING = "waiting for a batch"
_ENDING = "gone"  # the kind of failure of an engine that got the order to end
_LATE = "late"  # and of one that got no HELLO in time, since this process stood still after it connected


class Connection:
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
        self.timeout = timeout
        self.path = str(engine.socket)
        self.read_only = False  # arrays of batches, whose memory other processes read too
        self.end: dict[str, Any] | None = None
        self.held: Callable[[Sequence[Sequence[int]]], object] | None = None  # is called with what holds up the batch, during a long wait
        self.opening: Callable[[str], object] | None = None  # is called with what the engine does before an iteration starts
        self._rings = Rings()
        self._pid = os.getpid()
        self._parser = Parser()
        self._iterating = False
        self._leaving = False
        self._told = told
        self._asked = 0  # TAKEs that are not answered
        self.map_epoch = 0  # of random crops in rows by number
        self._copied = False
        self._seq = 0  # of the last batch that has come
        self.patience = 1  # free slots before an engine that waits hears of them, while batches are ready
        self.closed = False
        self.welcome = self._greet(engine)
        _gone_engines.discard(self.welcome["id"])
        _open_connections.add(self)
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
            raise _unexpected(kind, "a batch")
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

        epoch selects the random draws of later rows; None keeps the current one. more has other members of Map.
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
        """Asks for rows by number. taken returns them, in the order in which they were asked for."""
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
                raise _unexpected(kind, "a batch")
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

    def fileno(self) -> int:
        """The descriptor that can be read when the engine has sent something."""
        return self._socket.fileno()

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
        """Has the engine write a list of rows, and returns Selected. Not during an iteration of this connection."""
        self._finish("writing the list of rows")
        return self._request(protocol.SELECT, {"bits": bits, "save": save}, protocol.SELECTED, "writing the list of rows")

    @property
    def ring(self) -> Ring | None:
        """The newest generation of the ring. It may not be there yet after join; raw.ring is a batch's own."""
        return self._rings.newest

    @property
    def usable(self) -> bool:
        """Reports whether this process can use it: it is open, was not made before a fork, and the engine has not gone."""
        return not self.closed and self._pid == os.getpid() and self.welcome["id"] not in _gone_engines and not self._inbox.ended()

    def wake(self) -> None:
        """Ends the connection for a thread that waits on it, which closes it. Any thread may call this."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends what the engine does for this connection. Batches that are held stay as they are."""
        if self.closed:
            return
        self.closed = True
        self._iterating = False
        self._rings = Rings()
        self.loans.close()
        _open_connections.discard(self)
        if self._pid != os.getpid():
            self._outbox.abandon()
            self._socket.close()  # not shut down: the parent uses it
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # a close would leave it open in children that have the socket too
        self._outbox.close()
        self._inbox.close()
        self._socket.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "_socket") and not is_finalizing():  # at the interpreter's end the kernel closes it
            self.close()

    def _greet(self, engine: Engine) -> dict[str, Any]:
        hello = {"version": protocol.VERSION, "build": engine.build, "job": engine.job, "pid": self._pid}
        hello["local_world_size"] = engine.local_world_size
        for _ in range(_GREETINGS):
            self._attach(engine.connect(self.timeout))
            self._outbox.post(protocol.encode(protocol.HELLO, hello))
            try:
                kind = self._inbox.next(self.timeout, "greeting the engine")
            except EOFError:
                self._socket.close()
                continue
            if kind == protocol.ERROR:
                failure = self._decode(kind)
                if failure.get("kind") in (_ENDING, _LATE):
                    self._socket.close()
                    continue
                raise errors.from_failure(failure)
            if kind != protocol.WELCOME:
                raise _unexpected(kind, "WELCOME")
            return self._decode(kind)
        words = f"its socket is {engine.socket}" if engine.given else f"its log is {engine.log}:\n{_runtime.last_lines(engine.log)}"
        raise EngineGone(f"the engine ended {_GREETINGS} times while it was greeted; {words}")

    def _attach(self, sock: socket.socket) -> None:
        self._outbox = Outbox(sock)
        self.loans = Loans(self._outbox)  # the slots that are in use
        self._inbox = Inbox(sock, self._outbox, weakref.WeakMethod(self._before_wait))
        self._socket = sock  # last: __del__ closes what has one

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
                raise _unexpected(got, protocol.name(answer))
            answered = self._decode(got)
        except BaseException:  # such as an interrupt: the answer may still come, and would be taken for that of the next request
            self.close()
            raise
        if got == protocol.ERROR:
            raise self._failed(answered, doing)
        return answered

    def _receive(self, timeout: float | None, doing: str) -> int:
        """Returns the kind of the next frame that its caller has to deal with. Others do not prolong the timeout."""
        given = self.timeout if timeout is None else timeout
        end = None if given is None else time.monotonic() + given
        while True:
            if self.closed:
                raise self._gone(doing)
            try:
                kind = self._inbox.next(given, doing, end)
            except EOFError:
                raise self._gone(doing) from None
            except FeedTimeoutError as e:
                raise self._late(e) from None
            if kind == protocol.RING:
                self._map()
            elif kind == protocol.NOTE:
                _note(self._decode(kind))
            elif kind == protocol.HELD:
                self._hear(self._decode(kind)["marks"])
            else:
                return kind

    def _hear(self, marks: Sequence[Sequence[int]]) -> None:
        """Passes on what holds up a batch that is waited for."""
        if self.held is not None and self._iterating and marks:
            self.held(marks)

    def _before_wait(self) -> None:
        """Gives unused slots back, and lets the engine see that nothing more is given back while it makes no batch."""
        settled = self.loans.settle()
        ring = self._rings.newest
        if ring is not None and ring.waiting[0] != self._seq:
            ring.waiting[0] = self._seq
            if not settled and ring.wanted[0]:
                self._outbox.post(protocol.RELEASED)  # the engine may open further slots
        for held in tuple(self.loans.held.values()):
            held.place[0].waiting[0] = self._seq

    def _announced(self) -> tuple[int, ...]:
        """The numbers of the BATCH that was just received."""
        inbox = self._inbox
        if inbox.size != protocol.BATCH_PAYLOAD.size:
            raise ProtocolError(f"the engine's BATCH has {inbox.size} bytes")
        return protocol.BATCH_FRAME.unpack_from(inbox.buffer, inbox.at - protocol.HEADER.size)

    def _batch(self, announced: tuple[int, ...]) -> RawBatch:
        """Returns a batch that the engine announced."""
        _, generation, index, seq, offset, used = announced
        rings, loans = self._rings, self.loans
        ring = rings.newest
        if ring is None or rings.older or generation != ring.generation:
            ring = rings.find(generation)
        memory = loans.lend(ring, index, seq)
        self._seq = seq
        if self.read_only:
            memory.flags.writeable = False
        if len(loans.held) >= ring.most and self._is_crowded(ring):
            copy = private(memory, used)
            loans.give_back(memory)
            return self._parser.batch(copy, memoryview(copy), None, offset, used)
        return self._parser.batch(memory, ring.views[index], ring, offset, used, loans)

    def _is_crowded(self, ring: Ring) -> bool:
        """Whether nearly all slots are held."""
        if (arrow := sys.modules.get("shardfeed._columns._arrow_c")) is not None:
            arrow.sweep()
        self.loans.settle()
        if len(self.loans) < ring.most:
            return False
        if not self._copied:
            self._copied = True
            log.debug("nearly all batches of the ring are held at once: further ones are copied out of it")
        return True

    def _drop(self) -> None:
        """Returns the batch that was just received to the engine."""
        _, generation, index, seq, _, _ = self._announced()
        ring = self._rings.find(generation)
        ring.released[index] = seq
        if ring.wanted[0]:
            self._outbox.post(protocol.RELEASED)

    def _map(self) -> None:
        """Maps the ring that was just received. The one before lives as long as its batches."""
        inbox = self._inbox
        if inbox.size != protocol.RING_PAYLOAD.size:
            raise ProtocolError(f"the engine's RING has {inbox.size} bytes")
        generation, slots, size, words = protocol.RING_PAYLOAD.unpack_from(inbox.buffer, inbox.at)
        descriptor = inbox.descriptor()
        try:
            self._rings.add(Ring(descriptor, generation, slots, size, words))
            self.patience = slots // 2  # each message wakes the engine, beside a training that has better to do
        finally:
            os.close(descriptor)

    def _check_ended(self) -> None:
        """Raises an error if there is no iteration, running or at its end."""
        self._check()
        if self.end is None and not self._leaving:
            raise ProtocolError("this connection has no iteration: it was not begun, or it failed")

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise ForkError("this was connected to the engine before the process was forked: begin a new iteration in the child")
        if self.closed:
            raise ProtocolError("the connection to the engine was closed")

    def _failed(self, failure: dict[str, Any], doing: str) -> errors.ShardfeedError:
        """Returns the error for an ERROR of the engine. An engine that got the order to end counts as one that has ended."""
        return self._gone(doing) if failure.get("kind") == _ENDING else errors.from_failure(failure)

    def _gone(self, doing: str) -> errors.ShardfeedError:
        """Returns the error for a connection that the engine has ended, and closes it."""
        if self._pid != os.getpid() or self.closed:
            try:
                self._check()
            except errors.ShardfeedError as e:
                return e
        self.close()
        _gone_engines.add(self.welcome["id"])
        gone = EngineGone(f"{doing}: the engine (process {self.welcome['pid']}) has ended; {self._log()}")
        gone.log = self.welcome["log"]
        return gone

    def _late(self, error: FeedTimeoutError) -> FeedTimeoutError:
        """Returns the error for an answer that did not come in time, with the log."""
        return FeedTimeoutError(f"{error}; {self._log()}")

    def _log(self) -> str:
        path = self.welcome["log"]
        if not path:  # it was started by hand, without --log
            return "its log went to the stderr of shardfeed serve"
        return f"its log is {path}, and ends with\n{_runtime.last_lines(path)}"

    def _decode(self, kind: int) -> dict[str, Any]:
        return protocol.decode(kind, self._inbox.payload())


_open_connections: weakref.WeakSet[Connection] = weakref.WeakSet()
# Engines that have ended a connection and greeted no process since. When one dies the kernel closes its sockets in turn: what
# is connected by another one need not fail too before the engine is replaced.
_gone_engines: set[str] = set()
_noted: set[str] = set()


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


def _unexpected(kind: int, wanted: str) -> ProtocolError:
    return ProtocolError(f"the engine sent {protocol.name(kind)} where {wanted} was due")


def _note(note: dict[str, Any]) -> None:
    """Logs a line of the engine's for the user."""
    once = note.get("once")
    if once:
        if once in _noted:
            return
        _noted.add(once)
    log.log({"debug": logging.DEBUG, "warning": logging.WARNING}.get(note.get("level", ""), logging.INFO), "%s", note.get("text", ""))


def _close_in_child() -> None:
    """A child has copies of the parent's sockets. While these are open, the engine does not see the parent end."""
    for connection in list(_open_connections):
        connection.close()


os.register_at_fork(after_in_child=_close_in_child)
