"""The audit of epochs: it proves that each row came exactly once, and finds planted errors."""

from __future__ import annotations

import json
import logging
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import shardfeed
import shardfeed.torch
from shardfeed import _audit
from shardfeed._iterator import BatchIterator
from shardfeed.errors import StateError

ROWS = 4000


@pytest.fixture(autouse=True)
def told(runtime: Path, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="shardfeed")
    return caplog


def opened(shards: Path, batch_size: int | None = 64, **given: Any) -> shardfeed.StreamingDataset[Any]:
    return shardfeed.StreamingDataset(shards, batch_size=batch_size, **{"columns": ["id"], "seed": 7, **given})


def verdicts(told: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in told.records if r.getMessage().startswith("epoch ")]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"shuffle": False, "seed": 0},
        {"batch_size": None},
        {"batch_size": None, "drop_last": True},
        {"filters": "label = 3"},
        {"tail": "carry"},
        {"drop_last": True},
        {"pack": shardfeed.Pack({"tokens": 16}), "columns": ["tokens"]},
        {"bucket": shardfeed.Bucket({"tokens": 64}), "columns": ["tokens"], "batch_size": None},
    ],
)
def test_epochs_are_proved(shards: Path, told: pytest.LogCaptureFixture, given: dict[str, Any]) -> None:
    given = {"batch_size": 64, **given}
    if "bucket" in given:
        given["batch_size"] = 1
    dataset = opened(shards, **given)
    for epoch in range(3):
        list(dataset)
        verdict = dataset.stats()["audit"]
        assert verdict["proved"], verdict["text"]
        assert verdict["epoch"] == epoch
    assert [level for level, _ in verdicts(told)] == ["INFO"] * 3
    assert ", each exactly once, on 1 rank" in verdicts(told)[0][1]


@pytest.mark.parametrize("loader", [{}, {"num_workers": 2}, {"threads": 2}])
@pytest.mark.parametrize("batch_size", [64, None])
def test_loaders(shards: Path, told: pytest.LogCaptureFixture, loader: dict[str, int], batch_size: int | None) -> None:
    def open_loader() -> shardfeed.torch.DataLoader[Any]:
        dataset = shardfeed.torch.StreamingDataset(shards, batch_size=batch_size, columns=["id"], seed=7)
        return shardfeed.torch.DataLoader(dataset.map(_itself), **loader)

    first = open_loader()
    batches = iter(first)
    for _ in range(40):
        next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    [record] = state["audit"]
    assert record["to"] == record["rows"] == 40 * (batch_size or 1)
    again = open_loader()
    again.load_state_dict(state)
    list(again)
    assert verdicts(told)[-1] == ("INFO", "epoch 0: 4,000 rows, each exactly once, on 1 rank")
    list(again)
    assert verdicts(told)[-1] == ("INFO", "epoch 1: 4,000 rows, each exactly once, on 1 rank")


def _itself(value: Any) -> Any:
    return value


def test_killed_and_resumed_on_other_batches(shards: Path, told: pytest.LogCaptureFixture) -> None:
    state = None
    for size in (50, 13, None, 77):
        dataset = opened(shards, size)
        if state is not None:
            dataset.load_state_dict(state)
        batches = iter(dataset)
        for _ in range(7):
            next(batches)
        state = json.loads(json.dumps(dataset.state_dict()))
    assert len(state["audit"]) == 4
    list(batches)
    assert verdicts(told) == [("INFO", "epoch 0: 4,000 rows, each exactly once, on 1 rank")]


def test_states_of_many_resumes_stay_small(shards: Path, told: pytest.LogCaptureFixture) -> None:
    state = None
    for _ in range(30):
        dataset = opened(shards, 16)
        if state is not None:
            dataset.load_state_dict(state)
        batches = iter(dataset)
        for _ in range(3):
            next(batches)
        state = json.loads(json.dumps(dataset.state_dict()))
        assert len(state["audit"]) <= 9
    assert len(state["audit"]) == 9 and len(json.dumps(state["audit"])) < 9 * 150
    list(batches)
    assert verdicts(told) == [("INFO", "epoch 0: 4,000 rows, each exactly once, on 1 rank")]


