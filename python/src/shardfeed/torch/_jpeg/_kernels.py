"""The kernels of kernel.cu on a device."""

from __future__ import annotations

import ctypes
import functools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from ._cubins import Cubins
from ._driver import Program
from ._rows import CFormat

_POINTER = ctypes.c_void_p
_BLOCK = (32, 8, 1)
_THREADS = (256, 1, 1)


@functools.cache
def text() -> str:
    return (Path(__file__).parent / "kernel.cu").read_text()


class Compiled:
    """The kernels for a device, found or compiled in a thread of their own meanwhile."""

    def __init__(self, device: torch.device, cubins: Cubins) -> None:
        self._where = text(), *torch.cuda.get_device_capability(device)
        self._cubins = cubins
        thread = ThreadPoolExecutor(1, thread_name_prefix="shardfeed-kernels")
        self._image = thread.submit(cubins.find, *self._where)
        thread.shutdown(wait=False)

    @property
    def image(self) -> bytes:
        return self._image.result()

    def again(self) -> bytes:
        """Compiles them, whatever was found."""
        return self._cubins.make(*self._where)


class Kernels:
    """Starts the kernels on a stream. For one thread, which has entered the device.

    Arguments are addresses of device memory. Rows are numbered from the first that is given.
    """

    def __init__(self, compiled: Compiled, stream: int) -> None:
        program = Program(compiled.image, compiled.again)
        self._stream = stream
        self._place = program.kernel("place", _POINTER, _POINTER, _POINTER, ctypes.c_longlong)
        self._crop = program.kernel("crop", _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, CFormat)
        self._gray = program.kernel("gray", _POINTER, _POINTER, _POINTER, CFormat)
        self._jitter = program.kernel("jitter", _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, CFormat)

    def warm(self, rows: int, out: int) -> None:
        """Starts each kernel on a lost row: the driver loads a kernel when it is first used."""
        nothing = CFormat(1, 1, 1)
        self.place(1, rows, 0, out, 1)
        self.crop(1, rows, 0, out, 0, nothing)
        self.crop_and_jitter(1, rows, 0, out, 0, 0, 0, nothing)

    def place(self, count: int, rows: int, finished: int, out: int, size: int) -> None:
        """Copies rows of pixels, of size bytes each, and clears lost ones."""
        self._place.start(self._stream, (count, max(1, min(64, size >> 12)), 1), _THREADS, rows, finished, out, size)

    def crop(self, count: int, rows: int, decoded: int, out: int, table: int, numbers: CFormat) -> None:
        """Makes the results of decoded images."""
        self._crop.start(self._stream, self._grid(count, numbers), _BLOCK, rows, decoded, out, 0, 0, table, numbers)

    def crop_and_jitter(self, count: int, rows: int, decoded: int, out: int, scratch: int, sums: int, table: int, numbers: CFormat) -> None:
        """Makes the results of decoded images, with other colors. Scratch has 4 bytes for each
        pixel of the results, sums 8 for each row.
        """
        grid = self._grid(count, numbers)
        self._crop.start(self._stream, grid, _BLOCK, rows, decoded, out, scratch, sums, table, numbers)
        self._gray.start(self._stream, (count, 8, 1), _THREADS, rows, scratch, sums, numbers)
        self._jitter.start(self._stream, grid, _BLOCK, rows, scratch, sums, out, table, numbers)

    def _grid(self, count: int, numbers: CFormat) -> tuple[int, int, int]:
        return count, -(-numbers.width // _BLOCK[0]), -(-numbers.height // _BLOCK[1])
