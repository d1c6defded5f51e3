"""How engines are found and started, with a small program in the engine's place."""

from __future__ import annotations

import _socket
import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from conftest import ended

from shardfeed import errors
from shardfeed._engine import _runtime
from shardfeed._engine._process import Engine, _Socket, find_binary

FAKE = Path(__file__).with_name("fake_serve.py")


class Place:
    """A runtime directory with a program in the engine's place."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.starts_file = directory / "starts"
        self.program = directory / "shardfeed"
        self.program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
        self.program.chmod(0o700)

    def engine(self, job: str = "job") -> Engine:
        return Engine(job, binary=self.program, local_world_size=1)

    def starts(self) -> list[str]:
        return self.starts_file.read_text().splitlines() if self.starts_file.exists() else []


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Place:
    directory = tmp_path_factory.mktemp("e")
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(directory / "run"))
    monkeypatch.setenv("FAKE_SERVE_STARTS", str(directory / "starts"))
    monkeypatch.delenv("FAKE_SERVE", raising=False)
    monkeypatch.delenv("SHARDFEED_GRACE", raising=False)
    return Place(directory)


def test_starts_a_detached_engine(place: Place) -> None:
    before = psutil.Process().children()
    with open("/dev/null"):  # a descriptor that an engine must not get
        sock = place.engine().connect(60)
    pid, session, parent, descriptors, cwd, _ = place.starts()[0].replace(", ", ",").split()
    try:
        assert int(session) != os.getsid(0)
        assert int(parent) != os.getpid()
        assert len(descriptors.split(",")) == 6, "stdin, stdout, stderr, the pipe, and two of its own"
        assert cwd == "/"
        assert psutil.Process().children() == before
    finally:
        sock.close()
    assert ended(int(pid))
    assert list(place.engine().socket.parent.glob("*.sock*")) == []


def test_many_at_once_start_one(place: Place) -> None:
    with ThreadPoolExecutor(8) as pool:
        socks = list(pool.map(lambda _: place.engine().connect(60), range(8)))
    try:
        assert len(place.starts()) == 1
    finally:
        for sock in socks:
            sock.close()


def test_many_processes_start_one(place: Place) -> None:
    connect = f"Engine('job', binary={str(place.program)!r}).connect(60)"
    code = f"from shardfeed._engine._process import Engine; s = {connect}; print(flush=True); input()"
    children = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)]
    for child in children:  # the engine in this test ends with its first client: all stay until the last has come
        assert child.stdout is not None and child.stdout.readline() == b"\n"
    for child in children:
        child.communicate(b"\n", timeout=60)
        assert child.returncode == 0
    assert len(place.starts()) == 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_that_are_bound_do_not_bind_the_engine(place: Place, ranks: int) -> None:
    code = f"""if True:
        import os
        from shardfeed._engine._process import Engine
        os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
        Engine("job", binary={str(place.program)!r}, local_world_size={ranks}).connect(60).close()
        assert len(os.sched_getaffinity(0)) == 1
    """
    subprocess.run([sys.executable, "-c", code], check=True)
    processors = place.starts()[0].partition("/ ")[2]
    own = sorted(os.sched_getaffinity(0))
    assert processors == str(own if ranks > 1 else own[:1])


def test_jobs_and_builds_have_engines_of_their_own(place: Place) -> None:
    one, two = place.engine(), place.engine("another")
    with open(place.program, "a") as program:
        program.write("# another build\n")
    assert len({one.socket, two.socket, place.engine().socket}) == 3


def test_a_start_that_fails_shows_the_engines_words(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = place.engine()
    engine.log.write_text("of an earlier run\n")
    monkeypatch.setenv("FAKE_SERVE", "die")
    with pytest.raises(errors.EngineStartError) as caught:
        engine.connect(60)
    assert "panic: no space left on device" in str(caught.value)
    assert str(engine.log) in str(caught.value)
    assert "earlier" not in str(caught.value)


def test_a_program_that_cannot_run_says_why(place: Place) -> None:
    place.program.write_text("#!/nonexistent/interpreter\n")
    with pytest.raises(errors.EngineStartError, match=r"did not start[^?]*not found"):
        place.engine().connect(60)


def test_a_start_that_hangs_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SERVE", "hang")
    for seconds in (1, 5, 25):  # a busy machine needs longer to start the program, which hangs for a minute
        begin = time.monotonic()
        with pytest.raises(TimeoutError, match="did not start in time") as caught:
            place.engine().connect(seconds)
        assert time.monotonic() - begin < 45
        if "serving" in str(caught.value):
            break
    assert "serving" in str(caught.value)
    assert ended(int(place.starts()[-1].split()[0]), 45)


def test_a_start_of_another_that_hangs_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = place.engine()
    with engine._starting(time.monotonic() + 60), pytest.raises(TimeoutError, match="another process is starting"):
        place.engine().connect(0.3)


def test_an_engine_that_died_is_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sock = place.engine().connect(60)
    pid = int(place.starts()[0].split()[0])
    psutil.Process(pid).kill()
    assert ended(pid), "its connections may end before its socket does"
    sock.close()
    assert place.engine().socket.exists(), "the test needs a stale socket"
    place.engine().connect(60).close()
    assert len(place.starts()) == 2


def test_an_engine_whose_starter_was_killed_is_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has begun and does not listen yet: engines that are started beside it end at once."""
    monkeypatch.setenv("FAKE_SERVE", "taken")
    engine = place.engine()
    with open(f"{engine.socket}.shardfeed-engine", "w") as life:
        fcntl.flock(life, fcntl.LOCK_EX)
        ends = threading.Timer(0.5, fcntl.flock, (life, fcntl.LOCK_UN))
        ends.start()
        engine.connect(60).close()
        ends.join()
        assert len(place.starts()) > 1
    another = place.engine("another")
    with open(f"{another.socket}.shardfeed-engine", "w") as life:
        fcntl.flock(life, fcntl.LOCK_EX)
        with pytest.raises((errors.EngineStartError, errors.FeedTimeoutError), match="did not start"):
            another.connect(0.5)


