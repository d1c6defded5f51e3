"""Filters with today() and now(): one day for all ranks of a run, which a state keeps."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import StreamingDataset, errors
from shardfeed._engine import _launcher, _now
from shardfeed.torch import DataLoader
from shardfeed.torch._ranks import _store as stores

pytestmark = pytest.mark.usefixtures("job")

WEEK = "day >= today() - interval '7 days'"


def today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


DAY = today()


@pytest.fixture(autouse=True)
def same_day() -> None:
    if today() != DAY:
        pytest.skip("the tests began on the day before")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row for each of the last 100 days, and of the times of them."""
    days = [today() - datetime.timedelta(days=i) for i in range(100)]
    noon = [datetime.datetime.combine(day, datetime.time(12)) for day in days]
    columns = {
        "id": pa.array(range(100)),
        "day": pa.array(days, pa.date32()),
        "local": pa.array(noon, pa.timestamp("us")),
        "utc": pa.array(noon, pa.timestamp("ms", "UTC")),
        "text": pa.array([day.isoformat() for day in days]),
    }
    path = tmp_path_factory.mktemp("days") / "days.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=30)
    return path


def ids(dataset: Any) -> list[int]:
    return [int(i) for batch in dataset for i in batch["id"].tolist()]


def at(days_ago: int) -> str:
    return f"{today() - datetime.timedelta(days=days_ago)}T00:00:00Z"


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        (WEEK, range(8)),
        ("local >= today() - 3", range(4)),
        ("utc < today() - interval '97 days'", range(98, 100)),
        ("utc < now() - interval '2 days' and utc > now() - interval '97 days'", None),
        ("day in (today(), today() - 50)", [0, 50]),
    ],
)
def test_days(table: Path, filters: str, want: Any) -> None:
    found = sorted(ids(StreamingDataset(table, batch_size=8, columns=["id"], filters=filters)))
    assert found == list(want) if want is not None else len(found) in (95, 96)


def test_text_is_no_date(table: Path) -> None:
    with pytest.raises(errors.OptionError, match=r'column "text" \(string\) with date .*which is a date; give a string in quotes'):
        StreamingDataset(table, batch_size=8, filters="text >= today()")


@pytest.mark.parametrize("shuffle", [True, False])
def test_states_keep_the_day(table: Path, shuffle: bool) -> None:
    """A run that is resumed on another day reads on in the rows of the day when it began."""
    options = {"batch_size": 5, "columns": ["id"], "filters": WEEK, "shuffle": shuffle}
    earlier = StreamingDataset(table, **options)
    earlier._reopen(now=at(10))
    batches = iter(earlier)
    next(batches)
    state = earlier.state_dict()
    assert state["shardfeed"]["now"] == at(10)
    rest = ids(batches)
    resumed = StreamingDataset(table, **options)
    assert resumed.size == 8
    resumed.load_state_dict(state)
    assert (resumed.size, len(resumed)) == (18, 4)
    assert ids(resumed) == rest
    assert sorted(ids(resumed)) == list(range(18)), "the epochs that follow"
    assert resumed.state_dict()["shardfeed"]["now"] == at(10)
    loader = DataLoader(table, **options)
    loader.load_state_dict(state)
    assert len(loader) == 4
    assert ids(loader) == rest


@pytest.mark.parametrize("shuffle", [True, False])
def test_cat_keeps_the_day_of_a_state(table: Path, tmp_path: Path, shuffle: bool) -> None:
    dataset = StreamingDataset(table, batch_size=5, columns=["id"], filters=WEEK, shuffle=shuffle)
    dataset._reopen(now=at(10))
    batches = iter(dataset)
    next(batches)
    state = tmp_path / "state"
    state.write_text(json.dumps(dataset.state_dict()["shardfeed"]))
    command = [os.environ["SHARDFEED_BIN"], "cat", table, "--where", WEEK, "--columns", "id", "--format", "csv"]
    lines = subprocess.run([*command, "--state", state], check=True, capture_output=True, text=True).stdout.split()
    assert [int(i) for i in lines[1:]] == ids(batches)
    assert len(lines) == 1 + 18 - 5
    today = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert len(today) == 1 + 8


def test_ranks_agree_in_the_store(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rank that comes to the process group's store decides, for this data set and attempt."""
    dist = pytest.importorskip("torch.distributed")
    store = dist.HashStore()
    monkeypatch.setattr(stores, "of_group", lambda world_size: store)
    spec = StreamingDataset(table, batch_size=5, filters=WEEK)._spec
    found = []
    for rank in range(3):
        monkeypatch.setattr(_launcher, "from_process_group", lambda rank=rank: (rank, 3, "a group"))
        if rank:
            monkeypatch.setattr(_now, "_present", lambda: at(-1))
        found.append(_now.agreed(spec, "here#1", rank, 3)["now"])
    assert len(set(found)) == 1
    assert found[0] != at(-1)
    assert _now.agreed(spec, "here#1", 2, 3)["now"] == at(-1), "another opening"
    plain = {**spec, "filters": "id > 3"}
    assert _now.agreed(plain, "here#2", 2, 3) == plain
