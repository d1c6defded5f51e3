"""Copies to a device, with a CUDA whose copies are late: their sources must not change before."""

from __future__ import annotations

import gc
import logging
import os
import sys
import weakref
from collections import deque

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shardfeed._waited import Waited  # noqa: E402
from shardfeed.torch import Bytes, DataLoader, Ragged  # noqa: E402
from shardfeed.torch import _device as device_module  # noqa: E402
from shardfeed.torch._device import Feeder, Mover, Pinner, Route  # noqa: E402
from shardfeed.torch._pin import Pins  # noqa: E402


class LateEvent:
    """Passes when somebody waits for it, or at the third look."""

    def __init__(self, work):
        self._work = work
        self._looks = 0

    def query(self) -> bool:
        self._looks += 1
        if self._looks == 3:
            self.synchronize()
        return self._work is None

    def synchronize(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work()


class LateStreams:
    """Copies when an event is waited for, in order, as a stream does."""

    def __init__(self):
        self._pending: deque = deque()
        self.handed_over: list = []

    def copy(self, batch):
        out = {name: torch.full_like(tensor, -1) for name, tensor in batch.items()}
        refs = {name: weakref.ref(tensor) for name, tensor in batch.items()}

        def run():
            for name, ref in refs.items():
                tensor = ref()
                assert tensor is not None, "the memory went back before its copy was done"
                out[name].copy_(tensor)

        return out, self._event(run)

    def _event(self, work=lambda: None):
        self._pending.append(work)
        upto = len(self._pending)
        mine = self._pending

        def run():
            nonlocal upto
            while mine and upto:
                mine.popleft()()
                upto -= 1

        return LateEvent(run)

    def hand_over(self, batch, arrived):
        self.handed_over.append(arrived)
        return batch, arrived

    def mark(self):
        return self._event()

    def settle(self):
        self._event().synchronize()


class Slots:
    """A source whose memory is written again when it has come back, as a ring's is."""

    def __init__(self, count, slots=4, ready=True):
        self.waited = Waited()
        self.rings = ()
        self.holds = sys.maxsize
        self.left = count
        self.made = 0
        self.free = slots
        self.is_ready = ready
        self.closed = False

    def __next__(self):
        if self.made == self.left:
            raise StopIteration
        assert self.free, "all slots are held: the engine would wait for ever"
        self.free -= 1
        value = self.made
        self.made += 1
        array = np.full(8, value)
        weakref.finalize(array, self._back, array.ctypes.data)
        return {"x": torch.from_numpy(array)}, value

    def _back(self, _):
        self.free += 1

    def ready(self):
        return self.is_ready

    def close(self):
        self.closed = True


class FakeCuda:
    def __init__(self, fail=False):
        self.registered: dict[int, int] = {}
        self.fail = fail
        self.forgot = 0
        self.pinned = 0

    def register(self, address, size):
        if self.fail:
            raise RuntimeError("CUDA error: out of memory")
        assert address not in self.registered, "registered twice"
        self.registered[address] = size

    def unregister(self, addresses):
        for address in addresses:
            del self.registered[address]

    def forget_error(self):
        self.forgot += 1

    def is_pinned(self, tensor):
        return any(a <= tensor.data_ptr() < a + n for a, n in self.registered.items())

    def pin(self, tensor):
        self.pinned += 1
        return tensor.clone()


class FakeRing:
    def __init__(self, slots=4, size=4096):
        self.memory = np.zeros(slots * size, np.uint8)
        self.address = self.memory.ctypes.data
        self.slots, self.slot_size = slots, size

    def slot(self, index):
        return torch.from_numpy(self.memory[index * self.slot_size :][: self.slot_size])


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_copies_are_ahead_and_their_memory_stays(ahead, ready):
    streams, source = LateStreams(), Slots(20, slots=2 * ahead + 4, ready=ready)
    feeder = Feeder(source, streams, None, ahead=ahead)
    batches = []
    for n in range(20):
        batch, stamp = next(feeder)
        assert stamp == n, "stamps are those of the batches that are handed out"
        assert source.made == (min(20, n + 1 + ahead) if ready else n + 1)
        batches.append(batch)
        streams.handed_over[-1].synchronize()
        assert batch["x"].tolist() == [n] * 8
    with pytest.raises(StopIteration):
        next(feeder)
    feeder.close()
    gc.collect()
    assert source.closed and source.free == 2 * ahead + 4, "all memory went back"


def test_leaving_waits_for_copies():
    streams, source = LateStreams(), Slots(20, slots=8)
    feeder = Feeder(source, streams, None, ahead=2)
    batch, _ = next(feeder)
    feeder.close()
    assert batch["x"].tolist() == [0] * 8, "what was handed out is whole"
    gc.collect()
    assert source.free == 8


def test_an_interrupt_while_it_waits():
    class Interrupted(LateStreams):
        waits = 0

        def settle(self):
            self.waits += 1
            if self.waits == 1:
                raise KeyboardInterrupt
            super().settle()

    streams, source = Interrupted(), Slots(20, slots=8)
    feeder = Feeder(source, streams, None, ahead=2)
    next(feeder)
    with pytest.raises(KeyboardInterrupt):
        feeder.close()
    assert source.free < 8, "copies may still read it"
    del feeder
    gc.collect()
    assert streams.waits == 2 and not streams._pending and source.free == 8


def test_an_error_comes_after_the_batches_before_it():
    class Failing(Slots):
        def __next__(self):
            if self.made == 3:
                raise ValueError("broken")
            return super().__next__()

    feeder = Feeder(Failing(9, slots=9), LateStreams(), None, ahead=3)
    assert [next(feeder)[1] for _ in range(3)] == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            next(feeder)
    feeder.close()


def test_slots_are_pinned_when_they_are_used_and_unpinned_before_they_go():
    cuda = FakeCuda()
    pins, ring, other = Pins(cuda), FakeRing(), FakeRing()
    for slot in 2, 0, 2, 0:
        pins.pinned({"a": ring.slot(slot)[100:200], "b": ring.slot(slot)}, (other, ring))
    assert cuda.registered == {ring.address + 2 * 4096: 4096, ring.address: 4096} and cuda.pinned == 0, "two of eight slots"
    inside = ring.slot(0)[256:512]
    assert pins.pinned({"a": inside}, (ring,))["a"] is inside and cuda.pinned == 0
    own = pins.pinned({"a": torch.zeros(3), "b": [Ragged(torch.zeros(2), torch.zeros(2))], "c": Bytes(torch.zeros(2), torch.zeros(2))})
    assert cuda.pinned == 5 and isinstance(own["b"][0], Ragged)
    del inside, ring
    gc.collect()
    assert not cuda.registered


def test_custom_types_are_pinned_by_themselves():
    class Graph:
        pinned = False

        def pin_memory(self):
            self.pinned = True
            return self

    assert Pins(FakeCuda()).pinned({"g": (Graph(), "text", 3)})["g"][0].pinned


def test_a_ring_that_cannot_be_pinned(caplog):
    cuda = FakeCuda(fail=True)
    pins, ring = Pins(cuda), FakeRing()
    with caplog.at_level(logging.WARNING, "shardfeed"):
        for slot in 0, 1, 0:
            assert pins.pinned(ring.slot(slot), (ring,)) is not None
    assert len(caplog.records) == 1 and "out of memory" in caplog.text
    assert cuda.forgot == 1 and cuda.pinned == 3, "they are copied into memory that torch pins"


def test_pinned_memory_for_a_trainer_that_copies_itself():
    streams, cuda = LateStreams(), FakeCuda()
    source = Slots(12, slots=5)
    pinner = Pinner(source, streams, Pins(cuda))
    copies = []
    for n in range(12):
        batch, stamp = next(pinner)
        assert stamp == n and batch["x"].tolist() == [n] * 8
        copies.append(streams.copy(batch)[0]["x"])  # the trainer's own, which looks at the memory late
        del batch
    with pytest.raises(StopIteration):
        next(pinner)
    pinner.close()
    gc.collect()
    assert source.free == 5 and [copy.tolist() for copy in copies] == [[n] * 8 for n in range(12)]


def test_other_devices():
    class Custom:
        def to(self, device):
            return ("moved", str(device))

    class Two:
        left = 1
        waited = Waited()

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left = 0
            return {"x": torch.arange(3), "s": "text", "r": Ragged(torch.arange(3), torch.tensor([0, 3])), "c": Custom()}, "stamp"

        def close(self):
            pass

    batch, stamp = next(Mover(Two(), torch.device("meta")))
    assert batch["x"].device.type == batch["r"].values.device.type == "meta"
    assert (batch["s"], batch["c"], stamp) == ("text", ("moved", "meta"), "stamp")
    source = Two()
    assert Route(None, None, 2).open(source) is source and Route(torch.device("cpu"), None, 2).open(source) is source


@pytest.mark.skipif(torch.cuda.is_available(), reason="this is for machines without CUDA")
def test_without_cuda_it_says_so_once(runtime, shards, job, caplog, monkeypatch):
    monkeypatch.setattr(device_module, "_said", set())
    with caplog.at_level(logging.WARNING, "shardfeed"):
        for _ in range(2):
            loader = DataLoader(shards, batch_size=1000, cache=False, pin_memory=True)
            assert sorted(i for batch in loader for i in batch["id"].tolist()) == list(range(4000))
    assert [r.message for r in caplog.records] == ["pin_memory=True has no effect: this machine or this torch has no CUDA"]


def test_pins_belong_to_their_process():
    cuda = FakeCuda()
    ring = FakeRing()
    Pins(cuda).pinned(ring.slot(1), (ring,))
    child = os.fork()
    if child == 0:
        del ring
        gc.collect()
        os._exit(0 if cuda.registered else 1)
    assert os.waitpid(child, 0)[1] == 0, "a forked child leaves the parent's memory alone"