def test_a_child_that_is_forked_while_an_engine_starts_does_not_keep_the_lock(place: Place) -> None:
    engine = place.engine()
    with engine._starting(time.monotonic() + 60):
        child = os.fork()
        if child == 0:
            time.sleep(100)  # longer than its parent waits
            os._exit(0)
    try:
        with engine._starting(time.monotonic() + 60):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_engine_that_dies_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SERVE", "crash")
    with pytest.raises(errors.EngineStartError, match="serving"):
        place.engine().connect(60)


@pytest.mark.parametrize("times", [1, 4])
def test_an_engine_that_is_killed_while_it_starts_is_started_again(place: Place, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    started = Engine._start
    left = times

    def killed(engine: Engine, deadline: float) -> int:
        nonlocal left
        begin = started(engine, deadline)
        if left:
            left -= 1
            psutil.Process(int(place.starts()[-1].split()[0])).kill()
            assert ended(int(place.starts()[-1].split()[0]))
        return begin

    monkeypatch.setattr(Engine, "_start", killed)
    place.engine().connect(60).close()
    assert len(place.starts()) == times + 1


def test_the_lock_survives_a_sweep(place: Place) -> None:
    engine = place.engine()
    engine.lock.touch()
    descriptor = os.open(engine.lock, os.O_RDWR)
    engine.lock.unlink()
    assert not engine._locked(descriptor, time.monotonic() + 60)
    os.close(descriptor)
    with engine._starting(time.monotonic() + 60):
        pass


def test_old_logs_are_swept(place: Place) -> None:
    directory = place.engine().socket.parent
    old, older, new = (directory / f"{name:016x}.log" for name in range(3))
    for log in (old, older, new):
        log.write_text("time=now\n")
        lock = log.with_suffix(".lock")
        lock.touch()
        if log != older:  # as a build before that wrote nothing into its locks
            with open(lock, "r+b") as file:
                _runtime.mark(file.fileno(), lock)
    for file in (old, older):
        for name in (file, file.with_suffix(".lock")):
            os.utime(name, (0, time.time() - 8 * 86400))
    _runtime.sweep(directory)
    assert sorted(f.name for f in directory.iterdir()) == [new.with_suffix(".lock").name, new.name]


def test_only_the_last_logs_stay(place: Place) -> None:
    directory = place.engine().socket.parent
    for name in range(70):
        log = directory / f"{name:016x}.log"
        log.write_text("time=now\n")
        lock = log.with_suffix(".lock")
        lock.touch()
        with open(lock, "r+b") as file:
            _runtime.mark(file.fileno(), lock)
        for path in (log, lock):
            os.utime(path, (0, time.time() - (60 * name if name < 5 else 7200 + name)))
    _runtime.sweep(directory)
    assert sorted(f.name for f in directory.glob("*.log")) == [f"{name:016x}.log" for name in range(50)]


def test_old_inventories_are_swept(place: Place) -> None:
    """A killed job leaves what another node found beside the engine's socket."""
    directory = place.engine().socket.parent
    old, new, other = (directory / f"{name}.inventory" for name in ("0123456789abcdef", "fedcba9876543210", "stock"))
    for file in (old, new, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (0, time.time() - 8 * 86400))
    _runtime.sweep(directory)
    assert sorted(directory.iterdir()) == [new, other]


def test_files_of_others_are_not_swept(place: Place) -> None:
    directory = place.engine().socket.parent
    name = "0123456789abcdef"
    files = {
        "poetry.lock": b"",
        "poetry.log": b"",
        "poetry.sock": b"x",
        f"{name}.lock": b"",
        f"{name}.log": b"my results",
        f"{name}.sock": b"y",
    }
    theirs = "fedcba9876543210"
    files |= {f"{theirs}.lock": b"content", f"{theirs}.log": b"time=", f"{theirs}.sock": b"z"}
    for file, content in files.items():
        (directory / file).write_bytes(content)
        os.utime(directory / file, (0, time.time() - 8 * 86400))
    del files[f"{name}.lock"]  # empty, as locks of older builds are
    _runtime.sweep(directory)
    assert {f.name: f.read_bytes() for f in directory.iterdir()} == files


def test_runtime_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="r") as short:  # as the address of a socket has to be
        runtime_directory(Path(short), monkeypatch)


