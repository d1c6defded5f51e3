"""Kernels: compiled by NVRTC, loaded and started by the driver."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch

from . import _libraries
from ._libraries import Missing

_OPTIONS = ("--fmad=false",)  # sums and products as the tests on a CPU have them


class Program:
    """A kernel text, compiled for a device and loaded into torch's context there."""

    def __init__(self, text: str, device: torch.device) -> None:
        enter(device)
        self._cuda = _libraries.driver()
        self._module = ctypes.c_void_p()
        image = compiled(text, *torch.cuda.get_device_capability(device))
        _check("cuModuleLoadData", self._cuda.cuModuleLoadData(ctypes.byref(self._module), image))

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


@functools.cache
def compiled(text: str, major: int, minor: int) -> bytes:
    """Compiles a text for devices of a compute capability."""
    nvrtc, program = _libraries.nvrtc(), ctypes.c_void_p()
    _compile_check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None))
    try:
        options = [option.encode() for option in (f"--gpu-architecture=sm_{major}{minor}", *_OPTIONS)]
        code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if code != 0:
            raise Missing(f"NVRTC does not compile for a GPU of compute capability {major}.{minor}: {_log(nvrtc, program)}")
        size = ctypes.c_size_t()
        _compile_check(nvrtc, nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        image = ctypes.create_string_buffer(size.value)
        _compile_check(nvrtc, nvrtc.nvrtcGetCUBIN(program, image))
        return image.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _log(nvrtc: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace").strip()


def _compile_check(nvrtc: ctypes.CDLL, code: int) -> None:
    if code != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise Missing(f"NVRTC fails with {nvrtc.nvrtcGetErrorString(code).decode()}")


def _check(call: str, code: int) -> None:
    if code == 0:
        return
    text = ctypes.c_char_p()
    _libraries.driver().cuGetErrorString(code, ctypes.byref(text))
    said = text.value.decode() if text.value else "unknown error"
    raise RuntimeError(f"CUDA error {code} of {call}: {said}")
