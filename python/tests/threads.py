"""Threads that do the same thing at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

WITHIN = 120.0  # seconds


def in_threads(count: int, work: Callable[[], object]) -> None:
    """Does work in threads that start at the same moment, and waits for them."""
    start, failed = threading.Barrier(count), []

    def run() -> None:
        start.wait()
        try:
            work()
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN)
    assert failed == [] and not any(thread.is_alive() for thread in threads)
