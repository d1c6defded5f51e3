"""Nodes that count the samples of a data set together, each with an engine of its own."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

import tokenizers  # noqa: E402
import torch.distributed as dist  # noqa: E402

from shardfeed import Pack, StreamingDataset, Tokenizer, errors  # noqa: E402
from shardfeed._engine._connection import Connection  # noqa: E402
from shardfeed._engine._process import Engine  # noqa: E402
from shardfeed.torch._ranks import _counting, _opening  # noqa: E402

NAME = "train.py:3#1"
SHARDS = 12


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards whose texts take a while to count: words that are all different."""
    directory, draw = tmp_path_factory.mktemp("texts"), random.Random(1)
    for k in range(SHARDS):
        texts = [" ".join(f"{draw.getrandbits(64):x}" for _ in range(400)) for _ in range(200)]
        pq.write_table(
            pa.table({"id": range(200 * k, 200 * (k + 1)), "text": texts}), directory / f"part-{k:02}.parquet", row_group_size=50
        )
    return directory


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return path


class Node:
    """A rank alone on its node."""

    def __init__(self, store: Any, rank: int, job: str, spec: dict[str, Any], directory: Path) -> None:
        self.engine = Engine(f"{job} {rank}", local_world_size=1)
        self.opening = _opening.Opening(store, NAME, rank, 3, self.engine, 120.0)
        self.spec = {**spec, "index_dir": str(directory / f"index {rank}")}
        greeted = Connection(self.engine, None)
        self.pid = greeted.welcome["pid"]
        self.greeted = greeted  # keeps the engine

    def connect(self, inventory: str, told: Any = None, counting: Any = None) -> Connection:
        what = {"dataset": NAME, "opening": NAME, "spec": self.spec, "inventory": inventory, **(counting or {})}
        return Connection(self.engine, what, timeout=120.0, told=told)

    def open(self) -> int:
        connection = self.opening.connect(self.connect)
        try:
            return int(connection.opened["rows"])
        finally:
            connection.close()


RULES: dict[str, dict[str, Any]] = {
    "tokens": {"pack": Pack({"text": 64})},
    "filter": {"filters": "text like '%7%' and id > 20"},
    "tokens of a part": {
        "pack": Pack({"text": 64}, strategy="bfd"),
        "filters": "id > 20 and id not in (300, 301, 1700)",
        "parts": {"train": 0.8, "val": 0.2},
        "part": "train",
        "part_seed": 3,
    },
    "buckets of a part": {"bucket": {"text": 2**16}, "filters": "id > 20", "subsample": 0.7, "part_key": "id"},
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_nodes_count_together(
    job: str, table: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any]
) -> None:
    """The second is killed while it counts; the third is late, when all is counted."""
    alone = StreamingDataset(
        table,
        columns=["text"],
        cache=False,
        index_dir=tmp_path / "alone",
        tokenize={"text": Tokenizer(file, check=False)},
        batch_size=1,
        **rule,
    )
    want, spec = alone.size, alone._spec
    store = dist.HashStore()
    first, second, third = nodes = [Node(store, rank, job, spec, tmp_path) for rank in range(3)]
    hand_on = _opening.Opening._hand_on_early

    def stopped(self: _opening.Opening, content: bytes) -> None:
        os.kill(first.pid, signal.SIGSTOP)  # until the second has counted
        hand_on(self, content)

    monkeypatch.setattr(_opening.Opening, "_hand_on_early", stopped)
    monkeypatch.setattr(_counting, "_EVERY", 0.001)
    with ThreadPoolExecutor(2) as pool:
        try:
            led, followed = pool.submit(first.open), pool.submit(second.open)
            key = f"{first.opening.key}/counted 1"
            while store.add(key, 0) == 0 and not followed.done():
                time.sleep(0.01)
            os.kill(second.pid, signal.SIGKILL)
        finally:
            os.kill(first.pid, signal.SIGCONT)
        assert led.result(120) == want
        with contextlib.suppress(errors.EngineGone):  # unless it had counted everything before the kill
            assert followed.result(120) == want
    counted = [store.add(f"{first.opening.key}/counted {node}", 0) for node in range(2)]
    if "filters" not in rule or len(rule) > 1:  # a filter may be done before the second comes
        assert counted[1] > 0, counted
    assert third.open() == want
    assert list(first.engine.socket.parent.glob("*.counts")) == []
    keys = [f"{first.opening.key}/counted {node} 0" for node in range(2) if counted[node]]
    assert store.check(keys)
    _opening.forget(first.opening)
    assert not any(store.check([key]) for key in keys)
    for node in nodes:
        node.greeted.close()
    second.engine.socket.unlink(missing_ok=True)  # the kill left it


def test_segments_that_cannot_be_carried(tmp_path: Path) -> None:
    """A store that fails leaves the node to count alone."""

    class Broken:
        def add(self, key: str, n: int) -> int:
            if "counted" in key:
                raise RuntimeError("the store has gone")
            return 2

    with _counting.Counting(Broken(), "key", tmp_path, 2).carried() as members:
        assert json.dumps(members) == "{}"
    assert list(tmp_path.iterdir()) == []
