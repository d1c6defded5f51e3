"""What a trainer and its workers share: frames over their sockets, and slots for results."""

from __future__ import annotations

import gc
import os
import socket
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shardfeed import errors  # noqa: E402
from shardfeed._engine._ring import (  # noqa: E402
    Ring,
    SlotBytes,
    slot_bytes,
)
from shardfeed.torch._workers._link import Link  # noqa: E402
from shardfeed.torch._workers._outputs import Outputs  # noqa: E402
from shardfeed.torch._workers._transfer import Packer, Unpacker  # noqa: E402


class Recorded:
    """Stands for the socket of a sender, and keeps the bytes sent."""

    def __init__(self) -> None:
        self.data = b""

    def sendall(self, data: bytes) -> None:
        self.data += data


@pytest.fixture
def ends() -> Any:
    one, other = socket.socketpair()
    link = Link(other)
    yield one, link
    link.close()
    one.close()


def came(link: Link) -> list[tuple[int, bytes]]:
    """The frames that are there."""
    frames = []
    if link.read(wait=False):
        while kind := link.next(wait=False):
            frames.append((kind, link.payload()))
    return frames


FRAMES = [(1, b""), (2, b"abc"), (3, bytes(range(256)) * 40), (4, b"x" * 70_000), (5, b"yz"), (6, b"w" * 200_000), (7, b"")]


@pytest.mark.parametrize("piece", [3, 7, 8, 9, 1000, 65_535, 65_536, 300_000])
def test_frames_in_pieces(ends, piece):
    """However they arrive, and however large they are."""
    recorded: Any = Recorded()
    sender = Link(recorded)
    for kind, payload in FRAMES:
        sender.send(kind, payload[:2], payload[2:])
    one, link = ends
    got = []
    for at in range(0, len(recorded.data), piece):
        rest = memoryview(recorded.data)[at : at + piece]
        while rest:
            rest = rest[one.send(rest, socket.MSG_DONTWAIT) :]
            got += came(link)
    assert got == FRAMES
    assert came(link) == [] and link.next(wait=False) == 0


@pytest.mark.parametrize("there", range(9))
def test_a_header_at_the_end_of_the_buffer(ends, there):
    """Some of its bytes are there."""
    recorded: Any = Recorded()
    sender = Link(recorded)
    frames = [(1, b"x" * (65_536 - 8 - there)), (2, b"abc")]
    for kind, payload in frames:
        sender.send(kind, payload)
    one, link = ends
    one.sendall(recorded.data[:65_536])
    got = came(link)
    one.sendall(recorded.data[65_536:])
    assert got + came(link) == frames


def test_frames_that_are_waited_for(ends):
    one, link = ends
    sender = Link(one.dup())
    sender.send(1, b"first")
    sender.send(2, b"second")
    assert [(link.next(), link.payload()) for _ in range(2)] == [(1, b"first"), (2, b"second")]
    sender.close()
    with pytest.raises(EOFError):
        link.next()


def test_descriptors_come_in_their_order(ends):
    one, link = ends
    sender, made = Link(one.dup()), [os.memfd_create(f"file {n}") for n in range(3)]
    for n, descriptor in enumerate(made):
        os.write(descriptor, bytes([n]))
        sender.send(n + 1, b"ring", descriptor=descriptor)
        os.close(descriptor)
    for n in range(3):
        assert link.next() == n + 1
        descriptor = link.descriptor()
        assert os.pread(descriptor, 1, 0) == bytes([n])
        os.close(descriptor)
    sender.close()


# Slots


def enough(_: int) -> None:
    pass


def outputs(slots: int = 3) -> Outputs:
    made = Outputs(slots)
    made.reserve(1 << 20, enough)
    return made


