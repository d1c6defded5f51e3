"""A batch in memory, without its columns."""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

from .. import _audit
from ..errors import ProtocolError
from . import _protocol as protocol
from ._loans import Loans
from ._ring import Bytes, Ring, SlotBytes

# The numbers of a header, which the descriptors follow. What each batch needs is read by these:
# a property takes longer.
MAGIC, NODES, SEQ, ROWS, VALID, EPOCH, STEP, POSITION, NEXT_EPOCH, NEXT_POSITION, _FIELDS = range(11)


_number = int.from_bytes


class RawBatch(NamedTuple):
    """A batch in a slot, or in a copy of one.

    bytes is the memory, SlotBytes for a slot, so that a column that is made of it,
    np.ndarray(shape, dtype, raw.bytes, offset), keeps the slot. ring is the slot's, None for a copy.
    nodes are the descriptors in one tuple, 8 numbers each: length, nulls, the offsets in bytes of
    validity, offsets and data, the bytes of the data, the list size, and 0. header has the numbers
    before them, and what is beside them: the audit's sum, and of the trail, which explains what held
    the batch up, the time in ns of time.monotonic_ns at which it was finished, and a number of marks.
    """

    bytes: Bytes
    ring: Ring | None
    offset: int
    used: int
    header: tuple[int, ...]
    nodes: tuple[int, ...]
    loans: Loans | None

    @property
    def seq(self) -> int:
        return self.header[SEQ]

    @property
    def rows(self) -> int:
        return self.header[ROWS]

    @property
    def valid(self) -> int:
        return self.header[VALID]

    @property
    def epoch(self) -> int:
        return self.header[EPOCH]

    @property
    def step(self) -> int:
        return self.header[STEP]

    @property
    def position(self) -> int:
        return self.header[POSITION]

    @property
    def after(self) -> tuple[int, int]:
        """The epoch and position after this batch."""
        header = self.header
        return header[NEXT_EPOCH], header[NEXT_POSITION]

    @property
    def finished(self) -> int:
        return self.header[-2]

    @property
    def marks(self) -> int:
        return self.header[-1]

    @property
    def trail(self) -> int:
        """The offset of the marks."""
        return self.used - 8 * self.marks

    @property
    def sum(self) -> int:
        """What the batch adds to the audit of its epoch; see _audit."""
        numbers: Any = self.header[-3]  # bytes
        return _number(numbers, "little")

    @property
    def moves(self) -> tuple[int, tuple[int, int], int]:
        """Its position, the epoch and position after it, and what it adds to the audit."""
        header = self.header
        numbers: Any = header[-3]
        return header[POSITION], (header[NEXT_EPOCH], header[NEXT_POSITION]), _number(numbers, "little")

    def deal(self, steps: int) -> list[_audit.Dealt]:
        """The rows of the first steps of a bundle."""
        if self.header[ROWS] <= 1 and steps == 1:
            return [(0, 0, self.sum)] if self.header[ROWS] else []
        view = memoryview(self.bytes).cast("B")
        at = self.offset + protocol.SLOT_HEADER.size + self.header[NODES] * protocol.NODE_BYTES + protocol.BESIDE.size
        return _audit.deal(self.sum, view[at : self.trail], self.header[ROWS], steps)

    def release(self) -> None:
        """Gives the slot back now. The engine overwrites it: copy what you need before. Further calls
        do nothing.
        """
        if self.loans is not None and isinstance(self.bytes, SlotBytes):
            self.loans.give_back(self.bytes)


class Parser:
    """Reads the headers of batches, which mostly have as many descriptors as the one before."""

    __slots__ = ("_nodes", "_whole")

    def __init__(self) -> None:
        self._nodes = 0
        self._whole = protocol.SLOT_HEADER  # and the descriptors, and the trail

    def batch(self, memory: Bytes, view: memoryview, ring: Ring | None, offset: int, used: int, loans: Loans | None = None) -> RawBatch:
        """The batch whose header is at offset. It has used bytes of memory, a slot of loans or a
        copy, and view is the same memory.
        """
        whole = self._whole
        if offset + whole.size <= used <= len(view):
            header = whole.unpack_from(view, offset)
            if header[NODES] == self._nodes and header[MAGIC] == protocol.SLOT_MAGIC and offset + whole.size + 8 * header[-1] <= used:
                return _new(RawBatch, (memory, ring, offset, used, header, header[_FIELDS:-3], loans))
        self._learn(view, offset, used)
        header = self._whole.unpack_from(view, offset)
        return RawBatch(memory, ring, offset, used, header, header[_FIELDS:-3], loans)

    def _learn(self, view: memoryview, offset: int, used: int) -> None:
        """Makes what reads a header like that at offset, which has to be whole."""
        if offset + protocol.SLOT_HEADER.size > used or used > len(view):
            raise ProtocolError(f"the engine announced a batch at {offset} of {used} bytes in a slot of {len(view)}")
        magic, nodes = protocol.SLOT_HEADER.unpack_from(view, offset)[:2]
        if magic != protocol.SLOT_MAGIC or offset + protocol.SLOT_HEADER.size + nodes * protocol.NODE_BYTES + protocol.BESIDE.size > used:
            raise ProtocolError("the engine announced a batch with a broken header")
        whole = Struct(f"{protocol.SLOT_HEADER.format}{nodes * protocol.NODE_FIELDS}q{protocol.BESIDE.format[1:]}")
        if offset + whole.size + 8 * whole.unpack_from(view, offset)[-1] > used:
            raise ProtocolError("the engine announced a batch with a broken trail")
        self._whole, self._nodes = whole, nodes


_new = tuple.__new__  # without the arguments' names, which take as long as the rest
