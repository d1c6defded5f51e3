"""Tables: the rows of a snapshot, in batches, by number, over ranks and in a mixture."""

import json
from pathlib import Path

import pytest

from shardfeed import MapDataset, ShardfeedError, Source, StreamingDataset, select
from shardfeed.errors import OptionError

pytestmark = pytest.mark.usefixtures("runtime")

TABLE = Path(__file__).parents[2] / "testdata" / "tables" / "delta" / "rs"
WRITTEN = json.loads(TABLE.with_suffix(".json").read_text())
LATEST = max(WRITTEN, key=int)


def written(version: str) -> list[int]:
    at = WRITTEN[version]["columns"].index("id")
    return sorted(row[at] for row in WRITTEN[version]["rows"])


@pytest.mark.parametrize("version", [*WRITTEN, None])
def test_rows_of_each_version(version: str | None) -> None:
    if not written(version or LATEST):
        pytest.skip("the version has no rows")
    dataset = StreamingDataset(f"delta+{TABLE}", snapshot=version, columns=["id"], batch_size=7, shuffle=True, tail="short")
    got = [int(i) for batch in dataset for i in batch["id"]]
    assert sorted(got) == written(version or LATEST)


@pytest.mark.parametrize("shuffle", [True, False])
def test_resume(shuffle: bool) -> None:
    def opened(version: str) -> StreamingDataset:
        return StreamingDataset(f"delta+{TABLE}", snapshot=version, columns=["id"], batch_size=7, shuffle=shuffle, tail="short")

    whole = [batch["id"].tolist() for batch in opened(LATEST)]
    dataset = opened(LATEST)
    batches = iter(dataset)
    begin = [next(batches)["id"].tolist() for _ in range(2)]
    state = json.loads(json.dumps(dataset.state_dict()))
    again = opened(LATEST)
    again.load_state_dict(state)
    assert begin + [batch["id"].tolist() for batch in again] == whole
    older = opened("2")
    older.load_state_dict(state)
    with pytest.raises(ShardfeedError, match=f"(?s)snapshot.*{LATEST}"):
        next(iter(older))


def test_rows_by_number() -> None:
    rows = MapDataset(f"delta+{TABLE}", snapshot=LATEST, columns=["id"])
    assert sorted(int(rows[i]["id"]) for i in range(len(rows))) == written(LATEST)


def test_mixture_of_snapshots() -> None:
    sources = {v: Source(f"delta+{TABLE}", snapshot=v) for v in (LATEST, "2")}
    dataset = StreamingDataset(sources=sources, columns=["id"], batch_size=5, shuffle=True, tail="short", stop="all")
    assert {int(i) for batch in dataset for i in batch["id"]} == {*written(LATEST), *written("2")}


def test_a_version_may_be_a_number() -> None:
    assert len(StreamingDataset(f"delta+{TABLE}", snapshot=int(LATEST), batch_size=2)) == -(-len(written(LATEST)) // 2)
    assert len(StreamingDataset(sources={"a": Source(f"delta+{TABLE}", snapshot=2)}, shuffle=True, batch_size=2)) > 0


@pytest.mark.parametrize("given", [True, 1.5, b"3"])
def test_what_names_no_snapshot(given: object) -> None:
    with pytest.raises(OptionError, match=r"^snapshot must be a version, an ID, a tag, a branch or a time, got [^\n]*$"):
        StreamingDataset(f"delta+{TABLE}", snapshot=given, batch_size=2)


def test_refused() -> None:
    with pytest.raises(ShardfeedError, match="snapshot is of a table"):
        StreamingDataset(str(TABLE), snapshot="3", batch_size=2)
    with pytest.raises(ShardfeedError, match="delta\\+"):
        StreamingDataset(str(TABLE), batch_size=2)
    with pytest.raises(ShardfeedError, match="99"):
        StreamingDataset(f"delta+{TABLE}", snapshot="99", batch_size=2)


def test_select(tmp_path: Path) -> None:
    table = TABLE.parent / "vectors"
    then, listed = "3", tmp_path / "even.rows"
    found = select(f"delta+{table}", lambda batch: batch["id"] % 2 == 0, save=listed, snapshot=then, columns=["id"], workers=1)
    options = {"snapshot": then, "columns": ["id"], "batch_size": 7, "shuffle": False, "tail": "short"}
    ids = [int(i) for batch in StreamingDataset(f"delta+{table}", **options) for i in batch["id"]]
    got = [int(i) for batch in StreamingDataset(f"delta+{table}", rows=listed, **options) for i in batch["id"]]
    assert got == [i for i in ids if i % 2 == 0] and found.rows == len(got) > 0


def test_a_table_whose_rows_are_all_deleted() -> None:
    dataset = StreamingDataset(f"delta+{TABLE.with_name('evolved')}", batch_size=4)
    with pytest.raises(ShardfeedError, match=r"evolved: the data set has no rows: the Delta table has no files in snapshot 17"):
        list(dataset)
