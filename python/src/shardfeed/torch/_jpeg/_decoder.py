"""A batch's images: from the engine's bytes and numbers to a tensor on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch

from ._backends import Backends, States
from ._cubins import Cubins
from ._driver import enter
from ._kernels import Compiled, Kernels
from ._memory import Memory
from ._rows import ENCODED, FINISHED, HEIGHT, KIND, LENGTH, LOST, NUMBERS, WIDTH, Format, decoded, for_hardware, set_places

_PLANES = 1 << 30  # most bytes of decoded images at a time; one image may have more
_LANES = 2  # batches that the device may be given ahead of the last one that is done


class Decoder:
    """Decodes images on a stream of its own. For one thread, which makes it.

    Memory grows with the largest batch, by half at least, and stays. With two lanes, each of which
    is used again when its last work is done, the thread waits for the device, and not the
    interpreter.
    """

    def __init__(self, device: torch.device, cubins: Cubins) -> None:
        compiled = Compiled(device, cubins)
        enter(device)
        self._device = device
        self.stream = torch.cuda.Stream(device)  # of the lowest priority
        self._memory = Memory(device, self.stream)
        self._backends = Backends(self._memory, self.stream)
        try:
            self._kernels = Kernels(compiled, self.stream.cuda_stream)
        except BaseException:
            self._backends.close()
            raise
        self._lanes = [_Lane() for _ in range(_LANES)]
        self._planes = _Buffer(device)
        self._finished = _Buffer(device)
        self._scratch = _Buffer(device)
        self._sums = _Buffer(device)
        self._tables: dict[Format, torch.Tensor] = {}

    @property
    def hardware(self) -> bool:
        """Whether the GPU has hardware that decodes JPEGs."""
        return self._backends.hardware

    def warm(self, count: int) -> None:
        """Does for batches of count rows what can be done before the first one is there."""
        lost = np.zeros((count, NUMBERS), np.int32)
        lost[:, KIND] = LOST
        with torch.cuda.stream(self.stream):
            out = torch.empty(1, dtype=torch.uint8, device=self._device)
            for _ in range(_LANES):
                with self._lane() as lane:
                    lane.take(lost)
                    self._kernels.warm(lane.send(count, self._device), out.data_ptr())
                    self._backends.warm(lane.states)

    def decode(self, values: torch.Tensor, offsets: torch.Tensor, rows: torch.Tensor, form: Format) -> tuple[torch.Tensor, np.ndarray]:
        """Starts to make the tensor of a column. Row i has its bytes at offsets[i] of values, which
        is page-locked and stays until the stream has done this; rows are the numbers.

        Also returns the rows whose images nvJPEG refuses. They have zeros.
        """
        numbers, starts, refused = rows.numpy(), offsets.numpy(), []
        with torch.cuda.stream(self.stream):
            out = torch.empty((len(numbers), *form.shape), dtype=form.dtype, device=self._device)
            for first, end in _parts(numbers):
                of_part = self._part(values, starts[first:], numbers[first:end], form, out.data_ptr() + first * form.bytes)
                refused.append(first + of_part)
        return out, np.concatenate([np.zeros(0, np.int64), *refused])

    def _part(self, values: torch.Tensor, starts: np.ndarray, numbers: np.ndarray, form: Format, out: int) -> np.ndarray:
        """Makes some rows of a tensor, and returns the refused ones."""
        with self._lane() as lane:
            count, rows = len(numbers), lane.take(numbers)
            encoded, finished = (np.flatnonzero(numbers[:, KIND] == kind) for kind in (ENCODED, FINISHED))
            addresses = lane.images(numbers, encoded, values.data_ptr() + starts[encoded].astype(np.int64))
            set_places(rows, encoded, addresses.places)
            base = self._planes.address(addresses.bytes)
            pixels = self._copy(values, starts, finished, rows, form) if len(finished) else 0
            refused = encoded[:0]
            if len(encoded):
                planes = addresses.planes(base)
                refused = encoded[
                    self._backends.decode(lane.states, addresses.data, addresses.lengths, planes, for_hardware(numbers[encoded]))
                ]
                rows[refused, KIND] = LOST
            on = lane.send(count, self._device)
            if len(refused) < len(encoded):
                self._make(count, on, base, out, form)
            if len(encoded) - len(refused) < count:
                self._kernels.place(count, on, pixels, out, form.bytes)
            return refused

    def _make(self, count: int, rows: int, planes: int, out: int, form: Format) -> None:
        table = self._table(form)
        if not form.jitter:
            self._kernels.crop(count, rows, planes, out, table, form.numbers)
            return
        scratch, sums = self._scratch.address(4 * count * form.height * form.width), self._sums.address(8 * count)
        self._kernels.crop_and_jitter(count, rows, planes, out, scratch, sums, table, form.numbers)

    def _copy(self, values: torch.Tensor, starts: np.ndarray, which: np.ndarray, rows: np.ndarray, form: Format) -> int:
        """Copies the bytes of finished rows to the device, and returns their address there."""
        first, end = int(starts[which].min()), int(starts[which].max()) + form.bytes
        address = self._finished.copy(values[first:end])
        set_places(rows, which, starts[which].astype(np.int64) - first)
        return address

    def _table(self, form: Format) -> int:
        table = self._tables.get(form)
        if table is None:
            table = self._tables[form] = torch.from_numpy(form.elements()).pin_memory().to(self._device, non_blocking=True)
        return table.data_ptr()

    @contextlib.contextmanager
    def _lane(self) -> Iterator[_Lane]:
        """The lane that has been done the longest."""
        lane = self._lanes.pop(0)
        self._lanes.append(lane)
        lane.wait(self._memory)
        try:
            yield lane
        finally:
            lane.done.record(self.stream)
            lane.freed += self._memory.freed()

    def close(self) -> None:
        """Waits for the device, and frees nvJPEG's memory. On the thread that made it."""
        self.stream.synchronize()
        for lane in self._lanes:
            lane.wait(self._memory)
            lane.states.close()
        self._lanes.clear()
        self._backends.close()
        self._memory.settle(self._memory.freed())


