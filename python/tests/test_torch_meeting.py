"""Meetings of ranks in a store, and versions of shardfeed that differ."""

from __future__ import annotations

import logging
import random
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from meetings import NAME, goers, meet  # noqa: F401 - a fixture

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("goers")

import torch.distributed as dist  # noqa: E402

from shardfeed import errors  # noqa: E402
from shardfeed.torch._ranks import _meeting, _store, _versions  # noqa: E402
from shardfeed.torch._ranks._meeting import ORDER, SEATS, Meeting  # noqa: E402


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    if request.param == "hash":
        return dist.HashStore()
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    return server if request.param == "tcp" else dist.PrefixStore("a job", server)


def total(there: _meeting.Given) -> dict[str, Any]:
    return {"total": sum(has["number"] for has in there.values())}


def both(meeting: Meeting) -> list[int]:
    return [int(meeting.gather(part, {"number": meeting.rank + n}, total)["total"]) for n, part in enumerate((SEATS, ORDER))]


def test_ranks_find_the_same_in_each_part(store: Any) -> None:
    for _ in range(2):  # as for a second data set object of the same line
        assert meet(store, 5, both) == [[10, 15]] * 5


@pytest.mark.parametrize("leaver", [0, 3])
@pytest.mark.parametrize("after", [0, 1])
def test_a_rank_that_leaves_fails_the_others(leaver: int, after: int) -> None:
    """Rank 1 does not wait in the first part."""

    def part(meeting: Meeting) -> None:
        if meeting.rank == leaver and after == 0:
            raise errors.DataError("no rows\nat all")
        if meeting.rank == 1:
            meeting.give(SEATS, {"number": 1})
        else:
            meeting.gather(SEATS, {"number": 1}, total)
        if meeting.rank == leaver:
            raise errors.DataError("no rows\nat all")
        meeting.gather(ORDER, {"number": 1}, total)

    found = meet(dist.HashStore(), 5, part)
    assert isinstance(found[leaver], errors.DataError)
    for rank, error in enumerate(found):
        if rank != leaver:
            assert isinstance(error, errors.RankMismatchError) and f"rank {leaver} could not begin: no rows" in str(error), error


def test_a_rank_that_is_missing_in_the_first_part_ends_the_meeting() -> None:
    def part(meeting: Meeting) -> Any:
        if meeting.rank == 2:
            return None
        if meeting.rank == 1:
            meeting.give(SEATS, {"number": 1})
            return meeting.gather(ORDER, {"number": 1}, total)
        return both(meeting)

    found = meet(dist.HashStore(), 4, part, timeout=0.3)
    for rank in (0, 1, 3):
        assert isinstance(found[rank], errors.FeedTimeoutError) and "rank 2 of 4 did not begin" in str(found[rank])


def test_versions_are_compared_first() -> None:
    """Whatever else the ranks gave."""

    def part(meeting: Meeting) -> Any:
        meeting.version = "0.9" if meeting.rank in (1, 3) else "1.0"
        return meeting.gather(SEATS, {"number": meeting.rank} if meeting.rank % 2 else {"other": "form"}, total)

    for error in meet(dist.HashStore(), 4, part):
        assert isinstance(error, errors.RankMismatchError)
        assert "different versions of shardfeed: 0.9 on ranks 1, 3, 1.0 on ranks 0, 2: install one version" in str(error)
        assert error.details == ("version: 0.9 on ranks 1, 3, 1.0 on ranks 0, 2",)


@pytest.mark.parametrize("stranger", [0, 2])
def test_versions_of_other_forms(store: Any, monkeypatch: pytest.MonkeyPatch, stranger: int) -> None:
    """A rank of another version meets under other keys, except versions. No rank waits in vain."""
    monkeypatch.setattr(_versions, "_EVERY", 0.05)
    watched = threading.Event()

    def part(meeting: Meeting) -> Any:
        if meeting.rank != stranger:
            return both(meeting)
        versions = _versions.Versions(store, stranger, 3, "2.0")
        _store.put(store, versions.own)
        while not watched.wait(0.02):
            versions.look()
        return None

    timer = threading.Timer(30, watched.set)
    timer.start()
    found = meet(store, 3, part)
    timer.cancel()
    others = ", ".join(str(rank) for rank in range(3) if rank != stranger)
    for error in found:
        assert isinstance(error, errors.RankMismatchError), found
        assert f"{_versions.__version__} on ranks {others}, 2.0 on rank {stranger}: install one version" in str(error)


