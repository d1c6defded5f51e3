"""The limit of memory as it is told: what fits is admitted, what does not is refused with the numbers, and nothing waits."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import StreamingDataset

pytestmark = pytest.mark.usefixtures("job")


@pytest.mark.parametrize(
    ("given", "rows"),
    [({}, 3), ({"shuffle": False}, 3), ({"tail": "pad"}, 1000), ({"rank": 1, "world_size": 2}, 1000)],
)
def test_a_batch_of_more_rows_than_there_are(tmp_path: Path, given: dict, rows: int) -> None:
    """Each of them would take 700 KiB if it were like the rest of a row group of three."""
    pq.write_table(pa.table({f"c{i}": pa.array([1, 2, 3], pa.int64()) for i in range(1500)}), tmp_path / "wide.parquet")
    batch = next(iter(StreamingDataset(tmp_path, batch_size=1000, memory="1GiB", **given)))
    assert batch.rows == rows
    assert set(batch["c7"].tolist()) <= {1, 2, 3}
