"""How the decoding of images is divided between the processors and the device."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

_WINDOW = 16  # batches of a measurement
_WAITS = 0.02  # the share of the time that makes a loop one that waits
_GAIN = 1.02  # the rate that a change must reach, as a multiple of the rate before it
_FIRST, _LEAST = 0.25, 0.02  # steps of the share


class Balance:
    """Finds the share of the images that the processors decode, by trying.

    All images are theirs at first. While the training waits for batches, a part goes to the device.
    A change that does not speed up the training is taken back, and the next one is half as large.
    When the training has not waited for a while, the processors get a part back.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.share = share
        self._step = _FIRST
        self._before: tuple[float, float] | None = None  # share and rate before the change that is tried
        self._pause = 1  # windows without a change; the first one has the start in it
        self._calm = 0  # windows without a wait

    def window(self, seconds: float, waited: float, batches: int) -> bool:
        """Takes a measurement. Reports whether the share has changed."""
        rate, old = batches / max(seconds, 1e-9), self.share
        waits = waited > _WAITS * seconds
        if self._before is not None:
            before, self._before = self._before, None
            if rate < _GAIN * before[1]:
                self.share, self._step, self._pause = before[0], max(_LEAST, self._step / 2), 8
        elif self._pause > 0:
            self._pause -= 1
        elif waits and self.share > 0:
            self._try(-self._step, rate)
        self._calm = 0 if waits else self._calm + 1
        if self._calm >= 8 and self.share < 1:
            self._calm = 0
            self.share = min(1.0, self.share + _LEAST)
        return self.share != old

    def _try(self, change: float, rate: float) -> None:
        self._before = self.share, rate
        self.share = min(1.0, max(0.0, self.share + change))


class Balanced:
    """Batches whose images are divided by a Balance."""

    def __init__(self, batches: Any, balance: Balance, divide: Callable[[float], None]) -> None:
        self._batches = batches
        self._balance = balance
        self._divide = divide
        self._count = 0
        self._waited = 0.0
        self._since = monotonic()

    def __next__(self) -> Any:
        asked = monotonic()
        batch = next(self._batches)
        now = monotonic()
        self._waited += now - asked
        self._count += 1
        if self._count == _WINDOW:
            if self._balance.window(now - self._since, self._waited, self._count):
                self._divide(self._balance.share)
            self._count, self._waited, self._since = 0, 0.0, now
        return batch

    def close(self) -> None:
        self._batches.close()
