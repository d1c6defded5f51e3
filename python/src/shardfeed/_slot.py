"""Slots that were lent by the engine, and how they go back."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from . import _protocol as protocol
from ._outbox import Outbox
from ._ring import Ring
from .errors import ProtocolError


class Slot:
    """The owner of a slot's memory: arrays made of it keep it alive, and when the last one is gone the slot is given back.

    Nothing that it refers to may refer to it, or the slot would wait for a run of the garbage collector.
    """

    __slots__ = ("__weakref__", "_loans", "index", "released", "ring", "seq")

    def __init__(self, ring: Ring, index: int, seq: int, loans: Loans):
        self.ring = ring  # also after a release: arrays may still lie in it
        self.index = index
        self.seq = seq
        self.released = False
        self._loans = loans

    @property
    def __array_interface__(self) -> dict[str, Any]:
        ring = self.ring
        return {"version": 3, "shape": (ring.slot_size,), "typestr": "|u1", "data": (ring.address + self.index * ring.slot_size, False)}

    def release(self) -> None:
        """Gives the slot back now. Arrays made of it may change from here on: for callers that have copied what they need."""
        if not self.released:
            self.released = True
            self._loans.give_back(self.ring.generation, self.index, self.seq)


class Copy:
    """The owner of a batch that was copied out of the ring: it has nothing to give back."""

    __slots__ = ("__weakref__", "released")

    ring: Ring | None = None

    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        """Does nothing but remember it."""
        self.released = True


class Loan(weakref.ref[Slot]):
    """A slot that somebody has."""

    __slots__ = ("generation", "index", "seq")

    generation: int
    index: int
    seq: int


class Loans:
    """The slots of a connection that somebody has. Those whose last view is gone go back with the next request or wait for a batch.

    The last view may go in any thread, between any two lines, in a forked child, and while the interpreter ends. So what happens then is
    one append to a deque, in C: there is nothing to wait for, nothing that can fail, and no line in which an interrupt of the user's would
    be lost, as it would be in a finalizer.
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
            raise ProtocolError(f"the engine announced slot {index} of {ring.slots}, which it does not have")
        slot = Slot(ring, index, seq, self)
        loan = self._held[key] = Loan(slot, self._gone.append)
        loan.generation, loan.index, loan.seq = ring.generation, index, seq
        return slot

    def give_back(self, generation: int, index: int, seq: int) -> None:
        """Gives a slot back now; once, whoever else comes."""
        if self._held.pop((generation, index), None) is not None:
            self._outbox.post(protocol.release(generation, index, seq))

    def settle(self, patience: int = 1) -> None:
        """Gives back what nobody has any more, in one message; nothing while it is less than patience slots."""
        gone, frames = self._gone, []
        if len(gone) < patience:
            return
        try:
            while gone:
                loan = gone.popleft()
                if self._held.pop((loan.generation, loan.index), None) is not None:
                    frames.append(protocol.release(loan.generation, loan.index, loan.seq))
        except IndexError:  # another one took it
            pass
        finally:  # an interrupt of the user's must not lose what was taken
            if frames:
                self._outbox.post(b"".join(frames))

    def close(self) -> None:
        """Forgets all: what is dropped from here on goes nowhere."""
        self._held.clear()
        self._gone.clear()
