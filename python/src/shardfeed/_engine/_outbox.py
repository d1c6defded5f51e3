"""Frames to the engine."""

from __future__ import annotations

import socket
import threading
from collections import deque

_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Outbox:
    """A queue of frames, sent in order. Finalizers may post: it never blocks or raises.

    A finalizer may run in any thread, between any two lines of this file. One that finds the lock
    locked leaves its frame to the holder, perhaps the lines that it interrupts, which checks the
    queue again after it has released the lock. A holder never waits.
    """

    __slots__ = ("_frames", "_lock", "_socket")

    def __init__(self, sock: socket.socket):
        self._socket: socket.socket | None = sock
        self._frames: deque[bytes | memoryview] = deque()
        self._lock = threading.Lock()

    def post(self, frame: bytes) -> bool:
        """Sends frame now, or as soon as the engine reads, and returns whether the queue is empty.

        After close it drops the frame.
        """
        self._frames.append(frame)
        return self.flush()

    def flush(self) -> bool:
        """Sends what the socket takes, and returns whether the queue is empty."""
        frames, lock = self._frames, self._lock
        while frames:
            if lock.locked():
                return True  # the holder of the lock sends it
            with lock:  # not acquire: an interrupt between it and a try would leave the lock locked
                if not self._send():
                    return False
        return True

    def _send(self) -> bool:
        """Sends under the lock, and returns whether the queue is empty."""
        frames, sock = self._frames, self._socket
        frame: bytes | memoryview = b""
        try:
            while frames:
                frame = frames.popleft()
                if sock is None:
                    continue
                sent = sock.send(frame, _FLAGS)
                if sent < len(frame):
                    frames.appendleft(memoryview(frame)[sent:])
        except (BlockingIOError, InterruptedError):
            frames.appendleft(frame)
            return False
        except OSError:  # the engine has closed the connection; the next read reports it
            frames.clear()
        return True

    def close(self) -> None:
        """Empties the queue and sends nothing from here on. Then the socket may be closed."""
        with self._lock:
            self.abandon()

    def abandon(self) -> None:
        """Closes in a forked child, where a thread of the parent may hold the lock."""
        self._socket = None
        self._frames.clear()
