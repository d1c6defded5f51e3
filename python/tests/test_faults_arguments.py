"""Arguments that cannot be meant, and data that is not what it should be: one error of the right class, at the user's line."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import shardfeed
from shardfeed import StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

VALUE, SCHEMA, MEMORY, STATE = errors.OptionError, errors.SchemaError, errors.MemoryLimitError, errors.StateError


def state(dataset: StreamingDataset, **changed: Any) -> dict[str, Any]:
    there = dataset.state_dict()
    there["shardfeed"].update(changed)
    return there


def go_on(dataset: StreamingDataset, there: dict[str, Any]) -> None:
    dataset.load_state_dict(there)
    next(iter(dataset))


CONSTRUCTED = [
    ({"shuffle": "no"}, VALUE, "shuffle must be True or False, got 'no'"),
    ({"drop_last": "no"}, VALUE, "drop_last must be True or False, got 'no'"),
    ({"cache": "off"}, VALUE, "cache must be True or False, got 'off'"),
    ({"columns": 3}, VALUE, "columns must be a list of names or dotted paths, or None for all columns, got 3"),
    ({"columns": ["\udcff"]}, VALUE, "UTF-8"),
    ({"columns": ["lable"]}, SCHEMA, '"label"'),
    ({"index_dir": "/tmp/\0"}, VALUE, "NUL"),
    ({"rank": "0", "world_size": "2"}, VALUE, "rank must be a whole number, got '0'"),
    ({"rank": 0.0, "world_size": 2}, VALUE, "rank must be a whole number, got 0.0"),
    ({"rank": True, "world_size": 2}, VALUE, "rank must be a whole number, got True"),
    ({"rank": 0, "world_size": 2**70}, VALUE, "world_size must be below 2147483648"),
    ({"timeout": 0}, VALUE, "timeout must be a number of seconds above 0, or None for no limit, got 0"),
    ({"timeout": "1"}, VALUE, "got '1'"),
    ({"timeout": float("nan")}, VALUE, "got nan"),
    ({"lanes": 10**12}, VALUE, "lanes"),
    ({"slots": 10**9}, VALUE, "slots"),
    ({"collate_workers": 10**9}, VALUE, "workers"),
    ({"null": {"lable": 0}}, VALUE, "lable"),
    ({"null": {"label": 2**40}}, VALUE, "label"),
    ({"pad": {"tokens": "a"}}, VALUE, "tokens"),
    ({"pad": {"x": 0}}, VALUE, "lists"),
    ({"pad": {"tokens": 0}, "max_length": 2**40}, VALUE, "tokens"),
    ({"vocabulary": {"txt": ["a"]}}, VALUE, "txt"),
    ({"vocabulary": {"id": ["a"]}}, VALUE, "id"),
    ({"plan": "/nowhere"}, errors.NotFoundError, "/nowhere"),
    ({"manifest": "/nowhere"}, errors.NotFoundError, "/nowhere"),
    ({"storage_options": {"endpoint_ulr": "x"}}, VALUE, "did you mean 'endpoint_url'"),
]


@pytest.mark.parametrize(("given", "kind", "words"), CONSTRUCTED, ids=[str(given) for given, _, _ in CONSTRUCTED])
def test_arguments(shards: Path, given: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        StreamingDataset(shards, **{"batch_size": 8, **given})
    assert words in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__ is (caught.value.__context__ is not None)
    assert traceback.extract_tb(caught.value.__traceback__)[0].filename == __file__


ADDRESSES = [
    ({"a": 1}, VALUE, "a list of them"),
    ("/tmp/\0", VALUE, "NUL"),
    ("/tmp/\udcff", VALUE, "UTF-8"),
    ("ftp://bucket/x", VALUE, "ftp://"),
    ("s3://", VALUE, "no bucket"),
    ("/dev/null", VALUE, "neither a file nor a directory"),
    ("/nowhere/*.parquet", errors.NotFoundError, "/nowhere"),
]


@pytest.mark.parametrize(("address", "kind", "words"), ADDRESSES, ids=[repr(address) for address, _, _ in ADDRESSES])
def test_addresses(address: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        StreamingDataset(address, batch_size=8)
    assert words in str(caught.value)


ITERATED: list[tuple[str, Callable[[StreamingDataset], object], type[Exception], str]] = [
    ("epoch below 0", lambda d: d.set_epoch(-1), VALUE, "epoch must be a whole number from 0 to 2**62 - 1, got -1"),
    ("epoch 2**70", lambda d: d.set_epoch(2**70), VALUE, "2**62"),
    ("position below 0", lambda d: go_on(d, state(d, position=-5)), STATE, "position"),
    ("position beyond the end", lambda d: go_on(d, state(d, position=10**9)), STATE, "position"),
    ("half a position", lambda d: go_on(d, state(d, position=4.5)), STATE, "4.5"),
    (
        "a state of a rule",
        lambda d: go_on(d, state(d, rule="0123456789abcdef")),
        STATE,
        "rule is 0123456789abcdef in the state and none here",
    ),
    ("a state of nothing", lambda d: go_on(d, {}), STATE, "shardfeed"),
    ("no such column", lambda d: next(iter(d))["lable"], KeyError, "lable"),
    ("not enough memory", lambda d: next(iter(StreamingDataset(d._spec["addresses"], batch_size=10**6, memory="1MB"))), MEMORY, "memory"),
]


@pytest.mark.parametrize(("use", "kind", "words"), [i[1:] for i in ITERATED], ids=[i[0] for i in ITERATED])
def test_uses(shards: Path, use: Callable[[StreamingDataset], object], kind: type[Exception], words: str) -> None:
    dataset = StreamingDataset(shards, batch_size=8)
    with pytest.raises(kind) as caught:
        use(dataset)
    assert words in str(caught.value)
    assert next(iter(StreamingDataset(shards, batch_size=8))).rows == 8


def test_numbers_of_numpy_are_numbers(shards: Path) -> None:
    dataset = StreamingDataset(
        shards, batch_size=np.int32(8), rank=np.int64(1), world_size=np.int64(2), shuffle=np.bool_(True), timeout=1e12
    )
    dataset.set_epoch(np.int64(3))
    assert next(iter(dataset)).epoch == 3


def damaged(good: bytes, how: str) -> bytes:
    return {
        "page": good[:1000] + bytes(500) + good[1500:],
        "cut short": good[:-100],
        "halved": good[: len(good) // 2] + good[-3000:],
        "footer": good[:-2000] + bytes(1992) + good[-8:],
        "footer's length": good[:-8] + b"\xff\xff\xff\x7fPAR1",
        "encrypted": good[:-4] + b"PARE",
        "empty": b"",
        "no parquet": b"id,x\n1,2\n" * 9,
    }[how]


@pytest.mark.parametrize("how", ["page", "cut short", "halved", "footer", "footer's length", "encrypted", "empty", "no parquet"])
def test_damaged_shards(shards: Path, tmp_path: Path, how: str) -> None:
    shutil.copy(shards / "part-1.parquet", tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_bytes(damaged((shards / "part-0.parquet").read_bytes(), how))
    with pytest.raises(errors.DataError, match=r"bad\.parquet") as caught:
        list(StreamingDataset(tmp_path, batch_size=8))
    assert caught.value.shard.endswith("bad.parquet")
    assert caught.value.row_group == (0 if how == "page" else None)


def test_shards_that_were_added_or_replaced_are_seen(shards: Path, tmp_path: Path) -> None:
    """In a notebook the object before lives until the new one is there."""
    shutil.copy(shards / "part-0.parquet", tmp_path)
    sizes, dataset = [], None
    for part in ("part-0.parquet", "part-1.parquet", "part-1.parquet"):
        shutil.copy(shards / part, tmp_path)
        dataset = StreamingDataset(tmp_path, batch_size=8)
        sizes.append(sum(batch.rows for batch in dataset))
    assert sizes == [1000, 2000, 2000]


def test_a_shard_that_changed_between_epochs(shards: Path, tmp_path: Path) -> None:
    shutil.copy(shards / "part-0.parquet", tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=8)
    next(iter(dataset))
    shutil.copy(shards / "part-1.parquet", tmp_path / "a.parquet")
    with pytest.raises(errors.DataError, match="changed since it was listed"):
        for _ in range(2):  # a row group that was read before the change is good
            list(dataset)
    for _ in range(3):  # and it stays refused
        with pytest.raises(errors.DataError, match=r"changed since it was listed"):
            list(dataset)
    assert sum(batch.rows for batch in StreamingDataset(tmp_path, batch_size=8)) == 1000


@pytest.mark.parametrize("change", ["another shard", "a shard less", "nothing"])
def test_shards_that_changed_while_the_engine_was_gone(job: str, shards: Path, tmp_path: Path, change: str) -> None:
    for part in ("part-0.parquet", "part-1.parquet"):
        shutil.copy(shards / part, tmp_path)
    dataset = StreamingDataset(tmp_path, batch_size=8)
    psutil.Process(dataset._control().welcome["pid"]).kill()
    if change == "another shard":
        shutil.copy(shards / "part-2.parquet", tmp_path)
    elif change == "a shard less":
        (tmp_path / "part-1.parquet").unlink()
    else:
        assert sum(batch.rows for batch in dataset) == 2000
        return
    for _ in range(2):
        with pytest.raises(errors.DataError, match=r"changed since it was listed.* new data set"):
            list(dataset)


def test_errors_of_a_dead_end_do_not_hang(shards: Path) -> None:
    with pytest.raises(errors.StorageError, match=r"127\.0\.0\.1:1") as caught:
        StreamingDataset("s3://b/x", batch_size=8, storage_options={"endpoint_url": "http://127.0.0.1:1", "key": "k", "secret": "s"})
    assert "endpoint_url" in caught.value.hint and "--" not in str(caught.value)


def test_modes(shards: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    shutil.copy(shards / "part-0.parquet", tmp_path / "a.parquet")
    (tmp_path / "a.parquet").chmod(0)
    with pytest.raises(PermissionError):
        StreamingDataset(tmp_path, batch_size=8)


def test_all_errors_are_of_one_class() -> None:
    assert all(issubclass(getattr(errors, name), shardfeed.ShardfeedError) for name in errors.__all__)
