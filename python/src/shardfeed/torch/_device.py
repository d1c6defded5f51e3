"""Copies of batches to a device, on a stream of their own, a few batches ahead."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import torch

from .._calls import call
from .._engine._ring import Ring
from .._waited import COPY, HANDOVER, Waited
from ._batch import each
from ._pin import Cuda, Pins

log = logging.getLogger("shardfeed")


class Source(Protocol):
    """Where batches come from, each with the stamp of the place after it."""

    @property
    def waited(self) -> Waited:
        """What counts the wait for batches."""

    @property
    def rings(self) -> tuple[Ring, ...]:
        """The rings of the last batch."""

    @property
    def holds(self) -> int:
        """How many batches may be held, while more come, before further ones are copied."""

    def __next__(self) -> tuple[Any, Any]: ...

    def ready(self) -> bool:
        """Whether a batch is there."""

    def close(self) -> None: ...


def holds(rings: tuple[Ring, ...]) -> int:
    """How many batches of these rings may be held, while more come."""
    return min((ring.slots - 2 for ring in rings), default=sys.maxsize)


class Event(Protocol):
    """A point in a stream."""

    def query(self) -> bool: ...

    def synchronize(self) -> None: ...


class Streams:
    """The stream of the copies, and the stream of the training."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._copies = torch.cuda.Stream(device)

    def copy(self, batch: Any) -> tuple[Any, Event]:
        """Starts to copy a batch to the device. It has arrived when the event has passed."""
        with torch.cuda.stream(self._copies):
            moved = each(batch, lambda t: t.to(self._device, non_blocking=True))
            return moved, self._copies.record_event()

    def hand_over(self, batch: Any, arrived: Event) -> tuple[Any, Event]:
        """Makes the training's stream wait for a batch.

        Objects of the user's classes are copied now.

        Returns the batch, and the event after which its host memory is not read.
        """
        training = torch.cuda.current_stream(self._device)
        training.wait_event(arrived)
        moved = False

        def move(value: Any) -> Any:
            nonlocal moved
            if not hasattr(value, "to"):
                return value
            moved = True
            return call("to of a batch", value.to, self._device, non_blocking=True)

        def use(tensor: torch.Tensor) -> torch.Tensor:
            tensor.record_stream(training)
            return tensor

        try:
            return each(batch, use, move), training.record_event() if moved else arrived
        except BaseException:
            if moved:
                training.synchronize()
            raise

    def settle(self) -> None:
        """Waits for the copies that have started."""
        self._copies.synchronize()

    def mark(self) -> Event:
        """An event after all that the training has started."""
        return torch.cuda.current_stream(self._device).record_event()


_of_parents: list[Any] = []  # objects of a parent process, which this one must not drop


class Kept:
    """Host memory that a device reads, each piece until an event has passed.

    A forked child cannot use CUDA: it waits for nothing, and keeps objects that use CUDA when they
    are freed, such as events.
    """

    def __init__(self, most: int) -> None:
        self._most = most  # pieces; with more it waits for the oldest
        self._pieces: deque[tuple[Any, Event]] = deque()
        self._pid = os.getpid()

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def here(self) -> bool:
        """Whether this is the process that made it."""
        return os.getpid() == self._pid

    def add(self, memory: Any, read: Event) -> None:
        self._pieces.append((memory, read))

    def drop_passed(self) -> None:
        """Frees memory that is no longer read."""
        pieces = self._pieces
        while pieces and (len(pieces) > self._most or pieces[0][1].query()):
            pieces[0][1].synchronize()
            pieces.popleft()

    def close(self) -> None:
        """Waits until no memory is read."""
        if not self.here:
            _of_parents.append(self._pieces)
            return
        for _, read in self._pieces:
            _wait(read.synchronize)
        self._pieces.clear()


