"""Data sets of the Hugging Face hub, beside its own client on the same stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hub as standin
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
from shardfeed.torch import DataLoader

ROWS = 3000
ADDRESS = "hf://datasets/org/data"


def write(directory: Path, first: int) -> Path:
    (directory / "data").mkdir(parents=True)
    for k, ids in enumerate(np.array_split(np.arange(first, first + ROWS), 3)):
        pq.write_table(pa.table({"id": ids, "x": ids * 0.5}), directory / "data" / f"train-{k}.parquet", row_group_size=300)
    (directory / "README.md").write_text("# data")
    return directory


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[standin.Hub]:
    served = standin.Hub()
    served.add(write(tmp_path / "first", 0))
    yield served
    served.close()


def options(hub: standin.Hub, tmp_path: Path) -> dict[str, Any]:
    return {"batch_size": 64, "shuffle": True, "seed": 3, "cache_dir": tmp_path / "cache", "storage_options": {"hf": {"endpoint": hub.url}}}


def client(hub: standin.Hub, home: Path, code: str) -> Any:
    """Runs the hub's own client, and ends it before its threads may abort."""
    pytest.importorskip("huggingface_hub")
    env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code + "\nimport os, sys; sys.stdout.flush(); os._exit(0)"],
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_branch_that_moves(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    commit = hub.main
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        whole = [batch["id"].tolist() for batch in loader]
    assert sorted(row for rows in whole for row in rows) == list(range(ROWS))
    with DataLoader(f"{ADDRESS}@{commit}/data/*.parquet", **options(hub, tmp_path)) as loader:
        batches = iter(loader)
        begin = [next(batches)["id"].tolist() for _ in range(9)]
        state = loader.state_dict()
    hub.add(write(tmp_path / "second", 10_000))
    with DataLoader(f"{ADDRESS}@{commit}", **options(hub, tmp_path)) as loader:
        loader.load_state_dict(state)
        assert begin + [batch["id"].tolist() for batch in loader] == whole
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        assert min(batch["id"].min() for batch in loader) >= 10_000


def test_few_requests(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    for _ in range(2):
        with DataLoader(f"{ADDRESS}/data", **options(hub, tmp_path)) as loader:
            for _ in range(2):
                assert sum(len(batch["id"]) for batch in loader) == ROWS
    assert hub.requests["resolve"] <= 3 + 3, hub.requests  # each footer once, and the rest of each file, for two starts of two epochs
    assert hub.requests["content"] == hub.requests["resolve"]


def test_few_requests_for_small_row_groups(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    rows, texts = 3000, np.random.default_rng(1)
    data = tmp_path / "small groups"
    data.mkdir()
    table = pa.table({"id": range(rows), "label": [0] * rows, "text": [texts.bytes(2000) for _ in range(rows)]})
    pq.write_table(table, data / "a.parquet", row_group_size=30)  # 100 of 60 kB; small files come whole anyway
    hub.add(data)
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        assert sum(len(batch["id"]) for batch in loader) == rows
    assert hub.requests["resolve"] == 2, hub.requests  # the footer and the rest
    with DataLoader(ADDRESS, columns=["id"], **options(hub, tmp_path / "few")) as loader:
        assert sum(len(batch["id"]) for batch in loader) == rows
    assert hub.requests["resolve"] > 10, hub.requests  # few bytes are wanted


def test_a_limit_is_waited_for(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    hub.limits = standin.Limits(1, {"api": 1, "resolvers": 2})
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        assert sorted(row for batch in loader for row in batch["id"].tolist()) == list(range(ROWS))
    assert hub.requests["refused"] > 0, hub.requests


def test_the_hubs_own_client_lists_the_same(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    listed = client(
        hub,
        tmp_path / "home",
        "import json; from huggingface_hub import HfFileSystem; fs = HfFileSystem()\n"
        "print(json.dumps(sorted(fs.glob('datasets/org/data/data/*.parquet'))))",
    )
    assert listed == [f"datasets/org/data/data/train-{k}.parquet" for k in range(3)]
    rows = client(
        hub,
        tmp_path / "home",
        "import json, pyarrow.parquet as pq; from huggingface_hub import HfFileSystem; fs = HfFileSystem()\n"
        "with fs.open('datasets/org/data/data/train-1.parquet') as f: print(json.dumps(pq.read_table(f)['id'].to_pylist()))",
    )
    with DataLoader(f"{ADDRESS}/data/train-1.parquet", **{**options(hub, tmp_path), "shuffle": False}) as loader:
        assert [row for batch in loader for row in batch["id"].tolist()] == rows


def test_the_datasets_library_streams_the_same(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    pytest.importorskip("datasets")
    rows = client(
        hub,
        tmp_path / "home",
        "import json, datasets\nprint(json.dumps([row['id'] for row in datasets.load_dataset('org/data', split='train', streaming=True)]))",
    )
    with DataLoader(ADDRESS, **{**options(hub, tmp_path), "shuffle": False}) as loader:
        assert [row for batch in loader for row in batch["id"].tolist()] == rows


def test_downloads_are_read(runtime: Path, tmp_path: Path, hub: standin.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    client(
        hub,
        home,
        "import json; from huggingface_hub import snapshot_download; print(json.dumps(snapshot_download('org/data', repo_type='dataset')))",
    )
    monkeypatch.setenv("HF_HOME", str(home))
    hub.requests.clear()
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        assert sum(len(batch["id"]) for batch in loader) == ROWS
    assert hub.requests["resolve"] == 0, hub.requests
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.requests.clear()
    with DataLoader(ADDRESS, **{**options(hub, tmp_path), "seed": 4}) as loader:
        assert sum(len(batch["id"]) for batch in loader) == ROWS
    assert not hub.requests
    with pytest.raises(FileNotFoundError, match="hf download"):
        DataLoader("hf://datasets/org/other", **options(hub, tmp_path))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("hf://datasets/org/none", "RepoNotFound.*needs a token"),
        (f"{ADDRESS}@v9", "RevisionNotFound"),
        (f"{ADDRESS}/data/none.parquet", "no such file"),
        ("hf://org/data", "hf://datasets/"),
    ],
)
def test_what_the_hub_lacks(runtime: Path, tmp_path: Path, hub: standin.Hub, address: str, words: str) -> None:
    with pytest.raises(shardfeed.errors.ShardfeedError, match=words):
        DataLoader(address, **options(hub, tmp_path))
