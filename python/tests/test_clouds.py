"""Training over the stores of clouds, on their emulators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import clouds
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed.torch import DataLoader

gcs, azurite = clouds.gcs, clouds.azurite  # fixtures

ROWS = 3000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    directory = tmp_path / tmp_path.name
    for k, ids in enumerate(np.array_split(np.arange(ROWS), 4)):
        part = directory / f"k={k % 2}" / f"part-{k}.parquet"
        part.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": ids, "x": ids * 0.5}), part, row_group_size=200)
    return directory


@pytest.fixture(params=["gcs", "azurite"])
def cloud(request: pytest.FixtureRequest) -> clouds.Cloud:
    return request.getfixturevalue(request.param)


def rows(source: Any, **options: Any) -> list[list[int]]:
    with DataLoader(source, batch_size=64, shuffle=True, seed=3, **options) as loader:
        return [batch["id"].tolist() for batch in loader]


def test_rows(runtime: Path, tmp_path: Path, table: Path, cloud: clouds.Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    address = cloud.put(table)
    want = rows(table)
    assert sorted(row for batch in want for row in batch) == list(range(ROWS))
    assert rows(address, storage_options=cloud.options, cache_dir=tmp_path / "cache") == want
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    assert rows(f"{address}/*/part-{{0..3}}.parquet", cache_dir=tmp_path / "another") == want


def test_resume(runtime: Path, tmp_path: Path, table: Path, cloud: clouds.Cloud) -> None:
    address, options = cloud.put(table), {"storage_options": cloud.options, "cache_dir": tmp_path / "cache"}
    whole = rows(address, **options)
    with DataLoader(address, batch_size=64, shuffle=True, seed=3, **options) as loader:
        batches = iter(loader)
        begin = [next(batches)["id"].tolist() for _ in range(9)]
        state = loader.state_dict()
    with DataLoader(address, batch_size=64, shuffle=True, seed=3, **options) as loader:
        loader.load_state_dict(state)
        assert begin + [batch["id"].tolist() for batch in loader] == whole


def test_missing(runtime: Path, tmp_path: Path, cloud: clouds.Cloud, table: Path) -> None:
    address = cloud.put(table)
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        rows(address + "/none", storage_options=cloud.options)
