"""Under grain: make test-jax."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grain", reason="grain is not installed: make test-jax")

import grain
from ranks import FRUGAL, JOBS

import shardfeed
import shardfeed.grain
from shardfeed import errors

ROWS = 4000
BATCH = 64
STEPS = 63  # of an epoch, of which the last has 32 rows
IDS: dict[str, Any] = {"batch_size": BATCH, "columns": ["id"], "seed": 7}


def source(shards: Path, **options: Any) -> shardfeed.grain.Source:
    return shardfeed.grain.Source(shards, **{**IDS, **options})


def ids_of(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


def flat(steps: list[list[int]]) -> list[int]:
    return [i for step in steps for i in step]


def test_an_epoch_has_the_batches_of_a_data_set(runtime: Path, shards: Path) -> None:
    pipeline = source(shards)
    wanted = ids_of(shardfeed.StreamingDataset(shards, **IDS))
    assert ids_of(pipeline) == wanted
    assert ids_of(pipeline) == wanted, "each iter() begins at the first epoch"
    assert len(pipeline) == len(wanted) == STEPS
    assert all(type(batch) is dict for batch in pipeline)


def test_epochs(runtime: Path, shards: Path) -> None:
    dataset = shardfeed.StreamingDataset(shards, **IDS)
    wanted = ids_of(dataset) + ids_of(dataset)
    assert ids_of(source(shards, epochs=2)) == wanted
    assert wanted[:STEPS] != wanted[STEPS:]
    forever = iter(source(shards, epochs=None))
    assert ids_of(next(forever) for _ in range(2 * STEPS)) == wanted
    assert len(next(forever)["id"]) == BATCH


def test_a_data_set_as_the_source_keeps_its_own_iterations(runtime: Path, shards: Path) -> None:
    dataset = shardfeed.StreamingDataset(shards, **IDS).map(lambda batch: {"id": batch["id"] * 2})
    own = iter(dataset)
    first = next(own)["id"].tolist()
    pipeline = shardfeed.grain.Source(dataset)
    ids = ids_of(pipeline)
    assert sorted(flat(ids)) == [2 * i for i in range(ROWS)]
    assert [first, *ids_of(own)] == ids


@pytest.mark.parametrize("tail", ["pad", "short"])
def test_masks(runtime: Path, shards: Path, tail: str) -> None:
    batches = list(source(shards, tail=tail, with_row_valid=True))
    assert sorted(i for batch in batches for i in batch["id"][batch["_row_valid"]]) == list(range(ROWS))
    assert len(batches[-1]["id"]) == (BATCH if tail == "pad" else ROWS % BATCH)


PIPELINES: dict[str, Callable[[Path], Any]] = {
    "alone": lambda shards: source(shards, epochs=2),
    "mapped": lambda shards: source(shards, epochs=2).map(lambda batch: {"id": batch["id"] + 1}),
    "rows": lambda shards: source(shards, batch_size=None, epochs=2).map(lambda row: {"id": np.int64(row["id"])}).batch(BATCH),
    "threads": lambda shards: grain.experimental.ThreadPrefetchIterDataset(source(shards, epochs=2), prefetch_buffer_size=3),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_state_resumes_exactly(runtime: Path, shards: Path, name: str) -> None:
    """At the beginning, in an epoch, around its end, and in the next one."""
    make = PIPELINES[name]
    wanted = ids_of(make(shards))
    stops = {0, 1, 17, STEPS - 1, STEPS, STEPS + 1, len(wanted) - 1}
    batches, states = iter(make(shards)), {}
    for step in range(max(stops) + 1):
        if step in stops:
            states[step] = json.loads(json.dumps(batches.get_state()))
        next(batches)
    for step, state in states.items():
        again = iter(make(shards))
        next(again)  # a state leads away from where an iterator is
        again.set_state(state)
        assert ids_of(again) == wanted[step:], f"from step {step}"


def test_ranks_share_the_rows_and_resume_on_another_number(runtime: Path, shards: Path) -> None:
    options: dict[str, Any] = {"world_size": 2, "tail": "drop"}
    two = [iter(source(shards, rank=rank, **options)) for rank in range(2)]
    seen = [i for _ in range(20) for batches in two for i in next(batches)["id"].tolist()]
    assert two[0].get_state() == two[1].get_state()
    alone = iter(source(shards, batch_size=50, rank=0, world_size=1))
    alone.set_state(two[1].get_state())
    assert sorted(seen + flat(ids_of(alone))) == list(range(ROWS))


def test_close_ends_an_iteration(runtime: Path, shards: Path) -> None:
    batches = iter(source(shards))
    next(batches)
    batches.close()
    with pytest.raises(Exception, match="closed"):
        next(batches)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda s: shardfeed.grain.Source(), TypeError, "Source needs source: an address"),
        (lambda s: shardfeed.grain.Source(s), TypeError, "batch_size"),
        (lambda s: shardfeed.grain.Source(s, epochs=0, **IDS), errors.OptionError, "epochs must be"),
        (lambda s: shardfeed.grain.Source(s, colums=["id"], batch_size=4), TypeError, "did you mean 'columns'"),
        (
            lambda s: shardfeed.grain.Source(shardfeed.StreamingDataset(s, **IDS), seed=3),
            TypeError,
            "Source takes no seed beside a data set",
        ),
        (lambda s: iter(source(s)).set_state({"next_index": 3}), errors.StateError, "it was taken of another pipeline"),
        (lambda s: iter(source(s)).set_state(3), errors.StateError, "has the key 'shardfeed', got an int"),
        (lambda s: source(s).set_slice(slice(0, None, 2), sequential_slice=True), errors.OptionError, "sequential_slice must be False"),
    ],
)
def test_what_is_refused(runtime: Path, shards: Path, call: Callable[[Path], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        call(shards)


def worker(pipeline: shardfeed.grain.Source, number: int) -> shardfeed.grain.Source:
    """What one of two workers of mp_prefetch reads."""
    pipeline.set_slice(slice(number, None, 2))
    return pipeline


@pytest.mark.filterwarnings("ignore:shardfeed. skip")
def test_workers_share_a_window(runtime: Path, shards: Path) -> None:
    window = shardfeed.StreamingDataset(shards, **IDS).skip(2).take(4)
    parts = [ids_of(worker(shardfeed.grain.Source(window), number)) for number in range(2)]
    assert sorted(flat(parts[0] + parts[1])) == sorted(flat(ids_of(window)))
    with pytest.raises(errors.OptionError, match=r"2 workers share the batches of skip and take: .* got skip\(3\)\.take\(3\)"):
        iter(worker(shardfeed.grain.Source(window.skip(1)), 0))


@pytest.fixture(scope="module")
def told(runtime: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What a program with workers of mp_prefetch saw; see jobs/grain_workers.py."""
    report = tmp_path_factory.mktemp("grain") / "told.json"
    env = {**os.environ, **FRUGAL, "JAX_PLATFORMS": "cpu"}
    env.pop("SHARDFEED_JOB", None)
    command = [sys.executable, JOBS / "grain_workers.py", shards, report]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=env)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(report.read_text())


def test_workers_read_each_row_once(told: dict[str, Any]) -> None:
    for rows in told["epochs"]:
        assert sorted(rows) == list(range(ROWS))
    assert told["epochs"][0] != told["epochs"][1]


def test_workers_resume_exactly(told: dict[str, Any]) -> None:
    assert len(told["resumed"]) == 3
    for step, rest in told["resumed"].items():
        assert rest == told["steps"][int(step) :], f"from step {step}"


def test_workers_of_a_rank_share_its_rows(told: dict[str, Any]) -> None:
    first, other = told["ranks"]
    assert sorted(first + other) == list(range(ROWS))
    assert len(first) == len(other) == ROWS / 2


def test_replicas_have_one_worker(told: dict[str, Any]) -> None:
    assert "mp_prefetch needs num_workers=1 beside replication or mesh" in told["replicas"]
