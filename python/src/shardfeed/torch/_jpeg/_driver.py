"""Kernels, loaded and started by the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from . import _libraries


class Program:
    """Compiled kernels, loaded into the context of this thread. An image that the driver refuses is
    replaced by the one that make returns.
    """

    def __init__(self, image: bytes, make: Callable[[], bytes]) -> None:
        self._cuda = _libraries.driver()
        self._module = ctypes.c_void_p()
        code = self._load(image)
        if code != 0 and (made := make()) != image:
            code = self._load(made)
        _check("cuModuleLoadData", code)

    def _load(self, image: bytes) -> int:
        return int(self._cuda.cuModuleLoadData(ctypes.byref(self._module), image))

    def kernel(self, name: str, *types: Any) -> Kernel:
        """The kernel of a name, whose arguments have these types of ctypes."""
        function = ctypes.c_void_p()
        _check("cuModuleGetFunction", self._cuda.cuModuleGetFunction(ctypes.byref(function), self._module, name.encode()))
        return Kernel(self._cuda.cuLaunchKernel, function, types)


class Kernel:
    """Starts a kernel. For one thread, which has entered the device."""

    def __init__(self, launch: Any, function: ctypes.c_void_p, types: tuple[Any, ...]) -> None:
        self._launch = launch
        self._function = function
        self._values = [kind() for kind in types]
        self._pointers = (ctypes.c_void_p * len(types))(*(ctypes.addressof(value) for value in self._values))

    def start(self, stream: int, grid: tuple[int, int, int], block: tuple[int, int, int], *arguments: Any) -> None:
        """Starts it on a stream. The driver copies the arguments."""
        for value, argument in zip(self._values, arguments, strict=True):
            if isinstance(value, ctypes.Structure):
                ctypes.memmove(ctypes.byref(value), ctypes.byref(argument), ctypes.sizeof(value))
            else:
                value.value = argument
        _check("cuLaunchKernel", self._launch(self._function, *grid, *block, 0, ctypes.c_void_p(stream), self._pointers, None))


def enter(device: torch.device) -> None:
    """Makes torch's context on a device the one of this thread."""
    torch.cuda.set_device(device)
    cuda, context = _libraries.driver(), ctypes.c_void_p()
    _check("cuCtxGetCurrent", cuda.cuCtxGetCurrent(ctypes.byref(context)))
    if not context:  # CUDA before version 12 sets it with the first allocation
        _check("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), torch.cuda.current_device()))
        _check("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context))


def _check(call: str, code: int) -> None:
    if code == 0:
        return
    text = ctypes.c_char_p()
    _libraries.driver().cuGetErrorString(code, ctypes.byref(text))
    said = text.value.decode() if text.value else "unknown error"
    raise RuntimeError(f"CUDA error {code} of {call}: {said}")