def runtime_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHARDFEED_RUNTIME_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert _runtime.directory() == tmp_path / f"shardfeed-{os.geteuid()}"
    another = Path("/")  # a directory of another user, which su and sudo -E leave
    if os.geteuid() == 0:
        another = tmp_path / "another"
        another.mkdir()
        os.chown(another, 1, 1)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(another))
    assert _runtime.directory() == tmp_path / f"shardfeed-{os.geteuid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert _runtime.directory() == tmp_path / "shardfeed"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", "~/home")
    assert _runtime.directory() == tmp_path / "home"
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(tmp_path / "mine"))
    assert _runtime.directory() == tmp_path / "mine"
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    (tmp_path / "mine").chmod(0o755)
    assert _runtime.directory() == tmp_path / "mine"
    for mode in (0o775, 0o777, 0o702):
        (tmp_path / "mine").chmod(mode)
        with pytest.raises(ValueError, match="others may write to"):
            _runtime.directory()
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(tmp_path / "link"))
    with pytest.raises(ValueError, match="not a directory of yours"):
        _runtime.directory()
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(tmp_path / ("x" * 80)))
    with pytest.raises(ValueError, match="too long"):
        _runtime.directory()


def test_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert "cannot be read" in _runtime.last_lines(log)
    log.write_bytes(b"")
    assert _runtime.last_lines(log) == "  (nothing)"
    log.write_bytes(b"one\n\xff\n" + b"long " * 2000 + b"\nlast")
    assert _runtime.last_lines(log) == "  last"
    assert _runtime.last_lines(log, log.stat().st_size - 2) == "  st"
    log.write_text("\n".join(map(str, range(40))))
    assert _runtime.last_lines(log).split() == [str(i) for i in range(25, 40)]


def test_an_engine_that_was_started_by_hand(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place.directory / "by hand"
    monkeypatch.setenv("SHARDFEED_SOCKET", str(path))
    with pytest.raises(errors.EngineStartError, match=r"no engine listens at .*by hand"):
        Engine("job").connect(5)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        Engine("another job").connect(5).close()
    assert place.starts() == []


def test_the_command_of_the_package(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
    program.chmod(0o755)
    command = [sys.executable, "-c", "from shardfeed._command import main; main()", "plan", "--shuffle"]
    monkeypatch.setenv("SHARDFEED_BIN", str(program))
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (7, "plan --shuffle\n", "")
    monkeypatch.setenv("SHARDFEED_BIN", str(tmp_path / "none"))
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("shardfeed: SHARDFEED_BIN names")


@pytest.mark.filterwarnings("error")
def test_a_socket_whose_making_was_interrupted_is_closed() -> None:
    made = _Socket.__new__(_Socket)
    _socket.socket.__init__(made, socket.AF_UNIX, socket.SOCK_STREAM)  # what follows in Python was not reached
    descriptor = made.fileno()
    os.fstat(descriptor)
    del made
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_find_binary(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHARDFEED_BIN", str(place.program))
    assert find_binary() == place.program
    monkeypatch.setenv("SHARDFEED_BIN", str(tmp_path / "none"))
    with pytest.raises(errors.EngineStartError, match="SHARDFEED_BIN"):
        find_binary()
