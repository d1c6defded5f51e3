"""Frames from the engine."""

from __future__ import annotations

import array
import os
import select
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable

from ..errors import FeedTimeoutError, ProtocolError
from . import _protocol as protocol
from ._outbox import Outbox

_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_ANCILLARY = socket.CMSG_SPACE(4 * 8)
_BUFFER_BYTES = 64 << 10
_LONGEST_POLL = 3600.0  # seconds; poll takes at most some weeks
_BATCH_BYTES = protocol.BATCH_FRAME.size
_BATCH_HEADER = protocol.BATCH_HEADER
_unpack_batch = protocol.BATCH_FRAME.unpack_from


class Inbox:
    """Reads the engine's frames, all that have arrived at once. One thread at a time may read."""

    __slots__ = (
        "_before",
        "_behind",
        "_descriptors",
        "_end",
        "_events",
        "_outbox",
        "_poll",
        "_socket",
        "_start",
        "_torn",
        "_whole",
        "at",
        "buffer",
        "size",
    )

    def __init__(self, sock: socket.socket, outbox: Outbox, before_wait: weakref.WeakMethod[Callable[[], None]]):
        self._socket = sock
        self._outbox = outbox  # is flushed while waiting
        self._before = before_wait  # weak: the connection has the inbox
        self._poll = select.poll()
        self._events = select.POLLIN
        self._poll.register(sock, self._events)
        self._descriptors: deque[int] = deque()
        self._start = self._end = 0  # bytes that were read and not yet returned
        self._torn = False  # an interrupt may have lost bytes
        self._behind = False  # the engine is, and the reader waits for each of its frames
        self.buffer = bytearray(_BUFFER_BYTES)
        self._whole = [self.buffer]
        self.at = self.size = 0  # the payload of the last frame, in buffer until the next call

    def next(self, timeout: float | None, doing: str, end: float | None = None) -> int:
        """Returns the kind of the next frame. The timeout is over at end, if that is given.

        Raises EOFError when the engine has closed the connection, FeedTimeoutError after timeout
        seconds. A KeyboardInterrupt ends a wait and loses nothing. One that strikes while bytes are
        read ends the connection.
        """
        while True:
            have = self._end - self._start
            if have >= 8:
                size, kind, zero = protocol.HEADER.unpack_from(self.buffer, self._start)
                if size > protocol.MAX_PAYLOAD or zero:
                    raise ProtocolError(f"the engine sent a frame of {size} bytes, kind {kind}, {zero}: that is not the protocol")
                if have >= 8 + size:
                    self.at, self.size = self._start + 8, size
                    self._start += 8 + size
                    return kind
                self._make_space(8 + size)
            elif have == 0:
                self._start = self._end = 0
            else:
                self._make_space(8)
            self._fill(timeout, doing, end)

    def batch(self, timeout: float | None, doing: str) -> tuple[int, ...] | None:
        """The numbers of the next frame, for which it waits, if that is a BATCH. None for all else,
        which next deals with.
        """
        if self._end == self._start:
            self._start = self._end = 0
            self._fill(timeout, doing)
        return self.read_batch()

    def read_batch(self) -> tuple[int, ...] | None:
        """The numbers of the next frame if it was read already, and is a BATCH."""
        start = self._start
        if self._end - start < _BATCH_BYTES:
            return None
        frame = _unpack_batch(self.buffer, start)
        if frame[0] != _BATCH_HEADER:
            return None
        self._start = start + _BATCH_BYTES
        return frame

    def ready(self) -> bool:
        """Whether something has arrived that was not returned yet."""
        return self._end > self._start or any(events & ~select.POLLOUT for _, events in self._poll.poll(0))

    def ended(self) -> bool:
        """Whether the engine has closed the connection. There may still be bytes to read."""
        poll = select.poll()  # another thread may wait on self._poll
        poll.register(self._socket, 0)
        return bool(poll.poll(0))

    def payload(self) -> bytes:
        """Returns a copy of the last frame's payload."""
        return bytes(memoryview(self.buffer)[self.at : self.at + self.size])

    def descriptor(self) -> int:
        """Returns the file descriptor of the last RING. The caller closes it."""
        if not self._descriptors:
            raise ProtocolError("the engine sent a ring without its file descriptor")
        return self._descriptors.popleft()

    def _make_space(self, size: int) -> None:
        if self._start + size <= len(self.buffer):
            return
        rest = self.buffer[self._start : self._end]
        if size > len(self.buffer):
            self.buffer = bytearray(size)
            self._whole = [self.buffer]
        self.buffer[: len(rest)] = rest
        self._start, self._end = 0, len(rest)

    def _read(self) -> bool:
        """Reads what has arrived; False when nothing has."""
        if self._torn:
            raise ProtocolError("an interrupt has cut a message of the engine in two: begin a new iteration")
        self._torn = True
        try:
            free = self._whole if self._end == 0 else [memoryview(self.buffer)[self._end :]]
            n, ancillary, _, _ = self._socket.recvmsg_into(free, _ANCILLARY, _FLAGS)
        except BlockingIOError:
            self._behind = True
            self._torn = False
            return False
        except OSError:
            n, ancillary = 0, []
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._descriptors.extend(array.array("i", data[: len(data) - len(data) % 4]))
        if n == 0:
            raise EOFError("the engine closed the connection")
        self._end += n
        if n > _BATCH_BYTES:
            self._behind = False
        self._torn = False
        return True

    def _fill(self, timeout: float | None, doing: str, end: float | None = None) -> None:
        """Reads what has arrived, and waits while that is nothing. It waits first where the engine
        was behind: to read nothing is an error, which costs more than a wait for what is there.
        """
        if not self._behind and self._read():
            return
        deadline = end if end is not None or timeout is None else time.monotonic() + timeout
        while True:
            self._wait(deadline, timeout, doing)
            if self._read():
                return

    def _wait(self, deadline: float | None, timeout: float | None, doing: str) -> None:
        """Waits until something can be read. The outbox is sent meanwhile."""
        if before := self._before():
            before()
        events = select.POLLIN if self._outbox.flush() else select.POLLIN | select.POLLOUT
        if events != self._events:
            self._poll.modify(self._socket, events)
            self._events = events
        if deadline is None:
            self._poll.poll()
            return
        left = max(0.0, deadline - time.monotonic())
        if not self._poll.poll(min(left, _LONGEST_POLL) * 1000) and not left:
            raise FeedTimeoutError(f"{doing}: no answer from the engine within {timeout:g} s")

    def close(self) -> None:
        """Closes descriptors that were not taken."""
        while self._descriptors:
            os.close(self._descriptors.popleft())
