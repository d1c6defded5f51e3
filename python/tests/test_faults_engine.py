"""Engines that cannot be started, that crash, and that are killed: one clear error, nothing left over, and a new engine at once."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from conftest import engines

import shardfeed
import shardfeed.torch
from shardfeed import Source, StreamingDataset, errors
from shardfeed._engine._inbox import Inbox
from shardfeed._engine._outbox import Outbox
from shardfeed._engine._process import Engine

ROWS = 4000


@pytest.fixture
def place(runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory for this test alone, that is not there yet; below that of the run, which waits for its engines."""
    monkeypatch.setenv("SHARDFEED_JOB", "faults")
    path = runtime.parent / str(abs(hash(tmp_path)) % 10**9)
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(path))
    return path


def ids(dataset: StreamingDataset) -> list[int]:
    return sorted(i for batch in dataset for i in batch["id"].tolist())


def engine_of(dataset: StreamingDataset) -> psutil.Process:
    return psutil.Process(dataset._control().welcome["pid"])


def test_a_directory_that_cannot_be_made(place: Path, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_text("a file")
    for path, words in ((place, "not a directory of yours"), (place / "below", "Not a directory"), (Path("/proc/x"), "No such file")):
        monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(path))
        with pytest.raises(errors.OptionError, match="SHARDFEED_RUNTIME_DIR") as caught:
            StreamingDataset(shards, batch_size=8)
        assert words in str(caught.value)
    place.unlink()


def test_a_directory_for_temporary_files_that_is_not_there(place: Path, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHARDFEED_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    assert Engine().socket.parent.parent == Path("/tmp")
    assert not place.exists()


@pytest.mark.parametrize("what", [".sock", ".lock", ".log", ".sock.shardfeed-engine"])
def test_something_in_the_way(place: Path, shards: Path, what: str) -> None:
    obstacle = Engine().socket.with_suffix(what)
    (obstacle / "x").mkdir(parents=True)
    with pytest.raises(errors.EngineStartError) as caught:
        StreamingDataset(shards, batch_size=8)
    assert obstacle.name in str(caught.value)
    (obstacle / "x").rmdir()
    obstacle.rmdir()
    assert StreamingDataset(shards, batch_size=8).size == ROWS


def test_a_socket_that_a_dead_engine_left(place: Path, shards: Path) -> None:
    path = Engine().socket
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(errors.EngineStartError, match="socket that no engine left"):
        StreamingDataset(shards, batch_size=8)
    Path(f"{path}.shardfeed-engine").write_text(f"shardfeed engine of {path.name}\n")
    assert StreamingDataset(shards, batch_size=8).size == ROWS


def test_a_file_at_the_sockets_path_stays(place: Path, shards: Path) -> None:
    path = Engine().socket
    path.write_text("not even a socket")
    with pytest.raises(errors.EngineStartError, match="not a socket but a file"):
        StreamingDataset(shards, batch_size=8)
    assert path.read_text() == "not even a socket"
    path.unlink()


def test_a_program_that_is_none(place: Path, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("/nowhere", "/tmp", "/etc/passwd", "/bin/false"):
        monkeypatch.setenv("SHARDFEED_BIN", program)
        with pytest.raises(errors.EngineStartError, match=program):
            StreamingDataset(shards, batch_size=8)


def test_no_room_for_a_log_is_no_reason_to_stop(place: Path, shards: Path) -> None:
    Engine().log.symlink_to("/dev/full")
    assert len(list(StreamingDataset(shards, batch_size=500))) == 8


def test_a_limit_of_open_files_is_named(place: Path, shards: Path) -> None:
    code = f"import shardfeed; list(shardfeed.StreamingDataset({str(shards)!r}, batch_size=8))"
    limited = ["sh", "-c", 'ulimit -n 16; exec "$@"', "sh", sys.executable, "-c", code]
    run = subprocess.run(limited, capture_output=True, text=True, timeout=250)
    assert "StorageError" in run.stderr and "ulimit -n" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT], ids=lambda number: number.name)
