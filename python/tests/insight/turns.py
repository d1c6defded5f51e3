"""Bytes pass one after another, at a rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

CHUNK = 32 << 10


class Turns:
    """Passes what came first before what came later."""

    def __init__(self, rate: float) -> None:
        self._rate = rate  # bytes a second; 0 is no limit
        self._lock, self._free = threading.Lock(), 0.0

    def pieces(self, body: bytes) -> Iterator[bytes]:
        """The pieces of a body, each when its bytes have passed."""
        free = self._take(len(body)) - len(body) / self._rate if self._rate else 0.0
        for at in range(0, len(body), CHUNK):
            piece = body[at : at + CHUNK]
            if self._rate:
                free += len(piece) / self._rate
                time.sleep(max(0.0, free - time.monotonic()))
            yield piece

    def wait(self, size: int) -> None:
        """Waits until so many bytes have passed."""
        if self._rate:
            time.sleep(max(0.0, self._take(size) - time.monotonic()))

    def _take(self, size: int) -> float:
        with self._lock:
            self._free = max(self._free, time.monotonic()) + size / self._rate
            return self._free
