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


def write_texts(directory: Path, files: int, rows: int, row_bytes: int, groups: int) -> Path:
    """Rows that do not compress, with ids from 0 on."""
    directory.mkdir()
    texts = np.random.default_rng(1)
    for k in range(files):
        table = pa.table({"id": range(k * rows, (k + 1) * rows), "text": [texts.bytes(row_bytes) for _ in range(rows)]})
        pq.write_table(table, directory / f"train-{k:03d}.parquet", row_group_size=rows // groups)
    return directory


def lists(hub: standin.Hub) -> int:
    return hub.requests["revision"] + hub.requests["tree"] + hub.requests["paths-info"]


@pytest.mark.parametrize(
    ("files", "rows", "row_bytes", "groups", "requests"),
    [
        (30, 100, 300, 2, 30),  # small files come with their footers
        (2, 3000, 2000, 100, 4),  # larger ones take the footer and the rest, whatever their row groups
        (1, 3600, 10_000, 5, 3),  # 36 MB: the footer and two equal parts
    ],
)
def test_few_requests(
    runtime: Path, tmp_path: Path, hub: standin.Hub, files: int, rows: int, row_bytes: int, groups: int, requests: int
) -> None:
    data = write_texts(tmp_path / "set", files, rows, row_bytes, groups)
    hub.add(data)
    size = sum(path.stat().st_size for path in data.iterdir())
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        for _ in range(2):
            ids = np.concatenate([batch["id"] for batch in loader])
            assert sorted(ids.tolist()) == list(range(files * rows))
            assert (hub.requests["resolve"], lists(hub)) == (requests, 2), hub.requests
        begin = [next(iter(loader))["id"].tolist() for _ in range(1)]
        state = loader.state_dict()
    assert hub.sent <= size + files * (1 << 20), "each byte is fetched once, but footers"
    with DataLoader(f"{ADDRESS}@{hub.main}", **options(hub, tmp_path)) as loader:
        loader.load_state_dict(state)
        assert len(begin) + sum(1 for _ in loader) == -(-files * rows // 64)
    assert hub.requests["resolve"] == requests and hub.requests["content"] == requests, hub.requests


RANK = """
import sys
from shardfeed.torch import DataLoader
loader = DataLoader(sys.argv[1], batch_size=25, shuffle=True, seed=3, cache_dir=sys.argv[2])
for epoch in range(2):
    rows = sum(len(batch["id"]) for batch in loader)
print(rows)
"""


def test_ranks_make_the_requests_of_one(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    ranks, files, rows = 4, 6, 2800
    hub.add(write_texts(tmp_path / "set", files, rows, 2000, 20))
    own = {**os.environ, "HF_ENDPOINT": hub.url, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "SHARDFEED_JOB": "ranks"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, ADDRESS, tmp_path / "cache"],
            env={**own, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    ended = [process.communicate(timeout=100) for process in running]
    assert [int(out) for out, _ in ended] == [files * rows // ranks] * ranks, ended
    assert (hub.requests["resolve"], lists(hub)) == (2 * files, 2), hub.requests


def test_few_columns_are_read_alone(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    rows = 3000
    data = write_texts(tmp_path / "set", 1, rows, 2000, 5)
    hub.add(data)
    with DataLoader(ADDRESS, columns=["id"], **options(hub, tmp_path)) as loader:
        for _ in range(2):
            assert sum(len(batch["id"]) for batch in loader) == rows
    assert hub.requests["resolve"] <= 1 + 5, hub.requests
    assert hub.sent < 2 << 20 < next(data.iterdir()).stat().st_size


def test_a_look_at_many_files_reads_footers_alone(runtime: Path, tmp_path: Path, hub: standin.Hub, engine_binary: Path) -> None:
    files, rows = 30, 100
    data = write_texts(tmp_path / "set", files, rows, 20_000, 1)
    hub.add(data)
    env = {**os.environ, "HF_ENDPOINT": hub.url, "SHARDFEED_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([engine_binary, "count", ADDRESS], env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith("3000"), done
    assert hub.requests["resolve"] == files and hub.sent < files * (100 << 10) + (1 << 20), (hub.requests, hub.sent)


def test_a_limit_is_waited_for(runtime: Path, tmp_path: Path, hub: standin.Hub) -> None:
    hub.limits = standin.Limits(1, {"api": 1, "resolvers": 2})
    with DataLoader(ADDRESS, **options(hub, tmp_path)) as loader:
        assert sorted(row for batch in loader for row in batch["id"].tolist()) == list(range(ROWS))
    assert hub.requests["refused"] > 0, hub.requests


def test_no_limit_reaches_a_user(runtime: Path, tmp_path: Path, hub: standin.Hub, engine_binary: Path) -> None:
    hub.limits = standin.Limits(1, {"api": 3, "resolvers": 4})
    env = {**os.environ, "HF_ENDPOINT": hub.url}
    verbs = ("head", "schema", "count", "inspect", "doctor", "plan --shuffle --batch-size 64", "warm", "cat", "warm")
    running = [
        subprocess.Popen(
            [engine_binary, *verb.split(), ADDRESS, *([] if verb == "doctor" else ["--cache-dir", tmp_path / str(k % 3)])],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k, verb in enumerate(verbs)
    ]
    for process, verb in zip(running, verbs):
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0 and "429" not in errors, (verb, errors)
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
        assert loader.stats()["cache"]["filled_bytes"] == 0, "downloads are kept once"
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
        (f"{ADDRESS}/data/none", "no such file"),
        (f"{ADDRESS}/other/*.parquet", "no file matches.*@refs/convert/parquet"),
        ("hf://org/data", "hf://datasets/"),
    ],
)
def test_what_the_hub_lacks(runtime: Path, tmp_path: Path, hub: standin.Hub, address: str, words: str) -> None:
    with pytest.raises(shardfeed.errors.ShardfeedError, match=words):
        DataLoader(address, **options(hub, tmp_path))
