"""One rank of eight is killed: the others continue or get one error, nothing is left, and a restart
works.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import psutil
import pytest
from conftest import engines
from ranks import Job, assert_sequence, epoch_order, flat, readers, steps

from shardfeed._engine._process import Engine

pytestmark = pytest.mark.timeout(900)  # what a job takes at most is in ranks.py

ROWS = 4000
RANKS = 8


def test_the_others_read_on(job: str, runtime: Path, shards: Path) -> None:
    ranks = readers(RANKS, lambda _: [shards, "--pause", 0.005])
    assert ranks[3].stdout is not None
    for _ in range(5):
        ranks[3].stdout.readline()
    ranks[3].kill()
    (engine,) = (e for e in engines(runtime) if str(Engine().socket) in e.cmdline())
    ranks[3].wait()
    found = []
    for rank in ranks[:3] + ranks[4:]:
        said, words = rank.communicate(timeout=250)
        assert (rank.returncode, words) == (0, ""), words
        found.append([i for line in map(json.loads, said.splitlines()) for i in line["ids"]])
    ranks[3].communicate()
    assert len({len(ids) for ids in found}) == 1
    assert len({i for ids in found for i in ids}) == ROWS * (RANKS - 1) / RANKS
    again = readers(RANKS, lambda _: [shards])  # at once: the engine is in its grace
    every = [i for rank in again for line in map(json.loads, rank.communicate(timeout=250)[0].splitlines()) for i in line["ids"]]
    assert sorted(every) == list(range(ROWS))
    with contextlib.suppress(psutil.NoSuchProcess):
        engine.wait(15)
    assert not engine.is_running()


@pytest.mark.long
def test_torchrun_starts_all_of_them_again(runtime: Path, shards: Path, tmp_path: Path) -> None:
    arguments = [shards, tmp_path / "checkpoint", "--batch-size", 10, "--every", 4, "--pause", 0.05]
    with Job("train.py", RANKS, tmp_path / "job", *arguments, torchrun=True, restarts=1) as ran:
        ran.until("step", 10 * RANKS)
        ran.kill_rank(3)
        ran.wait()
    assert [line["step"] for line in ran.lines("resumed", 0, life=0)] == [0]
    (checkpoint,) = {line["step"] for line in ran.lines("resumed", life=1)}
    assert checkpoint >= 8
    kept = steps([line for line in ran.lines("step", life=0) if line["step"] < checkpoint], RANKS)
    rest = steps(ran.lines("step", life=1), RANKS)
    assert sorted(flat(kept) + flat(rest)) == list(range(ROWS))
    assert_sequence(kept + rest, epoch_order(shards, 10, 7, RANKS))
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path / "checkpoint") in (p.info["cmdline"] or ())]
