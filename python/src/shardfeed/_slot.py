"""Slots that the engine lends, and how they go back."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from . import _protocol as protocol
from ._outbox import Outbox
from ._ring import Ring
from .errors import ProtocolError


class Slot:
    """The owner of a slot's memory. Arrays keep it alive; the slot goes back after the last one.

    It must not be part of a reference cycle: its slot would stay in use until a garbage collection.
    """

    __slots__ = ("__weakref__", "_loans", "index", "released", "ring", "seq")

    def __init__(self, ring: Ring, index: int, seq: int, loans: Loans):
        self.ring = ring  # kept after a release: arrays may still use its memory
        self.index = index
        self.seq = seq
        self.released = False
        self._loans = loans

    @property
    def __array_interface__(self) -> dict[str, Any]:
        ring = self.ring
        return {"version": 3, "shape": (ring.slot_size,), "typestr": "|u1", "data": (ring.address + self.index * ring.slot_size, False)}

    def release(self) -> None:
        """Gives the slot back now. The engine overwrites it: copy what you need before."""
        if not self.released:
            self.released = True
            self._loans.give_back(self.ring.generation, self.index, self.seq)


class Copy:
    """The owner of a batch that was copied out of the ring."""

    __slots__ = ("__weakref__", "released")

    ring: Ring | None = None

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        """Marks the batch as released. There is no slot to give back."""
        self.released = True


class Loan(weakref.ref[Slot]):
    """A slot in use."""

    __slots__ = ("generation", "index", "seq")

    generation: int
    index: int
    seq: int


class Loans:
    """The slots of a connection that are in use. Others go back with the next request or wait.

    The last array of a slot may be dropped in any thread, between any two lines, in a forked child,
    and while the interpreter ends. All that happens then is an append to a deque, in C: it never
    waits or fails, and cannot swallow a KeyboardInterrupt as a finalizer in Python does.
    """

    __slots__ = ("_gone", "_held", "_outbox")

    def __init__(self, outbox: Outbox):
        self._outbox = outbox
        self._held: dict[tuple[int, int], Loan] = {}
        self._gone: deque[Loan] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def lend(self, ring: Ring, index: int, seq: int) -> Slot:
        """Returns the owner of a slot that the engine announced."""
        key = (ring.generation, index)
        if index >= ring.slots or key in self._held:
            raise ProtocolError(f"the engine announced slot {index} of {ring.slots}, which does not exist or is in use")
        slot = Slot(ring, index, seq, self)
        loan = self._held[key] = Loan(slot, self._gone.append)
        loan.generation, loan.index, loan.seq = ring.generation, index, seq
        return slot

    def give_back(self, generation: int, index: int, seq: int) -> None:
        """Gives a slot back now. Further calls do nothing."""
        if self._held.pop((generation, index), None) is not None:
            self._outbox.post(protocol.release(generation, index, seq))

    def settle(self, least: int = 1) -> None:
        """Gives unused slots back in one message, once there are at least so many."""
        gone, frames = self._gone, []
        if len(gone) < least:
            return
        try:
            while gone:
                loan = gone.popleft()
                if self._held.pop((loan.generation, loan.index), None) is not None:
                    frames.append(protocol.release(loan.generation, loan.index, loan.seq))
        except IndexError:  # another thread took the last one
            pass
        finally:  # also after a KeyboardInterrupt, which must not lose slots
            if frames:
                self._outbox.post(b"".join(frames))

    def close(self) -> None:
        """Forgets all slots. None goes back from here on."""
        self._held.clear()
        self._gone.clear()
