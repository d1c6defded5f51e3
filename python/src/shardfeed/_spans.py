"""Spans of ``next`` in the profilers of torch and of NVIDIA."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol

_modules = sys.modules
_NAME = "shardfeed.next"

# The tools that record NVTX, such as nsys, set it in the programs that they start.
_NVTX = "NVTX_INJECTION64_PATH" in os.environ


class _No:
    """A profiler before torch is imported."""

    _is_profiler_enabled = _NVTX  # with NVTX each span has to look


profiler: Any = _No  # torch.autograd.profiler, whose flag each ``next`` reads; with NVTX, _No


def look() -> None:
    """Finds torch's profiler once it is imported."""
    global profiler
    if profiler is _No and not _NVTX:
        profiler = _modules.get("torch.autograd.profiler") or _No


class Span(Protocol):
    """An open span."""

    def end(self) -> None: ...


class _Recorded:
    """A span of torch.profiler, and of NVTX under torch.autograd.profiler.emit_nvtx."""

    def __init__(self, profiler: Any) -> None:
        self._function = profiler.record_function(_NAME)
        self._function.__enter__()

    def end(self) -> None:
        self._function.__exit__(None, None, None)


class _Ranged:
    """A range of NVTX."""

    def __init__(self, nvtx: Any) -> None:
        self._nvtx = nvtx
        nvtx.range_push(_NAME)

    def end(self) -> None:
        self._nvtx.range_pop()


def begin() -> Span | None:
    """Opens a span of this thread if something records it: torch's profiler, or a tool that
    records NVTX once CUDA is in use.
    """
    profiler = _modules.get("torch.autograd.profiler")
    if profiler is not None and getattr(profiler, "_is_profiler_enabled", False):
        return _Recorded(profiler)
    if _NVTX and (cuda := _modules.get("torch.cuda")) is not None and cuda.is_initialized():
        return _Ranged(cuda.nvtx)
    return None
