"""How the ranks of a job open a data set through the store of a process group.

The engines here are made up.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

import shardfeed  # noqa: E402
from shardfeed import errors  # noqa: E402
from shardfeed._engine import _opening as choice  # noqa: E402
from shardfeed.torch._ranks import _agree, _opening  # noqa: E402

VERSION = f"{shardfeed.__version__} with the engine "
NAME = "train.py:3#1"
FOUND = b"what rank 0 found, " * 100


class Engine:
    """Stands for the engine of a node, and notes what the ranks ask it to open."""

    def __init__(self, directory: Path, node: str, build: str = "1.0", found: bytes | str = FOUND) -> None:
        self.node, self.build, self.found = node, build, found
        self.socket = directory / node / "engine.sock"
        self.socket.parent.mkdir(exist_ok=True)
        self.opened: list[bytes] = []
        self.error: Exception | None = None
        self.progress = 0
        self._lock = threading.Lock()

    local_world_size = 0

    def connect(self, inventory: str, told: Any = None, counting: Any = None) -> Any:
        for _ in range(self.progress):
            told()
            time.sleep(1.0)
        if self.error is not None:
            raise self.error
        with self._lock:
            self.opened.append((self.socket.parent / inventory).read_bytes() if inventory else b"")
        return SimpleNamespace(ask=self.ask, close=lambda: None)

    def ask(self, *, rank: int, world_size: int, inventory: str, inventory_most: int) -> dict[str, Any]:
        if isinstance(self.found, str) or len(self.found) > inventory_most:
            return {"inventory": 0, "no_inventory": self.found if isinstance(self.found, str) else "large"}
        (self.socket.parent / inventory).write_bytes(self.found)
        return {"inventory": len(self.found)}


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines of this file need no connection to say which they are."""

    class Held:
        def __init__(self, engine: Engine, timeout: float | None) -> None:
            self.engine = engine

        def __enter__(self) -> dict[str, str]:
            return {"id": self.engine.node, "build": self.engine.build}

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(_opening, "_Held", Held)


def job(engines: list[Engine | None], *, store: Any = None, timeout: float | None = 60.0, pause: float = 0.0) -> list[Any]:
    """What each rank has: an Opening, or an error. A rank whose engine is None does not come."""
    store = store or dist.HashStore()

    def one(rank: int) -> Any:
        engine = engines[rank]
        if engine is None:
            return None
        opening = _opening.Opening(store, NAME, rank, len(engines), engine, timeout, pause)  # type: ignore[arg-type]
        try:
            opening.connect(engine.connect)
        except errors.ShardfeedError as e:
            return e
        return opening

    with ThreadPoolExecutor(len(engines)) as pool:
        return list(pool.map(one, range(len(engines))))


def test_one_engine_opens_for_all(tmp_path: Path) -> None:
    first, *others = engines = [Engine(tmp_path, node) for node in "abc"]
    assert all(isinstance(o, _opening.Opening) for o in job([e for e in engines for _ in range(4)]))
    assert first.opened == [b""] * 4  # of which the engine opens one
    for engine in others:
        assert engine.opened == [FOUND] * 4
        [left] = engine.socket.parent.iterdir()
        assert left.suffix == ".inventory" and left.stat().st_mode & 0o777 == 0o600
    assert list(first.socket.parent.iterdir()) == []


def test_in_parts_that_can_be_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_opening, "_PART", 1000)
    store = dist.HashStore()
    engines = [Engine(tmp_path, node) for node in "ab"]
    opening, _ = job(list(engines), store=store)
    assert engines[1].opened == [FOUND] and opening.parts == 2
    keys = [f"{opening.key}/part {n}" for n in range(2)]
    assert store.check(keys)
    _opening.forget(opening)
    assert not store.check(keys[:1]) and not store.check(keys[1:])


def test_a_later_job_on_the_same_store(tmp_path: Path) -> None:
    store = dist.HashStore()
    for found in (b"one", b"two"):
        engines = [Engine(tmp_path, node, found=found) for node in "ab"]
        job(list(engines), store=store)
        assert engines[1].opened == [found]


