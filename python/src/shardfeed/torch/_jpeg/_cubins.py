"""Compiled kernels, kept on disk from run to run."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import _libraries
from ._libraries import Missing

_OPTIONS = ("--fmad=false",)  # sums and products as the tests on a CPU have them
_MARK = b"shardfeed kernels 1\n"  # starts a file, before a checksum of the rest
_SUFFIX, _PART = ".cubin", ".part"
_MOST = 32  # files that a directory keeps
_MOST_BYTES = 16 << 20  # of a file
_PART_SECONDS = 3600.0  # after which a file that was not finished is left over


class Cubins:
    """Kernels for a device, from a directory or by NVRTC. None keeps nothing.

    A file's name is a hash of all that its content depends on. A file that is damaged, or that
    somebody else could have written, is compiled again; a directory that cannot be used costs
    nothing but the time to compile.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def find(self, text: str, major: int, minor: int) -> bytes:
        """Returns the kernels of a text for devices of a compute capability."""
        return self._read(_name(text, major, minor)) or self.make(text, major, minor)

    def make(self, text: str, major: int, minor: int) -> bytes:
        """Compiles a text, in place of the file that there may be."""
        image = compiled(text, major, minor)
        self._write(_name(text, major, minor), image)
        return image

    def _read(self, name: str) -> bytes:
        """The content of a file, or nothing."""
        if self._directory is None:
            return b""
        with contextlib.suppress(OSError):
            path = self._directory / name
            if not _own(self._directory.lstat(), stat.S_ISDIR):
                return b""
            with open(path, "rb", opener=lambda p, flags: os.open(p, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
                if not _own(os.fstat(file.fileno()), stat.S_ISREG):
                    return b""
                content = file.read(_MOST_BYTES)
            image = content[len(_MARK) + hashlib.sha256().digest_size :]
            if content == _content(name, image):
                with contextlib.suppress(OSError):  # a file of others, or a read-only one
                    os.utime(path)
                return image
        return b""

    def _write(self, name: str, image: bytes) -> None:
        if self._directory is None:
            return
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _own(self._directory.lstat(), stat.S_ISDIR):
                return
            descriptor, part = tempfile.mkstemp(_PART, dir=self._directory)
            try:
                with open(descriptor, "wb") as file:
                    file.write(_content(name, image))
                os.replace(part, self._directory / name)
            except BaseException:
                os.unlink(part)
                raise
            self._sweep()

    def _sweep(self) -> None:
        """Removes the files that were used least recently, and what killed writers left."""
        assert self._directory is not None
        ages = {}
        for path in self._directory.iterdir():
            with contextlib.suppress(OSError):
                if path.suffix in (_SUFFIX, _PART):
                    ages[path] = time.time() - path.lstat().st_mtime
        kept = sorted((path for path in ages if path.suffix == _SUFFIX), key=ages.__getitem__)
        for path in [*kept[_MOST:], *(path for path in ages if path.suffix == _PART and ages[path] > _PART_SECONDS)]:
            with contextlib.suppress(OSError):
                path.unlink()


def _name(text: str, major: int, minor: int) -> str:
    parts = [text, f"sm_{major}{minor}", *_version(), *_OPTIONS]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + _SUFFIX


def _content(name: str, image: bytes) -> bytes:
    return _MARK + hashlib.sha256(name.encode() + image).digest() + image


def _own(status: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether only this user can have written a file or directory."""
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


@functools.cache
def compiled(text: str, major: int, minor: int) -> bytes:
    """Compiles a text for devices of a compute capability."""
    nvrtc, program = _libraries.nvrtc(), ctypes.c_void_p()
    _check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None))
    try:
        options = [option.encode() for option in (f"--gpu-architecture=sm_{major}{minor}", *_OPTIONS)]
        code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if code != 0:
            raise Missing(f"NVRTC does not compile for a GPU of compute capability {major}.{minor}: {_log(nvrtc, program)}")
        size = ctypes.c_size_t()
        _check(nvrtc, nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        image = ctypes.create_string_buffer(size.value)
        _check(nvrtc, nvrtc.nvrtcGetCUBIN(program, image))
        return image.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _version() -> tuple[str, str]:
    nvrtc, major, minor = _libraries.nvrtc(), ctypes.c_int(), ctypes.c_int()
    _check(nvrtc, nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return str(major.value), str(minor.value)


def _log(nvrtc: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace").strip()


def _check(nvrtc: ctypes.CDLL, code: int) -> None:
    if code != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise Missing(f"NVRTC fails with {nvrtc.nvrtcGetErrorString(code).decode()}")
