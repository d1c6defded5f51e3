"""Frames between a trainer and one of its workers, over a pair of sockets."""

from __future__ import annotations

import _socket
import array
import contextlib
import os
import socket
import weakref
from collections.abc import Callable
from struct import Struct
from typing import Any

# Frames of the trainer: an iteration starts; a ring to map; a batch to work on; a slot for a result.
BEGIN, RING, JOB, GRANT = range(1, 5)
# Frames of a worker: it needs a slot of n bytes; a result; an error.
NEED, DONE, FAILED = range(65, 68)

_HEADER = Struct("<II")  # bytes of the payload, kind
_BUFFER = 64 << 10
_ANCILLARY = socket.CMSG_SPACE(4 * 8)
_WAIT = int(getattr(socket, "MSG_CMSG_CLOEXEC", 0))
_DO_NOT_WAIT = _WAIT | int(socket.MSG_DONTWAIT)

# RING: its number, slots, the size of a slot, and how many numbers follow: of the rings that are in
# use. It carries the ring's descriptor.
RING_FRAME = Struct("<IIQI")
# JOB: number of the iteration and of the job, flags, rows (-1: a batch), the ring and slot of the
# batch, seq, offset and bytes used; the ring and slot for the result.
_JOB = "QQIiIIQQQII"
JOB_FRAME = Struct("<" + _JOB)
WHOLE_JOB = Struct("<II" + _JOB)  # with the header: its size, and JOB
PRIVATE = 1  # a flag: copy the batch first, since the function keeps batches
NO_RING = 0xFFFFFFFF
# NEED: iteration, job, bytes. GRANT: iteration, job, ring, slot.
NEED_FRAME = Struct("<QQQ")
GRANT_FRAME = Struct("<QQII")
# DONE: iteration, job, flags, number of the structure, numbers, slots of earlier batches returned,
# bytes of the structure if it is new, bytes used of the result's slot.
DONE_FRAME = Struct("<QQIIIIIQ")
USES_BATCH = 1  # a flag: a part of the result is in the batch's slot
KEEPS_BATCH = 2  # a flag: the function keeps the batch, whose slot is returned later
GIVEN_BACK = Struct("<IIQ")  # ring, slot, seq
# FAILED: iteration, job, flags, slots of earlier batches given back.
FAILED_FRAME = Struct("<QQII")


class _Socket(socket.socket):
    """A socket that a program may still hold when it ends: it closes without a ResourceWarning.

    An interrupt may leave it half made. It closes in C, since Python's close needs all of it.
    """

    def __del__(self, close: Callable[[Any], None] = _socket.socket.close) -> None:
        close(self)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two sockets, of which the first stays in this process."""
    ours, theirs = socket.socketpair()
    return _Socket(fileno=ours.detach()), theirs


class Link:
    """One end. The other end sees it closed when this process ends, in any way."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.post = sock.sendall  # sends a whole frame
        self._start = self._end = 0  # bytes that were read and not yet returned
        self._drained = False  # the last read has had all that was there
        self._descriptors: list[int] = []
        self._pid = os.getpid()
        self.buffer = bytearray(_BUFFER)
        self._whole = memoryview(self.buffer)
        self.at = self.end = 0  # the payload of the last frame, in buffer until the next one is asked for
        _open_links.add(self)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, kind: int, *parts: bytes, descriptor: int | None = None) -> None:
        """Sends a frame. It waits while the other end does not read."""
        frame = b"".join((_HEADER.pack(sum(map(len, parts)), kind), *parts))
        if descriptor is not None:
            frame = frame[socket.send_fds(self._socket, [frame], [descriptor]) :]
        self._socket.sendall(frame)

    def next(self, *, wait: bool = True) -> int:
        """The kind of the next frame; 0 when it has not come, and wait is False. Raises EOFError when
        the other end is closed.
        """
        while True:
            have = self._end - self._start
            if have >= _HEADER.size:
                size, kind = _HEADER.unpack_from(self.buffer, self._start)
                whole = _HEADER.size + size
                if have >= whole:
                    self.at = self._start + _HEADER.size
                    self.end = self._start = self._start + whole
                    return kind
                self._make_space(whole)
            elif have:
                self._make_space(_HEADER.size)
            else:
                self._start = self._end = 0
            if not wait and self._drained:
                return 0
            if not self.read(wait=wait):
                return 0

    def payload(self) -> bytes:
        """A copy of the last frame's payload."""
        return bytes(self._whole[self.at : self.end])

    def _make_space(self, size: int) -> None:
        if self._start + size <= len(self.buffer):
            return
        rest = self.buffer[self._start : self._end]
        if size > len(self.buffer):
            self.buffer = bytearray(size)
            self._whole = memoryview(self.buffer)
        self._whole[: len(rest)] = rest
        self._start, self._end = 0, len(rest)

    def read(self, *, wait: bool) -> bool:
        """Reads what has come; False when nothing has, and wait is False."""
        free = self._whole[self._end :]
        try:
            read, ancillary, _, _ = self._socket.recvmsg_into(
                (free,), _ANCILLARY, _WAIT if wait else _DO_NOT_WAIT
            )  # recv_fds ignores flags
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            read, ancillary = 0, []
        for level, what, data in ancillary:
            if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
                self._descriptors += array.array("i", data[: len(data) - len(data) % 4])
        if not read:
            raise EOFError("the other end is closed")
        self._end += read
        self._drained = read < len(free)
        return True

    def descriptor(self) -> int:
        """The descriptor of the last frame. The caller closes it."""
        return self._descriptors.pop(0)

    def wake(self) -> None:
        """Ends the link for both ends. Any thread may call this."""
        if self._pid == os.getpid():
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.wake()
        self._socket.close()
        while self._descriptors:
            os.close(self._descriptors.pop())


_open_links: weakref.WeakSet[Link] = weakref.WeakSet()


def _close_in_child() -> None:
    """While a child has the parent's ends, the workers do not see the parent end."""
    for link in list(_open_links):
        link.close()


os.register_at_fork(after_in_child=_close_in_child)
