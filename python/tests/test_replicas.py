"""Replicas: ranks that see the same batches, on one machine from the same memory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pictures
import pytest
from ranks import Job, assert_sequence, epoch_order, flat, readers, steps

from shardfeed import Image, StreamingDataset, errors
from shardfeed._engine import _replicas

pytestmark = pytest.mark.timeout(900)  # what a job takes at most is in ranks.py

ROWS = 4000


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_ranks_of_the_data(bare: None) -> None:
    shares = [_replicas.of_ranks(rank, 6, 3) for rank in range(6)]
    assert [(s.rank, s.world_size) for s in shares] == [(0, 2)] * 3 + [(1, 2)] * 3
    assert all((s.replica, s.replicas, s.job_world_size) == (0, 1, 6) for s in shares)  # nothing says who is on this machine
    assert _replicas.of_ranks(5, 6, 1)[:2] == (5, 6)


@pytest.mark.parametrize(
    ("rank", "local", "count", "replicas"),
    [(0, 0, 8, (0, 4)), (5, 5, 8, (1, 4)), (9, 1, 2, (1, 2)), (3, 0, 1, (0, 1)), (2, 0, 2, (0, 2)), (5, None, 8, (0, 1))],
)
def test_replicas_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, bare: None, rank: int, local: int | None, count: int, replicas: tuple[int, int]
) -> None:
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(count))
    if local is not None:
        monkeypatch.setenv("LOCAL_RANK", str(local))
    share = _replicas.of_ranks(rank, 16, 4)
    assert (share.replica, share.replicas) == replicas
    other = _replicas.of_ranks(rank + 1, 16, 4)  # not this process: nothing is known of its machine
    assert (other.replica, other.replicas) == (0, 1)


def test_wrong_arguments(shards: Path, runtime: Path, bare: None) -> None:
    def refused(**given: Any) -> str:
        with pytest.raises(errors.OptionError) as caught:
            StreamingDataset(shards, batch_size=10, **given)
        return str(caught.value)

    assert refused(rank=0, world_size=6, replication=4) == "replication must divide the world size of 6 (1, 2, 3, 6), got 4"
    assert "replication must be a whole number of at least 1, got 0" in refused(replication=0)
    assert "replication must be a whole number of at least 1, got True" in refused(replication=True)
    assert "mesh must be the data dimensions of a torch DeviceMesh, as mesh['dp'], got" in refused(mesh="dp")
    found = refused(mesh="dp", rank=0, world_size=2)
    assert "leave out rank, world_size and replication" in found and "mesh must be" in found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures.write(tmp_path_factory.mktemp("pictures"), pictures.many(43))


@pytest.fixture(scope="module")
def ran(runtime: Path, shards: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    directory = tmp_path_factory.mktemp("replicas")
    with Job("replicas.py", 4, directory, shards, directory / "state.json", "--pictures", table) as job:
        return job.wait()


@pytest.mark.parametrize(("way", "epochs"), [("own", 2), ("workers", 2), ("mesh", 1)])
def test_replicas_see_the_same(ran: Job, job: str, shards: Path, way: str, epochs: int) -> None:
    for epoch in range(epochs):
        found = steps(ran.lines("step", way=way, epoch=epoch), 4)
        assert all(ranks[0] == ranks[1] and ranks[2] == ranks[3] for ranks in found)
        apart = [[ranks[0], ranks[2]] for ranks in found]
        assert sorted(flat(apart)) == list(range(ROWS))
        if epoch == 0:
            assert_sequence(apart, epoch_order(shards, 50, 7, 2))


def test_replicas_share_and_count_data_ranks(ran: Job) -> None:
    for kind in ("share", "mesh"):
        assert [line["ranks"] for line in ran.lines(kind)] == [[0, 2], [0, 2], [1, 2], [1, 2]]
        assert {line["replicas"] for line in ran.lines(kind)} == {2}
    assert {line["length"] for line in ran.lines("share")} == {ROWS // 100}
    assert [line["ranks"] for line in ran.lines("turned")] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    turned = steps(ran.lines("step", way="turned"), 4)
    assert all(ranks[0] == ranks[2] and ranks[1] == ranks[3] for ranks in turned)
    assert all(line["same"] for line in ran.lines("state"))


def test_replicas_see_the_same_pixels(ran: Job, job: str, table: Path) -> None:
    """They are those of one rank: crops are of rows."""
    image = Image(16, crop="random_resized", flip=0.5, color_jitter=0.3)
    alone = StreamingDataset(table, batch_size=5, seed=7, images={"img": image}, image_decoder="go")
    want = {i: hashlib.sha256(pixels.tobytes()).hexdigest() for batch in alone for i, pixels in zip(batch["id"].tolist(), batch["img"])}
    found: Any = steps(ran.lines("drawn"), 4)
    assert all(ranks[0] == ranks[1] and ranks[2] == ranks[3] for ranks in found)
    rows = [tuple(row) for ranks in found for row in ranks[0] + ranks[2]]
    assert len(rows) == 43 and dict(rows) == want


def test_resume_with_other_replication(ran: Job, shards: Path, tmp_path: Path) -> None:
    begun = steps(ran.lines("step", way="own", epoch=0), 4)
    state = ran.directory / "state.json"
    position = json.loads(state.read_text())["shardfeed"]["position"]
    assert position == 4 * 100
    with Job("replicas.py", 4, tmp_path / "all", shards, state, "--resume", "--replication", 4) as job:
        job.wait()
    rest = steps(job.lines("step", way="resumed"), 4)
    assert all(ids == ranks[0] for ranks in rest for ids in ranks)
    whole = [[ranks[0], ranks[2]] for ranks in begun[:4]] + [[ranks[0]] for ranks in rest]
    assert_sequence(whole, epoch_order(shards, 50, 7, 2))


def test_claims_of_data_ranks() -> None:
    claims = pytest.importorskip("shardfeed.torch._ranks._agree")._claims
    there = {rank: {"has": {}, "claim": (rank // 2, 2)} for rank in range(4)}
    assert claims(there, 4) == []
    there[1]["claim"] = (1, 2)
    assert claims(there, 4) == [
        "replicas: data rank 0 is claimed by rank 0, which is 1 instead of 2",
        "replicas: data rank 1 is claimed by ranks 1, 2, 3, which is 3 instead of 2",
    ]
    del there[3]
    assert claims(there, 4) == []  # that is another error


def test_one_killed(job: str, runtime: Path, shards: Path) -> None:
    ranks = readers(4, lambda _: [shards, "--replication", 2, "--pause", 0.01])
    assert ranks[1].stdout is not None
    for _ in range(3):
        ranks[1].stdout.readline()
    ranks[1].kill()
    ranks[1].communicate()
    said, _ = ranks[0].communicate(timeout=250)
    assert ranks[0].returncode == 3 and "replica 1 of 2 of rank 0" in said and "ended within the epoch" in said
    for rank in ranks[2:]:
        said, words = rank.communicate(timeout=250)
        assert (rank.returncode, words) == (0, "")
        assert len([i for line in map(json.loads, said.splitlines()) for i in line["ids"]]) == ROWS // 2
