"""The frames between this process and an engine, and the shared memory of their batches."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..errors import EngineGone, FeedTimeoutError, ForkError, ProtocolError
from . import _protocol as protocol
from . import _runtime
from ._inbox import Inbox
from ._loans import Loans
from ._outbox import Outbox
from ._process import Engine
from ._raw_batch import Parser, RawBatch
from ._ring import Ring, Rings, private

log = logging.getLogger("shardfeed")

_GREETINGS = 5  # tries: an engine may end just when a trainer connects, and the next one is started
_ENDING = "gone"  # the kind of failure of an engine that got the order to end
_LATE = "late"  # and of one that got no HELLO in time, since this process stood still after it connected


class Channel:
    """A socket to an engine that has greeted this process, with the ring that the engine sent through it.

    Every wait ends after timeout seconds without a sign of the engine. In a forked child it is closed.
    """

    def __init__(self, engine: Engine, timeout: float | None) -> None:
        """Finds or starts the engine."""
        self.timeout = timeout
        self.path = str(engine.socket)
        self.read_only = False  # arrays of batches, whose memory other processes read too
        self.patience = 1  # free slots before an engine that waits hears of them, while batches are ready
        self.closed = False
        self._rings = Rings()
        self._pid = os.getpid()
        self._parser = Parser()
        self._copied = False
        self._seq = 0  # of the last batch that has come
        self.welcome = self._greet(engine)
        _gone_engines.discard(self.welcome["id"])
        _open_channels.add(self)

    @property
    def ring(self) -> Ring | None:
        """The newest generation of the ring. It may not be there yet after join; raw.ring is a batch's own."""
        return self._rings.newest

    @property
    def usable(self) -> bool:
        """Reports whether this process can use it: it is open, was not made before a fork, and the engine has not gone."""
        return not self.closed and self._pid == os.getpid() and self.welcome["id"] not in _gone_engines and not self._inbox.ended()

    def fileno(self) -> int:
        """The descriptor that can be read when the engine has sent something."""
        return self._socket.fileno()

    def wake(self) -> None:
        """Ends the connection for a thread that waits on it, which closes it. Any thread may call this."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends what the engine does for this connection. Batches that are held stay as they are."""
        if self.closed:
            return
        self.closed = True
        self._rings = Rings()
        self.loans.close()
        _open_channels.discard(self)
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
                raise unexpected(kind, "WELCOME")
            return self._decode(kind)
        words = f"its socket is {engine.socket}" if engine.given else f"its log is {engine.log}:\n{_runtime.last_lines(engine.log)}"
        raise EngineGone(f"the engine ended {_GREETINGS} times while it was greeted; {words}")

    def _attach(self, sock: socket.socket) -> None:
        self._outbox = Outbox(sock)
        self.loans = Loans(self._outbox)  # the slots that are in use
        self._inbox = Inbox(sock, self._outbox, weakref.WeakMethod(self._before_wait))
        self._socket = sock  # last: __del__ closes what has one

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
        """Called with what holds up a batch that is waited for."""

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


_open_channels: weakref.WeakSet[Channel] = weakref.WeakSet()
# Engines that have ended a connection and greeted no process since. When one dies the kernel closes its sockets in turn: what
# is connected by another one need not fail too before the engine is replaced.
_gone_engines: set[str] = set()
_noted: set[str] = set()


def unexpected(kind: int, wanted: str) -> ProtocolError:
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
    for channel in list(_open_channels):
        channel.close()


os.register_at_fork(after_in_child=_close_in_child)
