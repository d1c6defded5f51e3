"""The memory that batches come in: a ring of slots that the engine and this process share."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _protocol as protocol
from ._outbox import Outbox
from .errors import ProtocolError

Bytes = npt.NDArray[np.uint8]


class Ring:
    """One generation of slots. It is unmapped when nothing refers to it: the connection has let go, and the last view of a slot is gone."""

    def __init__(self, descriptor: int, generation: int, slots: int, slot_size: int, outbox: Outbox):
        """Maps the ring. The descriptor stays the caller's."""
        if slots == 0 or slot_size == 0 or slot_size % 256:
            raise ProtocolError(f"the engine sent a ring of {slots} slots of {slot_size} bytes")
        if os.fstat(descriptor).st_size < slots * slot_size:
            raise ProtocolError(f"the engine's ring is smaller than {slots} slots of {slot_size} bytes")
        self.generation = generation
        self.slots = slots
        self.slot_size = slot_size
        self.bytes: Bytes = np.frombuffer(mmap.mmap(descriptor, slots * slot_size, flags=mmap.MAP_SHARED), np.uint8)
        self.address: int = self.bytes.__array_interface__["data"][0]
        self.held: set[int] = set()  # slots that were handed out and not yet released
        self.announced = 0
        self.outbox = outbox
        # What finalizers need is reached through objects: at the interpreter's end the names of modules are gone.
        self.pack = protocol.RELEASE_FRAME.pack
        self.release_head = (16, protocol.RELEASE, 0, generation)


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

    def slot(self, generation: int, index: int, seq: int) -> Slot:
        """Returns the owner of a slot that the engine announced."""
        newest = self.newest
        if newest is not None and generation == newest.generation:
            # The engine works on no more batches at once than there are slots, and announces them in order.
            if self._older and newest.announced >= newest.slots:
                self._older.clear()
            return Slot(newest, index, seq)
        for ring in self._older:
            if generation == ring.generation:
                return Slot(ring, index, seq)
        raise ProtocolError(f"the engine announced a batch in generation {generation} of the ring, which it did not send")

    @property
    def scarce(self) -> bool:
        """Tells that so many batches are held that the engine would soon have no slot to go on with."""
        if self.newest is None:
            return False
        slots, held = self.newest.slots, len(self.newest.held)
        if self._older:
            held += sum(len(ring.held) for ring in self._older)
        return held > slots - (2 if slots > 3 else 1)


class Slot:
    """The owner of a slot's memory: arrays made of it keep it alive, and the slot goes back to the engine when the last one is gone.

    Nothing that it refers to may refer to it, or the slot would wait for a run of the garbage collector.
    """

    __slots__ = ("__weakref__", "index", "released", "ring", "seq")

    def __init__(self, ring: Ring, index: int, seq: int):
        """Takes a slot that the engine announced."""
        self.released = True
        if index >= ring.slots or index in ring.held:
            raise ProtocolError(f"the engine announced slot {index} of {ring.slots}, which it does not have")
        ring.held.add(index)
        ring.announced += 1
        self.ring = ring  # also after a release: arrays may still lie in it
        self.index = index
        self.seq = seq
        self.released = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        ring = self.ring
        return {"version": 3, "shape": (ring.slot_size,), "typestr": "|u1", "data": (ring.address + self.index * ring.slot_size, False)}

    def release(self) -> None:
        """Gives the slot back now. Arrays made of it may change from here on: for callers that have copied what they need."""
        if not self.released:
            self.released = True
            ring = self.ring
            ring.held.discard(self.index)
            ring.outbox.post(ring.pack(*ring.release_head, self.index, self.seq))

    __del__ = release


class Copy:
    """The owner of a batch that was copied out of the ring: it has nothing to give back."""

    __slots__ = ("__weakref__", "released")

    ring: Ring | None = None

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        """Does nothing but remember it."""
        self.released = True
