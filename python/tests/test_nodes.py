"""Nodes of a job, with an engine each, compare their audits and waits through the store."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from ranks import Job

pytest.importorskip("torch")

import torch.distributed as dist

from shardfeed.torch._ranks._board import Board

WHOLE = "epoch 0: 4,000 rows, each exactly once, on "


def run(shards: Path, directory: Path, ranks: int, *arguments: object) -> Job:
    with Job("audited.py", ranks, directory, shards, *arguments) as ran:
        ran.wait()
    return ran


def audits(ran: Job, epoch: int = 0) -> list[tuple[str, str]]:
    """What the ranks logged of an epoch's audit."""
    return [(line["level"], line["text"]) for line in ran.lines("log") if line["text"].startswith(f"epoch {epoch}:")]


def states(ran: Job, path: Path, number: int | None = None) -> Path:
    """A file with the states of the ranks."""
    path.write_text(json.dumps([line["state"] for line in ran.lines("state")][:number]))
    return path


def test_epochs_are_proved_between_nodes(runtime: Path, shards: Path, tmp_path: Path) -> None:
    ran = run(shards, tmp_path, 5, "--node", 2, "--epochs", 6)
    for epoch in range(6):
        assert audits(ran, epoch) == [("INFO", f"epoch {epoch}: 4,000 rows, each exactly once, on 5 ranks")]
    for line in ran.lines("end"):
        assert line["audit"]["proved"] and line["audit"]["ranks"] == 5 and line["audit"]["epoch"] == 5


@pytest.mark.parametrize(
    ("fault", "run_of", "words"),
    [
        ("lost", 0, "rank 1 of 2 has 639 rows of positions 0 to 1,280"),
        ("repeated", 0, "rank 1 of 2 has 641 rows of positions 0 to 1,280"),
        ("swapped", 0, "positions 0 to 1,280 on 2 of 2 ranks: as many rows came as the order has, but not the same"),
        ("skipped", 1, "positions 1,280 to 4,000 on 3 of 3 ranks: 2,688 rows came, and the order has 2,720"),
        ("older", 1, "positions 1,216 to 1,280 came on both"),
    ],
)
def test_planted_errors(runtime: Path, shards: Path, tmp_path: Path, fault: str, run_of: int, words: str) -> None:
    """In a run on two nodes, and in another that resumes on two nodes with three ranks."""
    plant = [(), ("--fault", fault, "--rank", 1)]
    path = states(run(shards, tmp_path / "0", 2, "--stop", 20, *plant[run_of == 0]), tmp_path / "states.json")
    ran = run(shards, tmp_path / "1", 3, "--node", 2, "--states", path, *plant[run_of == 1])
    found = audits(ran)
    assert found and all(level == "WARNING" for level, text in found) and words in found[-1][1], found
    assert all(line["audit"]["faults"] for line in ran.lines("end"))


def test_the_store_does_not_grow(runtime: Path, shards: Path, tmp_path: Path) -> None:
    few, many = (run(shards, tmp_path / str(epochs), 2, "--epochs", epochs).lines("end")[0]["keys"] for epochs in (8, 20))
    assert few == many


@pytest.mark.parametrize("all_states", [True, False])
def test_kills_and_resumes_on_other_nodes(runtime: Path, shards: Path, tmp_path: Path, all_states: bool) -> None:
    path, worlds = tmp_path / "states.json", [(2, 1), (4, 2), (3, 1), (3, 2)]
    for n, (ranks, node) in enumerate(worlds):
        given = ("--states", path) if n else ()
        states(run(shards, tmp_path / str(n), ranks, "--node", node, "--stop", 5, "--batch-size", 20 + 7 * n, *given), path)
        if not all_states:
            path.write_text(json.dumps(json.loads(path.read_text())[:1]))
    ran = run(shards, tmp_path / "last", 5, "--node", 2, "--states", path)
    [(level, text)] = audits(ran)
    assert level == "INFO" and all(line["audit"]["faults"] is None for line in ran.lines("end")), text
    if all_states:  # of 4 ranks, 3 go on
        assert "on 2 then 4 then 3 then 5 ranks; not seen: positions" in text and "(3 of 4 ranks)" in text


def test_states_of_all_ranks_prove_the_epoch(runtime: Path, shards: Path, tmp_path: Path) -> None:
    path = states(run(shards, tmp_path / "0", 2, "--stop", 5), tmp_path / "states.json")
    for n in (1, 2):
        states(run(shards, tmp_path / str(n), 3, "--stop", 9, "--states", path), path)
    ran = run(shards, tmp_path / "last", 4, "--node", 2, "--states", path)
    assert audits(ran) == [("INFO", f"{WHOLE}2 then 3 then 4 ranks")]
    assert all(line["audit"]["proved"] for line in ran.lines("end"))


