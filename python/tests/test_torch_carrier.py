"""One rank of a node goes to the store for all of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from shardfeed import errors  # noqa: E402
from shardfeed._engine._connection import Connection  # noqa: E402
from shardfeed._engine._process import Engine  # noqa: E402
from shardfeed.torch._ranks._carrier import Carrier  # noqa: E402
from shardfeed.torch._ranks._meeting import ORDER, Given, Meeting  # noqa: E402

NODE, NODES = 4, 3
WORLD = NODE * NODES
NAME = "train.py:3#1"


class Counted:
    """A store that counts, by rank, the requests of the threads that are ranks."""

    def __init__(self) -> None:
        self.store, self.requests, self.rank = dist.HashStore(), Counter[tuple[int, str]](), threading.local()

    def __getattr__(self, name: str) -> Any:
        if name == "has_extended_api":
            return getattr(self.store, name)
        self.requests[self.rank.number, name] += 1
        return getattr(self.store, name)

    def readers(self, node: int) -> list[int]:
        """The ranks of a node that read the store. Rank 0 always does, and is left out."""
        return [rank for rank in range(max(1, node * NODE), (node + 1) * NODE) if self.requests[rank, "get"]]


Late = dict[int, float | threading.Event | None]  # by rank, how long it waits, or for what; None: it never comes


def engines(job: str) -> list[Engine]:
    return [Engine(f"{job} {node}", local_world_size=NODE) for node in range(NODES)]


def run(store: Counted, job: str, late: Late, fails: int = -1, timeout: float = 60.0) -> list[Any]:
    """What each rank finds. Some come late, some not at all, and one fails."""
    nodes, found = engines(job), [None] * WORLD

    def rank(number: int) -> None:
        store.rank.number = number
        wait = late.get(number, 0.0)
        if wait is None:
            return
        if isinstance(wait, threading.Event):
            assert wait.wait(60)
        else:
            time.sleep(wait)
        meeting = Meeting(store, NAME, number, WORLD, timeout, nodes[number // NODE])
        meeting.version = "1.0"
        try:
            if number == fails:
                raise errors.DataError("no rows")
            found[number] = meeting.gather(ORDER, {"number": number}, total)["total"]
        except errors.ShardfeedError as e:
            meeting.leave(e)
            found[number] = e
        meeting.close()

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(WORLD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def total(there: Given) -> dict[str, Any]:
    return {"total": sum(has["number"] for has in there.values())}


SUM = sum(range(WORLD))


def test_one_rank_of_a_node_goes(job: str) -> None:
    store = Counted()
    assert run(store, job, {0: 0.5}) == [SUM] * WORLD  # so that all others wait
    for node in range(NODES):
        [carrier] = store.readers(node)
        writes = {rank: store.requests[rank, "multi_set"] for rank in range(node * NODE, (node + 1) * NODE) if rank > 0}
        assert 1 <= writes.pop(carrier) <= 3 and not any(writes.values()), store.requests  # what comes at once is written at once
    assert [key for key in (f"shardfeed/version/{rank}" for rank in range(WORLD)) if not store.store.check([key])] == []


def test_a_rank_that_comes_late(job: str) -> None:
    """And long after the others of its node have become silent."""
    assert run(Counted(), job, {5: 1.0, 6: 1.5}) == [SUM] * WORLD


def test_ranks_that_do_not_come_are_named(job: str) -> None:
    found = run(Counted(), job, dict.fromkeys((5, 8, 9, 10, 11)), timeout=1.0)
    for error in (found[n] for n in (0, 1, 2, 3, 4, 6, 7)):
        assert isinstance(error, errors.FeedTimeoutError) and "ranks 5, 8, 9, 10, 11 of 12 did not begin" in str(error), error


@pytest.mark.parametrize("fails", [0, 1, 4, 11])
def test_a_rank_that_fails_is_named_on_all(job: str, fails: int) -> None:
    for number, error in enumerate(run(Counted(), job, {fails: 0.3}, fails=fails)):
        if number != fails:
            assert isinstance(error, errors.RankMismatchError) and f"rank {fails} could not begin: no rows" in str(error), error


def test_a_node_whose_engine_is_killed(job: str) -> None:
    """Its ranks go to the store themselves, with all that is not there yet."""
    store, killed, gone = Counted(), Connection(engines(job)[1], None), threading.Event()

    def kill() -> None:
        name = f"shardfeed/{NAME}/1"
        while killed.meet(name=name)["members"] < 4:  # this connection and three ranks
            time.sleep(0.02)
        os.kill(killed.welcome["pid"], signal.SIGKILL)
        gone.set()

    killer = threading.Thread(target=kill)
    killer.start()
    assert run(store, job, {0: gone, 6: gone}) == [SUM] * WORLD
    killer.join()
    killed.close()
    assert store.readers(1) == [4, 5, 6, 7] and len(store.readers(2)) == 1


def test_values_that_an_ended_carrier_left(job: str) -> None:
    store = Counted()
    store.rank.number = 0
    engine = engines(job)[0]
    first, second = (Carrier(store, Connection(engine, None), "a meeting", 3) for _ in range(2))
    first.carry()
    second.put({"a": "1"})
    first.put({"b": "2"})
    second.carry()
    first.carry()  # it waits for a third rank
    assert not store.store.check(["a"])
    first.close()
    deadline = time.monotonic() + 30
    while second.find("a") is None or second.find("b") is None:
        assert time.monotonic() < deadline
    second.close()
    assert store.store.get("a") == b"1" and store.store.get("b") == b"2"


def test_values_that_an_engine_took_with_it(job: str) -> None:
    store, connection = dist.HashStore(), Connection(engines(job)[0], None)
    carrier = Carrier(store, connection, "a meeting", 2)
    carrier.put({"a": "1"})
    carrier.carry()  # it waits for a second rank
    assert not store.check(["a"])
    connection.close()
    carrier.put({"b": "2"})
    assert carrier.find("a") == "1" and carrier.find("b") == "2"
    carrier.put({"c": "3"})
    assert carrier.find("c") == "3"


@pytest.mark.parametrize("local", [0, 1, WORLD])
def test_ranks_that_have_no_company_go_themselves(job: str, local: int) -> None:
    assert Carrier.of(dist.HashStore(), Engine(job, local_world_size=local), "a meeting", WORLD, 60.0) is None
    carrier = Carrier.of(dist.HashStore(), Engine(job, local_world_size=2), "a meeting", WORLD, 60.0)
    assert carrier is not None
    carrier.close()