def test_records_are_joined() -> None:
    """Where one rank has them without a gap; cuts differ where positions do."""

    def record(first: int, to: int, rank: int = 0) -> dict[str, Any]:
        return {"epoch": 0, "world": 2, "rank": rank, "from": first, "to": to, "rows": to - first, "lost": 1, "padded": 0, "hash": "f" * 16}

    def joined(*positions: int) -> list[Any]:
        return _audit.bounded([record(a, b) for a, b in pairwise(positions)])

    later = range(30, 39)
    assert joined(0, *later) == joined(0, *later)
    [first, *rest], [other, *_] = joined(0, 10, 20, *later), joined(0, 10, 21, *later)
    assert len(rest) == 7 and (first["from"], first["to"], first["rows"], first["lost"]) == (0, 31, 31, 4)
    assert first["hash"] == "f" * 15 + "c" and len(first["cuts"]) == 16
    assert {**first, "cuts": ""} == {**other, "cuts": ""} and first["cuts"] != other["cuts"]
    again = _audit.bounded([first, *rest, record(38, 40)])
    assert again[0] == joined(0, 10, 20, *later, 40)[0], "joined at once or in turn"
    gap = _audit.bounded([record(0, 10), *(record(n, n + 1) for n in later)])
    assert [r["from"] for r in gap] == [30, *range(32, 39)], "the first is left out"
    others = _audit.bounded([record(0, 30, rank=1), *(record(n, n + 1) for n in later)])
    assert [r["from"] for r in others] == [*range(32, 39)], "of another rank's state"


def test_states_without_records(shards: Path, told: pytest.LogCaptureFixture) -> None:
    """As of earlier releases, and of batch.state."""
    dataset = opened(shards)
    batches = iter(dataset)
    state = [next(batches) for _ in range(3)][-1].state
    again = opened(shards)
    again.load_state_dict(state)
    list(again)
    [(level, text)] = verdicts(told)
    assert level == "INFO" and text.endswith("not seen: positions 0 to 192")
    with pytest.raises(StateError, match="audit must be a list"):
        again.load_state_dict({**state, "audit": 7})
    with pytest.raises(StateError, match="lacks"):
        again.load_state_dict({**state, "audit": [{}]})


def test_a_skipped_batch_is_found(shards: Path, told: pytest.LogCaptureFixture) -> None:
    dataset = opened(shards)
    batches = iter(dataset)
    assert isinstance(batches, BatchIterator)
    next(batches)
    batches.take()  # it comes and is not handed out
    list(batches)
    [(level, text)] = verdicts(told)
    assert level == "WARNING" and "3,936 rows came, and the order has 4,000" in text
    assert dataset.stats()["audit"]["faults"]


def test_a_swapped_row_is_found(shards: Path, told: pytest.LogCaptureFixture) -> None:
    dataset = opened(shards)
    batches = iter(dataset)
    next(batches)
    assert isinstance(batches, BatchIterator)
    batches.place.total += 1 << 192
    list(batches)
    [(level, text)] = verdicts(told)
    assert level == "WARNING" and "not the same" in text


def test_another_state_of_an_epoch_is_found(shards: Path, told: pytest.LogCaptureFixture) -> None:
    """A state whose place was moved: rows between were skipped."""
    dataset = opened(shards)
    batches = iter(dataset)
    next(batches)
    state = dataset.state_dict()
    state["shardfeed"]["position"] += 128
    again = opened(shards)
    again.load_state_dict(state)
    list(again)
    [(level, text)] = verdicts(told)
    assert level == "WARNING" and "no rank handed out positions 64 to 192" in text