class _Lane:
    """The states and arguments of a batch, until the device has done it."""

    def __init__(self) -> None:
        self.states = States()
        self.done = torch.cuda.Event(blocking=True)  # the thread sleeps meanwhile
        self.freed: list[object] = []  # memory that nvJPEG gave back
        self._host = torch.empty((0, NUMBERS), dtype=torch.int32)
        self._on = self._host

    def wait(self, memory: Memory) -> None:
        self.done.synchronize()
        self.states.kept.clear()
        memory.settle(self.freed)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """A copy of the numbers, in page-locked memory."""
        if len(self._host) < len(numbers):
            self._host = torch.empty((len(numbers) * 3 // 2, NUMBERS), dtype=torch.int32, pin_memory=True)
        rows = self._host.numpy()[: len(numbers)]
        rows[:] = numbers
        return rows

    def send(self, count: int, device: torch.device) -> int:
        """Copies the numbers to the device, and returns their address there."""
        if len(self._on) < count:
            self._on = torch.empty(self._host.shape, dtype=torch.int32, device=device)
        self._on[:count].copy_(self._host[:count], non_blocking=True)
        return self._on.data_ptr()

    def images(self, numbers: np.ndarray, encoded: np.ndarray, data: np.ndarray) -> _Images:
        if len(encoded):
            self.states.reserve(len(numbers), int(numbers[encoded, WIDTH].max()), int(numbers[encoded, HEIGHT].max()))
        return _Images(numbers[encoded], data)


class _Images:
    """Where the bytes of encoded images are, and where their pixels go."""

    def __init__(self, numbers: np.ndarray, data: np.ndarray) -> None:
        self.data = data.astype(np.uint64)
        self.lengths = numbers[:, LENGTH].astype(np.uint64)
        self._pitches, self._sizes, all_bytes = decoded(numbers[:, WIDTH], numbers[:, HEIGHT])
        ends = np.cumsum(all_bytes)
        self.places = ends - all_bytes
        self.bytes = int(ends[-1]) if len(ends) else 0

    def planes(self, base: int) -> np.ndarray:
        """nvjpegImage_t of each image: four addresses and four pitches."""
        planes = np.zeros((len(self.places), 8), np.uint64)
        planes[:, :3] = (base + self.places)[:, None] + self._sizes[:, None] * np.arange(3)
        planes[:, 4:7] = self._pitches[:, None]
        return planes


class _Buffer:
    """Memory of the device that grows, for work on the current stream."""

    def __init__(self, device: torch.device) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8, device=device)

    def address(self, size: int) -> int:
        if len(self._memory) < size:
            grown = max(size, len(self._memory) * 3 // 2)
            self._memory = torch.empty(grown, dtype=torch.uint8, device=self._memory.device)
        return self._memory.data_ptr()

    def copy(self, source: torch.Tensor) -> int:
        address = self.address(len(source))
        self._memory[: len(source)].copy_(source, non_blocking=True)
        return address


def _parts(numbers: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose decoded images fit together into memory."""
    _, _, sizes = decoded(numbers[:, WIDTH], numbers[:, HEIGHT])
    ends = np.cumsum(np.where(numbers[:, KIND] == ENCODED, sizes, 0))
    first = 0
    while first < len(numbers):
        before = int(ends[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(ends, before + _PLANES, side="right")))
        yield first, end
        first = end
