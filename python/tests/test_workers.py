"""Worker processes and threads of our loader, on the real engine: the same batches, order and state
for any number of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from shardfeed import errors  # noqa: E402
from shardfeed._engine import _channel  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402
from shardfeed.torch._workers import _outputs, _processes  # noqa: E402

ROWS, STEPS = 4000, 32
WAYS: dict[str, dict[str, int]] = {
    "no workers": {},
    "one worker": {"num_workers": 1},
    "two workers": {"num_workers": 2},
    "four workers": {"num_workers": 4},
    "two threads": {"threads": 2},
    "five threads": {"threads": 5},
}


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    """One engine for the module: a data set that stays open keeps it."""
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def open_shards(shards: Path, batch_size: int | None = 128, **given: Any) -> StreamingDataset[Any]:
    return StreamingDataset(shards, batch_size=batch_size, **({"cache": False, "seed": 7, "shuffle_buffer": 1000} | given))


def ids(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


@pytest.fixture(scope="module")
def epochs(one_engine, shards) -> list[list[list[int]]]:
    """What the epochs of open_shards are."""
    dataset = open_shards(shards)
    return [ids(dataset) for _ in range(4)]


def changed(batch: Any) -> Any:
    batch["x"] = batch["x"] * 2
    batch["label"].add_(1)
    return {**batch, "sum": batch["id"].sum(), "words": batch["text"].tolist()[:2]}


def noise(batch: Any, generator: torch.Generator) -> Any:
    return {"id": batch["id"], "noise": torch.rand(3, generator=generator)}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_for_any_number(shards, epochs, way):
    with DataLoader(open_shards(shards).map(changed), **WAYS[way]) as loader:
        assert len(loader) == STEPS
        batches = list(loader)
        assert ids(batches) == epochs[0]
        for batch in batches:
            assert torch.equal(batch["x"], batch["id"].float())
            assert torch.equal(batch["label"], (batch["id"] % 7 + 1).to(torch.int32))
            assert batch["sum"] == batch["id"].sum() and batch["words"] == [f"row {i}" for i in batch["id"][:2]]
            assert batch["tokens"].tolist() == [list(range(i, i + i % 5)) for i in batch["id"].tolist()]
        assert ids(loader) == epochs[1]
        for batch in loader:
            assert batch["id"].tolist() == epochs[2][0]
            break
        assert ids(loader) == epochs[3], "an epoch that was left is used up"
        loader.set_epoch(1)
        assert ids(loader) == epochs[1]


@pytest.mark.parametrize("before", WAYS)
def test_state(shards, epochs, before):
    """It counts batches that were handed out, and any other number continues."""
    loader = DataLoader(open_shards(shards), **WAYS[before])
    with loader:
        assert loader.state_dict() == open_shards(shards).state_dict()
        batches = iter(loader)
        assert ids(next(batches) for _ in range(7)) == epochs[0][:7]
        state = json.loads(json.dumps(loader.state_dict()))
        assert state["shardfeed"]["position"] == 7 * 128
        assert loader.dataset.state_dict() == state, "the data set's own, too"
        rest = ids(batches)
        assert rest == epochs[0][7:]
        ended = loader.state_dict()
    for after in ("no workers", "two workers", "two threads") if before != "two threads" else WAYS:
        with DataLoader(open_shards(shards), persistent_workers="workers" in after and after != "no workers", **WAYS[after]) as again:
            again.load_state_dict(state)
            assert again.state_dict() == state
            assert ids(again) == epochs[0][7:]
            assert ids(again) == epochs[1]
            again.load_state_dict(ended)
            assert ids(again) == epochs[1], "nothing is left of an epoch after its last batch"


@pytest.mark.parametrize("way", ["one worker", "four workers", "two threads"])
@pytest.mark.parametrize("steps", [1, 3])
def test_fewer_steps_than_workers(shards, way, steps):
    size = -(-ROWS // steps)
    with DataLoader(open_shards(shards, size), **WAYS[way]) as loader:
        assert len(loader) == steps and ids(loader) == ids(open_shards(shards, size))


@pytest.mark.parametrize("way", ["two workers", "two threads"])
@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks(shards, way, world_size):
    seen = []
    for rank in range(world_size):
        given = {"rank": rank, "world_size": world_size, "with_row_valid": True}
        with DataLoader(open_shards(shards, **given), **WAYS[way]) as loader:
            batches = list(loader)
        assert ids(batches) == ids(open_shards(shards, **given)) and len(batches) == len(loader)
        seen += [i for batch in batches for i in batch["id"][batch["_row_valid"]].tolist()]
    assert sorted(seen) == list(range(ROWS))


@pytest.mark.parametrize("way", WAYS)
def test_random_functions(shards, way):
    want = [batch["noise"] for batch in open_shards(shards).map(noise, random=True)]
    with DataLoader(open_shards(shards).map(noise, random=True), **WAYS[way]) as loader:
        assert all(torch.equal(batch["noise"], other) for batch, other in zip(loader, want, strict=True))


def number(row: Any) -> Any:
    return int(row["id"]), row["x"] + 1, row["text"]


def with_noise(row: Any, generator: torch.Generator) -> Any:
    return int(row["id"]), torch.rand(2, generator=generator).tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("world_size", [1, 2])
def test_rows(shards, way, world_size):
    given = {"rank": 0, "world_size": world_size, "shuffle_buffer": 300}
    want = list(open_shards(shards, None, **given).map(number))
    with DataLoader(open_shards(shards, None, **given).map(number), **WAYS[way]) as loader:
        assert len(loader) == len(want) == ROWS // world_size
        rows = iter(loader)
        first = [next(rows) for _ in range(333)]
        state = loader.state_dict()
        assert first + list(rows) == want
    with DataLoader(open_shards(shards, None, **given).map(number), **WAYS[way]) as loader:
        loader.load_state_dict(state)
        assert list(loader) == want[333:]
    drawn = list(open_shards(shards, None, **given).map(with_noise, random=True))
    with DataLoader(open_shards(shards, None, **given).map(with_noise, random=True), **WAYS[way]) as loader:
        assert list(loader) == drawn


def odd(batch: Any) -> torch.Tensor:
    return batch["id"] % 2 == 1


@pytest.mark.parametrize("way", ["two workers", "two threads"])
def test_filter_and_masks(shards, way):
    want = list(DataLoader(open_shards(shards)).with_valid("x").filter(odd))
    with DataLoader(open_shards(shards), **WAYS[way]).with_valid("x").filter(odd) as loader:
        for batch, other in zip(loader, want, strict=True):
            assert torch.equal(batch["_row_valid"], other["_row_valid"]) and torch.equal(batch["x_valid"], other["x_valid"])


def test_several_iterators(shards, epochs):
    with DataLoader(open_shards(shards), num_workers=2, persistent_workers=True) as loader:
        one, other = iter(loader), iter(loader)
        pairs = list(zip(one, other, strict=True))
        assert ids(a for a, _ in pairs) == epochs[0] and ids(b for _, b in pairs) == epochs[1]


# Memory


def as_it_is(batch: Any) -> Any:
    return batch


def test_what_is_not_changed_is_not_copied(shards, monkeypatch):
    """The trainer's tensors lie in the engine's ring."""
    with DataLoader(open_shards(shards, columns=["id", "x"]), num_workers=2, collate_fn=as_it_is) as loader:
        batches = iter(loader)
        first = next(batches)
        ring = loader.dataset._batches_of().connection.ring
        assert all(ring.address <= t.data_ptr() < ring.address + ring.bytes.nbytes for t in first.values())
        first["id"].add_(1)
        del first
        assert len(list(batches)) == STEPS - 1


@pytest.mark.parametrize("function", [as_it_is, changed])
@pytest.mark.parametrize("slots", [2, 3, 4, 5, None])
@pytest.mark.parametrize("way", ["two workers", "two threads"])
def test_batches_that_are_held(shards, epochs, slots, function, way):
    """All of them, in slots that are few: they stay as they are."""
    with DataLoader(open_shards(shards, slots=slots).map(function), **WAYS[way]) as loader:
        first, second = list(loader), list(loader)
        assert ids(first) == epochs[0] and ids(second) == epochs[1]
        assert [batch["text"].tolist() for batch in first] == [[f"row {i}" for i in step] for step in epochs[0]]
        del first, second
        assert ids(loader) == epochs[2]


def test_workers_have_slots_while_all_batches_are_held(shards, monkeypatch):
    """Batches are copied when they are handed out, not when the engine has no slot left."""

    def copied(*_: Any) -> None:
        raise AssertionError("a batch was copied before a worker had it")

    monkeypatch.setattr(_channel, "private", copied)
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=as_it_is) as loader:
        assert len(list(loader)) == STEPS


@pytest.mark.parametrize("function", [as_it_is, changed])
def test_a_loop_copies_nothing(shards, epochs, monkeypatch, function):
    """It holds one batch while it asks for the next. Slots that it has dropped do not count."""

    def copied(*_: Any) -> None:
        raise AssertionError("a batch was copied out of the ring")

    monkeypatch.setattr(_processes, "private", copied)
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=function) as loader:
        seen = []
        for batch in loader:
            seen.append(batch["id"].tolist())
        assert seen == epochs[0]


def waits_for_others(batch: Any) -> Any:
    """The first batch waits until another worker has had two."""
    begun, own = Path(os.environ["BEGUN"]), int(batch["id"][0])
    (begun / f"{own} in {os.getpid()}").touch()
    deadline = time.monotonic() + 20
    with contextlib.suppress(FileExistsError):
        (begun / "first").touch(exist_ok=False)
        while sum(not name.endswith(f" {os.getpid()}") for name in os.listdir(begun)) < 3:
            assert time.monotonic() < deadline, "no worker has had another batch"
            time.sleep(0.01)
    return batch


def test_workers_get_batches_while_the_first_one_takes_long(shards, epochs, monkeypatch, tmp_path):
    monkeypatch.setenv("BEGUN", str(tmp_path))
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=waits_for_others) as loader:
        assert ids(loader) == epochs[0]


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("came", ["batch", "result"])
def test_what_a_wait_listens_to(idle, came):
    """The engine too, where a worker has nothing to do. Else a result comes first."""
    listened: list[int | None] = []

    def wait(timeout: float | None, other: int | None) -> list[tuple[int, int]]:
        listened.append(other)
        return [(7 if came == "batch" else 3, 1)]

    waits: Any = object.__new__(_processes.Processes)
    connection = SimpleNamespace(settle=int, fileno=lambda: 7)
    batches = SimpleNamespace(connection=connection)
    waits._iterator, waits._timeout, waits._torn = SimpleNamespace(_batches=batches), 5.0, True
    waits._pool = SimpleNamespace(idle=lambda: idle, wait=wait, take=list, needs=())
    look = waits._wait(_processes.Job(), batches, 5.0)
    assert listened == [7 if idle else None]
    assert look == (came == "batch" or not idle), "after a result alone, the engine has no batch"
    waits._wait(_processes.Job(), None, 5.0)
    assert listened[1] is None, "there is no space for a batch"
    waits._pool = None  # it has nothing to close


def test_batches_that_are_held_before(shards, epochs):
    """The trainer has nearly all slots from an iteration without workers."""
    dataset = open_shards(shards, slots=4)
    held = list(dataset)
    with DataLoader(dataset, num_workers=2, collate_fn=as_it_is) as loader:
        assert ids(loader) == epochs[1] and ids(held) == epochs[0]


@pytest.mark.parametrize("slots", [2, 3, None])
@pytest.mark.parametrize("persistent", [False, True])
def test_iterations_that_are_left_while_workers_have_their_slots(shards, epochs, slots, persistent, tmp_path, monkeypatch):
    monkeypatch.setenv("OVERWRITTEN", str(tmp_path / "overwritten"))
    with DataLoader(open_shards(shards, slots=slots), num_workers=2, collate_fn=slow, persistent_workers=persistent) as loader:
        for epoch in epochs[:3]:
            for batch in loader:
                assert batch["id"].tolist() == epoch[0]
                break
        assert ids(loader) == epochs[3]
    assert not (tmp_path / "overwritten").exists(), "the slot of a batch that a worker had"


def slow(batch: Any) -> Any:
    before = batch["id"].tolist()
    time.sleep(0.04)
    if batch["id"].tolist() != before:
        Path(os.environ["OVERWRITTEN"]).touch()
    return batch


kept: list[Any] = []


def keeps(batch: Any) -> Any:
    """Of a worker: it has all its batches."""
    kept.append(batch["id"])
    return {"id": batch["id"], "all": [k.tolist() for k in kept]}


@pytest.mark.parametrize("slots", [2, 4, None])
def test_functions_that_keep_batches(shards, epochs, slots):
    with DataLoader(open_shards(shards, slots=slots), num_workers=2, collate_fn=keeps) as loader:
        steps = {tuple(step) for step in epochs[0]}
        for batch in loader:
            assert {tuple(k) for k in batch["all"]} <= steps


def keeps_some(batch: Any) -> Any:
    """Of a worker: it has its first batches until the sixth."""
    if len(kept) < 6:
        kept.append(batch["id"])
    if len(kept) == 6:
        kept[:5] = [None] * 5
        kept[5] = None
    return {"id": batch["id"] + 0}


def test_what_functions_drop_goes_back(shards, epochs):
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=keeps_some, persistent_workers=True) as loader:
        batches = iter(loader)
        first = [next(batches)["id"].tolist()]
        pool = batches._source._pool  # type: ignore[attr-defined]
        most = 0
        for batch in batches:
            first.append(batch["id"].tolist())
            most = max(most, len(pool.kept))
        assert first == epochs[0] and most > 0 and not pool.kept
        assert ids(loader) == epochs[1]


def grows(batch: Any) -> Any:
    return {"id": batch["id"], "large": torch.full((1 + int(batch["id"][0]) % 7, 40_000), int(batch["id"][1]))}


@pytest.mark.parametrize("persistent", [False, True])
def test_results_that_outgrow_their_slots(shards, epochs, persistent):
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=grows, persistent_workers=persistent) as loader:
        for epoch in epochs[:2]:
            for batch, step in zip(loader, epoch, strict=True):
                assert batch["id"].tolist() == step
                assert batch["large"].shape == (1 + step[0] % 7, 40_000) and (batch["large"] == step[1]).all()
        assert loader._reserved > 0, "beyond what the stream has reserved"


def huge(batch: Any) -> Any:
    return {"id": batch["id"], "huge": torch.zeros(1 << 20)}


def test_results_that_are_too_large(shards, monkeypatch):
    """Where the stream has no more memory, slots are fewer, and two at the least."""

    def refused(self: Any, size: int) -> None:
        if size:
            raise errors.MemoryLimitError("the stream has no more")

    monkeypatch.setattr(DataLoader, "_reserve", refused)
    with (
        DataLoader(open_shards(shards), num_workers=2, collate_fn=huge) as loader,
        pytest.raises(errors.MemoryLimitError, match=r"made of a batch takes 4\.0 MiB, and workers need memory for at least 2 of them"),
    ):
        next(iter(loader))
    monkeypatch.setattr(_outputs, "_LEAST_SLOTS", 1)  # as large as the reserve of seven is
    with DataLoader(open_shards(shards), num_workers=2, collate_fn=middling) as loader:
        assert ids(loader) == ids(open_shards(shards))
        assert loader._reserved == 0


def middling(batch: Any) -> Any:
    return {"id": batch["id"], "middling": torch.zeros(4096)}


def test_results_count_in_the_memory_of_the_stream(shards, job):
    """What is reserved, by the engine's own figures; and a limit that has no memory for them."""

    def reserved(**given: Any) -> int:
        with DataLoader(open_shards(shards, 50), collate_fn=as_it_is, **given) as loader:
            next(batches := iter(loader))
            assert batches is not None
            return int(loader.stats()["budget_bytes"])

    plain, many = reserved(), reserved(num_workers=2, prefetch_factor=50)
    assert many > plain * 2
    tight = DataLoader(open_shards(shards, 1000, memory="3MiB"), num_workers=2, prefetch_factor=500)
    with tight, pytest.raises(errors.MemoryLimitError):
        next(iter(tight))


def shaped(batch: Any) -> Any:
    """Another structure from batch to batch, made of its first id."""
    n = int(batch["id"][0])
    made = {"tensor": batch["x"] + n, "number": n, "text": str(n), "list": [n, batch["x"]], "array": batch["x"].numpy() * n}
    made |= {"bytes": batch["text"], "nothing": None}
    names = list(made)
    return {"id": batch["id"], **{names[(n + k) % 7]: made[names[(n + k) % 7]] for k in range(n % 5)}}


@pytest.mark.parametrize("way", ["two workers", "two threads"])
def test_another_structure_from_batch_to_batch(shards, way):
    want = list(open_shards(shards).map(shaped))
    with DataLoader(open_shards(shards).map(shaped), **WAYS[way]) as loader:
        for batch, other in zip(loader, want, strict=True):
            assert list(batch) == list(other)
            assert repr({k: v.tolist() if hasattr(v, "tolist") else v for k, v in batch.items()}) == repr(
                {k: v.tolist() if hasattr(v, "tolist") else v for k, v in other.items()}
            )
