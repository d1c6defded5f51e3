"""The connection against the engine itself: what processes do to each other."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from conftest import ended, engines
from trainer import connect, ids, join, rest, start

from shardfeed import errors
from shardfeed._args import _duration
from shardfeed._engine._process import Engine

ROWS = 4000


def test_epochs(job: str, shards: Path) -> None:
    connection = connect(shards)
    assert connection.opened["rows"] == ROWS
    orders = []
    for epoch in range(3):
        assert join(connection, f"i{epoch}")["epoch"] == epoch
        orders.append(rest(connection))
        assert sorted(orders[-1]) == list(range(ROWS))
        assert connection.end is not None and connection.end["batches"] == 40
    assert orders[0] != orders[1] != orders[2]


def test_all_batches_can_be_kept(job: str, shards: Path) -> None:
    connection = connect(shards)
    join(connection, "i")
    kept = []
    while (raw := connection.next()) is not None:
        kept.append(ids(raw))
    assert len(kept) == 40
    assert sorted(np.concatenate(kept).tolist()) == list(range(ROWS))


def test_leaving_and_beginning_anew(job: str, shards: Path) -> None:
    connection = connect(shards)
    for epoch in range(20):
        assert join(connection, f"i{epoch}")["epoch"] == epoch
        raw = connection.next()
        assert raw is not None and raw.epoch == epoch and raw.step == 0
        connection.leave()
    connection.loans.settle()
    assert len(connection.loans) == 1


def test_ranks_share_an_engine(job: str, runtime: Path, shards: Path) -> None:
    connections = [connect(shards) for _ in range(3)]
    steps = {join(c, f"i{rank}", rank, 3)["steps"] for rank, c in enumerate(connections)}
    assert len(steps) == 1
    assert sorted(row for c in connections for row in rest(c)) == list(range(ROWS))
    assert len({c.welcome["pid"] for c in connections}) == 1


def test_ranks_as_processes_start_one_engine(job: str, shards: Path) -> None:
    code = "c = connect(shards); join(c, '{0}', {0}, 8); found = rest(c); print(c.welcome['pid'], len(found), sum(found))"
    children = [start(code.format(rank), shards) for rank in range(8)]
    said = [child.communicate(timeout=60)[0].split() for child in children]
    assert len({pid for pid, _, _ in said}) == 1
    assert sum(int(n) for _, n, _ in said) == ROWS
    assert sum(int(s) for _, _, s in said) == ROWS * (ROWS - 1) // 2


def test_a_trainer_that_is_killed_leaves_nothing(job: str, runtime: Path, shards: Path) -> None:
    staying = connect(shards)
    join(staying, "staying")
    code = """if True:
        import time
        connection = connect(shards, dataset="other", batch_size=10)
        join(connection, "i")
        kept = [connection.next() for _ in range(3)]
        print(connection.welcome["pid"], flush=True)
        time.sleep(100)
    """
    child = start(code, shards)
    assert child.stdout is not None
    engine = psutil.Process(int(child.stdout.readline()))
    assert engine.pid == staying.welcome["pid"]
    child.kill()
    child.wait()
    deadline = time.monotonic() + 60
    while len(shared(engine)) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(shared(engine)) == 1, "the ring of the dead trainer is still mapped"
    assert sorted(rest(staying)) == list(range(ROWS))


def shared(process: psutil.Process) -> list[str]:
    """The rings that a process has mapped."""
    return [line for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines() if "memfd:" in line]


def test_an_engine_that_is_killed(job: str, shards: Path) -> None:
    connection = connect(shards)
    join(connection, "i")
    raw = connection.next()
    assert raw is not None
    before = ids(raw).tolist()
    os.kill(connection.welcome["pid"], signal.SIGKILL)
    with pytest.raises(errors.EngineGone) as caught:
        rest(connection)
    assert connection.welcome["log"] in str(caught.value) and "opened" in str(caught.value)
    assert ids(raw).tolist() == before
    again = connect(shards)  # at once
    join(again, "i")
    assert sorted(rest(again)) == list(range(ROWS))


def test_the_engine_ends_after_its_last_client(job: str, runtime: Path, shards: Path) -> None:
    connection = connect(shards)
    pid = connection.welcome["pid"]
    assert any(process.pid == pid for process in engines(runtime))
    del connection
    assert psutil.pid_exists(pid)
    assert ended(pid)
    assert not Engine().socket.exists()


def test_errors_of_the_engine(job: str, shards: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        connect(tmp_path / "nowhere")
    with pytest.raises(errors.SchemaError, match="lable"):
        connect(shards, columns=["lable"])
    with pytest.raises(ValueError, match="tail"):
        connect(shards, tail="mouse")
    with pytest.raises(errors.ShardfeedError):
        connect(shards, no_such_option=1)


def test_the_hand_over_is_cheap(job: str, shards: Path) -> None:
    """Of a batch of three columns: 20 us of the trainer's processor on a quiet machine."""
    connection = connect(shards, batch_size=1, slots=16)
    costs = []
    for epoch in range(3):
        join(connection, f"i{epoch}")
        assert connection.next() is not None
        begin = time.process_time()
        batches = 0
        while (raw := connection.next()) is not None:
            columns = [np.ndarray((raw.rows,), dtype, raw.bytes, at) for dtype, at in zip("qfi", raw.nodes[4::8])]
            batches += len(columns) == 3
        costs.append((time.process_time() - begin) / batches)
    assert min(costs) < 100e-6, f"{[round(cost * 1e6) for cost in costs]} us"


