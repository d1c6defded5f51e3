"""NVIDIA's libraries, found where PyTorch, pip and the CUDA toolkit put them."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

_MAJORS = (13, 12, 11)  # versions of CUDA with the functions that are called here


class Missing(Exception):
    """A library is not there, or not in a version that can be used."""


@functools.cache
def driver() -> ctypes.CDLL:
    """The driver of the GPU."""
    return _first("the driver of the GPU (libcuda.so.1)", iter(["libcuda.so.1"]))


@functools.cache
def nvrtc() -> ctypes.CDLL:
    """The compiler of kernels, which PyTorch's wheels bring along."""
    return _first("NVRTC (libnvrtc.so), which compiles kernels", _places("nvrtc"))


@functools.cache
def nvjpeg() -> ctypes.CDLL:
    """The decoder. SHARDFEED_LIBNVJPEG names a library in place of the one that is found."""
    given = os.environ.get("SHARDFEED_LIBNVJPEG")
    if given:
        return _first(f"the library that SHARDFEED_LIBNVJPEG names, {given}", iter([given]))
    package = f"nvidia-nvjpeg-cu{_majors()[0]}" if _majors()[0] < 13 else "nvidia-nvjpeg"
    return _first(f"nvJPEG (libnvjpeg.so); pip install {package}", _places("nvjpeg"))


def versions() -> dict[str, str]:
    """The versions of nvJPEG and NVRTC, which are loaded."""
    found = {"nvjpeg": _numbers(nvjpeg(), "nvjpegGetProperty", 3), "nvrtc": ""}
    major, minor = ctypes.c_int(), ctypes.c_int()
    if nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
        found["nvrtc"] = f"{major.value}.{minor.value}"
    return found


def _numbers(library: ctypes.CDLL, call: str, count: int) -> str:
    """The numbers of a library's version, by the call that has one of them each."""
    numbers = [ctypes.c_int() for _ in range(count)]
    if not hasattr(library, call) or any(getattr(library, call)(n, ctypes.byref(number)) for n, number in enumerate(numbers)):
        return "unknown"
    return ".".join(str(number.value) for number in numbers)


def _first(what: str, places: Iterator[str]) -> ctypes.CDLL:
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise Missing(f"there is no {what}" if not what.startswith("the ") else f"cannot load {what}")


def _majors() -> list[int]:
    """Versions of CUDA, the one of torch first."""
    own = int((torch.version.cuda or "0").split(".")[0])
    return [own, *(major for major in _MAJORS if major != own)] if own in _MAJORS else list(_MAJORS)


def _places(name: str) -> Iterator[str]:
    """Where a library may be: the loader's path, wheels, the copy in torchvision, the toolkit."""
    for major in _majors():
        file = f"lib{name}.so.{major}" if (name, major) != ("nvrtc", 11) else "libnvrtc.so.11.2"
        yield file
        for directory in sys.path:
            packages = Path(directory)
            yield from map(str, sorted(packages.glob(f"nvidia/*/lib/{file}")))
            yield from map(str, sorted(packages.glob(f"torchvision.libs/lib{name}.*.so.{major}")))
        for root in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
            yield str(Path(root) / "lib64" / file)
