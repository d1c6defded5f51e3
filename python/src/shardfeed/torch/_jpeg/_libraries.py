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
