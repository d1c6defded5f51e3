"""Trainings on packed streams with other trainers: killed on two ranks and resumed on three, with
the blocks of every step as in a run without a kill.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ranks import Job, steps

import shardfeed

RANKS, MORE_RANKS, SEED = 2, 3, 7
TOKENS, BLOCKS = 32, 6  # of a block, and of a step over all ranks, as in jobs/packed.py

Block = tuple[int, ...]

pytestmark = pytest.mark.timeout(900)  # what a training takes at most is in ranks.py


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("documents")
    for k in range(2):
        lists = [[1 + (7 * i + 3 * j + j * j) % 49 for j in range(1 + (5 * i) % 23)] for i in range(100 * k, 100 * (k + 1))]
        pq.write_table(pa.table({"input_ids": pa.array(lists, pa.list_(pa.int32()))}), directory / f"part-{k}.parquet", row_group_size=50)
    return directory


def uninterrupted(documents: Path, count: int, tail: str) -> list[list[Block]]:
    """The blocks of each step of a job that starts on two ranks, as one process reads them."""
    given = {"columns": ["input_ids"], "pack": {"input_ids": TOKENS}, "seed": SEED, "tail": tail}
    begun = shardfeed.StreamingDataset(documents, batch_size=BLOCKS // RANKS, rank=0, world_size=RANKS, **given)
    alone = shardfeed.StreamingDataset(documents, batch_size=BLOCKS, rank=0, world_size=1, **given)
    alone.load_state_dict(begun.state_dict())
    found: list[list[Block]] = []
    while len(found) < count:
        found += [sorted(map(tuple, batch["input_ids"].tolist())) for batch in alone]
    return found[:count]


def killed_and_resumed(documents: Path, directory: Path, program: str, tail: str) -> Job:
    """Trains, kills all ranks in the second epoch, and resumes on more. It returns the second run."""
    arguments = [documents, directory / "checkpoint", "--seed", SEED, "--pause", 0.03]
    with Job(program, RANKS, directory / "first", *arguments) as job:
        job.until("step", RANKS * 18)  # in the second epoch
        job.kill()
    with Job(program, MORE_RANKS, directory / "second", *arguments) as again:
        again.wait()
    (checkpoint,) = {line["step"] for line in again.lines("resumed")}
    kept = steps([line for line in job.lines("step") if line["step"] < checkpoint], RANKS)
    rest = steps(again.lines("step"), MORE_RANKS)
    assert checkpoint >= 15 and len(kept) == checkpoint and rest
    found = [sorted(tuple(block) for rank in step for block in rank) for step in kept + rest]
    assert all(len(step) == BLOCKS for step in found)
    assert found == uninterrupted(documents, len(found), tail)
    return again


def test_lightning(documents: Path, runtime: Path, tmp_path: Path) -> None:
    killed_and_resumed(documents, tmp_path, "train_packed_lightning.py", "drop")


def test_trl(documents: Path, runtime: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl")
    again = killed_and_resumed(documents, tmp_path, "train_packed_trl.py", "drop")
    losses = {line["loss"] for line in again.lines("done")}
    assert len(losses) == 1 and 0 < losses.pop() < 5


def test_torchtitan(documents: Path, runtime: Path, tmp_path: Path) -> None:
    pytest.importorskip("torchtitan")
    killed_and_resumed(documents, tmp_path, "train_packed_titan.py", "carry")
