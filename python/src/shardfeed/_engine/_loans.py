"""Slots that the engine lends, and how they go back."""

from __future__ import annotations

from collections import deque

from ..errors import ProtocolError
from . import _protocol as protocol
from ._outbox import Outbox
from ._ring import Ring, SlotBytes, Watch


class Loans:
    """The slots of a connection that are in use. Others go back with the next request or wait, by a
    word in the ring each; the engine gets a message only while it waits for a slot.

    The last array of a slot may be dropped in any thread, between any two lines, in a forked child,
    and while the interpreter ends. All that happens then is an append to a deque, in C: it never
    waits or fails, and cannot swallow a KeyboardInterrupt as a finalizer in Python does.
    """

    __slots__ = ("_notice", "_outbox", "_quiet", "gone", "held")

    def __init__(self, outbox: Outbox):
        self.held: dict[int, Watch] = {}  # by generation << 32 | slot
        self.gone: deque[Watch] = deque()  # not used any more; settle gives them back
        self._notice = self.gone.append
        self._outbox = outbox
        self._quiet: list[Ring] = []  # the ring of each slot that went back while the engine waited, without a message

    def __len__(self) -> int:
        return len(self.held)

    def lend(self, ring: Ring, index: int, seq: int) -> SlotBytes:
        """Returns the memory of a slot that the engine announced."""
        key, held = ring.generation << 32 | index, self.held
        if index >= ring.slots or key in held:
            raise ProtocolError(f"the engine announced slot {index} of {ring.slots}, which does not exist or is in use")
        memory = ring.parts[index].view(SlotBytes)  # as slot_bytes and watch, which each batch would call
        watch = Watch(memory, self._notice)
        memory.place = watch.place = ring, index, seq
        held[key] = watch
        return memory

    def give_back(self, memory: SlotBytes) -> None:
        """Gives a slot back now. Further calls do nothing."""
        ring, index, _ = memory.place
        watch = self.held.get(ring.generation << 32 | index)
        if watch is not None and watch() is memory:
            self._notice(watch)
            self.settle()

    def settle(self, least: int = 1) -> bool:
        """Returns unused slots, and whether there were any. A waiting engine gets a message once there are at least ``least``
        of them. Before, the words are not read: their memory is in the engine's processor cache.
        """
        gone, held, quiet = self.gone, self.held, self._quiet
        if not gone and len(quiet) < least:
            return False
        try:
            while gone:
                watch = gone.popleft()
                ring, index, seq = watch.place
                key = ring.generation << 32 | index
                if held.get(key) is watch:  # else it went back before
                    quiet.append(ring)
                    if ring.slots == 1:
                        least = 1  # its memory goes with it
                    ring.released[index] = seq
                    del held[key]  # no interrupt and no other thread comes between: the engine may announce the slot again
        except IndexError:  # another thread took the last one
            pass
        except BaseException:  # an interrupt: the one that popleft returned may be lost
            gone.extend([watch for watch in held.values() if watch() is None])
            raise
        finally:  # also after a KeyboardInterrupt: the engine may wait for the slots
            if len(quiet) >= least:
                wanted = any(map(_wants, quiet))
                quiet.clear()  # an engine that does not want them looks before it waits
                if wanted:
                    self._outbox.post(protocol.RELEASED)
        return True

    def close(self) -> None:
        """Forgets all slots. None goes back from here on."""
        self.held.clear()
        self.gone.clear()
        self._quiet.clear()


def _wants(ring: Ring) -> int:
    return ring.wanted[0]
