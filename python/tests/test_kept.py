"""Row groups that stay decoded between epochs and runs give the same batches, also after a kill."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from servers import S3, s3  # noqa: F401 - a fixture

from shardfeed import MapDataset, StreamingDataset
from shardfeed.torch import DataLoader

ROWS = 4000
SECONDS = 60  # that a stream may take to keep something


def batches(dataset: StreamingDataset) -> list[dict]:
    """All batches as lists, so that they can be compared."""
    return [{name: listed(values) for name, values in batch.items()} for batch in dataset]


def listed(values: object) -> list:
    return values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()


def warm(engine_binary: Path, *arguments: object) -> None:
    subprocess.run([engine_binary, "warm", *map(str, arguments), "--decoded"], check=True, capture_output=True)


def test_local_files(job: str, shards: Path, tmp_path: Path, engine_binary: Path) -> None:
    given = {"batch_size": 64, "seed": 3}
    want = [batches(plain) for plain in [StreamingDataset(shards, **given)] for _ in range(2)]
    kept = {"cache_dir": tmp_path, "decoded_limit": "1GiB"}
    warm(engine_binary, shards, "--cache-dir", tmp_path, "--decoded-limit", "1GiB")
    dataset = StreamingDataset(shards, **given, **kept)
    assert [batches(dataset) for _ in range(2)] == want
    cache = dataset.stats()["cache"]
    assert cache["decoded_hit_bytes"] > 0 and cache["directory"] == str(tmp_path)
    assert want[0] != want[1]  # epochs differ


def test_no_more_than_is_asked_for(job: str, shards: Path, tmp_path: Path, engine_binary: Path) -> None:
    """Local files are not kept without being asked, and 0 keeps nothing."""
    for limit in ({}, {"decoded_limit": 0}):
        dataset = StreamingDataset(shards, batch_size=64, cache_dir=tmp_path, **limit)
        for _ in range(3):
            batches(dataset)
        assert dataset.stats()["cache"] is None
    assert not list(tmp_path.glob("v1/d*"))


def test_other_columns_and_shapes(job: str, shards: Path, tmp_path: Path, engine_binary: Path) -> None:
    """Each choice of columns is kept on its own; what is made of the columns does not matter."""
    warm(engine_binary, shards, "--cache-dir", tmp_path, "--decoded-limit", "1GiB")
    for given in (
        {"columns": ["x", "id"]},
        {"filters": "label == 3"},
        {"pad": {"tokens": -1}},
        {"cast": {"x": "float64"}},
        {"stack": {"m": ["x", "label"]}},
        {"shuffle": False},
        {"memory": "40MiB", "shuffle_buffer": 1000},
    ):
        want = batches(StreamingDataset(shards, batch_size=50, seed=3, **given))
        got = batches(StreamingDataset(shards, batch_size=50, seed=3, cache_dir=tmp_path, decoded_limit="1GiB", **given))
        assert got == want, given


def test_rows_by_number(job: str, shards: Path, tmp_path: Path, engine_binary: Path) -> None:
    warm(engine_binary, shards, "--cache-dir", tmp_path, "--decoded-limit", "1GiB")
    dataset = MapDataset(shards, cache_dir=tmp_path, decoded_limit="1GiB")
    rows = np.random.default_rng(1).permutation(ROWS)[:300].tolist()
    plain = MapDataset(shards)
    for got, want in zip(dataset.__getitems__(rows), plain.__getitems__(rows)):
        assert int(got["id"]) == int(want["id"]) and got["text"] == want["text"] and got["tokens"].tolist() == want["tokens"].tolist()


def test_workers(job: str, shards: Path, tmp_path: Path, engine_binary: Path) -> None:
    warm(engine_binary, shards, "--cache-dir", tmp_path, "--decoded-limit", "1GiB")
    loader = DataLoader(shards, batch_size=64, seed=3, num_workers=2, cache_dir=tmp_path, decoded_limit="1GiB", columns=["id"])
    assert sorted(i for batch in loader for i in batch["id"].tolist()) == list(range(ROWS))


def test_kept_beside_training(job: str, shards: Path, tmp_path: Path) -> None:
    """A trainer that leaves processors idle has its data kept; the epochs stay the same."""
    given = {"batch_size": 64, "seed": 3}
    plain, dataset = StreamingDataset(shards, **given), StreamingDataset(shards, **given, cache_dir=tmp_path, decoded_limit="1GiB")
    deadline = time.monotonic() + SECONDS
    while dataset.stats()["cache"] is None or dataset.stats()["cache"]["decoded_hit_bytes"] == 0:
        assert time.monotonic() < deadline, f"nothing was kept and used within {SECONDS} s: {dataset.stats()['cache']}"
        got = []
        for batch in dataset:
            got.append(batch["id"].tolist())
            time.sleep(0.01)
        assert got == [batch["id"].tolist() for batch in plain]


@pytest.mark.parametrize("after", [0.05, 0.3, 1.0])
def test_an_engine_that_is_killed(job: str, shards: Path, tmp_path: Path, after: float) -> None:
    """What it left is whole or not used: the next run has every row."""
    given = {"batch_size": 64, "seed": 3, "cache_dir": tmp_path, "decoded_limit": "1GiB"}
    dataset = StreamingDataset(shards, **given)
    engine = psutil.Process(dataset._control().welcome["pid"])
    deadline = time.monotonic() + after
    while time.monotonic() < deadline:
        for batch in dataset:
            del batch
            time.sleep(0.002)
            if time.monotonic() > deadline:
                break
    engine.kill()
    engine.wait()
    want = batches(StreamingDataset(shards, batch_size=64, seed=3))
    assert batches(StreamingDataset(shards, **given)) == want


def test_shards_on_s3(job: str, s3: S3, shards: Path, tmp_path: Path, engine_binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Shards on servers are kept by default, and then no byte is asked of the server."""
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    uri = s3.put(shards)
    want = batches(StreamingDataset(shards, batch_size=64, seed=3))
    warm(engine_binary, uri, "--cache-dir", tmp_path)
    dataset = StreamingDataset(uri, batch_size=64, seed=3, cache_dir=tmp_path)
    assert batches(dataset) == want
    stats = dataset.stats()
    assert stats["cache"]["decoded_hit_bytes"] > 0 and stats["cache"]["miss_bytes"] == 0
