"""What goes to the engine."""

from __future__ import annotations

import os
import socket
import threading
from collections import deque

_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Outbox:
    """Frames on their way to the engine, sent in order by whoever comes by. Nothing here blocks or raises, so finalizers may post.

    A finalizer may run in any thread, and in the midst of any line of this file: so nobody waits for the lock, and who fails to get it
    leaves its frame to the holder, who looks again after letting go.
    """

    __slots__ = ("_frames", "_getpid", "_lock", "_pid", "_socket")

    def __init__(self, sock: socket.socket):
        self._socket: socket.socket | None = sock
        self._frames: deque[bytes | memoryview] = deque()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._getpid = os.getpid  # reachable while the interpreter shuts down

    def post(self, frame: bytes) -> None:
        """Sends frame now, or as soon as the engine reads on. In a forked child it does nothing: what the parent has is not the child's."""
        if self._getpid() != self._pid:
            return
        self._frames.append(frame)
        self.flush()

    def flush(self) -> bool:
        """Sends what waits, and tells whether all has gone. A connection that is closed takes all."""
        frames, lock = self._frames, self._lock
        while frames:
            if not lock.acquire(blocking=False):
                return True  # the holder sends it
            try:
                if not self._send():
                    return False
            finally:
                lock.release()
        return True

    def _send(self) -> bool:
        frames, sock = self._frames, self._socket
        while frames:
            frame = frames.popleft()
            if sock is None:
                continue
            try:
                sent = sock.send(frame, _FLAGS)
            except (BlockingIOError, InterruptedError):
                frames.appendleft(frame)
                return False
            except OSError:  # the engine has gone; who waits for its answer will say so
                frames.clear()
                return True
            if sent < len(frame):
                frames.appendleft(memoryview(frame)[sent:])
        return True

    def close(self) -> None:
        """Drops what waits; nothing is sent any more. The socket may be closed then: no thread is about to write to it."""
        with self._lock:
            self._socket = None
            self._frames.clear()
