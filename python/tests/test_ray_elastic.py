"""Ray Train's workers on two nodes of one machine, of which one is lost: make test-ray."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-ray")

from ranks import JOBS, Line  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from ray.train import FailureConfig, RunConfig, ScalingConfig  # noqa: E402
from ray.train.torch import TorchTrainer  # noqa: E402

sys.path.insert(0, str(JOBS))  # Ray's workers import the loops by name

import ray_loops  # noqa: E402

import shardfeed.ray  # noqa: E402

pytestmark = pytest.mark.timeout(600)

ROWS = 4000
EVERY = 25  # steps from one checkpoint to the next


@pytest.fixture
def nodes(runtime: Path) -> Iterator[Cluster]:
    """A head with room for two workers, and another node with as much."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    cluster.lost = cluster.add_node(num_cpus=2)
    env = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(JOBS), os.environ["PYTHONPATH"]])}
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": env})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_node_is_lost(nodes: Cluster, tmp_path: Path, shards: Path) -> None:
    """Four workers become two, which read each row beyond the last checkpoint once."""
    told = tmp_path / "told"
    trainer = TorchTrainer(
        ray_loops.train,
        train_loop_config={"told": str(told), "steps": ROWS // 16, "every": EVERY, "waits_at": 60, "one_epoch": True},
        datasets={"train": shardfeed.ray.Source(str(shards), columns=["id"], seed=7, with_row_valid=True)},
        dataset_config=shardfeed.ray.DataConfig(),
        scaling_config=ScalingConfig(num_workers=(2, 4)),
        run_config=RunConfig(storage_path=str(tmp_path / "storage"), name="run", failure_config=FailureConfig(max_failures=3)),
    )
    ended: list[object] = []
    training = threading.Thread(target=lambda: ended.append(trainer.fit()))
    training.start()
    while len([line for line in lines(told, "waits") if line["world"] == 4]) < 4:
        assert training.is_alive(), "the job ended early"
        time.sleep(0.1)
    nodes.remove_node(nodes.lost, allow_graceful=False)
    training.join()
    assert ended, "the job failed"
    (four, begin), (two, checkpoint) = sorted({(line["world"], line["step"]) for line in lines(told, "begins")}, reverse=True)
    assert (four, begin, two) == (4, 0, 2)
    assert checkpoint in (EVERY, 2 * EVERY), "a checkpoint is written beside training"
    kept = [line for line in lines(told, "step") if line["world"] == 2 or line["step"] <= checkpoint]
    assert sorted(i for line in kept for i in line["ids"]) == list(range(ROWS))


def lines(told: Path, kind: str) -> list[Line]:
    """What workers have written so far, without a line that is not whole yet."""
    texts = (path.read_text() for path in told.glob("*.jsonl"))
    found = [json.loads(line) for text in texts for line in text[: text.rfind("\n") + 1].splitlines()]
    return [line for line in found if line["kind"] == kind]
