"""Nodes of a job, and their leaders."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from shardfeed._engine._process import Engine  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402
from shardfeed.torch._ranks import _node  # noqa: E402


def test_ranks_of_one_engine_are_of_one_node(job, shards):
    engine = Engine()
    node = _node.identity(engine)
    assert node == _node.identity(engine)
    dataset = StreamingDataset(shards, batch_size=8, cache=False)
    assert node == _node.of(dataset._control().welcome)
    assert len(node) >= 20 and node != _node.identity(Engine(f"{job} elsewhere"))


def test_one_rank_leads_each_node_under_each_key():
    store = dist.HashStore()

    def leads(rank):
        return [_node.leads(store, key, f"node {rank // 4}") for key in ("a", "b")]

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(leads, range(12)))
    for node in range(3):
        assert [sum(first) for first in zip(*found[4 * node : 4 * node + 4])] == [1, 1]