@pytest.mark.parametrize("failed", [errors.NotFoundError("s3://bucket/nothing: no such directory"), RuntimeError("a bug")])
def test_rank_0_cannot_open(tmp_path: Path, failed: Exception) -> None:
    a, b = (Engine(tmp_path, node) for node in "ab")
    a.error = failed
    store = dist.HashStore()
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(job, [None, b, b], store=store)
        opening = _opening.Opening(store, NAME, 0, 3, a)  # type: ignore[arg-type]
        with pytest.raises(type(failed)):
            opening.connect(a.connect)
        for error in others.result()[1:]:
            assert str(failed) in str(error) and b.opened == []
            assert type(error) is (type(failed) if isinstance(failed, errors.ShardfeedError) else errors.ShardfeedError)
            assert isinstance(failed, errors.ShardfeedError) or "rank 0 could not open" in str(error)


def test_rank_0_does_not_come(tmp_path: Path) -> None:
    b = Engine(tmp_path, "b")
    for rank, error in list(enumerate(job([None, b, b], timeout=0.3)))[1:]:
        assert isinstance(error, errors.FeedTimeoutError)
        assert "rank 0 did not open the data set of train.py:3#1" in str(error) and "within 0.3 seconds" in str(error)
        assert f"rank {rank}" in str(error) and "opening='each'" in str(error)


def test_rank_0_is_slow_and_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its progress puts the timeout of others off."""
    monkeypatch.setattr(_opening, "_BEAT", 0.0)
    a, b = (Engine(tmp_path, node) for node in "ab")
    a.progress = 6  # seconds
    job([a, b], timeout=3.0)
    assert b.opened == [FOUND]


def test_the_leader_of_a_node_cannot_keep_it(tmp_path: Path) -> None:
    a, b = (Engine(tmp_path, node) for node in "ab")
    b.socket.parent.rmdir()
    found = job([a, b, b])
    assert isinstance(found[0], _opening.Opening)
    for error in found[1:]:
        assert isinstance(error, errors.StorageError) and "SHARDFEED_RUNTIME_DIR" in str(error) and str(b.socket.parent) in str(error)


@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_it_is_damaged_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    hand_on = _opening.Opening._hand_on

    def damaged(self: _opening.Opening, connection: Any) -> Any:
        found = hand_on(self, connection)
        part = f"{self.key}/part 0"
        if damage == "gone":
            self.store.delete_key(part)
        else:
            self.store.set(part, FOUND[:-1] + (b"" if damage == "cut" else b"x"))
        return found

    monkeypatch.setattr(_opening.Opening, "_hand_on", damaged)
    a, b = (Engine(tmp_path, node) for node in "ab")
    for error in job([a, b, b])[1:]:
        assert isinstance(error, errors.DataError) and "damaged on its way" in str(error) and f"of {len(FOUND)} bytes came" in str(error)
    assert b.opened == [] and list(b.socket.parent.iterdir()) == []


def test_another_version(tmp_path: Path) -> None:
    a, b = Engine(tmp_path, "a", "1.0"), Engine(tmp_path, "b", "1.1")
    for rank, error in list(enumerate(job([a, b, b])))[1:]:
        assert isinstance(error, errors.RankMismatchError)
        assert "different versions of shardfeed" in str(error) and f"1.0 on rank 0, {VERSION}1.1 on rank {rank}:" in str(error)


def test_an_error_reaches_the_ranks_that_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.HashStore()
    monkeypatch.setattr(_agree, "_store", lambda world_size: store)
    job([Engine(tmp_path, "a", "1.0"), Engine(tmp_path, "b", "1.1")], store=store)
    meeting = _agree.meeting(NAME, 0, 2, 60.0)
    assert meeting is not None
    with pytest.raises(errors.RankMismatchError, match=r"rank 1 could not begin: the ranks run different versions of shardfeed: .*1\.0 on"):
        _agree.compare(meeting, {"data": "abc"})


@pytest.mark.parametrize("found", [b"x" * 3000, "the shards have no versions"])
def test_what_cannot_be_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bytes | str) -> None:
    monkeypatch.setattr(_opening, "_MOST", 2000)
    waited: list[float] = []
    engines = [Engine(tmp_path, node, found=found) for node in "ab"]
    store = dist.HashStore()
    with pytest.warns(shardfeed.ShardfeedWarning) as warned:
        first = _opening.Opening(store, NAME, 0, 2, engines[0])  # type: ignore[arg-type]
        first.connect(engines[0].connect)
    text = str(warned[0].message)
    assert "each node opens the data set of train.py:3#1 for itself" in text
    assert ("plan --save" in text) == isinstance(found, bytes) and ("no versions" in text) == isinstance(found, str)
    monkeypatch.setattr(time, "sleep", waited.append)
    second = _opening.Opening(store, NAME, 1, 2, engines[1], pause=0.25)  # type: ignore[arg-type]
    second.connect(engines[1].connect)
    assert engines[1].opened == [b""] and waited == [0.25]


# Which of the two it is


def spec(*addresses: str, plan: str = "", sources: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"addresses": list(addresses), "plan": plan, "sources": [{"addresses": [a]} for a in sources]}


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process group of 8 ranks on nodes of 4; this is rank 5."""
    store = dist.HashStore()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda: 5)
    monkeypatch.setattr(dist, "get_world_size", lambda: 8)
    monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: store)
    return store


