"""The memory of nvJPEG, taken from torch's pools.

cudaMalloc and cudaFree wait for the whole device and hold up the training. Torch's pools call them
while they grow, and hardly later.
"""

from __future__ import annotations

import ctypes
import logging
from typing import Any

import torch

log = logging.getLogger("shardfeed")

_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_FAILED = 2  # cudaErrorMemoryAllocation


class _Allocator(ctypes.Structure):
    """nvjpegDevAllocatorV2_t and nvjpegPinnedAllocatorV2_t."""

    _fields_ = (("allocate", _ALLOCATE), ("free", _FREE), ("context", ctypes.c_void_p))


class Memory:
    """Device memory and page-locked memory for work on one stream.

    Freed memory may still be in use by work that has started. It returns to the pools by
    :meth:`settle`, after which the stream has done that work.
    """

    def __init__(self, device: torch.device, stream: torch.cuda.Stream) -> None:
        self._device = device
        self._stream = stream
        self._device_pieces: dict[int, int] = {}  # bytes, by address
        self._pinned_pieces: dict[int, torch.Tensor] = {}
        self._freed: list[Any] = []  # addresses of device memory, and page-locked tensors
        self._callbacks = (
            (_ALLOCATE(self._allocate_device), _FREE(self._free_device)),
            (_ALLOCATE(self._allocate_pinned), _FREE(self._free_pinned)),
        )

    @property
    def allocators(self) -> tuple[_Allocator, _Allocator]:
        """Structures that nvJPEG takes: of device memory and of page-locked memory."""
        (device, free_device), (pinned, free_pinned) = self._callbacks
        return _Allocator(device, free_device, None), _Allocator(pinned, free_pinned, None)

    def freed(self) -> list[Any]:
        """Takes out the pieces that were freed since the last call, to settle later."""
        freed, self._freed = self._freed, []
        return freed

    def settle(self, freed: list[Any]) -> None:
        """Gives memory back to the pools that no work uses any more."""
        for piece in freed:
            if isinstance(piece, int):
                torch.cuda.caching_allocator_delete(piece)
        freed.clear()

    def _allocate_device(self, _context: Any, address: Any, size: int, _stream: Any) -> int:
        try:
            found = torch.cuda.caching_allocator_alloc(max(1, size), self._device, self._stream)
        except Exception as e:  # nvJPEG reports the failure
            log.warning("nvJPEG cannot have %d MiB of device memory: %s", size >> 20, e)
            return _FAILED
        self._device_pieces[found] = size
        address[0] = found
        return 0

    def _free_device(self, _context: Any, address: int, _size: int, _stream: Any) -> int:
        if address is not None and self._device_pieces.pop(address, None) is not None:
            self._freed.append(address)
        return 0

    def _allocate_pinned(self, _context: Any, address: Any, size: int, _stream: Any) -> int:
        try:
            found = torch.empty(max(1, size), dtype=torch.uint8, pin_memory=True)
        except Exception as e:
            log.warning("nvJPEG cannot have %d MiB of page-locked memory: %s", size >> 20, e)
            return _FAILED
        self._pinned_pieces[found.data_ptr()] = found
        address[0] = found.data_ptr()
        return 0

    def _free_pinned(self, _context: Any, address: int, _size: int, _stream: Any) -> int:
        piece = self._pinned_pieces.pop(address, None) if address is not None else None
        if piece is not None:
            self._freed.append(piece)
        return 0
