"""What goes to the engine."""

from __future__ import annotations

import socket
import threading
from collections import deque

_FLAGS = socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)


class Outbox:
    """Frames on their way to the engine, sent in order by whoever comes by. Nothing here blocks or raises, so finalizers may post.

    A finalizer may run in any thread, and in the midst of any line of this file: so nobody waits for the lock, and who fails to get it
    leaves its frame to the holder, who looks again after letting go.
    """

    __slots__ = ("_frames", "_lock", "_socket")

    def __init__(self, sock: socket.socket):
        self._socket: socket.socket | None = sock
        self._frames: deque[bytes | memoryview] = deque()
        self._lock = threading.Lock()

    def post(self, frame: bytes) -> bool:
        """Sends frame now, or as soon as the engine reads on, and tells whether all has gone. A connection that is closed takes all."""
        self._frames.append(frame)
        return self.flush()

    def flush(self) -> bool:
        """Sends what waits, and tells whether all has gone."""
        frames, lock = self._frames, self._lock
        while frames:
            if not lock.acquire(blocking=False):
                return True  # the holder sends it
            try:
                sock = self._socket
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
            except OSError:  # the engine has gone; who waits for its answer will say so
                frames.clear()
            finally:
                lock.release()
        return True

    def close(self) -> None:
        """Drops what waits; nothing is sent any more. The socket may be closed then: no thread is about to write to it."""
        with self._lock:
            self.abandon()

    def abandon(self) -> None:
        """Does as close in a forked child, where a thread that is not there may have the lock: what the parent has is not the child's."""
        self._socket = None
        self._frames.clear()