def test_an_engine_that_ends(place: Path, shards: Path, number: signal.Signals) -> None:
    dataset = StreamingDataset(shards, batch_size=16)
    iterator = iter(dataset)
    batch = next(iterator)
    kept, engine = batch["id"].tolist(), engine_of(dataset)
    engine.send_signal(number)
    with pytest.raises(errors.EngineGone) as caught:
        for _ in iterator:
            pass
    text = str(caught.value)
    assert caught.value.log in text and ("SIGABRT: abort" if number is signal.SIGABRT else "level=INFO") in text
    assert batch["id"].tolist() == kept
    with pytest.raises(errors.EngineGone):
        next(iterator)  # and not the end, which a loop would take for that of the epoch
    assert ids(dataset) == list(range(ROWS)) and dataset.state_dict()["shardfeed"]["epoch"] == 2
    assert engine_of(dataset).pid != engine.pid and len(engines(place)) == 1


def test_an_engine_that_ended_between_epochs_is_not_missed(place: Path, shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=16)
    for epoch in range(3):
        assert {batch.epoch for batch in dataset} == {epoch}
        engine = engine_of(dataset)
        engine.kill()
        with contextlib.suppress(psutil.NoSuchProcess):
            engine.wait(60)
        assert dataset.stats()["rows"] == 0
    assert dataset.state_dict()["shardfeed"]["epoch"] == 3


OTHER_ORDERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "seed and buffer": {"seed": 8, "shuffle_buffer": 500},
    "carry": {"tail": "carry", "batch_size": 300},
    "drop": {"tail": "drop", "batch_size": 300},
    "rows": {"batch_size": None},
    "weights": {"sources": True, "epoch_size": 1000},
}


def opened(api: str, shards: Path, **given: Any) -> Any:
    given = {"batch_size": 100, "seed": 5, "cache": False, "columns": ["id"], **given}
    kind = {"numpy": StreamingDataset, "torch": shardfeed.torch.StreamingDataset, "loader": shardfeed.torch.DataLoader}[api]
    if given.pop("sources", False):
        files = sorted(shards.glob("*.parquet"))
        sources = {"a": Source(files[:2], weight=3), "b": Source(files[2:], weight=1)}
        return kind(sources=sources, **given)
    return kind(shards, **given)


def end_engine(served: Any) -> None:
    engine = engine_of(getattr(served, "dataset", served))
    engine.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        engine.wait(60)


def ids_in_order(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in np.atleast_1d(batch["id"])]


@pytest.mark.parametrize(
    ("api", "order", "how"),
    [
        *(("numpy", order, "whole") for order in OTHER_ORDERS),
        ("numpy", "carry", "left"),
        ("numpy", "weights", "set_epoch"),
        ("torch", "seed and buffer", "set_epoch"),
        ("torch", "carry", "whole"),
        ("loader", "plain", "left"),
        ("loader", "carry", "set_epoch"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # the seed of the state wins, and its buffer mixes badly
def test_an_engine_that_ends_between_epochs_costs_no_order(place: Path, shards: Path, api: str, order: str, how: str) -> None:
    """A resumed run keeps the order of its state over all epochs, also by a new engine."""
    given = OTHER_ORDERS[order]
    first = opened(api, shards, **given, rank=0, world_size=1, **({} if "shuffle_buffer" in given else {"shuffle_buffer": 3000}))
    if order == "weights":
        first.set_weights({"a": 1, "b": 5})
    batches = iter(first)
    for _ in range(3):
        next(batches)
    state = first.state_dict()
    mine = {**given, "seed": 5, "rank": 0, "world_size": 3, "shuffle_buffer": None}
    runs = []
    for kills in (False, True):
        run = opened(api, shards, **mine)
        run.load_state_dict(state)
        seen: list[Any] = [ids_in_order(itertools.islice(run, 2 if how == "left" else None))]
        if kills:
            end_engine(run)
        if how == "set_epoch":
            run.set_epoch(2)
        seen += [run.state_dict(), ids_in_order(run), run.state_dict()]
        runs.append(seen)
    assert runs[0] == runs[1]


def test_new_torch_workers_do_not_begin_again(place: Path, shards: Path) -> None:
    """Torch's workers of an epoch know no epochs before. The state must not be used twice."""
    state = shardfeed.torch.StreamingDataset(shards, batch_size=100, seed=5, cache=False, shuffle_buffer=500).state_dict()
    runs = []
    for kills in (False, True):
        dataset = shardfeed.torch.StreamingDataset(shards, batch_size=100, seed=5, cache=False)
        dataset.load_state_dict(state)
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="fork")
        seen = [ids_in_order(loader)]
        if kills:
            end_engine(dataset)
            with pytest.raises(errors.StateError, match="call set_epoch of the data set"):
                list(loader)
        dataset.set_epoch(1)
        runs.append([*seen, ids_in_order(loader)])
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1]
    dataset = shardfeed.torch.StreamingDataset(shards, batch_size=100, cache=False)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="fork")
    list(loader)
    end_engine(dataset)
    with pytest.raises(errors.StateError, match="call set_epoch of the data set"):
        list(loader)