def test_the_version_names_an_engine_of_another_build() -> None:
    assert _versions.of({"build": _versions.__version__}) == _versions.__version__
    assert _versions.of({"build": "0.0.7"}) == f"{_versions.__version__} with the engine 0.0.7"


def test_clocks_that_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank has a clock of its own, by hours and years from the others'. None is compared."""
    clock = threading.local()

    def apart(of: Any) -> Any:
        return lambda: of() + getattr(clock, "ahead", 0)

    clocks = SimpleNamespace(monotonic=apart(time.monotonic), time=apart(time.time), sleep=time.sleep)
    for module in (_store, _versions):
        monkeypatch.setattr(module, "time", clocks)

    def part(meeting: Meeting) -> Any:
        clock.ahead = (meeting.rank - 2) * 1e8
        return both(meeting)

    assert meet(dist.HashStore(), 4, part) == [[6, 10]] * 4


def test_many_clients_look_rarely() -> None:
    def looks(clients: int) -> list[float]:
        pauses = _store._pauses(clients)
        return [next(pauses) for _ in range(20)]

    assert max(looks(2)) <= 0.1 and looks(2)[0] <= 0.002
    assert max(looks(500)) <= 0.1
    many = looks(10_000)
    assert many[0] >= 0.2 and 0.5 <= many[-1] <= 1.0
    assert looks(10_000) != many  # they do not look at once


def test_waiting_leaves_the_programs_random_numbers_alone() -> None:
    random.seed(1)
    before = random.getstate()
    assert _store.wait(lambda: None, 0.01) is None
    assert random.getstate() == before


def test_what_is_there_is_read(store: Any) -> None:
    for n in range(3):
        store.set(f"key {n}", str(n))
    assert _store.present(store, ["key 0", "key 2"]) == {"key 0": b"0", "key 2": b"2"}
    assert _store.present(store, ["key 1", "absent", "key 2"]) == {"key 1": b"1", "key 2": b"2"}


def test_the_name_of_a_meeting_has_no_count_of_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines count restarts for themselves."""
    store = dist.HashStore()

    def part(meeting: Meeting) -> Any:
        return both(meeting)

    keys = []
    for count in ("0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
        keys.append(Meeting(store, NAME, int(count), 2, 1.0)._key)
    assert keys[0] == keys[1]
    assert meet(store, 2, part) == [[1, 3]] * 2


@pytest.mark.parametrize("alone", [0, 2])
def test_a_rank_that_waits_names_the_ranks_that_have_not_come(monkeypatch: pytest.MonkeyPatch, caplog: Any, alone: int) -> None:
    """As in a validation on rank 0 alone, while the others wait at a barrier."""
    monkeypatch.setattr(_store, "_SILENCE", 0.2)
    store = dist.HashStore()
    logged = threading.Event()

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.set()

    notes = Notes(logging.WARNING)
    logging.getLogger("shardfeed").addHandler(notes)

    def part(meeting: Meeting) -> Any:
        if meeting.rank != alone:
            assert logged.wait(60)
        return both(meeting)

    try:
        assert meet(store, 4, part) == [[6, 10]] * 4
    finally:
        logging.getLogger("shardfeed").removeHandler(notes)
    absent = ", ".join(str(rank) for rank in range(4) if rank != alone)
    [text] = [record.getMessage() for record in caplog.records if "still waits" in record.getMessage()]
    assert f"rank {alone} still waits for ranks {absent} of 4 to begin to iterate over the data set of {NAME}" in text
    assert "DataLoader(..., rank=0, world_size=1)" in text
