"""A disk whose reads are slow: a file system by the kernel's FUSE protocol.

https://docs.kernel.org/filesystems/fuse.html and include/uapi/linux/fuse.h have the messages.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from struct import Struct

from insight.turns import Turns

LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR = (
    1,
    2,
    3,
    14,
    15,
    16,
    17,
    18,
    20,
    25,
    26,
    27,
    28,
    29,
)
INTERRUPT, BATCH_FORGET = 36, 42
SILENT = (FORGET, INTERRUPT, BATCH_FORGET)
MS_RDONLY = 1
THREADS = 64  # so that attributes need not wait for slow reads
FOPEN_KEEP_CACHE = 2  # else each open takes the pages of a file out of all mappings
VALID = 3600  # seconds for which the kernel keeps names and attributes
MAX_WRITE = 1 << 17

_REQUEST = Struct("=IIQQIIIHH")
_ANSWER = Struct("=IiQ")
_INIT = Struct("=IIIIHHII32x")
_ENTRY = Struct("=QQQQII")
_ATTRIBUTES = Struct("=QII")
_ATTRIBUTE = Struct("=6Q10I")
_OPENED = Struct("=QIi")
_READ = Struct("=QQI")
_WRITE = Struct("=QQIIQII")
_WRITTEN = Struct("=II")
_NAME = Struct("=QQII")


class Disk:
    """The files of one directory. Reads pass one after another, at a rate in bytes a second."""

    def __init__(self, source: Path, mountpoint: Path, rate: float, *, writable: bool = False) -> None:
        self._paths = [source, *sorted(source.iterdir())]  # by number, from 1 on
        self._turns = Turns(rate)
        self._mountpoint = mountpoint
        self._file = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self._file},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other".encode()
        if libc.mount(b"insight", bytes(mountpoint), b"fuse.insight", 0 if writable else MS_RDONLY, options):
            os.close(self._file)
            raise OSError(ctypes.get_errno(), "mount")
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def slow_down(self, rate: float) -> None:
        """Sets the rate of further reads."""
        self._turns = Turns(rate)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self._mountpoint)], check=True)
        for thread in self._threads:
            thread.join(timeout=10)
        os.close(self._file)

    def _serve(self) -> None:
        while True:
            try:
                message = os.read(self._file, MAX_WRITE + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):  # the request was withdrawn
                    continue
                return  # ENODEV: it is unmounted
            _, what, unique, node, *_ = _REQUEST.unpack_from(message)
            if what in SILENT:
                continue
            try:
                body, error = self._answer(what, node, message[_REQUEST.size :]), 0
            except OSError as failed:
                body, error = b"", -(failed.errno or errno.EIO)
            with contextlib.suppress(OSError):
                os.write(self._file, _ANSWER.pack(_ANSWER.size + len(body), error, unique) + body)

    def _answer(self, what: int, node: int, body: bytes) -> bytes:
        if what == INIT:
            return _INIT.pack(7, 31, 1 << 17, 0, 8, 8, MAX_WRITE, 1)
        path = self._paths[node - 1]
        if what == LOOKUP:
            return self._lookup(os.fsdecode(body[: body.index(0)]))
        if what == GETATTR:
            return _ATTRIBUTES.pack(VALID, 0, 0) + self._attribute(node)
        if what in (OPEN, OPENDIR):
            return _OPENED.pack(0, FOPEN_KEEP_CACHE, 0)
        if what == READ:
            _, offset, size = _READ.unpack_from(body)
            self._turns.wait(size)
            with path.open("rb") as file:
                return os.pread(file.fileno(), size, offset)
        if what == WRITE:
            _, offset, size, *_ = _WRITE.unpack_from(body)
            with path.open("r+b") as file:
                return _WRITTEN.pack(os.pwrite(file.fileno(), body[_WRITE.size : _WRITE.size + size], offset), 0)
        if what == READDIR:
            return self._names(_READ.unpack_from(body)[1])
        if what in (RELEASE, RELEASEDIR, FLUSH, FSYNC):
            return b""
        if what == STATFS:
            return bytes(80)
        raise OSError(errno.ENOSYS, "")

    def _lookup(self, name: str) -> bytes:
        for node, path in enumerate(self._paths, 1):
            if node > 1 and path.name == name:
                return _ENTRY.pack(node, 0, VALID, VALID, 0, 0) + self._attribute(node)
        raise OSError(errno.ENOENT, "")

    def _attribute(self, node: int) -> bytes:
        s = self._paths[node - 1].stat()
        times = [
            *(int(t) for t in (s.st_atime, s.st_mtime, s.st_ctime)),
            *(t % 10**9 for t in (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)),
        ]
        return _ATTRIBUTE.pack(node, s.st_size, s.st_blocks, *times, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, 0, 4096, 0)

    def _names(self, after: int) -> bytes:
        names = b""
        for node, path in list(enumerate(self._paths, 1))[max(1, after) :]:
            name = os.fsencode(path.name)
            names += _NAME.pack(node, node, len(name), 8) + name + bytes(-len(name) % 8)
        return names


def mounted(source: Path, mountpoint: Path, rate: float, stack: contextlib.ExitStack) -> str:
    """Mounts a slow disk with the files of a directory until the stack closes, once for all ranks."""
    if not mountpoint.exists():
        mountpoint.mkdir()
        stack.enter_context(contextlib.closing(Disk(source, mountpoint, rate)))
    return str(mountpoint)


def available() -> bool:
    """Whether this process may mount one."""
    with tempfile.TemporaryDirectory() as directory:
        source, mountpoint = Path(directory, "source"), Path(directory, "disk")
        source.mkdir()
        mountpoint.mkdir()
        (source / "file").write_text("it reads")
        try:
            with contextlib.closing(Disk(source, mountpoint, 1e9)):
                return subprocess.run(["cat", mountpoint / "file"], capture_output=True, timeout=10).stdout == b"it reads"
        except OSError:
            return False
