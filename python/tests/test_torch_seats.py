"""Ranks exchange which lanes their nodes hold, here with a fake engine; see test_seats.py."""

from __future__ import annotations

import base64
import dataclasses
import logging
import threading
from collections import Counter
from typing import Any

import pytest
from meetings import meet

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from shardfeed import errors  # noqa: E402
from shardfeed._engine._replicas import Share  # noqa: E402
from shardfeed.torch._ranks import _agree, _seats  # noqa: E402
from shardfeed.torch._ranks._meeting import Meeting  # noqa: E402

LANES = 8
PRINT = {"seed": "1"}


@dataclasses.dataclass
class Nodes:
    """Four ranks on two nodes, and what these hold. The engine answers seats to all nodes."""

    node: str = "aabb"  # of each rank
    held: dict[str, list[int]] = dataclasses.field(default_factory=lambda: {"b": [0, 1, 2, 3]})
    seats: Any = dataclasses.field(default_factory=lambda: [4, 5, 6, 7, 0, 1, 2, 3])
    lanes: dict[int, int | None] = dataclasses.field(default_factory=dict)  # of ranks with another order
    unwilling: tuple[int, ...] = ()
    replication: int = 1
    fails: str = ""  # the node whose engine fails

    def __post_init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.all: list[Any] = []
        self._lock = threading.Lock()

    def exchange(self, meeting: Meeting) -> _seats.Seats:
        rank = meeting.rank
        share = Share(rank // self.replication, 4 // self.replication, self.replication, job_rank=rank, job_world_size=4)
        node = self.node[rank]

        def ask(held: bool = False, nodes: Any = None) -> dict[str, Any]:
            lanes = self.lanes.get(rank, LANES)
            params = {} if lanes is None else {"params": {"lanes": lanes}}
            answer: dict[str, Any] = {"state": {"seed": 1, "manifest": "m", "units": "u", **params}}
            if held:
                if node == self.fails:
                    raise errors.StorageError("no disk")
                with self._lock:
                    self.asked[node] += 1
                if own := self.held.get(node):
                    answer["held"] = bits(own)
            if nodes is not None:
                self.all.append(nodes)
                if isinstance(self.seats, Exception):
                    raise self.seats
                answer["seats"] = self.seats
            return answer

        return _seats.exchange(meeting, node, share, None if rank in self.unwilling else ask)

    def run(self) -> list[Any]:
        return meet(dist.HashStore(), 4, self.exchange)


def bits(lanes: list[int]) -> str:
    held = bytearray(LANES // 8)
    for lane in lanes:
        held[lane // 8] |= 1 << lane % 8
    return base64.b64encode(held).decode()


def places(found: list[Any]) -> list[Any]:
    assert not [e for e in found if isinstance(e, Exception)], found
    return [seats.of(None) for seats in found]


def test_ranks_have_the_seats_of_what_nodes_hold(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "shardfeed")
    nodes = Nodes()
    found = nodes.run()
    assert places(found) == [nodes.seats] * 4
    assert nodes.all == [[{"ranks": [0, 1], "held": None}, {"ranks": [2, 3], "held": bits([0, 1, 2, 3])}]]
    assert nodes.asked == {"a": 1, "b": 1}  # one rank of each
    assert found[3].figures == {"nodes": 2, "lanes": 8, "held": 4, "read": 4}
    assert "the ranks of 2 nodes read 4 of the 4 lanes that their caches hold, of 8" in caplog.text


def test_figures_count_lanes_that_are_read_elsewhere() -> None:
    nodes = Nodes(held={"a": [0, 4, 5], "b": [1, 6]})
    assert nodes.run()[0].figures == {"nodes": 2, "lanes": 8, "held": 5, "read": 3}  # lanes 0 and 6 are on the other node


@pytest.mark.parametrize(
    "nodes",
    [
        Nodes(node="aaaa", held={"a": [1]}),
        Nodes(held={}),
        Nodes(node="abab", replication=2),  # of data rank 0 a replica is on each node
        Nodes(lanes={2: 16}),
        Nodes(lanes=dict.fromkeys(range(4))),
        Nodes(unwilling=(0,)),
        Nodes(unwilling=(3,)),
        Nodes(unwilling=(0, 1, 2, 3)),
    ],
    ids=["one node", "nothing is held", "replicas apart", "orders differ", "file order", "rank 0", "rank 3", "all"],
)
def test_there_are_no_seats(nodes: Nodes) -> None:
    assert places(nodes.run()) == [None] * 4
    assert nodes.all == []


@pytest.mark.parametrize("seats", [None, errors.OptionError("world_size must be"), errors.ProtocolError("a message of 17000000 bytes")])
def test_the_engine_has_no_seats(seats: Any) -> None:
    nodes = Nodes(seats=seats)
    assert places(nodes.run()) == [None] * 4
    assert len(nodes.all) == 1


def test_replicas_of_one_node_are_one_rank_of_it() -> None:
    nodes = Nodes(replication=2)
    assert places(nodes.run()) == [nodes.seats] * 4
    assert [node["ranks"] for node in nodes.all[0]] == [[0], [1]]


@pytest.mark.parametrize("unwilling", [(), (1,), (0, 1)])
def test_a_leader_that_fails_is_named_on_every_rank(unwilling: tuple[int, ...]) -> None:
    nodes = Nodes(fails="b", unwilling=unwilling)

    def part(meeting: Meeting) -> None:
        nodes.exchange(meeting)
        _agree.compare(meeting, PRINT)

    found = meet(dist.HashStore(), 4, part)
    failed = [rank for rank, error in enumerate(found) if isinstance(error, errors.StorageError)]
    assert len(failed) == 1 and failed[0] in (2, 3)
    for error in found:
        if not isinstance(error, errors.StorageError):
            assert isinstance(error, errors.RankMismatchError) and f"rank {failed[0]} could not begin: no disk" in str(error), found


def test_an_engine_that_fails_on_rank_0_is_named_on_every_rank() -> None:
    found = Nodes(seats=errors.EngineGone("it ended")).run()
    assert isinstance(found[0], errors.EngineGone)
    assert all("rank 0 could not begin: it ended" in str(error) for error in found[1:]), found


def test_seats_end_with_a_state_of_other_lanes() -> None:
    seats = _seats.Seats({"seats": _seats._packed([1, 0]), "figures": {"lanes": 2}})
    assert seats.of(None) == [1, 0] and seats.of({"params": {"lanes": 2}}) == [1, 0] and seats.figures
    assert seats.of({"params": {"lanes": 4}}) is None
    assert seats.of(None) is None and seats.figures is None


SPEC: dict[str, Any] = {"shuffle": True, "no_cache": False, "sources": [], "bucket": None, "addresses": ["/data", "s3://bucket/a"]}


@pytest.mark.parametrize(
    ("change", "local", "useful"),
    [
        ({}, "", True),
        ({}, "2", True),
        ({}, "4", False),  # all on one machine
        ({"addresses": []}, "", True),  # those of a plan
        ({"addresses": ["/data", "file:/data"]}, "", False),
        ({"addresses": ["hdfs://name/a"]}, "", True),
        ({"shuffle": False}, "", False),
        ({"no_cache": True}, "", False),
        ({"sources": [{}]}, "", False),
        ({"bucket": {}}, "", False),
    ],
)
def test_when_seats_are_useful(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], local: str, useful: bool) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", local)
    assert _seats.useful({**SPEC, **change}, Share(0, 4, job_rank=0, job_world_size=4)) is useful
    assert not _seats.useful(SPEC, Share(0, 1))
