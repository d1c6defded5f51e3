"""Frames between a trainer and one of its workers, over a pair of sockets."""

from __future__ import annotations

import array
import contextlib
import os
import socket
import weakref
from collections.abc import Callable
from struct import Struct

# Frames of the trainer: an iteration begins; a ring to map; a batch to work on; a slot for a result.
BEGIN, RING, JOB, GRANT = range(1, 5)
# Frames of a worker: it needs a slot of so many bytes; a result; an error.
NEED, DONE, FAILED = range(65, 68)

_HEADER = Struct("<II")  # bytes of the payload, kind
_READ = 64 << 10
_ANCILLARY = socket.CMSG_SPACE(4 * 8)
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

# RING: its number, slots, the size of a slot, and how many numbers follow: of the rings that are in
# use. It carries the ring's descriptor.
RING_FRAME = Struct("<IIQI")
# JOB: number of the iteration and of the job, flags, rows (-1: a batch), the ring and slot of the
# batch, seq, offset and bytes used; the ring and slot for the result.
JOB_FRAME = Struct("<QQIiIIQQQII")
PRIVATE = 1  # a flag: copy the batch first, since the function keeps batches
NO_RING = 0xFFFFFFFF
# NEED: iteration, job, bytes. GRANT: iteration, job, ring, slot.
NEED_FRAME = Struct("<QQQ")
GRANT_FRAME = Struct("<QQII")
# DONE: iteration, job, flags, number of the structure, numbers, slots given back, bytes of the
# structure where it is new, bytes used of the result's slot.
DONE_FRAME = Struct("<QQIIIIIQ")
USES_BATCH = 1  # a flag: a part of the result lies in the batch's slot
GIVEN_BACK = Struct("<IIQ")  # ring, slot, seq
# FAILED: iteration, job, slots given back.
FAILED_FRAME = Struct("<QQI")


class _Socket(socket.socket):
    """A socket that a program may still hold when it ends: it closes without a ResourceWarning."""

    def __del__(self, close: Callable[[socket.socket], None] = socket.socket.close) -> None:
        close(self)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two sockets, of which the first stays in this process."""
    ours, theirs = socket.socketpair()
    return _Socket(fileno=ours.detach()), theirs


class Link:
    """One end. The other end sees it closed when this process ends, in any way."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._came = bytearray()
        self._drained = False  # the last read has had all that was there
        self._descriptors: list[int] = []
        self._pid = os.getpid()
        _open_links.add(self)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, kind: int, *parts: bytes, descriptor: int | None = None) -> None:
        """Sends a frame. It waits while the other end does not read."""
        frame = b"".join((_HEADER.pack(sum(map(len, parts)), kind), *parts))
        if descriptor is not None:
            frame = frame[socket.send_fds(self._socket, [frame], [descriptor]) :]
        self._socket.sendall(frame)

    def receive(self, *, wait: bool = True) -> tuple[int, bytes] | None:
        """The next frame. None: it has not come, and wait is False. Raises EOFError when the other
        end is closed.
        """
        came = self._came
        while True:
            if len(came) >= _HEADER.size:
                size, kind = _HEADER.unpack_from(came)
                end = _HEADER.size + size
                if len(came) >= end:
                    payload = bytes(memoryview(came)[_HEADER.size : end])
                    del came[:end]
                    return kind, payload
            if self._drained and not wait:
                self._drained = False
                return None
            flags = _CLOSE_ON_EXEC if wait else _CLOSE_ON_EXEC | socket.MSG_DONTWAIT
            try:
                read, ancillary, _, _ = self._socket.recvmsg(_READ, _ANCILLARY, flags)  # recv_fds ignores flags
            except (BlockingIOError, InterruptedError):
                return None
            except OSError:
                read, ancillary = b"", []
            for level, what, data in ancillary:
                if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
                    self._descriptors += array.array("i", data[: len(data) - len(data) % 4])
            if not read:
                raise EOFError("the other end is closed")
            came += read
            self._drained = len(read) < _READ

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
