"""A slot's memory as an array that owns it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._ring import Ring


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
