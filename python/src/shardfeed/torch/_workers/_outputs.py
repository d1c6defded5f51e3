"""The ring in which workers write what they make."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable

from ..._engine._ring import Ring, SlotBytes, Watch, slot_bytes, watch
from ...errors import MemoryLimitError

_PAGE = 4096
_LEAST_SLOTS = 2  # one that the trainer has, and one that it waits for


class Outputs:
    """Slots for results. The trainer lends each to one worker, and has it until its last tensor is
    gone.

    The ring is made with the first result that needs it, and again, larger, when a result outgrows
    its slots. The one before goes with the last result in it.
    """

    def __init__(self, slots: int) -> None:
        self.wanted = slots
        self._reserved = 0  # bytes of the stream's memory
        self._more: Callable[[int], None] = _refuse
        self.ring: Ring | None = None
        self._free: list[int] = []  # slots of the ring; the last freed one is used next, as its pages are in memory
        self._seq = 0
        self._rings = 0  # that were made
        self._lent: dict[int, Watch] = {}  # by seq
        self._gone: deque[Watch] = deque()

    def reserve(self, reserved: int, more: Callable[[int], None]) -> None:
        """Notes how many bytes are reserved for the ring, and how to reserve others of the stream's
        memory: more takes their number, and raises if they do not fit.
        """
        self._reserved, self._more = reserved, more
        try:
            self._ask(0 if self.ring is None else _size(self.ring), self._left(but=self.ring))
        except MemoryLimitError:
            self.ring = None  # the next one is smaller

    @property
    def slots(self) -> int:
        return self.wanted if self.ring is None else self.ring.slots

    def free(self) -> int:
        """How many slots may be lent."""
        gone = self._gone
        while gone:
            ring, index, seq = gone.popleft().place
            if self._lent.pop(seq, None) is not None and ring is self.ring:
                self._free.append(index)
        return self.wanted if self.ring is None else len(self._free)

    def lend(self, size: int = 0, keep: int = 0) -> SlotBytes | None:
        """Lends a slot of size bytes; None if no more than keep slots are free."""
        ring = self.ring
        if size and (ring is None or size > ring.slot_size):
            ring = self._grow(size)
        if ring is None or self.free() <= keep:
            return None
        self._seq += 1
        memory = slot_bytes(ring, self._free.pop(), self._seq)
        self._lent[self._seq] = watch(memory, self._gone.append)
        return memory

    def _grow(self, size: int) -> Ring:
        """Makes a ring of larger slots: a quarter more than is asked for. Where memory is short they
        are fewer, and as large as they must be.
        """
        self.free()  # forgets rings without results
        left, each, slots = self._left(), -(-size * 5 // (4 * _PAGE)) * _PAGE, self.wanted
        while True:
            try:
                self._ask(slots * each, left)
                break
            except MemoryLimitError as e:
                each = -(-size // _PAGE) * _PAGE
                if slots <= _LEAST_SLOTS:
                    raise MemoryLimitError(
                        f"what map and collate_fn made of a batch takes {size / (1 << 20):.1f} MiB, and workers need memory for at least "
                        f"{_LEAST_SLOTS} of them: give a smaller batch_size, or more memory= ({e})"
                    ) from None
                slots = max(_LEAST_SLOTS, slots // 2)
        self._rings += 1
        descriptor = _shared(slots * each)
        try:
            ring = self.ring = Ring(descriptor, self._rings, slots, each)
        finally:
            os.close(descriptor)
        self._free = list(range(slots))
        return ring

    def _ask(self, size: int, left: int) -> None:
        """Reserves what a ring of size bytes and the earlier ones take beyond the stream's reserve."""
        self._more(max(0, size + left - self._reserved))

    def _left(self, but: Ring | None = None) -> int:
        """The bytes of rings that hold results, but for one."""
        rings = {id(ring): ring for ring in (lent.place[0] for lent in self._lent.values()) if ring is not but}
        return sum(map(_size, rings.values()))

    def close(self) -> None:
        """Lends nothing from here on. The memory goes with the last result in it."""
        self.ring = None
        self._lent.clear()
        self._gone.clear()


def _size(ring: Ring) -> int:
    return ring.slots * ring.slot_size


def _refuse(size: int) -> None:
    if size:
        raise MemoryLimitError("nothing is reserved")


def _shared(size: int) -> int:
    """A file without a name that other processes can map. Its pages take memory when they are
    written to.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("shardfeed-workers", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        os.ftruncate(descriptor, size)
    except OSError as e:
        os.close(descriptor)
        raise MemoryLimitError(f"no shared memory of {size >> 20} MiB for what workers make: {e}") from None
    return descriptor
