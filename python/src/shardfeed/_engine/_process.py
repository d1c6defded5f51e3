"""The engine of a job on this node: how it is found, and started if necessary."""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .._args import _duration, _storage
from .._program import find_binary
from .._version import __version__
from ..errors import EngineStartError, FeedTimeoutError, ShardfeedError
from . import _launcher, _orphan, _rank, _runtime

_START_SECONDS = 60.0
_MOST_FAILED = 5  # starts; an engine that is killed while it starts looks like one that cannot start
_RETRY_SECONDS = 0.005
_WAIT_RETRY_SECONDS = 0.05  # for an engine that others start

# The engine must not be the trainer's child, which would not wait for it. A shell that ends at once
# leaves it to init.
_DETACH = ("/bin/sh", "-c", '"$0" "$@" &')


class _Socket(socket.socket):
    """A socket that a program may still hold when it ends: it closes without a ResourceWarning.

    An interrupt may leave it half made. It closes in C, since Python's close needs all of it.
    """

    def __del__(self, close: Callable[[Any], None] = _socket.socket.close) -> None:
        close(self)


class Engine:
    """The engine of one job and one build, in the runtime directory. Different versions have different engines.

    $SHARDFEED_SOCKET names the socket of an engine that was started by hand, or in a container beside this one. Then that one is used, and
    no other is started. $SHARDFEED_SOCKET_WAIT is how long to wait for it.
    """

    def __init__(self, job: str | None = None, *, binary: str | os.PathLike[str] | None = None, local_world_size: int | None = None):
        self.job = _rank.job() if job is None else job
        self.build = __version__
        self.local_world_size = _launcher.local_world_size() if local_world_size is None else local_world_size
        self.given = os.environ.get("SHARDFEED_SOCKET")
        if self.given:
            base = Path(self.given).absolute()
            self.socket = base
            self.wait = _duration.seconds("SHARDFEED_SOCKET_WAIT", os.environ.get("SHARDFEED_SOCKET_WAIT") or "0")
        else:
            self.binary = find_binary() if binary is None else Path(binary).absolute()
            base = _runtime.directory() / _rank.digest(f"{self.job}\0{self.build}\0{_identity(self.binary)}")
            self.socket = base.with_suffix(".sock")
        self.log, self.lock = base.with_suffix(".log"), base.with_suffix(".lock")

    def connect(self, timeout: float | None = None) -> socket.socket:
        """Returns a socket to the engine, which one of several processes starts if none runs."""
        _orphan.end_torch_worker()
        try:
            return self._connect(timeout)
        except ShardfeedError:
            raise
        except OSError as e:
            if self.given:
                raise EngineStartError(
                    f"the engine at {self.socket}, which SHARDFEED_SOCKET names, cannot be reached: {e}; run both as one user"
                ) from None
            raise EngineStartError(
                f"the engine {self.socket} can be neither reached nor started: {e}; set SHARDFEED_RUNTIME_DIR to another directory"
            ) from None

    def _connect(self, timeout: float | None) -> socket.socket:
        if self.given:
            return self._await(self.wait if timeout is None else min(timeout, self.wait))
        sock = self._try()
        if sock is not None:
            return sock
        deadline = time.monotonic() + (_START_SECONDS if timeout is None else min(timeout, _START_SECONDS))
        with self._starting(deadline):
            sock = self._try()
            failed = 0
            while sock is None:
                another = self._lives()
                begin = self._start(deadline)
                sock = self._try()
                failed += not (another or self._lives())
                if sock is None and (time.monotonic() > deadline or failed == _MOST_FAILED):
                    words = _runtime.last_lines(self.log, begin)
                    raise EngineStartError(f"the engine {self.binary} did not start; its log is {self.log}, and ends with\n{words}")
        return sock

    def _await(self, wait: float) -> socket.socket:
        """Waits for an engine that this process does not start."""
        deadline = time.monotonic() + wait
        while (sock := self._try()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                waited = f" after {wait:g} s (SHARDFEED_SOCKET_WAIT)" if wait else ""
                more = "" if wait else ", or set SHARDFEED_SOCKET_WAIT, such as 60s, where one is about to start"
                raise EngineStartError(
                    f"no engine listens at {self.socket}, which SHARDFEED_SOCKET names{waited}: start shardfeed serve, or unset it{more}"
                )
            time.sleep(min(left, _WAIT_RETRY_SECONDS))
        return sock

    def _lives(self) -> bool:
        """Reports whether an engine holds its marker without listening: it starts or ends."""
        try:
            descriptor = os.open(f"{self.socket}.shardfeed-engine", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _try(self) -> socket.socket | None:
        sock = _Socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(str(self.socket))
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            sock.close()
            return None
        except BaseException:
            sock.close()
            raise
        return sock

    @contextlib.contextmanager
    def _starting(self, deadline: float) -> Iterator[None]:
        """Holds the right to start the engine."""
        while True:
            descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if self._locked(descriptor, deadline):
                    _runtime.mark(descriptor, self.lock)
                    yield
                    return
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing only would leave it to a child that another thread has forked meanwhile
                os.close(descriptor)

    def _locked(self, descriptor: int, deadline: float) -> bool:
        """Waits for the lock. Returns False if its file was removed meanwhile."""
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > deadline:
                raise FeedTimeoutError(f"another process is starting the engine and does not finish; the engine's log is {self.log}")
            time.sleep(_RETRY_SECONDS)
        with contextlib.suppress(FileNotFoundError):
            return os.fstat(descriptor).st_ino == self.lock.stat().st_ino
        return False

    def _start(self, deadline: float) -> int:
        """Starts the engine and waits until it listens or has ended. Returns the size of the log before."""
        _runtime.sweep(self.log.parent)
        with contextlib.ExitStack() as stack:
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, log)
            begin = os.fstat(log).st_size
            ready, told = os.pipe()
            stack.callback(os.close, ready)
            try:
                group = self._launch(told, log)
            finally:
                os.close(told)
            if _ready_or_ended(ready, deadline):
                return begin
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
        words = _runtime.last_lines(self.log, begin)
        raise FeedTimeoutError(f"the engine {self.binary} did not start in time; its log is {self.log}, and ends with\n{words}")

    def _launch(self, told: int, log: int) -> int:
        """Starts the program in a session of its own, so that no signal of a terminal reaches it, and returns its process group.

        It inherits the write end of the pipe and the log, and no other descriptor, such as a GPU driver's.
        """
        command = [str(self.binary), "serve", "--socket", str(self.socket), "--log", str(self.log), "--ready-fd", str(told)]
        if grace := os.environ.get("SHARDFEED_GRACE"):
            command += ["--grace", grace]
        detach = os.access(_DETACH[0], os.X_OK)
        with _processors_of_the_job() if self.local_world_size > 1 else contextlib.nullcontext():
            process = subprocess.Popen(
                [*_DETACH, *command] if detach else command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(told,),
                start_new_session=True,
                cwd="/",
                env={**os.environ, **_storage.environment(os.environ)},  # of that directory
            )
        if detach:
            process.wait()
        else:  # without a shell it stays a child until this process ends
            process.returncode = 0
        return process.pid


def _identity(binary: Path) -> str:
    """Identifies a build. Go's linker writes an identity of the content into a program's first page."""
    status = binary.stat()
    with open(binary, "rb") as file:
        return f"{status.st_size} {status.st_mtime_ns} {file.read(4096).hex()}"


@contextlib.contextmanager
def _processors_of_the_job() -> Iterator[None]:
    """Lets children of this thread run where the launcher of the ranks may. Ranks are often bound to some processors each, and the
    engine works for all of them."""
    own = os.sched_getaffinity(0)
    try:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, own | os.sched_getaffinity(os.getppid()))
        yield
    finally:
        os.sched_setaffinity(0, own)


def _ready_or_ended(ready: int, deadline: float) -> bool:
    """Waits for the engine's line on the pipe, or for its end. Returns False if neither came in time."""
    poll = select.poll()
    poll.register(ready, select.POLLIN)
    said = b""
    while True:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return False
        part = os.read(ready, 4096)
        said += part
        if not part or said.endswith(b"\n"):
            return True
