"""The kernels of kernel.cu on a device."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch

from ._driver import Program
from ._rows import CFormat

_POINTER = ctypes.c_void_p
_BLOCK = (32, 8, 1)
_THREADS = (256, 1, 1)


@functools.cache
def text() -> str:
    return (Path(__file__).parent / "kernel.cu").read_text()


class Kernels:
    """Starts the kernels on a stream. For one thread, which has entered the device.

    Arguments are addresses of device memory. Rows are numbered from the first that is given.
    """

    def __init__(self, device: torch.device, stream: int) -> None:
        program = Program(text(), device)
        self._stream = stream
        self._place = program.kernel("place", _POINTER, _POINTER, _POINTER, ctypes.c_longlong)
        self._crop = program.kernel("crop", _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, CFormat)
        self._gray = program.kernel("gray", _POINTER, _POINTER, _POINTER, CFormat)
        self._jitter = program.kernel("jitter", _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, CFormat)

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
