"""nvJPEG's functions for batches of images, by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _libraries
from ._libraries import Missing
from ._memory import Memory

HARDWARE, KERNELS = 3, 2  # backends: decoding hardware of the GPU; kernels, and the CPU for small batches
_RGB = 3  # the output: planes of red, green and blue
_SMOOTH = 32  # a flag: interpolates colors that are stored at half the size, as libjpeg does
_444 = 0  # chroma subsampling: not any
_PADDING = 1 << 20  # bytes by which the library's own memory is larger than it needs
_AHEAD_BYTES = 1 << 30  # most bytes of memory to ask for before the first batch

_STATUS = {
    1: "not initialized",
    2: "invalid parameter",
    3: "bad JPEG",
    4: "JPEG not supported",
    5: "allocator failure",
    6: "execution failed",
    7: "no such hardware",
    8: "internal error",
    9: "not implemented",
    10: "incomplete JPEG",
}
_OF_IMAGES = (3, 4, 5, 6, 8, 9, 10)  # an image of a batch may be the reason, or the size of the batch
_OF_DEVICES = (4, 7, 9)  # a backend is not there


class Failed(RuntimeError):
    """A call of nvJPEG failed."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"nvJPEG: {call} failed: {_STATUS.get(status, 'unknown error')} ({status})")
        self.refused = call == "nvjpegDecodeBatched" and status in _OF_IMAGES
        self.absent = status in _OF_DEVICES


class Library:
    """A backend of nvJPEG on the current device, with memory of a Memory."""

    def __init__(self, backend: int, memory: Memory) -> None:
        self._calls = _libraries.nvjpeg()
        self._memory = memory  # the library calls it
        self.backend = backend
        self.handle = ctypes.c_void_p()
        for name in ("nvjpegCreateExV2", "nvjpegDecodeBatched"):
            if not hasattr(self._calls, name):
                raise Missing(f"this nvJPEG has no {name}; it must be of CUDA 11.5 or newer")
        self._allocators = device, pinned = memory.allocators  # in case nvJPEG does not copy them
        status = 0
        for flags in (_SMOOTH, 0):  # versions before 12 do not know the flag
            status = self._create(backend, ctypes.byref(device), ctypes.byref(pinned), flags, ctypes.byref(self.handle))
            if status != 2:
                break
        check("nvjpegCreateExV2", status)
        for name in ("nvjpegSetDeviceMemoryPadding", "nvjpegSetPinnedMemoryPadding"):
            check(name, getattr(self._calls, name)(ctypes.c_size_t(_PADDING), self.handle))

    def _create(self, *arguments: Any) -> int:
        return int(self._calls.nvjpegCreateExV2(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        check(name, getattr(self._calls, name)(*arguments))

    def supports(self, data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Whether this backend decodes each of the images at these addresses."""
        stream, flag = ctypes.c_void_p(), ctypes.c_int()
        self.call("nvjpegJpegStreamCreate", self.handle, ctypes.byref(stream))
        found = np.zeros(len(data), bool)
        for i, (address, length) in enumerate(zip(data.tolist(), lengths.tolist())):
            at, size = ctypes.c_void_p(address), ctypes.c_size_t(length)
            if self._calls.nvjpegJpegStreamParseHeader(self.handle, at, size, stream) == 0:
                status = self._calls.nvjpegDecodeBatchedSupported(self.handle, stream, ctypes.byref(flag))
                found[i] = status == 0 and flag.value == 0
        self.call("nvjpegJpegStreamDestroy", stream)
        return found

    def close(self) -> None:
        if self.handle:
            self._calls.nvjpegDestroy(self.handle)
            self.handle = ctypes.c_void_p()


class State:
    """What the library keeps while it decodes a batch. For one batch at a time."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._state = ctypes.c_void_p()
        self._images = 0  # of the last batch
        library.call("nvjpegJpegStateCreate", library.handle, ctypes.byref(self._state))

    def reserve(self, images: int, width: int, height: int) -> None:
        """Takes memory for batches of images of a size."""
        if self._library.backend == HARDWARE:
            images = max(1, min(images, _AHEAD_BYTES // max(1, 3 * width * height)))
            self._library.call("nvjpegDecodeBatchedPreAllocate", self._library.handle, self._state, images, width, height, _444, _RGB)

    def decode(self, data: np.ndarray, lengths: np.ndarray, planes: np.ndarray, stream: int) -> None:
        """Starts to decode images to planes, rows of 4 addresses and 4 pitches. The arrays stay as
        they are until that is done. The last batch must be done.
        """
        library, images = self._library, len(data)
        if images != self._images:
            self._images = 0
            library.call("nvjpegDecodeBatchedInitialize", library.handle, self._state, images, 1, _RGB)
        self._images = 0  # a batch that fails needs it again
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in (data, lengths, planes))
        library.call("nvjpegDecodeBatched", library.handle, self._state, *addresses, ctypes.c_void_p(stream))
        self._images = images

    def close(self) -> None:
        if self._state:
            self._library.call("nvjpegJpegStateDestroy", self._state)
            self._state = ctypes.c_void_p()


def check(call: str, status: int) -> None:
    if status != 0:
        raise Failed(call, status)
