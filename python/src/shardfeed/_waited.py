"""How long a training waits for its batches."""

from __future__ import annotations

from time import perf_counter as now

__all__ = ["Waited", "now"]


class Waited:
    """The seconds that a training spent in ``next``, which ``stats()`` reports as the wait of the
    consumer.

    Functions that run there count. Single rows come in bundles, and the wait for a bundle counts.
    """

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    def since(self, begin: float) -> None:
        self.seconds += now() - begin
