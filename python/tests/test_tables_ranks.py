"""Tables on servers, over ranks that are killed: each row that lives comes once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import places
import pytest
from ranks import readers

BATCH, SEEN = 4, 2  # rows of a rank and step; steps that all ranks have when they are killed

s3, hdfs, gcs, azurite = places.s3, places.hdfs, places.gcs, places.azurite  # fixtures

PLACES = [
    ("delta", "vectors", "s3"),
    ("iceberg", "v2", "s3"),  # position deletes
    ("iceberg", "v3", "s3"),  # deletion vectors
    ("iceberg", "eq", "s3"),  # equality deletes
    ("iceberg", "v2", "hdfs"),
    ("iceberg", "v3", "gcs"),
    ("delta", "vectors", "azurite"),
]


def steps(said: str) -> Iterator[dict[str, Any]]:
    """The steps in the lines of a rank; a kill cuts the last line."""
    for line in said.splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


@pytest.mark.parametrize(("kind", "name", "place"), PLACES, ids=map("-".join, PLACES))
def test_killed_on_three_ranks_and_resumed_on_two(
    job: str, tmp_path: Path, kind: str, name: str, place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, want = places.table(kind, name, tmp_path)
    server = request.getfixturevalue(place)
    for variable, value in server.environment.items():
        monkeypatch.setenv(variable, value)
    address = f"{kind}+{server.put(directory)}"
    begun = readers(3, lambda _: [address, "--batch-size", BATCH, "--pause", 0.2, "--states"])
    seen = []
    for rank in begun:
        assert rank.stdout is not None
        seen.append("".join(rank.stdout.readline() for _ in range(SEEN)))
    for rank in begun:
        rank.kill()
    found = [list(steps(lines + rank.communicate()[0])) for lines, rank in zip(seen, begun)]
    common = min(map(len, found))
    assert SEEN <= common < len(want) / BATCH / 3, "the ranks must be killed within the epoch"
    got = [row for rank in found for step in rank[:common] for row in step["ids"]]
    states = [rank[common - 1]["state"] for rank in found]
    assert len({json.dumps(state["shardfeed"]) for state in states}) == 1
    for rank in readers(2, lambda _: [address, "--batch-size", BATCH, "--state", json.dumps(states[0])]):
        said, words = rank.communicate(timeout=250)
        assert rank.returncode == 0, words
        got += [row for step in steps(said) for row in step["ids"]]
    assert sorted(got) == want