def test_a_slow_trainer_costs_the_engine_nothing(job: str, shards: Path) -> None:
    connection = connect(shards, batch_size=10)
    join(connection, "i")
    assert connection.next() is not None
    engine = psutil.Process(connection.welcome["pid"])

    def used() -> float:
        times = engine.cpu_times()
        return times.user + times.system

    deadline = time.monotonic() + 60  # until it has filled its slots
    while True:
        before = used()
        time.sleep(1)  # in which an engine that looks again and again is seen
        if (cost := used() - before) < 0.05 or time.monotonic() > deadline:
            break
    assert cost < 0.05


def test_a_hundred_iterations_leak_nothing(job: str, shards: Path) -> None:
    trainer = psutil.Process()
    connection = connect(shards, batch_size=500)
    engine = psutil.Process(connection.welcome["pid"])

    def held() -> tuple[int, int, int, int]:
        gc.collect()
        return trainer.num_fds(), engine.num_fds(), len(shared(trainer)), len(shared(engine))

    join(connection, "warm")
    rest(connection)
    before = held()
    for k in range(100):
        join(connection, f"i{k}")
        if k % 3:
            rest(connection)
        else:
            connection.next()
            connection.leave()
    join(connection, "last")
    rest(connection)
    assert held() == before
    for k in range(20):
        other = connect(shards, batch_size=500, dataset=f"o{k}")
        join(other, "i")
        other.next()
        del other
    deadline = time.monotonic() + 60
    while held() != before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert held() == before


def test_the_interpreters_end_is_quiet(job: str, shards: Path) -> None:
    for dropped in ("", "del connection", "del raw", "connection.close()"):
        child = start(f"connection = connect(shards); join(connection, 'i'); raw = connection.next(); column = ids(raw)\n{dropped}", shards)
        assert child.communicate(timeout=60) == ("", "")
        assert child.returncode == 0


def test_ctrl_c_ends_a_trainer_and_spares_the_engine(job: str, shards: Path) -> None:
    staying = connect(shards)
    code = """if True:
        connection = connect(shards, dataset="other", batch_size=10)
        join(connection, "i")
        print("reading", flush=True)
        while True:
            rest(connection)
            join(connection, "i%d" % connection.end["state"]["epoch"])
    """
    child = start(code, shards)
    assert child.stdout is not None and child.stdout.readline() == "reading\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    try:
        _, words = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in words
    join(staying, "i")
    assert sorted(rest(staying)) == list(range(ROWS))