def _close_again(batches: Feeder | Pinner, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
    """Closes again, in case an interrupt struck the first close.

    A program's end waits for all copies.
    """
    if hasattr(batches, "_in_use") and not is_finalizing():
        batches.close()


class Feeder:
    """Copies batches to a CUDA device ahead of their use.

    It keeps what a copy reads until the copy is done.
    """

    def __init__(self, source: Source, streams: Streams, pins: Pins | None, *, ahead: int) -> None:
        self._source = source
        self._streams = streams
        self._pins = pins
        self._ahead = ahead
        self._ended = False
        self._failed: Exception | None = None  # of a batch ahead; it is raised when that batch is due
        self._next: tuple[Any, Any] | None = None  # host memory, stamp; its copy failed or has not started
        self._moved: deque[tuple[Any, Any, Any, Event]] = deque()  # batch, its host memory, stamp, arrival; not yet handed out
        self._in_use = Kept(2)  # host memory of batches in use: two let the training run ahead of the copies

    def __next__(self) -> tuple[Any, Any]:
        waited = self._source.waited
        self._in_use.drop_passed()
        waited.spent(COPY)
        if not self._moved:
            self._move()
        while len(self._moved) <= self._ahead and not self._ended and self._has_slot() and self._source.ready():
            try:
                self._move()
            except StopIteration:
                self._ended = True
            except Exception as e:
                self._ended, self._failed = True, e
        batch, host, stamp, arrived = self._moved[0]
        batch, read = self._streams.hand_over(batch, arrived)
        self._in_use.add(host, read)
        self._moved.popleft()
        waited.spent(COPY)
        return batch, stamp

    def _has_slot(self) -> bool:
        """Whether the ring has a slot for one more batch.

        With nearly all in use, batches are copied out of it.
        """
        return len(self._moved) + len(self._in_use) < self._source.holds

    def _move(self) -> None:
        if self._failed is not None:
            raise self._failed
        if self._next is not None:
            self._streams.settle()  # its copies failed or were interrupted
        elif self._ended:
            raise StopIteration
        else:
            self._next = self._take()
        host, stamp = self._next
        batch, arrived = self._streams.copy(host)
        self._moved.append((batch, host, stamp, arrived))
        self._next = None

    def _take(self) -> tuple[Any, Any]:
        """The next batch, in page-locked memory."""
        host, stamp = next(self._source)
        self._source.waited.spent(HANDOVER)
        if self._pins is not None:
            host = self._pins.pinned(host, self._source.rings)
        return host, stamp

    def close(self) -> None:
        """Waits for the copies that have started. Their host memory goes back then."""
        self._ended, self._failed = True, None
        self._in_use.close()
        if self._in_use.here:
            if self._moved or self._next is not None:
                _wait(self._streams.settle)
            self._moved.clear()
            self._next = None
        else:
            _of_parents.append(self._moved)
        self._source.close()

    def __del__(self, close_again: Callable[[Any], None] = _close_again) -> None:
        close_again(self)


class Pinner:
    """Hands out batches in page-locked memory, for a trainer that copies them to the device.

    It keeps the memory of a batch until the device has done all that the trainer had started when
    it asked for the next batch.
    """

    def __init__(self, source: Source, streams: Streams, pins: Pins, *, ahead: int = 2) -> None:
        self._source = source
        self._streams = streams
        self._pins = pins
        self._next: tuple[Any, Any] | None = None  # pinning it failed or was interrupted
        self._last: Any = None
        self._in_use = Kept(ahead)

    def __next__(self) -> tuple[Any, Any]:
        self._mark()
        self._in_use.drop_passed()
        waited = self._source.waited
        waited.spent(COPY)
        batch, stamp = self._next = self._next or next(self._source)
        waited.spent(HANDOVER)
        self._last = self._pins.pinned(batch, self._source.rings)
        waited.spent(COPY)
        self._next = None
        return self._last, stamp

    def _mark(self) -> None:
        """Notes that the trainer has started its copy of the last batch."""
        if self._last is not None:
            self._in_use.add(self._last, self._streams.mark())
            self._last = None

    def close(self) -> None:
        """Waits for all that the trainer has started."""
        if self._in_use.here:
            _wait(self._mark)
        self._in_use.close()
        self._last = self._next = None
        self._source.close()

    def __del__(self, close_again: Callable[[Any], None] = _close_again) -> None:
        close_again(self)


class Mover:
    """Copies batches to a device other than CUDA, when they are handed out."""

    def __init__(self, source: Source, device: torch.device) -> None:
        self._source = source
        self._device = device
        self._next: tuple[Any, Any] | None = None  # its copy failed or was interrupted

    def __next__(self) -> tuple[Any, Any]:
        batch, stamp = self._next = self._next or next(self._source)
        self._source.waited.spent(HANDOVER)
        moved = each(batch, lambda t: t.to(self._device), self._object)
        self._source.waited.spent(COPY)
        self._next = None
        return moved, stamp

    def _object(self, value: Any) -> Any:
        return call("to of a batch", value.to, self._device) if hasattr(value, "to") else value

    def close(self) -> None:
        self._next = None
        self._source.close()


def _wait(until: Callable[[], None]) -> None:
    """Waits for copies to end. A failed device does not copy, and its next use raises the error."""
    with contextlib.suppress(RuntimeError):
        until()


class Route:
    """How a loader's batches get to its device.

    It keeps the pinned rings and the stream of the copies.
    """

    def __init__(self, device: torch.device | None, pin_memory: bool | None, ahead: int) -> None:
        self._device = device
        self._ahead = ahead
        cuda = device is not None and device.type == "cuda"
        pin = cuda if pin_memory is None else pin_memory
        if pin and not torch.cuda.is_available():
            say_once("pin_memory=True has no effect: this machine or this torch has no CUDA")
            pin = False
        self._pins = Pins(Cuda(device if cuda else torch.device("cuda"))) if pin else None
        self._streams: Streams | None = None

    def open(self, source: Source, streams: Callable[[torch.device], Streams] = Streams) -> Any:
        """Returns an iterator of the source's batches on the device. streams makes the streams of
        the copies, once.
        """
        if self._device is not None and self._device.type == "cuda":
            return Feeder(source, self._on_streams(self._device, streams), self._pins, ahead=self._ahead)
        if self._pins is not None:
            return Pinner(source, self._on_streams(torch.device("cuda"), streams), self._pins)
        return source if self._device is None or self._device.type == "cpu" else Mover(source, self._device)

    def _on_streams(self, device: torch.device, streams: Callable[[torch.device], Streams]) -> Streams:
        if self._streams is None:
            self._streams = streams(device)
        return self._streams


_said: set[str] = set()


def say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        log.warning("%s", text)
