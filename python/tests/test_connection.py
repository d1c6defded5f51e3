"""The connection against an engine that does what the test says."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from fake_engine import HEADER_AT, USED, FakeEngine

from shardfeed import errors
from shardfeed._engine import _channel
from shardfeed._engine import _protocol as protocol
from shardfeed._engine._connection import Connection
from shardfeed._engine._outbox import Outbox

OPEN = {"dataset": "d", "spec": {}}


@pytest.fixture
def fake() -> Iterator[FakeEngine]:
    engine = FakeEngine()
    yield engine
    engine.close()


def joined(fake: FakeEngine, *, timeout: float = 60, **ring: int) -> Connection:
    """A connection in an iteration; what it said is read."""
    connection = Connection(fake, OPEN, timeout=timeout)
    fake.join(**ring)
    connection.join(iteration="i")
    for kind in (protocol.HELLO, protocol.OPEN, protocol.JOIN):
        fake.receive(kind)
    return connection


def test_greeting_says_who_connects(fake: FakeEngine) -> None:
    connection = Connection(fake, OPEN, timeout=60)
    assert connection.opened["rows"] == 10
    _, hello = fake.receive(protocol.HELLO)
    assert hello == {"version": 1, "build": "0", "job": "fake", "pid": os.getpid(), "local_world_size": 1}
    assert fake.receive(protocol.OPEN) == (protocol.OPEN, OPEN)


def test_batches_are_views_of_the_slot(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    fake.batch(1)
    fake.send(protocol.END, {"left": False, "batches": 2})
    first, second = connection.next(), connection.next()
    assert first is not None and second is not None
    assert (first.rows, first.valid, first.step, first.after[1]) == (8, 8, 0, 8)
    assert first.nodes == (8, 0, 0, 0, 256, 8, 0, 0)
    column = np.ndarray((8,), np.uint8, second.bytes, second.nodes[4])
    assert column.tolist() == [1] * 8
    assert fake.memory is not None
    fake.memory[fake.size + 256] = 99
    assert column[0] == 99, "a copy was handed out"
    assert connection.next() is None
    assert connection.next() is None
    assert connection.end is not None and connection.end["batches"] == 2


def test_slot_returns_with_its_last_view(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(5, slot=2)
    raw = connection.next()
    assert raw is not None
    column = np.ndarray((4,), np.uint16, raw.bytes, 256)
    part = column[1:3].reshape(2, 1)
    del raw, column
    connection.loans.settle()
    assert fake.nothing()
    gc.disable()
    try:
        del part
        fake.batch(6, slot=3)
        assert connection.next() is not None  # gives it back
        assert fake.look() == [(1, 2, 5)]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "of", [lambda b: b[256:264], lambda b: np.ndarray(4, np.uint16, b, 256)[1:], lambda b: b[256:].view(np.ndarray)[:8]]
)
def test_each_view_keeps_its_slot(fake: FakeEngine, of: Callable[[np.ndarray], np.ndarray]) -> None:
    connection = joined(fake)
    fake.batch(5, slot=2)
    raw = connection.next()
    assert raw is not None
    view = of(raw.bytes)
    del raw
    connection.settle()
    assert len(connection.loans) == 1
    del view
    connection.settle()
    assert len(connection.loans) == 0


def test_a_slot_goes_back_though_it_was_dropped_in_a_cycle(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    cycle: list[object] = [connection.next()]
    cycle.append(cycle)
    del cycle
    gc.collect()
    connection.loans.settle()
    assert fake.receive() == (protocol.RELEASE, (1, 0, 0))


def test_an_interrupt_leaves_the_outbox_unlocked() -> None:
    ours, engine = socket.socketpair()
    calls, interrupted = 0, 0

    def interrupt(frame: object, event: str, function: object) -> None:
        nonlocal calls
        if event == "c_return":  # a KeyboardInterrupt comes right after a call
            calls += 1
            if calls == interrupted:
                raise KeyboardInterrupt

    with ours, engine:
        while calls >= interrupted:
            interrupted, calls = interrupted + 1, 0
            outbox = Outbox(ours)
            sys.setprofile(interrupt)
            try:
                outbox.post(b"frame")
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            assert not outbox._lock.locked(), f"interrupted after call {interrupted}"
            outbox.close()
    assert interrupted > 4


def test_release_by_hand_happens_once(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    raw = connection.next()
    assert raw is not None
    raw.release()
    raw.release()
    assert len(connection.loans) == 0
    assert fake.receive() == (protocol.RELEASE, (1, 0, 0))
    view = raw.bytes[256:264]
    connection.close()
    del raw, connection
    assert view.tolist() == [0] * 8, "the ring must stay mapped under a view"


def test_held_batches_are_copied_out_before_the_engine_runs_dry(fake: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "shardfeed")
    connection = joined(fake, slots=4)
    kept = []
    for seq in range(10):
        slot = seq if seq < 2 else 2
        fake.batch(seq, slot=slot)
        kept.append(connection.next())
        if seq >= 2:
            assert fake.receive() == (protocol.RELEASE, (1, 2, seq))
    assert [raw.bytes[256] for raw in kept if raw] == list(range(10))
    assert [raw.ring is None for raw in kept if raw] == [False] * 2 + [True] * 8
    assert all(raw.bytes.ctypes.data % 256 == 0 and len(raw.bytes) >= USED for raw in kept if raw)
    assert sum("copied" in r.message for r in caplog.records) == 1


def test_a_ring_of_one_slot_is_of_one_batch(fake: FakeEngine) -> None:
    connection = joined(fake, slots=1)
    fake.batch(0)
    raw = connection.next()
    assert raw is not None and raw.ring is not None, "its memory is this batch's alone, so it is not copied"
    raw.release()
    assert fake.receive() == (protocol.RELEASE, (1, 0, 0))


def test_new_generation_leaves_the_old_one_to_its_views(fake: FakeEngine) -> None:
    connection = joined(fake, slots=8)
    fake.batch(0)
    old = connection.next()
    assert fake.memory is not None
    first = fake.memory, fake.size
    fake.ring(generation=2, size=16384)
    fake.batch(1, generation=2)
    new = connection.next()
    assert old is not None and new is not None
    assert (len(old.bytes), len(new.bytes)) == (8192, 16384)
    assert (old.bytes[256], new.bytes[256]) == (0, 1)
    fake.memory, fake.size = first
    fake.batch(2)  # was begun before the new ring
    late = connection.next()
    assert late is not None and late.bytes[256] == 2
    del old, late
    connection.loans.settle()
    assert sorted(fake.receive()[1] for _ in range(2)) == [(1, 0, 0), (1, 2, 2)]
    del new
    connection.loans.settle()
    assert fake.receive() == (protocol.RELEASE, (2, 1, 1))


def test_an_old_generation_is_unmapped_in_the_end(fake: FakeEngine) -> None:
    connection = joined(fake)
    rings = connection._rings
    fake.batch(0)
    connection.next()
    old = weakref.ref(rings.newest)
    fake.ring(generation=2)
    for seq in range(1, 7):
        fake.batch(seq, generation=2)
        assert old() is not None or seq > 5
        connection.next()
    assert old() is None


def test_batches_held_in_an_old_generation_count(fake: FakeEngine) -> None:
    connection = joined(fake, slots=4)
    fake.batch(0), fake.batch(1)
    kept = [connection.next(), connection.next()]
    fake.ring(generation=2)
    fake.batch(2, generation=2)
    kept.append(connection.next())
    assert [raw.ring is None for raw in kept if raw] == [False, False, True]


def test_rings_are_unmapped_and_their_descriptors_closed(fake: FakeEngine) -> None:
    def maps() -> int:
        return Path("/proc/self/maps").read_text().count("memfd:fake")

    before = maps()
    connection = joined(fake)
    fake.batch(0)
    raw = connection.next()
    descriptors = psutil.Process().num_fds()
    assert maps() == before + 2  # the fake's own and the connection's
    connection.close()
    del connection
    assert maps() == before + 2
    del raw
    assert maps() == before + 1
    assert psutil.Process().num_fds() < descriptors


def test_releases_wait_while_the_engine_does_not_read(fake: FakeEngine) -> None:
    connection = joined(fake, slots=8)
    connection._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    count = 4000
    for seq in range(count):
        fake.batch(seq)
        assert connection.next() is not None  # dropped at once
    connection.loans.settle()
    assert connection._outbox._frames, "the test needs a full socket"
    connection.leave()
    kinds: list[int] = []

    def read() -> None:
        kinds.extend(iter(fake.kind, protocol.LEAVE))
        fake.send(protocol.END, {"left": True})
        fake.send(protocol.SESSION, {"next_epoch": 1})

    reader = threading.Thread(target=read)
    reader.start()
    connection.ask(rank=0, world_size=1)  # waiting sends them
    reader.join(60)
    assert len(kinds) > 100 and set(kinds) == {protocol.RELEASE}


def test_releases_go_together_while_there_are_batches(fake: FakeEngine) -> None:
    """Each message wakes the engine: half a ring is given back at once, and all of it before a wait."""
    connection = joined(fake, slots=8)
    for seq in range(6):
        fake.batch(seq)
    for _ in range(6):
        assert connection.next() is not None  # dropped at once
    assert fake.kind() == protocol.RELEASE and fake.nothing()
    assert [seq for _, _, seq in fake.look()] == [0, 1, 2, 3, 4]
    with pytest.raises(errors.FeedTimeoutError):
        connection.next(timeout=0.1)
    assert fake.kind() == protocol.RELEASE and fake.nothing()
    assert [seq for _, _, seq in fake.look()] == [5]


def test_releases_are_told_where_no_batch_is_ready(fake: FakeEngine) -> None:
    """A caller that looks before it takes a batch never waits for one while it has others."""
    connection = joined(fake, slots=8)
    fake.batch(0)
    assert connection.ready() and connection.next() is not None  # dropped at once
    assert fake.nothing()
    assert not connection.ready()
    assert fake.receive() == (protocol.RELEASE, (1, 0, 0))


@pytest.mark.parametrize("how", ["dropped", "by hand", "after leave"])
def test_a_release_that_the_engine_does_not_wait_for_is_no_message(fake: FakeEngine, how: str) -> None:
    connection = joined(fake, slots=4)
    fake.flag[0] = 0
    fake.batch(3)
    fake.batch(4)
    kept = connection.next()
    if how == "by hand":
        assert kept is not None
        kept.release()
    elif how == "dropped":
        kept = None
        connection.settle()
    else:
        connection.leave()
        assert fake.receive(protocol.LEAVE)
        fake.send(protocol.END, {"left": True})
        fake.send(protocol.SESSION, {"next_epoch": 1})
        connection.ask(rank=0, world_size=1)
        assert fake.receive(protocol.ASK)
    assert fake.nothing()
    assert fake.look() == [(1, 0, 4) if how == "after leave" else (1, 3, 3)]
    del kept


def test_one_message_tells_of_all_generations(fake: FakeEngine) -> None:
    """The engine waits for slots of the one ring, or of the other: each has a flag of its own."""
    connection = joined(fake, slots=8)
    first = fake.flag
    fake.batch(0)
    fake.batch(1)
    kept = [connection.next(), connection.next()]
    fake.ring(generation=2, slots=8)
    fake.batch(2, generation=2)
    kept.append(connection.next())
    fake.flag[0], first[0] = 0, 1
    kept.clear()
    connection.settle()
    assert fake.kind() == protocol.RELEASE and fake.nothing()
    assert fake.look() == [(1, 0, 0), (1, 1, 1), (2, 2, 2)]


def test_slots_may_be_dropped_in_any_thread(fake: FakeEngine) -> None:
    connection = joined(fake, slots=64)
    for seq in range(48):
        fake.batch(seq)
    kept = [connection.next() for _ in range(48)]
    piles = [kept[k::4] for k in range(4)]
    kept.clear()
    threads = [threading.Thread(target=pile.clear) for pile in piles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.loans.settle()
    assert sorted(fake.receive(protocol.RELEASE)[1][2] for _ in range(48)) == list(range(48))


@pytest.mark.parametrize("kind", sorted(errors._KINDS))
def test_failures_become_errors(fake: FakeEngine, kind: str) -> None:
    connection = joined(fake)
    where = {"op": "read", "shard": "s3://b/k", "row_group": 3, "column": "x", "hint": "h", "step": -1, "details": ["d"]}
    fake.send(protocol.ERROR, {"kind": kind, "text": "all of it", **where})
    with pytest.raises(errors._KINDS[kind]) as caught:
        connection.next()
    error = caught.value
    assert str(error) == "all of it"
    assert (error.shard, error.row_group, error.column, error.hint, error.step) == ("s3://b/k", 3, "x", "h", None)
    with pytest.raises(errors.ProtocolError, match=r"no iteration|closed"):
        connection.next()
    if kind == "protocol":
        return
    fake.join(generation=2)
    connection.join(iteration="again")  # the connection goes on
    fake.batch(0, generation=2)
    assert connection.next() is not None


def test_failure_to_open(fake: FakeEngine) -> None:
    fake.opened = False
    connect = fake.connect

    def failing(timeout: float | None = None) -> socket.socket:
        sock = connect(timeout)
        fake.send(protocol.PROGRESS, {"shards": 1, "doing": "list"})
        fake.send(protocol.ERROR, {"kind": "notfound", "text": "s3://b: does not exist"})
        return sock

    fake.connect = failing  # type: ignore[method-assign]
    with pytest.raises(FileNotFoundError, match="s3://b: does not exist"):
        Connection(fake, OPEN, timeout=60)


def test_engine_gone_names_the_log_and_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("".join(f"line {i}\n" for i in range(10_000)))
    fake = FakeEngine(str(log))
    connection = joined(fake)
    fake.batch(0)
    fake.close()
    raw = connection.next()
    with pytest.raises(errors.EngineGone) as caught:
        connection.next()
    assert str(log) in str(caught.value) and "line 9999" in str(caught.value) and "line 9000" not in str(caught.value)
    assert caught.value.log == str(log)
    assert isinstance(caught.value, ConnectionError)
    assert raw is not None and raw.bytes[256] == 0  # what is held stays
    assert not connection.usable


@pytest.mark.parametrize("failure", [None, "gone", "late"])
def test_an_engine_that_leaves_at_the_greeting_is_greeted_again(fake: FakeEngine, failure: str | None) -> None:
    connect, left = fake.connect, []

    def leaving(timeout: float | None = None) -> socket.socket:
        if len(left) == 2:
            return connect(timeout)
        left.append(1)
        mine, theirs = socket.socketpair()
        if failure:
            mine.sendall(protocol.encode(protocol.ERROR, {"kind": failure, "text": "words"}))
            mine.shutdown(socket.SHUT_WR)
            kept.append(mine)  # open, so that HELLO does not fail
        else:
            mine.close()
        return theirs

    kept: list[socket.socket] = []
    fake.connect = leaving  # type: ignore[method-assign]
    assert Connection(fake, OPEN, timeout=60).opened["rows"] == 10
    for mine in kept:
        mine.close()


def test_waits_end(fake: FakeEngine) -> None:
    connection = joined(fake, timeout=0.2)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"waiting for a batch: no answer from the engine within 0\.2 s"):
        connection.next()
    with pytest.raises(TimeoutError, match=r"0\.1 s"):
        connection.next(timeout=0.1)
    assert time.monotonic() - begin >= 0.3
    fake.batch(0)
    assert connection.next() is not None  # nothing was lost


def test_keyboard_interrupt_ends_a_wait_at_once(fake: FakeEngine) -> None:
    connection = joined(fake)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        connection.next()
    assert time.monotonic() - begin < 60
    fake.batch(0)
    assert connection.next() is not None


def test_an_interrupted_request_ends_the_connection(fake: FakeEngine) -> None:
    connection = Connection(fake, OPEN, timeout=30)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        connection.ask(rank=0, world_size=1)
    assert not connection.usable, "the answer may come after all"


def test_a_wait_may_be_very_long(fake: FakeEngine) -> None:
    connection = joined(fake, timeout=1e30)
    threading.Timer(0.1, fake.batch, (0,)).start()
    assert connection.next() is not None


def test_an_interrupt_while_bytes_arrive_ends_the_connection(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)

    class Interrupted:
        def recvmsg_into(self, *_: object) -> None:
            connection._socket.recv(20)
            raise KeyboardInterrupt

    connection._inbox._socket = Interrupted()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        connection.next()
    with pytest.raises(errors.ProtocolError, match="begin a new iteration"):
        connection.next()
    assert not connection.usable


def test_leave_never_waits_and_the_next_join_drains(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    fake.batch(1)
    assert connection.next() is not None
    connection.leave()
    connection.leave()
    assert connection.next() is None
    assert [fake.receive()[0] for _ in range(2)] == [protocol.RELEASE, protocol.LEAVE]
    fake.batch(2)
    fake.send(protocol.END, {"left": False, "batches": 3})  # it had just ended
    fake.send(protocol.END, {"left": True, "batches": 3})
    fake.send(protocol.JOINED, {"epoch": 1})
    assert connection.join(iteration="j")["epoch"] == 1
    assert [fake.receive()[0] for _ in range(3)] == [protocol.RELEASE, protocol.RELEASE, protocol.JOIN]
    fake.batch(3)
    raw = connection.next()
    assert raw is not None and raw.seq == 3


def test_an_error_that_crosses_leave_is_dropped(fake: FakeEngine) -> None:
    connection = joined(fake)
    connection.leave()
    fake.send(protocol.ERROR, {"kind": "data", "text": "too late"})
    fake.send(protocol.END, {"left": True})
    fake.send(protocol.SESSION, {"next_epoch": 1})
    assert connection.ask(rank=0, world_size=1)["next_epoch"] == 1


def test_requests(fake: FakeEngine) -> None:
    connection = Connection(fake, OPEN, timeout=60)
    fake.receive(), fake.receive()
    fake.send(protocol.SESSION, {"next_epoch": 4})
    assert connection.set_epoch(rank=1, epoch=4, serial="s") == {"next_epoch": 4}
    assert fake.receive() == (protocol.EPOCH, {"rank": 1, "epoch": 4, "serial": "s"})
    fake.send(protocol.SESSION, {"next_epoch": 4})
    connection.ask(rank=1, world_size=2, stats=True)
    assert fake.receive() == (protocol.ASK, {"rank": 1, "world_size": 2, "stats": True})


def test_no_request_in_the_midst_of_an_iteration(fake: FakeEngine) -> None:
    connection = joined(fake)
    with pytest.raises(errors.ProtocolError, match="is in an iteration"):
        connection.ask(rank=0, world_size=1)


def test_notes_are_logged_once_where_they_say_so(fake: FakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    _channel._noted.clear()
    caplog.set_level(logging.DEBUG, "shardfeed")
    connection = joined(fake)
    for _ in range(2):
        fake.send(protocol.NOTE, {"level": "warning", "text": "nulls in 100% of x", "once": "nulls x"})
        fake.send(protocol.NOTE, {"level": "debug", "text": "each time", "once": ""})
    fake.batch(0)
    assert connection.next() is not None
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "nulls in 100% of x"),
        ("DEBUG", "each time"),
        ("DEBUG", "each time"),
    ]


def test_large_and_broken_up_messages(fake: FakeEngine) -> None:
    connection = Connection(fake, OPEN, timeout=60)
    message = protocol.encode(protocol.SESSION, {"next_epoch": 3, "pad": "x" * 300_000})

    def dribble() -> None:
        for at in range(0, len(message), 50_001):
            fake.socket.sendall(message[at : at + 50_001])
            time.sleep(0.01)
        for byte in protocol.encode(protocol.SESSION, {"next_epoch": 5}):
            fake.socket.sendall(bytes([byte]))

    thread = threading.Thread(target=dribble)
    thread.start()
    assert connection.ask(rank=0, world_size=1)["next_epoch"] == 3
    assert connection.ask(rank=0, world_size=1)["next_epoch"] == 5
    thread.join()


BROKEN: dict[str, Callable[[FakeEngine], None]] = {
    "not the protocol": lambda f: f.socket.sendall(b"\xff" * 64),
    "announced slot 4 of 4": lambda f: f.announce(1, 4, 0, HEADER_AT, USED),
    "generation 7": lambda f: f.announce(7, 0, 0, HEADER_AT, USED),
    "batch with a broken header": lambda f: f.announce(1, 3, 0, HEADER_AT, USED),
    "announced a batch at 8180": lambda f: f.announce(1, 0, 0, 8180, 8192),
    "of 99999 bytes": lambda f: f.announce(1, 0, 0, HEADER_AT, 99999),
    "is not JSON": lambda f: f.socket.sendall(protocol.HEADER.pack(3, protocol.END, 0) + b"{x}"),
    "must be a JSON object": lambda f: f.socket.sendall(protocol.HEADER.pack(2, protocol.NOTE, 0) + b"[]"),
    "without its file descriptor": lambda f: f.socket.sendall(
        protocol.HEADER.pack(24, protocol.RING, 0) + protocol.RING_PAYLOAD.pack(2, 4, 4096, 16384)
    ),
    "sent SESSION where a batch was due": lambda f: f.send(protocol.SESSION, {}),
    "frame of kind 99": lambda f: f.send(99, {}),
}


@pytest.mark.parametrize("says", sorted(BROKEN))
def test_what_is_no_protocol_is_refused(fake: FakeEngine, says: str) -> None:
    connection = joined(fake)
    BROKEN[says](fake)
    with pytest.raises(errors.ProtocolError, match=says):
        connection.next()


def test_a_slot_that_is_held_cannot_be_announced_again(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    raw = connection.next()
    fake.batch(4)
    with pytest.raises(errors.ProtocolError, match="slot 0"):
        connection.next()
    assert raw is not None


def test_a_ring_smaller_than_it_says_is_refused(fake: FakeEngine) -> None:
    connection = joined(fake)
    descriptor = os.memfd_create("short")
    os.ftruncate(descriptor, 4096)
    frame = protocol.HEADER.pack(24, protocol.RING, 0) + protocol.RING_PAYLOAD.pack(2, 4, 4096, 16384)
    socket.send_fds(fake.socket, [frame], [descriptor])
    os.close(descriptor)
    with pytest.raises(errors.ProtocolError, match="smaller"):
        connection.next()


@pytest.mark.parametrize("at", [8192, 32768 + 64])
def test_words_that_lie_elsewhere_are_refused(fake: FakeEngine, at: int) -> None:
    connection = joined(fake)
    descriptor = os.memfd_create("words")
    os.ftruncate(descriptor, 1 << 20)
    frame = protocol.HEADER.pack(24, protocol.RING, 0) + protocol.RING_PAYLOAD.pack(2, 4, 8192, at)
    socket.send_fds(fake.socket, [frame], [descriptor])
    os.close(descriptor)
    with pytest.raises(errors.ProtocolError, match=f"has words at {at}"):
        connection.next()


def in_child(action: Callable[[], None]) -> None:
    """Runs action in a forked child, which has to end well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_forked_child_leaves_its_parents_batches_alone(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    held: list[object] = [connection.next()]

    def child() -> None:
        assert not connection.usable
        with pytest.raises(errors.ForkError, match="begin a new iteration"):
            connection.next()
        with pytest.raises(errors.ForkError):
            connection.join(iteration="x")
        connection.leave()
        held.clear()
        connection.close()

    in_child(child)
    connection.loans.settle()
    assert fake.nothing()
    fake.batch(1)
    raw = connection.next()  # the parent goes on
    assert raw is not None and raw.seq == 1


def test_a_child_does_not_keep_its_parents_connection_open(fake: FakeEngine) -> None:
    connection = joined(fake)
    child = os.fork()
    if child == 0:
        time.sleep(100)  # longer than its parent waits
        os._exit(0)
    try:
        connection.close()
        fake.socket.settimeout(60)
        assert fake.socket.recv(1) == b""
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_dropping_a_connection_closes_it(fake: FakeEngine) -> None:
    connection = joined(fake)
    fake.batch(0)
    raw = connection.next()
    gc.disable()
    try:
        del connection
        assert fake.nothing() and fake.socket.recv(1) == b""
    finally:
        gc.enable()
    assert raw is not None
    del raw  # its release has nowhere to go, and says nothing


def test_closed_connections_say_so(fake: FakeEngine) -> None:
    connection = joined(fake)
    connection.close()
    connection.close()
    with pytest.raises(errors.ProtocolError, match="closed"):
        connection.next()
    with pytest.raises(errors.ProtocolError, match="closed"):
        connection.ask(rank=0, world_size=1)
    connection.leave()