PARTS = {
    "tensor": lambda made: made["x"],
    "view": lambda made: made["x"][1:3],
    "bits": lambda made: made["x"].view(torch.uint8),
    "bfloat16": lambda made: made["half"],
    "turned": lambda made: made["turned"],
    "number": lambda made: made["number"],
    "array": lambda made: made["array"],
    "view of the array": lambda made: made["array"][::2],
    "array of a tensor": lambda made: made["x"].numpy(),
    "object": lambda made: made["object"],
}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_keeps_its_slot(part):
    """The slot is free with the last tensor or array in it, and not before."""
    slots = outputs()
    value = {"x": torch.arange(9), "half": torch.ones(4, dtype=torch.bfloat16), "turned": torch.arange(6).reshape(2, 3).T}
    value |= {"number": torch.tensor(3.5), "array": np.arange(8), "object": {1: torch.arange(4)}}
    lent: list[SlotBytes] = []

    def memory(size: int) -> np.ndarray:
        slot = slots.lend(size)
        assert slot is not None
        lent.append(slot)
        return slot

    parcel = Packer().pack(value, (0, 0), memory)
    made = Unpacker().learn(parcel.number, parcel.structure)(parcel.numbers, (None, lent.pop()), parcel.rest)
    assert slots.free() == 2
    kept = PARTS[part](made)
    del made
    gc.collect()
    assert slots.free() == 2
    del kept
    assert slots.free() == 3


def test_slots_that_are_lent_are_different():
    slots = outputs()
    lent = [slot for slot in (slots.lend(100), slots.lend(100), slots.lend()) if slot is not None]
    assert len(lent) == 3 and slots.lend() is None
    for n, slot in enumerate(lent):
        slot[:] = n
    assert [int(slot.max()) for slot in lent] == [0, 1, 2]
    index = lent[1].index
    del lent[1], slot
    assert slots.lend(keep=1) is None, "the last one is kept"
    again = slots.lend()
    assert again is not None and again.index == index


def test_a_slot_of_an_earlier_ring_is_not_lent_again():
    """Neither of one that was too small, nor of one that the memory of an epoch did not allow."""
    slots = outputs()
    small = slots.lend(100)
    large = slots.lend(1 << 14)
    assert small is not None and large is not None and small.ring is not large.ring
    del small
    assert slots.free() == 2

    def refused(size: int) -> None:
        if size:
            raise errors.MemoryLimitError("no more")

    slots.reserve(0, refused)
    slots.reserve(1 << 20, enough)
    other = slots.lend(1 << 14)
    assert other is not None and other.ring is not large.ring
    del large
    assert slots.free() == 2


def test_rings_that_hold_results_count():
    """A larger ring is reserved beside the smaller ones whose results are kept."""
    slots, asked = Outputs(3), []
    slots.reserve(0, asked.append)
    small = slots.lend(4096)
    assert small is not None
    before = asked[-1]
    large = slots.lend(1 << 16)
    assert large is not None
    assert asked[-1] == 3 * large.ring.slot_size + before
    del small
    larger = slots.lend(1 << 20)
    assert larger is not None
    assert asked[-1] == 3 * larger.ring.slot_size + 3 * large.ring.slot_size, "the small ring is gone"
    kept = large.ring.slot_size
    slots.reserve(0, asked.append)
    assert asked[-1] == 3 * (larger.ring.slot_size + kept)


def test_a_closed_ring_lives_as_long_as_what_lies_in_it():
    slots = outputs()
    slot = slots.lend(100)
    assert slot is not None
    tensor = torch.from_numpy(np.ndarray(4, np.int32, slot, 64))
    tensor[:] = 7
    slots.close()
    del slot
    gc.collect()
    assert tensor.tolist() == [7] * 4 and slots.lend() is None


def test_memory_of_a_slot_is_the_ring():
    descriptor = os.memfd_create("ring")
    os.truncate(descriptor, 1024)
    ring = Ring(descriptor, 0, 4, 256)
    os.close(descriptor)
    slot = slot_bytes(ring, 2, 1)
    slot[:] = 5
    assert slot.nbytes == 256 and ring.bytes.reshape(4, 256).max(axis=1).tolist() == [0, 0, 5, 0]
    assert np.ndarray(3, np.int64, slot, 8).base is slot, "what numpy takes for the owner of the memory"
