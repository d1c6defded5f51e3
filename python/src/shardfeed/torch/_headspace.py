"""Headspace: how fast a training would be if its data were free."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from .._turn import Turn
from .._verdict import Headspace
from ._epoch import Epoch

if TYPE_CHECKING:
    from .._waited import Waited

log = logging.getLogger("shardfeed")
T = TypeVar("T")

STEPS = 50  # of headspace=True
_ROUNDS = 3
_KEPT = 4  # batches that are repeated
_MOST_READY = 256  # batches that are dropped before a measurement
_READY = 0.01  # s: a batch that takes longer was not ready


class Diagnosis(Iterator[Any]):
    """The steps of a training in turn with batches as they come and with batches that it has.

    Each of three rounds times a number of steps of both kinds, after half as many that are not
    timed. It starts epochs as it needs them, and ends after the last round.
    """

    def __init__(self, steps: int, begin: Callable[[], Epoch], waited: Waited, found: Callable[[Headspace], None]) -> None:
        self._steps = steps
        self._begin = begin
        self._waited = waited
        self._found = found
        self._epoch: Epoch | None = None
        self._turn = Turn()
        self._batches = self._all()

    def __next__(self) -> Any:
        with self._turn.lock:
            return next(self._batches)

    @staticmethod
    def length(steps: int) -> int:
        """The number of its batches."""
        return _settling(steps) + 2 * _ROUNDS * (steps + _settling(steps))

    def _all(self) -> Iterator[Any]:
        log.warning(
            "headspace is a diagnosis: batches repeat, the loop ends after %d steps, and there is no state to save",
            self.length(self._steps),
        )
        now: list[float] = []  # steps per second
        free: list[float] = []
        fresh, settling = self._fresh(), _settling(self._steps)
        yield from islice(fresh, settling)
        for _ in range(_ROUNDS):
            self._drop_ready()
            kept: list[Any] = []
            for batch in islice(fresh, settling):
                kept = [*kept, _map(batch, _cloned)][-_KEPT:]
                yield batch
            if not kept:
                return  # there are no batches
            yield from self._timed(islice(fresh, self._steps), now)
            self._waited.ends()
            again = (_map(batch, _itself) for batch in cycle(kept))
            yield from islice(again, settling)
            yield from self._timed(islice(again, self._steps), free)
        found = Headspace(self._steps, median(now), median(free))
        self._found(found)
        log.warning("headspace: %s", found)  # it was asked for, so it shows without a configured log

    def _fresh(self) -> Iterator[Any]:
        """The batches of the epochs."""
        while True:
            self._epoch = self._begin()
            empty = True
            for batch in self._epoch:
                yield batch
                empty = False
            if empty:
                return

    def _drop_ready(self) -> None:
        """Drops the batches that became ready while others repeated: a steady training finds as many
        as it leaves.
        """
        epoch = self._epoch
        for _ in range(_MOST_READY):
            began = monotonic()
            if epoch is None or not epoch.ready() or next(epoch, None) is None or monotonic() - began > _READY:
                return

    def _timed(self, batches: Iterator[T], rates: list[float]) -> Iterator[T]:
        _finish_work()
        began = monotonic()
        yield from batches
        _finish_work()
        rates.append(self._steps / (monotonic() - began))


def _settling(steps: int) -> int:
    return max(1, steps // 2)


def _finish_work() -> None:
    """Waits for what the training has queued on its device."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _map(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Copies the containers of a batch, and applies leaf to the values in them. A step may change
    containers.
    """
    if isinstance(value, list):
        return [_map(each, leaf) for each in value]
    if isinstance(value, tuple):
        each = [_map(each, leaf) for each in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if isinstance(value, Mapping):
        other: Any = copy.copy(value)
        for key, held in value.items():
            other[key] = _map(held, leaf)
        return other
    return leaf(value)


def _cloned(value: Any) -> Any:
    """A copy that needs no slot of the engine's."""
    if isinstance(value, torch.Tensor):
        cloned = value.clone()
        return cloned.pin_memory() if value.device.type == "cpu" and value.is_pinned() else cloned
    return value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _itself(value: Any) -> Any:
    return value