Sidecar = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def sidecar(
    runtime: Path, engine_binary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sidecar]:
    """Starts the engine that SHARDFEED_SOCKET names, as a container beside the trainer's would, in a directory that is not there yet."""
    monkeypatch.setenv("SHARDFEED_SOCKET", str(tmp_path_factory.mktemp("s") / "engine" / "engine.sock"))
    started = []

    def start() -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen([engine_binary, "serve", "--grace", "0", "--log-level", "error", "--socket", os.environ["SHARDFEED_SOCKET"]])
        )
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait()


@contextmanager
def later(seconds: float, start: Sidecar) -> Iterator[None]:
    timer = threading.Timer(seconds, start)
    timer.start()
    yield
    timer.join()


def test_waits_for_a_sidecar(sidecar: Sidecar, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", "30s")
    begin = time.monotonic()
    with later(0.5, sidecar):
        connection = connect(shards)
    assert 0.5 < time.monotonic() - begin < 30
    join(connection, "i")
    assert sorted(rest(connection)) == list(range(ROWS))


def test_waits_for_a_sidecar_that_starts_again(sidecar: Sidecar, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", "30")
    first = sidecar()
    connection = connect(shards)
    join(connection, "i")
    assert connection.next() is not None
    first.kill()
    first.wait()
    with pytest.raises(errors.EngineGone, match=r"has ended; its log went to the stderr of shardfeed serve$"):
        rest(connection)
    with later(0.3, sidecar):
        again = connect(shards)
    join(again, "i")
    assert sorted(rest(again)) == list(range(ROWS))


@pytest.mark.parametrize(("wait", "limit", "most"), [("200ms", None, 5.0), ("60s", 0.2, 5.0), ("0.2", 60.0, 5.0)])
def test_a_sidecar_that_does_not_come(
    sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch, wait: str, limit: float | None, most: float
) -> None:
    monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", wait)
    begin = time.monotonic()
    words = (
        re.escape(os.environ["SHARDFEED_SOCKET"])
        + r", which SHARDFEED_SOCKET names after 0\.2 s \(SHARDFEED_SOCKET_WAIT\): start shardfeed serve"
    )
    with pytest.raises(errors.EngineStartError, match=words):
        Engine().connect(limit)
    assert 0.2 <= time.monotonic() - begin < most


def test_a_sidecar_is_not_waited_for_without_being_asked(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    for wait in (None, "", "0", "0s"):
        if wait is None:
            monkeypatch.delenv("SHARDFEED_SOCKET_WAIT", raising=False)
        else:
            monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", wait)
        begin = time.monotonic()
        with pytest.raises(errors.EngineStartError, match=r"SHARDFEED_SOCKET names: .* or set SHARDFEED_SOCKET_WAIT, such as 60s"):
            Engine().connect(60)
        assert time.monotonic() - begin < 2


def test_a_socket_that_cannot_be_reached_is_not_waited_for(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", "60s")
    path = Path(os.environ["SHARDFEED_SOCKET"])
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:  # EPROTOTYPE, for anyone; another user gets EACCES
        other.bind(str(path))
        with pytest.raises(errors.EngineStartError, match=r"which SHARDFEED_SOCKET names, cannot be reached: .*; run both as one user"):
            Engine().connect(60)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1.5", 1.5),
        (".5s", 0.5),
        ("60s", 60),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("1h", 3600),
        ("2us", 2e-6),
        (" 7s ", 7),
        ("0", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert _duration.seconds("X", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["soon", "-1", "-1s", "1 s", "1s5", "s", "1d", "nan", "inf", "1e3", "1,5", "."])
def test_durations_that_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDFEED_SOCKET", "/nowhere/engine.sock")
    monkeypatch.setenv("SHARDFEED_SOCKET_WAIT", text)
    with pytest.raises(
        errors.OptionError,
        match=re.escape(f"SHARDFEED_SOCKET_WAIT must be a time of at least 0, such as 60s, 1m30s or 60 (seconds), got {text!r}"),
    ):
        Engine("job")