def test_an_engine_that_has_gone_is_reported_once(place: Path, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel closes the sockets of an engine that dies one after the other."""
    dataset = StreamingDataset(shards, batch_size=16)
    assert ids(dataset) == list(range(ROWS))
    idle, control = dataset._idle[0], dataset._connection
    assert idle.usable and control is not None and control.usable
    with monkeypatch.context() as patch:
        patch.setattr(Inbox, "ended", lambda _: False)  # the socket is closed after this look, before the answer
        control.wake()
        with pytest.raises(errors.EngineGone):
            dataset.state_dict()
    assert not idle.usable, "another connection to the same engine is used"
    for epoch in (1, 2):
        assert {batch.epoch for batch in dataset} == {epoch}
        assert dataset._idle[0] is not idle and dataset._idle[0].usable, "the engine that greeted again counts as gone"


TRAINER = """
    import collections, os, sys, time, shardfeed
    found = collections.Counter()
    dataset, end = None, time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        try:
            dataset = dataset or shardfeed.StreamingDataset(sys.argv[1], batch_size=16)
            rows = sorted(i for batch in dataset for i in batch["id"].tolist())
            found["epochs" if rows == list(range(len(rows))) else "wrong epochs"] += 1
            len(dataset), dataset.state_dict(), dataset.stats()
        except shardfeed.errors.EngineGone as e:
            found["gone" if e.log and "\\n" in str(e) else "gone without words"] += 1
    print(dict(found))
"""


@pytest.mark.long
def test_an_engine_that_is_killed_again_and_again(place: Path, shards: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(TRAINER), str(shards), "30"]
    trainers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    kills, end = 0, time.monotonic() + 28
    while time.monotonic() < end:
        time.sleep(0.1 + 0.9 * (kills % 7) / 7)
        for engine in engines(place):
            with contextlib.suppress(psutil.NoSuchProcess):
                engine.kill()
            kills += 1
    for trainer in trainers:
        said, words = trainer.communicate(timeout=250)
        assert trainer.returncode == 0, words
        found = eval(said)
        assert set(found) == {"epochs", "gone"} and found["gone"] <= kills + 1
    deadline = time.monotonic() + 60
    while engines(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {path.suffix for path in place.iterdir()} == {".lock", ".log"}


def test_two_builds_at_once_have_an_engine_each(place: Path, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = StreamingDataset(shards, batch_size=16)
    first = next(iterator := iter(old))
    other = tmp_path / "shardfeed"
    other.write_bytes(Path(os.environ["SHARDFEED_BIN"]).read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("SHARDFEED_BIN", str(other))
    new = StreamingDataset(shards, batch_size=16)
    assert engine_of(new).pid != engine_of(old).pid
    assert ids(new) == list(range(ROWS)) and first.rows + sum(batch.rows for batch in iterator) == ROWS


def test_a_trainer_that_stands_still_before_it_greets(place: Path, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a long collection of garbage, or stopped by its launcher: the engine gives up, and it greets again."""
    post, slow = Outbox.post, [11.0]

    def late(outbox: Outbox, frame: bytes) -> None:
        time.sleep(slow.pop() if slow else 0)
        post(outbox, frame)

    monkeypatch.setattr(Outbox, "post", late)
    assert StreamingDataset(shards, batch_size=16).size == ROWS
    assert not slow
