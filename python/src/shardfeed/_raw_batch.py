"""A batch in memory, without its columns."""

from __future__ import annotations

from struct import Struct

from . import _protocol as protocol
from ._loans import Loans
from ._ring import Bytes, Ring
from ._slot_bytes import SlotBytes
from .errors import ProtocolError


class RawBatch:
    """A batch in a slot, or in a copy of one.

    bytes is the memory, SlotBytes for a slot, so that a column that is made of it,
    np.ndarray(shape, dtype, raw.bytes, offset), keeps the slot. ring is the slot's, None for a copy.
    nodes are the descriptors in one tuple, 8 numbers each: length, nulls, the offsets in bytes of
    validity, offsets and data, the bytes of the data, the list size, and 0.
    """

    __slots__ = (
        "_loans",
        "bytes",
        "epoch",
        "next_epoch",
        "next_position",
        "nodes",
        "offset",
        "position",
        "ring",
        "rows",
        "seq",
        "step",
        "used",
        "valid",
    )

    def __init__(
        self, memory: Bytes, ring: Ring | None, offset: int, used: int, parsers: dict[int, Struct], loans: Loans | None = None
    ) -> None:
        """Reads the header at offset. The batch has used bytes of memory, a slot of loans or a copy.

        The caller keeps parsers, one for each number of nodes.
        """
        if offset + protocol.SLOT_HEADER.size > used or used > memory.nbytes:
            raise ProtocolError(f"the engine announced a batch at {offset} of {used} bytes in a slot of {memory.nbytes}")
        (
            magic,
            nodes,
            self.seq,
            self.rows,
            self.valid,
            self.epoch,
            self.step,
            self.position,
            self.next_epoch,
            self.next_position,
        ) = protocol.SLOT_HEADER.unpack_from(memory, offset)
        if magic != protocol.SLOT_MAGIC or offset + protocol.SLOT_HEADER.size + nodes * protocol.NODE_BYTES > used:
            raise ProtocolError("the engine announced a batch with a broken header")
        parser = parsers.get(nodes)
        if parser is None:
            parser = parsers[nodes] = Struct(f"<{nodes * protocol.NODE_FIELDS}q")
        self.nodes: tuple[int, ...] = parser.unpack_from(memory, offset + protocol.SLOT_HEADER.size)
        self.ring = ring
        self.offset = offset
        self.used = used
        self.bytes = memory
        self._loans = loans

    def release(self) -> None:
        """Gives the slot back now. The engine overwrites it: copy what you need before. Further calls
        do nothing.
        """
        if self._loans is not None and isinstance(self.bytes, SlotBytes):
            self._loans.give_back(self.bytes)