S3 = spec("s3://bucket/table")


@pytest.mark.parametrize(
    "how, given, ranks, first",
    [
        (None, S3, (5, 8), True),
        ("first", S3, (5, 8), True),
        ("each", S3, (5, 8), False),
        (None, spec("s3://bucket/a", "hdfs://host/b"), (5, 8), True),
        (None, spec(sources=("s3://bucket/a", "s3://bucket/b")), (5, 8), True),
        (None, spec("/data/table"), (5, 8), False),
        (None, spec("file:///data/table"), (5, 8), False),
        (None, spec("s3://bucket/a", "/data/table"), (5, 8), False),
        (None, spec(sources=("s3://bucket/a", "/data/b")), (5, 8), False),
        (None, spec("s3://key:secret@host/table"), (5, 8), False),
        ("first", spec("/data/table"), (5, 8), True),
        (None, spec("s3://bucket/table", plan="s3://bucket/run.plan"), (5, 8), False),
        ("first", spec("s3://bucket/table", plan="run.plan"), (5, 8), False),
        (None, S3, (1, 4), False),
        (None, S3, (0, 1), False),
        ("first", S3, (0, 1), False),
    ],
)
def test_choice(group: Any, how: str | None, given: dict[str, Any], ranks: tuple[int, int], first: bool) -> None:
    assert choice.store(how, given, *ranks) is (group if first else None)


def test_one_node(group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert choice.store(None, S3, 5, 8) is None
    assert choice.store("first", S3, 5, 8) is group
    monkeypatch.delenv("LOCAL_WORLD_SIZE")  # nothing says how many nodes there are
    assert choice.store(None, S3, 5, 8) is group


@pytest.mark.parametrize("ranks", [(5, 8), (1, 4)])
def test_first_without_the_group(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, ranks: tuple[int, int]) -> None:
    if ranks == (1, 4):
        request.getfixturevalue("group")
    assert choice.store(None, S3, *ranks) is None
    with pytest.raises(errors.OptionError, match=rf"opening='first' needs a process group.*the {ranks[1]} ranks.*opening='each'"):
        choice.store("first", S3, *ranks)


def test_nodes_begin_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [choice.begins_at(rank, 128, 8) for rank in (0, 7, 8, 127)] == [0, 0, 1 / 16, 15 / 16]
    assert {choice.begins_at(rank, 8000, 8) for rank in range(8000)} == {n / 1000 for n in range(1000)}
    assert {choice.begins_at(rank, 120, 8) for rank in range(120)} == {0}  # 15 nodes
    assert choice.begins_at(16, 17, 1) == 16 / 17
    for name, value in {"RANK": "9", "WORLD_SIZE": "32", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert choice.pause(S3) == 4 / 16
    assert choice.pause(spec("/data/table")) == choice.pause(spec("s3://bucket/table", plan="run.plan")) == 0
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    assert choice.pause(S3) == 0
