"""Ranks that train together: equal steps, each row once, one order for any number of workers,
elastic resume.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ranks import Job, assert_sequence, epoch_order, flat, steps

pytestmark = pytest.mark.timeout(900)  # what a job takes at most is in ranks.py

ROWS = 4000
BATCH = 32
SEED = 7
WAYS = ["own", "torch-0", "torch-2"]


class Worlds:
    """Jobs of 8, 3 and 1 ranks.

    Each trains an epoch in every way, and then its part of one shared epoch.
    """

    def __init__(self, uri: Path, directory: Path) -> None:
        self.uri, self.directory = uri, directory
        self.jobs: dict[int, Job] = {}

    def run(self, world_size: int, *arguments: object) -> Job:
        if world_size not in self.jobs:
            with Job("epochs.py", world_size, self.directory / str(world_size), self.uri, "--batch-size", BATCH, *arguments) as job:
                self.jobs[world_size] = job.wait()
        return self.jobs[world_size]

    def of(self, world_size: int) -> Job:
        states = [self.directory / f"state-{k}.json" for k in range(3)]
        ways = ",".join(WAYS)
        if world_size == 8:
            return self.run(8, "--ways", ways, "--steps", 5, "--save", states[0])
        if world_size == 3:
            self.of(8)
            return self.run(3, "--ways", ways, "--go-on", states[0], "--steps", 11, "--save", states[1])
        if world_size == 1:
            self.of(3)
            return self.run(1, "--ways", ways, "--go-on", states[1], "--save", states[2])
        return self.run(world_size, "--ways", ",".join([*WAYS, "torch-4", "own-2", "persistent"]))


@pytest.fixture(scope="module")
def worlds(runtime: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(shards, tmp_path_factory.mktemp("worlds"))


@pytest.mark.parametrize("world_size", [8, 3, 1, 2])
def test_every_row_once_in_one_order(worlds: Worlds, job: str, shards: Path, world_size: int) -> None:
    ran = worlds.of(world_size)
    lengths = {(line["steps"], line["rows"]) for line in ran.lines("length")}
    assert lengths == {(-(-ROWS // (BATCH * world_size)), ROWS)}
    order = steps(ran.lines("step", way="own"), world_size)
    assert len(order) == lengths.pop()[0]
    assert sorted(flat(order)) == list(range(ROWS))
    for way in {line["way"] for line in ran.lines("length")}:
        assert steps(ran.lines("step", way=way, epoch=0), world_size) == order, way
    assert_sequence(order, epoch_order(shards, BATCH, SEED, world_size))


def test_each_epoch_is_proved(worlds: Worlds) -> None:
    for world_size in (8, 3, 1, 2):
        for way in ("own", "own-2") if world_size == 2 else ("own",):
            verdicts = [line["audit"] for line in worlds.of(world_size).lines("audit", way=way)]
            assert len(verdicts) == world_size
            assert all(v["proved"] and v["rows"] == ROWS and v["worlds"] == [world_size] for v in verdicts), verdicts


def test_an_epoch_of_one_state_each_has_no_fault(worlds: Worlds) -> None:
    """8 ranks, then 3, then 1, each from the state of rank 0."""
    [line] = worlds.of(1).lines("audit", way="part")
    verdict = line["audit"]
    assert not verdict["faults"] and not verdict["proved"] and verdict["worlds"] == [8, 3, 1]
    assert [text.split(" (")[1] for text in verdict["not_seen"]] == ["1 of 8 ranks)", "1 of 3 ranks)"]


def test_persistent_workers_go_on_to_the_next_epoch(worlds: Worlds) -> None:
    ran = worlds.of(2)
    first, second = (steps(ran.lines("step", way="persistent", epoch=epoch), 2) for epoch in range(2))
    assert sorted(flat(second)) == list(range(ROWS))
    assert flat(first) != flat(second)


def test_elastic_resume(worlds: Worlds, job: str, shards: Path) -> None:
    worlds.of(1)
    parts = [steps(worlds.of(n).lines("step", way="part"), n) for n in (8, 3, 1)]
    assert len(parts[0]) == 5 and len(parts[1]) == 11
    assert sum(len(flat(part)) for part in parts) == ROWS
    assert_sequence([step for part in parts for step in part], epoch_order(shards, BATCH, SEED, 8))
    for n in (8, 3, 1):
        said = worlds.of(n).lines("state")
        assert len(said) == n and all(line["same"] for line in said)
    last = json.loads((worlds.directory / "state-2.json").read_text())
    assert (last["shardfeed"]["epoch"], last["shardfeed"]["position"]) == (1, 0)


def test_a_rank_that_fails_ends_its_job(tmp_path: Path) -> None:
    """As torchrun does: the others are not left waiting for it."""
    program = tmp_path / "fails.py"
    program.write_text('import os, time\nassert os.environ["RANK"] != "1", "rank 1 fails"\ntime.sleep(1000)\n')
    with Job(program, 3, tmp_path) as job:
        assert job.end() == 1
    assert "rank 1 fails" in job.words()