def words(*numbers: int) -> memoryview:
    return memoryview(b"".join(n.to_bytes(8, "little") for n in numbers))


def test_rows_of_a_bundle() -> None:
    """Each row has its step, and adds its part to the sum: the last one adds the rest."""
    total = 3 | 3 << 192
    dealt = _audit.deal(total, words(5, 7, 3), 3, 3)
    assert [d[:2] for d in dealt] == [(0, 0), (1, 1), (2, 2)]
    assert sum(d[2] for d in dealt) & (1 << 256) - 1 == total
    assert _audit.deal(total, words(5, 7, 3), 3, 2) == [(0, 0, 1 | 5 << 192), (1, 1, 1 | 2 << 192)], "a tail that drops a step"


@pytest.mark.parametrize(
    ("rows", "steps", "want"),
    [
        (2, 4, [(0, 1), (1, 3)]),  # skip: rows 0 and 2 are lost
        (4, 4, [(2, 0), (0, 1), (3, 2), (1, 3)]),  # mask: others fill their places
        (6, 6, [(2, 0), (0, 1), (3, 2), (1, 3), (4, 4), (5, 5)]),  # and the last step
    ],
)
def test_rows_of_a_bundle_with_lost_ones(rows: int, steps: int, want: list[tuple[int, int]]) -> None:
    total = 2 | 2 << 64 | (rows - 2) << 128 | 9 << 192
    dealt = _audit.deal(total, words(5, 7, 8, 9, 0, 2), rows, steps)
    assert [d[:2] for d in dealt] == want
    assert sum(d[2] for d in dealt) & (1 << 256) - 1 == total
    before = sum(total for _, step, total in dealt if step <= 1)
    assert before & (1 << 64) - 1 == 1 and before >> 64 & (1 << 64) - 1 == 1 and before >> 192 & (1 << 64) - 1 == 7, "up to the second step"


def test_the_command_proves_saved_states(shards: Path, engine_binary: Path, tmp_path: Path) -> None:
    """Of ranks that are killed and resumed on another number of ranks."""

    def train(world: int, steps: int, states: list[dict[str, Any]], name: str, **given: Any) -> list[dict[str, Any]]:
        datasets = [opened(shards, 50, rank=rank, world_size=world, **given) for rank in range(world)]
        after = []
        for rank, dataset in enumerate(datasets):
            if states:
                dataset.load_state_dict(states[min(rank, len(states) - 1)])
            left = steps
            while left:
                for _ in dataset:
                    left -= 1
                    if not left:
                        break
            after.append(dataset.state_dict())
            (tmp_path / f"{name}-{rank}.json").write_text(json.dumps({"epoch": 0, "loader": after[-1]}))
        return after

    def audit(*args: str) -> tuple[int, dict[str, Any]]:
        command = [str(engine_binary), "audit", str(shards), "--json", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    for given in ({}, {"tail": "carry"}, {"shuffle": False, "seed": 0}):
        first = train(2, 7, [], "a", **given)
        second = train(3, 30, first, "b", **given)
        code, proof = audit("--state", "a-*.json", "--state", "b-*.json")
        texts = [epoch["text"] for epoch in proof["epochs"]]
        assert code == 0 and proof["proved"] and len(texts) == 2, texts
        assert "each exactly once, on 2 then 3 ranks" in texts[0] and "each exactly once, on 3 ranks" in texts[1]
        code, proof = audit("--state", "b-0.json", "--state", "b-2.json")
        assert code == 0 and not proof["proved"]
        assert second[0] != second[1]

    code, proof = audit("--state", "a-0.json", "--state", "a-1.json")
    assert code == 0 and proof["epochs"][0]["rows"] == 700
    train(2, 6, [], "older", shuffle=False, seed=0)
    code, proof = audit("--state", "a-0.json", "--state", "older-1.json")
    assert code == 1 and "rank 1 of 2 has only an older state than rank 0" in proof["epochs"][-1]["text"]
