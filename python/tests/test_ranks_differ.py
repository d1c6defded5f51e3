"""Ranks that would read different orders: each fails with an error that names the differences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ranks import Job, flat, readers, steps


@pytest.mark.parametrize(
    ("difference", "word"),
    [(["--seed", 8], "seed"), (["--batch-size", 20], "batch"), (["the last shard is missing"], "")],
    ids=["seed", "batch size", "data"],
)
def test_on_one_node(job: str, shards: Path, tmp_path: Path, difference: list[object], word: str) -> None:
    fewer = tmp_path / "fewer"
    fewer.mkdir()
    for path in sorted(shards.iterdir())[:-1]:
        shutil.copy(path, fewer)

    def arguments(rank: int) -> list[object]:
        uri = shards if word or rank != 1 else fewer
        return [uri, "--pause", 0.02, *(difference if rank == 1 and word else [])]

    ranks = readers(3, arguments)
    for rank in ranks:
        said, words = rank.communicate(timeout=250)
        assert rank.returncode == 3, words
        last = json.loads(said.splitlines()[-1])
        assert last["error"] == "RankMismatchError"
        assert word in last["text"] and "rank 1" in last["text"], last["text"]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.long)])
def test_on_two_nodes(runtime: Path, shards: Path, tmp_path: Path, workers: int) -> None:
    with Job("nodes.py", 2, tmp_path, shards, "--workers", workers, "--seeds", 7, 8) as ran:
        ran.wait()
    told = ran.lines("error")
    assert [line["error"] for line in told] == ["RankMismatchError"] * 2
    assert all("seed" in line["text"] for line in told), told
    assert not ran.lines("step")


def test_that_agree_on_two_nodes(runtime: Path, shards: Path, tmp_path: Path) -> None:
    with Job("nodes.py", 2, tmp_path, shards, "--seeds", 7, 7) as ran:
        ran.wait()
    assert not ran.lines("error")
    assert sorted(flat(steps(ran.lines("step"), 2))) == list(range(4000))