@pytest.mark.parametrize("worlds", [(2, 3, 3), (4, 2, 5)])
def test_distributed_checkpoints_keep_the_records_of_all_ranks(
    runtime: Path, shards: Path, tmp_path: Path, worlds: tuple[int, ...]
) -> None:
    first, second, last = worlds
    run(shards, tmp_path / "0", first, "--stop", 7, "--save", tmp_path / "a")
    run(shards, tmp_path / "1", second, "--stop", 5, "--load", tmp_path / "a", "--save", tmp_path / "b")
    ran = run(shards, tmp_path / "2", last, "--node", 2, "--load", tmp_path / "b")
    numbers = " then ".join(map(str, dict.fromkeys(worlds)))
    assert audits(ran) == [("INFO", f"{WHOLE}{numbers} ranks")]
    assert all(line["audit"]["proved"] for line in ran.lines("end"))


def test_a_node_that_dies_holds_up_no_other(runtime: Path, shards: Path, tmp_path: Path) -> None:
    ran = run(shards, tmp_path, 3, "--stop", 9, "--dies", "--rank", 1)
    assert [line["rank"] for line in ran.lines("end")] == [0, 2] and not audits(ran)
    for line in ran.lines("end"):
        assert line["audit"]["ranks"] == 1 and "not seen" in line["audit"]["text"] and not line["audit"]["faults"]


class Lost(dist.HashStore):
    """A store that does not answer until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.back = threading.Event()

    def check(self, keys: list[str]) -> bool:
        self.back.wait(60)
        raise RuntimeError("the connection was closed")


def test_notices() -> None:
    """The node that comes last finds those of all others, and one writes what comes of them."""
    store = dist.HashStore()
    boards = [Board(store, "k", 5) for _ in range(3)]
    for turn in ([0, 1], [8, 1]):
        for board, ranks in zip(boards, ([2, 3], [0, 1], [4])):
            assert board.all("audit", turn) == []
            board.post("audit", ranks, {"turn": turn, "of": ranks[0]})
        for board in boards:
            assert [notice["ranks"] for notice in board.all("audit", turn)] == [[0, 1], [2, 3], [4]]
            assert board.all("audit", [9, 9]) == []
        assert [board.settle("audit", turn, {"rows": 7}) for board in boards] == [True, False, False]
        settled = boards[2].settled("audit")
        assert settled is not None and (settled["turn"], settled["result"]) == (turn, {"rows": 7})
    boards[0].post("waits", [3], {})
    boards[0].post("waits", [2, 3], {})
    assert [notice["ranks"] for notice in boards[1].there("waits")] == [[2, 3]], "as a node whose lowest rank began later"
    assert store.num_keys() == 6


def test_a_store_that_is_gone_holds_up_no_rank() -> None:
    store = Lost()
    board = Board(store, "k", 2)
    assert board.within(lambda: board.all("audit", [0, 1]), None, 0.01) is None
    assert board.within(lambda: 7, 0) == 0, "there is no further work until the first has ended"
    store.back.set()
    assert board._busy is not None
    board._busy.join(60)
    assert board.within(lambda: 7, 0) == 7 and board.within(lambda: board.settled("audit"), None) is None


def test_without_a_process_group(runtime: Path, shards: Path, tmp_path: Path) -> None:
    ran = run(shards, tmp_path, 2, "--alone")
    found = audits(ran)
    assert len(found) == 2
    for level, text in found:
        assert level == "INFO" and "(1 of 2 ranks); seen here: 1 of 2 ranks, and shardfeed audit proves all of them" in text
    for line in ran.lines("end"):
        assert not line["audit"]["proved"] and line["audit"]["ranks"] == 1 and not line["audit"]["faults"]


def test_a_straggler_is_named_by_rank_and_host(runtime: Path, shards: Path, tmp_path: Path) -> None:
    ran = run(shards, tmp_path, 4, "--node", 2, "--fault", "slow", "--rank", 3, "--epochs", 2)
    for line in ran.lines("end"):
        assert line["rank_named"] == 3 and line["host"] == f"{os.uname().nodename} (2)" and "3 of 4 on " in line["line"], line["line"]
    told = [line for line in ran.lines("log") if line["text"].startswith("epoch: ")]
    assert [line["rank"] for line in told] == [0, 0] and "3 of 4 on " in told[-1]["text"], told
