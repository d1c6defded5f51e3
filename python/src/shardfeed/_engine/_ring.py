"""The memory that batches come in: a ring of slots that the engine and this process share."""

from __future__ import annotations

import itertools
import mmap
import os
import select
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ProtocolError
from . import _protocol as protocol

Bytes = npt.NDArray[np.uint8]


# Owns a descriptor, of whatever file, and closes it in C with the last reference. A finalizer in
# Python could swallow an interrupt, and file objects warn.
_owner: Any = getattr(select, "epoll", None) or select.kqueue  # type: ignore[attr-defined]


_numbers = itertools.count()

# A Place is a ring, the number of a slot, and the seq of the batch in it.
Place = tuple["Ring", int, int]


class Part(np.ndarray):
    """The bytes of a slot, for all its users."""

    __slots__ = ()


class SlotBytes(np.ndarray):
    """The bytes of a slot. Arrays that are made of it, np.ndarray(shape, dtype, it, offset), keep
    it alive: numpy looks through arrays of the same type for the owner of memory, and stops at other
    types. So it is made of a Part, which is neither plain nor of its type.

    A slice of it has this type too, which users should not see. It must not be in a reference cycle:
    its slot would stay in use until a garbage collection.
    """

    __slots__ = ("place",)

    place: Place  # its ring is kept after a release: arrays may still use its memory

    @property
    def ring(self) -> Ring:
        return self.place[0]

    @property
    def index(self) -> int:
        return self.place[1]

    @property
    def seq(self) -> int:
        return self.place[2]


class Watch(weakref.ref[SlotBytes]):
    """Notices that a slot's memory is not used any more. Its callback should be an append to a
    deque, which is C: it runs in any thread, between any two lines. It must be kept as long as it
    should call that.
    """

    __slots__ = ("place",)

    place: Place

    @property
    def seq(self) -> int:
        return self.place[2]


class Ring:
    """One generation of slots. It is unmapped when nothing refers to it: the connection has let go,
    and the last view of a slot is gone.

    Other processes map ``file.fileno()``; ``number`` names the ring in this process.
    """

    def __init__(self, descriptor: int, generation: int, slots: int, slot_size: int, words: int = 0):
        """Maps the ring. The descriptor stays the caller's. words is the offset of the words that
        release slots; 0 is a ring without.
        """
        if slots == 0 or slot_size == 0 or slot_size % 256:
            raise ProtocolError(f"the engine sent a ring of {slots} slots of {slot_size} bytes")
        size = slots * slot_size
        end = words + protocol.WORDS_LINE + 8 * slots if words else size
        if os.fstat(descriptor).st_size < end:
            raise ProtocolError(f"the engine's ring is smaller than {slots} slots of {slot_size} bytes and their words")
        if words and (words < size or words % protocol.WORDS_LINE):
            raise ProtocolError(f"the engine's ring of {size} bytes has words at {words}")
        self.number = next(_numbers)
        self.generation = generation
        self.slots = slots
        self.slot_size = slot_size
        memory = mmap.mmap(descriptor, end, flags=mmap.MAP_SHARED)
        self.bytes: Bytes = np.frombuffer(memory, np.uint8, size)
        self.parts = [slot.view(Part) for slot in self.bytes.reshape(slots, slot_size)]
        self.views = [memoryview(memory)[at : at + slot_size] for at in range(0, size, slot_size)]
        self.most = slots - (slots > 3)  # batches held at once when further ones are copied
        self.ahead = min(slots // 2 + 1, self.most - 1)  # batches held when no further ones are made ahead of their use
        # Each word is written by one machine instruction. The engine writes wanted: whether it wants
        # to hear of releases. This process writes the seq of each released batch.
        of_words = memoryview(memory)[words:end] if words else memoryview(bytearray(protocol.WORDS_LINE))
        self.wanted = of_words[:8].cast("Q")
        self.waiting = of_words[64:72].cast("Q")  # the seq of the last batch that had come when a wait for the next began
        self.released = of_words[protocol.WORDS_LINE :].cast("Q")
        self.address: int = self.bytes.__array_interface__["data"][0]
        self.file = _owner.fromfd(os.dup(descriptor))
        self.announced = 0


class Rings:
    """The generations of a connection's ring. Batches of an old one may come after the new one, as they were begun before it."""

    __slots__ = ("newest", "older")

    def __init__(self) -> None:
        self.newest: Ring | None = None
        self.older: list[Ring] = []

    def add(self, ring: Ring) -> None:
        """Takes a new generation. One with a single slot holds a batch that was too large for the others."""
        if ring.slots == 1:
            ring.most = 3 if self.newest is None else self.newest.most
            self.older.append(ring)
            return
        if self.newest is not None:
            self.older.append(self.newest)
        self.newest = ring

    def find(self, generation: int) -> Ring:
        """Returns the generation in which the engine announces a batch."""
        newest = self.newest
        if newest is not None and generation == newest.generation:
            newest.announced += 1
            # The engine works on no more batches at once than there are slots, and announces them
            # in order.
            if self.older and newest.announced > newest.slots:
                self.older = [ring for ring in self.older if ring.slots == 1]
            return newest
        for ring in self.older:
            if generation == ring.generation:
                if ring.slots == 1:
                    self.older.remove(ring)
                return ring
        raise ProtocolError(f"the engine announced a batch in generation {generation} of the ring, which it did not send")


def slot_bytes(ring: Ring, index: int, seq: int) -> SlotBytes:
    """The memory of a slot."""
    memory = ring.parts[index].view(SlotBytes)
    memory.place = ring, index, seq
    return memory


def watch(memory: SlotBytes, gone: object) -> Watch:
    """A watch of a slot, which calls gone."""
    made = Watch(memory, gone)  # type: ignore[arg-type]
    made.place = memory.place
    return made


def private(memory: Bytes, used: int) -> Bytes:
    """Returns a copy of the first used bytes, aligned as slots are."""
    room = np.empty(used + 256, np.uint8)
    skip = -room.__array_interface__["data"][0] % 256
    copy = room[skip : skip + used]
    copy[:] = memory[:used]
    return copy
