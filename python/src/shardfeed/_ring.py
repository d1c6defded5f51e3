"""The memory that batches come in: a ring of slots that the engine and this process share."""

from __future__ import annotations

import itertools
import mmap
import os
import select
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ProtocolError

Bytes = npt.NDArray[np.uint8]


# Owns a descriptor, of whatever file, and closes it in C with the last reference. A finalizer in
# Python could swallow an interrupt, and file objects warn.
_owner: Any = getattr(select, "epoll", None) or select.kqueue  # type: ignore[attr-defined]


_numbers = itertools.count()


class Ring:
    """One generation of slots. It is unmapped when nothing refers to it: the connection has let go,
    and the last view of a slot is gone.

    ``file.fileno()`` is what other processes map, and ``number`` names it in this process.
    """

    def __init__(self, descriptor: int, generation: int, slots: int, slot_size: int):
        """Maps the ring. The descriptor stays the caller's."""
        if slots == 0 or slot_size == 0 or slot_size % 256:
            raise ProtocolError(f"the engine sent a ring of {slots} slots of {slot_size} bytes")
        if os.fstat(descriptor).st_size < slots * slot_size:
            raise ProtocolError(f"the engine's ring is smaller than {slots} slots of {slot_size} bytes")
        self.number = next(_numbers)
        self.generation = generation
        self.slots = slots
        self.slot_size = slot_size
        self.bytes: Bytes = np.frombuffer(mmap.mmap(descriptor, slots * slot_size, flags=mmap.MAP_SHARED), np.uint8)
        self.address: int = self.bytes.__array_interface__["data"][0]
        self.file = _owner.fromfd(os.dup(descriptor))
        self.announced = 0


class Rings:
    """The generations of a connection's ring. Batches of an old one may come after the new one, as they were begun before it."""

    __slots__ = ("_older", "newest")

    def __init__(self) -> None:
        self.newest: Ring | None = None
        self._older: list[Ring] = []

    def add(self, ring: Ring) -> None:
        """Takes a new generation."""
        if self.newest is not None:
            self._older.append(self.newest)
        self.newest = ring

    def find(self, generation: int) -> Ring:
        """Returns the generation in which the engine announces a batch."""
        newest = self.newest
        if newest is not None and generation == newest.generation:
            newest.announced += 1
            # The engine works on no more batches at once than there are slots, and announces them
            # in order.
            if self._older and newest.announced > newest.slots:
                self._older.clear()
            return newest
        for ring in self._older:
            if generation == ring.generation:
                return ring
        raise ProtocolError(f"the engine announced a batch in generation {generation} of the ring, which it did not send")


def private(memory: Bytes, used: int) -> Bytes:
    """Returns a copy of the first used bytes, aligned as slots are."""
    room = np.empty(used + 256, np.uint8)
    skip = -room.__array_interface__["data"][0] % 256
    copy = room[skip : skip + used]
    copy[:] = memory[:used]
    return copy
