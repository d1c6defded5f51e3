"""The directory of engines: their sockets, the locks of the processes that start them, and their logs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import OptionError

_LONGEST = 70  # bytes of a directory, so that names in it fit a socket's address of 107 bytes
_TAIL_LINES = 15
_TAIL_BYTES = 4096
_CRASH_BYTES = 1 << 20  # at the end of a log that are searched for a crash, which lists all goroutines

# The start of a Go crash. Log lines after it come from a later engine.
_CRASH = re.compile(rb"^(?:panic|fatal error|SIG[A-Z]+): (?!.*^time=)", re.MULTILINE | re.DOTALL)
_OLD_SECONDS = 7 * 86400.0
_RECENT_SECONDS = 3600.0
_MOST_LOGS = 50  # of engines that ended more than an hour ago
_NAME = re.compile(r"[0-9a-f]{16}")  # of an engine: what _rank.digest makes; of a file for its trainers too


def directory() -> Path:
    """Makes and returns the directory: $SHARDFEED_RUNTIME_DIR, else one below $XDG_RUNTIME_DIR, else one below $TMPDIR or /tmp."""
    if given := os.environ.get("SHARDFEED_RUNTIME_DIR"):
        path = Path(given).expanduser().absolute()
    elif (xdg := os.environ.get("XDG_RUNTIME_DIR")) and _is_own(xdg) and len(xdg) < _LONGEST - 10:
        path = Path(xdg) / "shardfeed"
    else:
        temporary = os.environ.get("TMPDIR")
        path = Path(temporary if temporary and os.path.isdir(temporary) else "/tmp").absolute() / f"shardfeed-{os.geteuid()}"
    if len(os.fsencode(path)) > _LONGEST:
        raise OptionError(
            f"{path} is too long for the address of a socket: set SHARDFEED_RUNTIME_DIR to a path of at most {_LONGEST} bytes"
        )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        if not isinstance(e, FileExistsError):
            raise OptionError(
                f"{path}, where the engine's socket would lie, cannot be made ({e.strerror}): "
                "set SHARDFEED_RUNTIME_DIR to a directory that you may write to"
            ) from None
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise OptionError(f"{path} is not a directory of yours: set SHARDFEED_RUNTIME_DIR to one")
    if status.st_mode & 0o022:
        raise OptionError(
            f"others may write to {path} (mode {stat.S_IMODE(status.st_mode):o}): chmod go-w it, or set SHARDFEED_RUNTIME_DIR"
        )
    return path


def _is_own(path: str) -> bool:
    """Whether a directory is this user's, and can be written to.

    After su or sudo -E, XDG_RUNTIME_DIR is the directory of another user: what root makes there breaks that user's jobs.
    """
    with contextlib.suppress(OSError):
        return os.stat(path).st_uid == os.geteuid() and os.access(path, os.W_OK)
    return False


def last_lines(log: str | os.PathLike[str], begin: int = 0) -> str:
    """Returns the last lines of a log from a byte on, indented; if it ends in a crash, the crash's first lines."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = file.seek(max(begin, size - _CRASH_BYTES))
            text = file.read(_CRASH_BYTES)
    except OSError as e:
        return f"  (it cannot be read: {e.strerror})"
    if crash := _CRASH.search(text):
        return _indented(text[crash.start() :][:_TAIL_BYTES].decode(errors="replace").splitlines()[:_TAIL_LINES])
    lines = text[-_TAIL_BYTES:].decode(errors="replace").splitlines()
    if max(start, size - _TAIL_BYTES) > begin and len(lines) > 1:
        del lines[0]  # incomplete
    return _indented(lines[-_TAIL_LINES:])


def _indented(lines: list[str]) -> str:
    return "\n".join("  " + line for line in lines) or "  (nothing)"


def sweep(path: Path) -> None:
    """Removes the files of engines that ended long ago or are not among the last 50, and old files for trainers.

    Other files stay: the user may use the directory for more.
    """
    with contextlib.suppress(OSError):
        ages = {}
        for lock in path.glob("*.lock"):
            if _NAME.fullmatch(lock.stem):
                with contextlib.suppress(OSError, ValueError):
                    ages[lock] = time.time() - max(f.lstat().st_mtime for f in (lock, lock.with_suffix(".log")) if os.path.lexists(f))
        for place, (lock, age) in enumerate(sorted(ages.items(), key=lambda item: item[1])):
            if age >= _OLD_SECONDS or (place >= _MOST_LOGS and age >= _RECENT_SECONDS):
                with contextlib.suppress(OSError):
                    _sweep_one(lock)
        for left in (*path.glob("*.inventory"), *path.glob("*.documents")):
            if _NAME.fullmatch(left.stem) and time.time() - left.lstat().st_mtime > _OLD_SECONDS:
                left.unlink()
        for left in path.glob("*.counts"):
            if _NAME.fullmatch(left.stem) and time.time() - left.lstat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def mark(descriptor: int, lock: Path) -> None:
    """Writes into an empty lock that it is ours. A full disk leaves it empty."""
    with contextlib.suppress(OSError):
        if os.fstat(descriptor).st_size == 0:
            os.write(descriptor, _lock_line(lock))


def _lock_line(lock: Path) -> bytes:
    return f"shardfeed starts the engine {lock.stem}\n".encode()


def _sweep_one(lock: Path) -> None:
    log, sock = lock.with_suffix(".log"), lock.with_suffix(".sock")
    if _answers(sock):
        return
    with open(lock, "rb", opener=_no_link) as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        line = held.read(len(_lock_line(lock)) + 1)
        if line not in (b"", _lock_line(lock)):  # locks of older builds are empty
            return
        if _is(sock, stat.S_ISSOCK):
            sock.unlink()
        if _is(log, stat.S_ISREG) and (line or _begins_a_log(log)):
            log.unlink()
        lock.unlink()


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return kind(path.lstat().st_mode)
    return False


def _begins_a_log(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(5) in (b"", b"time=")


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        return sock.connect_ex(str(path)) == 0
