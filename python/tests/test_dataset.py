"""StreamingDataset on the real engine: epochs, states, ranks, tails, rows."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import traceback
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
import shardfeed.torch
from shardfeed import StreamingDataset, _state, errors

ROWS = 4000


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    """One engine for the module: a data set that stays open keeps it."""
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def test_folders_with_other_files(shards, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(shards, folder)
    (folder / "README.md").write_text("what this is")
    said_once = "^shardfeed: 1 file is left out of .*folder, where the other files are parquet: README.md$"
    with pytest.warns(UserWarning, match=said_once) as said:
        dataset = open_shards(folder)
    assert len(said) == 1 and said[0].filename == __file__
    assert len(dataset) == -(-ROWS // 64)
    with pytest.raises(errors.ShardfeedError, match=r"beside parquet files it holds README.md.*folder/\*\*/\*.parquet"):
        open_shards(folder, strict=True)
    (folder / "LICENSE").write_text("what you may do with it")
    with pytest.raises(errors.ShardfeedError, match=r"give .*folder/\*\*/\*.parquet"):
        open_shards(folder)
    with pytest.warns(UserWarning, match="^shardfeed: 1 file is named more than once and read once, such as .*part-0.parquet$"):
        open_shards([shards, shards / "part-0.parquet"])


def open_shards(shards: Path, batch_size: int | None = 64, **given) -> StreamingDataset:
    return StreamingDataset(shards, batch_size=batch_size, **({"cache": False, "seed": 7, "shuffle_buffer": 1000} | given))


def ids(batches) -> list[int]:
    return [i for batch in batches for i in batch["id"][batch.row_valid].tolist()]


def test_an_epoch_is_each_row_once(shards):
    dataset = open_shards(shards)
    assert dataset.size == ROWS and len(dataset) == 63 and (dataset.rank, dataset.world_size) == (0, 1)
    seen = []
    for step, batch in enumerate(dataset):
        assert (batch.step, batch.epoch, batch.rows) == (step, 0, 64 if step < 62 else 32)
        np.testing.assert_array_equal(batch["x"], batch["id"].astype(np.float32) / 2)
        np.testing.assert_array_equal(batch["label"], batch["id"] % 7)
        assert batch["text"].tolist() == [f"row {i}" for i in batch["id"]]
        assert batch["tokens"].tolist() == [list(range(i, i + i % 5)) for i in batch["id"].tolist()]
        seen += batch["id"].tolist()
    assert len(seen) == ROWS and sorted(seen) == list(range(ROWS)) and seen != sorted(seen)


def test_schema_before_the_first_batch(shards):
    dataset = open_shards(shards, columns=["id", "text", "tokens"])
    schema = dataset.schema
    assert {name: field.dtype for name, field in schema.items()} == {"id": np.int64, "text": np.dtype(object), "tokens": np.int32}
    assert schema["tokens"].shape == (-1,) and schema["text"].is_text
    batch = next(iter(dataset))
    assert batch.schema == schema
    assert batch["id"].dtype == schema["id"].dtype


def test_file_order(shards):
    assert ids(StreamingDataset(shards, batch_size=100, shuffle=False, cache=False)) == list(range(ROWS))


def test_epochs(shards):
    dataset = open_shards(shards)
    first, second = ids(dataset), ids(dataset)
    assert sorted(first) == sorted(second) and first != second
    dataset.set_epoch(0)
    assert ids(dataset) == first
    assert ids(dataset) == second, "after a set epoch comes the next one"
    left = iter(dataset)
    assert next(left).epoch == 2
    assert next(iter(dataset)).epoch == 3, "an iteration that is left has used up its epoch"
    assert next(left).epoch == 2, "and goes on while it is held"
    assert ids(open_shards(shards)) == first, "another data set begins anew"


def test_two_iterators_at_once(shards):
    dataset = open_shards(shards)
    pairs = list(zip(dataset, dataset))
    assert sorted(ids(a for a, _ in pairs)) == sorted(ids(b for _, b in pairs)) == list(range(ROWS))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("after", [0, 1, 30, 61, 62, 63])
def test_state_goes_on_after_any_batch(shards, shuffle, after):
    given = {"seed": 3, "shuffle_buffer": 500} if shuffle else {"shuffle": False, "shuffle_buffer": None, "seed": 0}
    dataset = open_shards(shards, **given)
    batches = iter(dataset)
    taken = [next(batches) for _ in range(after)]
    state = json.loads(json.dumps(dataset.state_dict()))
    if taken:
        assert state["shardfeed"] == taken[-1].state["shardfeed"]
    rest = ids(batches) + ids(dataset)
    again = open_shards(shards, **given)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert len(again) == 63, "the whole epoch's"
    resumed = ids(again)
    if after in (0, 63):
        resumed = resumed if after == 63 else resumed + ids(again)
        assert resumed == rest[-len(resumed) :]
    else:
        assert resumed + ids(again) == rest


def test_a_state_shares_nothing() -> None:
    engines = {"position": 8, "params": {"lanes": 2}, "sources": [{"name": "web", "weights": [1, 2]}]}
    packed = _state.pack(engines)["shardfeed"]
    packed["params"]["lanes"] = 3
    packed["sources"][0]["weights"].append(3)
    packed["sources"].append({})
    assert engines == {"position": 8, "params": {"lanes": 2}, "sources": [{"name": "web", "weights": [1, 2]}]}


def test_state_of_one_rank_is_the_state_of_all(shards):
    def ranks(world, state=None, **given):
        all_ranks = [open_shards(shards, 50, rank=r, world_size=world, **given) for r in range(world)]
        for d in all_ranks:
            if state:
                d.load_state_dict(state)
        return all_ranks

    whole = ids(open_shards(shards, 50, max_world_size=3))
    two = ranks(2, max_world_size=3)
    iterators = [iter(d) for d in two]
    before = [next(i) for _ in range(7) for i in iterators]
    states = [d.state_dict() for d in two]
    assert states[0]["shardfeed"] == states[1]["shardfeed"]
    three = ranks(3, states[0], max_world_size=3)
    parts = [list(d) for d in three]
    assert {len(p) for p in parts} == {len(parts[0])}
    after = [b for step in zip(*parts) for b in step]
    assert sorted(ids(before)) == sorted(whole[:700])
    assert sorted(ids(after)) == sorted(whole[700:])


def test_a_loaded_position_is_not_overridden(shards):
    dataset = open_shards(shards)
    batches = iter(dataset)
    for _ in range(5):
        next(batches)
    state = dataset.state_dict()
    again = open_shards(shards)
    again.load_state_dict(state)
    again.set_epoch(0)
    assert [b.step for b in again][:1] == [5]
    assert next(iter(again)).epoch == 1, "the epoch that was set before is used up too"
    again.set_epoch(9)
    assert again.state_dict()["shardfeed"]["epoch"] == 9
    assert next(iter(again)).epoch == 9


def test_nothing_is_left_of_an_epoch_that_was_finished(shards):
    dataset = open_shards(shards)
    want = [ids(dataset) for _ in range(3)]
    first = open_shards(shards)
    list(first)
    state = first.state_dict()
    again = open_shards(shards)
    again.load_state_dict(state)
    seen = []
    for epoch in range(3):
        again.set_epoch(epoch)
        seen.append(ids(again))
    assert seen == [[], want[1], want[2]]


@pytest.mark.parametrize(
    "state, words",
    [
        (None, "got None"),
        ({"model": 1}, r"with the key 'shardfeed', got the keys \['model'\]"),
        ({"version": 2, "shardfeed": {}}, "must have version 1, got 2: it is of another release"),
        ({"version": 1, "shardfeed": {"seed": 1, "v": 1}}, "lacks plan, shuffle, epoch, position, rows, global_batch, manifest"),
    ],
)
def test_what_is_no_state(shards, state, words):
    with pytest.raises(errors.StateError, match=words):
        open_shards(shards).load_state_dict(state)


def test_what_was_edited(shards):
    dataset = open_shards(shards)
    state = dataset.state_dict()
    inner = state["shardfeed"]
    for edit, words in [
        ({"position": "ten"}, "position must be a whole number, got 'ten'"),
        ({"epoch": 1.5}, "epoch must be a whole number, got 1.5"),
        ({"shuffle": "yes"}, "shuffle must be True or False, got 'yes'"),
        ({"lines": 3}, "has lines, which"),
        ({"params": {**inner["params"], "lanes": None}}, None),
        ({"params": {"lanes": 3}}, "lacks quantum"),
        ({"params": 3}, "params must be a dict, got 3"),
        ({"position": 10**9}, "position: 1000000000 is not in"),
        ({"plan": "lane-tick/1"}, "finish the epoch with the version that saved the state"),
    ]:
        with pytest.raises(errors.ShardfeedError, match=words):
            dataset.load_state_dict({**state, "shardfeed": {**inner, **edit}})
            iter(dataset)
    dataset.load_state_dict({**state, "shardfeed": {**inner, "position": np.int64(64), "shuffle": np.bool_(True)}})
    assert json.loads(json.dumps(dataset.state_dict()))["shardfeed"]["position"] == 64
    assert next(iter(dataset)).step == 1


def test_what_a_state_brings(shards):
    state = open_shards(shards, seed=1).state_dict()
    want = ids(open_shards(shards, seed=1))
    other = open_shards(shards, seed=2)
    with pytest.warns(shardfeed.ShardfeedWarning) as caught:
        other.load_state_dict(state)
    assert str(caught[0].message) == "shardfeed: the state was taken with seed=1, which wins over seed=2 here"
    assert caught[0].filename == __file__
    assert ids(other) == want


@pytest.mark.parametrize("adapter", [StreamingDataset, shardfeed.torch.StreamingDataset, shardfeed.torch.DataLoader])
@pytest.mark.parametrize(
    ("name", "saved", "here"),
    [
        ("seed", 1, 2),
        ("shuffle", True, False),
        ("shuffle_buffer", 100, 40),
        ("shuffle_buffer", 100, "1KiB"),
        ("lanes", 2, 4),
        ("unit_rows", 9, 7),
        ("start", "filled", "direct"),
        ("epoch_size", 500, 600),
    ],
)
def test_a_state_wins_over_each_option(shards, adapter, name, saved, here):
    options = {"batch_size": 10, "cache": False, "columns": ["id"], "seed": 1, name: saved}
    state = adapter(shards, **options).state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapter(shards, **options).load_state_dict(state)
    shown = f"{name}={saved}, which wins over {name}={here}".replace("1KiB", "1024B")
    with pytest.warns(shardfeed.ShardfeedWarning, match=f"the state was taken with {shown} here"):
        adapter(shards, **options | {name: here}).load_state_dict(state)


def test_a_state_wins_over_the_seed_in_file_order(shards):
    def in_file_order(seed):
        return StreamingDataset(shards, batch_size=10, cache=False, shuffle=False, seed=seed)

    with pytest.warns(shardfeed.ShardfeedWarning, match="seed=1, which wins over seed=2 here"):
        in_file_order(2).load_state_dict(in_file_order(1).state_dict())


def test_a_state_of_epochs_of_another_length(shards):
    sized, whole = open_shards(shards, epoch_size=500), open_shards(shards)
    states = sized.state_dict(), whole.state_dict()
    for state, dataset, words in zip(states, (whole, sized), ("is 500 in the state and none", "is none in the state and 500")):
        dataset.load_state_dict(state)
        with pytest.raises(errors.StateError, match=f"epoch_size {words} here"):
            iter(dataset)


def test_state_of_other_data(shards, tmp_path):
    pq.write_table(pa.table({"id": range(100)}), tmp_path / "a.parquet")
    state = open_shards(shards).state_dict()
    other = StreamingDataset(tmp_path, batch_size=10, cache=False, seed=7)
    other.load_state_dict(state)
    with pytest.raises(errors.StateError):
        iter(other)


@pytest.mark.parametrize(
    "world, given, steps, padding",
    [
        (3, {}, 21, 32),
        (3, {"drop_last": True}, 20, 0),
        (3, {"tail": "pad"}, 21, 32),
        (1, {"tail": "pad"}, 63, 32),
        (1, {"drop_last": True}, 62, 0),
        (8, {}, 8, 96),
    ],
)
def test_tails(shards, world, given, steps, padding):
    parts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rank in range(world):
            dataset = open_shards(shards, rank=rank, world_size=world, **given)
            assert len(dataset) == steps
            parts.append(list(dataset))
    assert [len(p) for p in parts] == [steps] * world
    assert all(b.rows == 64 for p in parts for b in p)
    assert sum(b.padding for p in parts for b in p) == padding
    seen = [i for p in parts for i in ids(p)]
    assert len(seen) == len(set(seen)) == (ROWS if not given.get("drop_last") else steps * 64 * world)
    padded = [w for w in caught if issubclass(w.category, shardfeed.PaddingWarning)]
    assert len(padded) == (1 if padding else 0)
    for warning in padded:
        where = f" over all {world} ranks" if world > 1 else ""
        assert str(warning.message).startswith(f"shardfeed: the last of {steps} steps has {padding} rows of padding{where}, which repeat")
        assert "batch.row_valid is False for them" in str(warning.message)
        assert (warning.category, warning.filename) == (shardfeed.PaddingWarning, __file__)


def test_ranks_of_the_environment(shards, monkeypatch):
    dataset = open_shards(shards)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (dataset.rank, dataset.world_size, len(dataset)) == (2, 4, 16), "asked for when needed, not in the constructor"
    with pytest.raises(ValueError, match="belong together"):
        open_shards(shards, rank=1)
    with pytest.raises(ValueError, match=r"rank must be .* got 4"):
        open_shards(shards, rank=4, world_size=4)


def test_rows(shards):
    dataset = open_shards(shards, None)
    assert len(dataset) == ROWS
    rows = iter(dataset)
    taken = [next(rows) for _ in range(10)]
    for row in taken:
        i = int(row["id"])
        assert (row["x"], row["label"], row["text"], row["tokens"].tolist()) == (i / 2, i % 7, f"row {i}", list(range(i, i + i % 5)))
    state = dataset.state_dict()
    rest = [int(row["id"]) for row in rows]
    assert sorted([int(r["id"]) for r in taken] + rest) == list(range(ROWS))
    again = open_shards(shards, None)
    again.load_state_dict(state)
    assert [int(row["id"]) for row in again] == rest
    for rows_taken in (300, 3999, 4000):
        dataset = open_shards(shards, None)
        rows = iter(dataset)
        for _ in range(rows_taken):
            next(rows)
        state = dataset.state_dict()
        assert (state["shardfeed"]["epoch"], state["shardfeed"]["position"]) == ((0, rows_taken) if rows_taken < ROWS else (1, 0))
        assert state["shardfeed"]["global_batch"] == 1


def test_state_within_rows_of_ranks(shards):
    """Two ranks stop after the same number of rows, three go on: each row comes once."""
    datasets = [open_shards(shards, None, rank=r, world_size=2, max_world_size=3) for r in range(2)]
    two = [iter(d) for d in datasets]
    seen = [int(next(rows)["id"]) for _ in range(333) for rows in two]
    states = [d.state_dict() for d in datasets]
    assert states[0]["shardfeed"] == states[1]["shardfeed"] and states[0]["shardfeed"]["position"] == 666
    for r in range(3):
        dataset = open_shards(shards, None, rank=r, world_size=3, with_row_valid=True)
        dataset.load_state_dict(states[0])
        seen += [int(row["id"]) for row in dataset if row["_row_valid"]]
    assert len(seen) == ROWS and sorted(seen) == list(range(ROWS))


@pytest.mark.parametrize("world", [2, 3, 7])
@pytest.mark.parametrize("tail", ["drop", "pad", "short"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_rows_of_ranks(shards, world, tail, shuffle):
    given = {"tail": tail, "world_size": world} | ({} if shuffle else {"shuffle": False, "seed": 0, "shuffle_buffer": None})
    given["columns"] = ["id"]
    parts = [list(open_shards(shards, None, rank=r, with_row_valid=True, **given)) for r in range(world)]
    steps = -(-ROWS // world) if tail != "drop" else ROWS // world
    assert len(open_shards(shards, None, rank=0, **given)) == steps
    if tail != "short":
        assert {len(p) for p in parts} == {steps}
    seen = [int(row["id"]) for p in parts for row in p if row["_row_valid"]]
    assert len(seen) == len(set(seen)) == (ROWS if tail != "drop" else steps * world)
    assert tail == "pad" or all(row["_row_valid"] for p in parts for row in p)


def test_all_batches_can_be_held(shards):
    batches = list(open_shards(shards, 16))
    assert sorted(ids(batches)) == list(range(ROWS))
    gc.collect()
    np.testing.assert_array_equal(batches[0]["x"], batches[0]["id"].astype(np.float32) / 2)


def test_views_outlive_everything(shards):
    dataset = open_shards(shards)
    batch = next(iter(dataset))
    column, texts = batch["id"], batch["text"]
    want = column.tolist()
    del batch, dataset
    gc.collect()
    assert column.tolist() == want and texts.tolist() == [f"row {i}" for i in want]


def test_arrow_outlives_its_batch(shards):
    dataset = open_shards(shards, 50)
    batches = iter(dataset)
    batch = next(batches)
    arrow, want = batch.to_arrow(), batch.to_pylist()
    del batch
    for _ in batches:
        pass
    list(dataset)
    assert arrow.to_pylist() == want


def test_an_engine_that_was_killed(shards, job):
    dataset = open_shards(shards)
    whole = [ids(dataset), ids(dataset)]
    dataset.set_epoch(0)
    batches = iter(dataset)
    taken = [next(batches) for _ in range(3)]
    os.kill(dataset._control().welcome["pid"], signal.SIGKILL)
    with pytest.raises(errors.EngineGone, match="its log is"):
        taken.extend(batches)
    state = dataset.state_dict()
    assert state["shardfeed"] == taken[-1].state["shardfeed"], "which is known without the engine"
    again = open_shards(shards)
    again.load_state_dict(state)
    assert ids(taken) + ids(again) == whole[0]
    assert ids(dataset) == whole[1], "the data set goes on with a new engine, in the epoch that is next"
    assert len(dataset) == 63


def test_rows_by_number_are_refused(shards):
    with pytest.raises(TypeError, match="iterate over it"):
        open_shards(shards)[0]


def test_what_is_dropped_is_free(shards):
    dataset = open_shards(shards)
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        next(iter(dataset))
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 3, "one connection is kept for the next iteration"
    del dataset
    assert len(os.listdir("/proc/self/fd")) < descriptors + 1


def test_in_another_process(shards):
    dataset = open_shards(shards)
    first = ids(dataset)
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.size == ROWS and copy.schema == dataset.schema and repr(copy) == repr(dataset)
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            epoch, seen = pool.apply(_epoch, (dataset,))
        assert sorted(seen) == sorted(first)
        assert epoch == {"spawn": 1, "fork": 2}[method], "the engine counts the epochs of all copies"
    assert next(iter(dataset)).epoch == 3


def _epoch(dataset: StreamingDataset) -> tuple[int, list[int]]:
    batches = list(dataset)
    return batches[0].epoch, ids(batches)


def test_errors_at_the_users_line(shards, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        StreamingDataset(tmp_path / "nothing", batch_size=1)
    assert str(tmp_path / "nothing") in str(caught.value)
    with pytest.raises(errors.SchemaError, match=r"lable.*label"):
        open_shards(shards, columns=["lable"])
    with pytest.raises(errors.OptionError):
        open_shards(shards, pad={"x": 0})
    with pytest.raises(errors.MemoryLimitError, match="memory"):
        next(iter(open_shards(shards, memory=1000)))


def test_tracebacks_are_short(shards, tmp_path):
    """The user's line, and hardly any of the package's."""

    def frames(work):
        with pytest.raises(errors.ShardfeedError) as caught:
            work()
        assert caught.value.__cause__ is None
        found = traceback.extract_tb(caught.value.__traceback__)
        return [f.name for f in found if "/shardfeed/" in f.filename]

    assert frames(lambda: StreamingDataset(tmp_path / "nothing", batch_size=1)) == ["__init__"]
    iterator = iter(open_shards(shards, memory=1000))
    assert frames(lambda: next(iterator)) == ["__next__", "batch", "make"]
    dataset = open_shards(shards)
    state = dataset.state_dict()
    dataset.load_state_dict({**state, "shardfeed": {**state["shardfeed"], "position": 10**9}})
    assert frames(lambda: iter(dataset)) == ["__iter__", "_iterate", "_batches"]


def test_a_damaged_shard_is_named(shards, tmp_path):
    good = (shards / "part-0.parquet").read_bytes()
    (tmp_path / "bad.parquet").write_bytes(good[:1000] + bytes(500) + good[1500:])
    with pytest.raises(errors.DataError) as caught:
        list(StreamingDataset(tmp_path, batch_size=10, cache=False))
    assert caught.value.shard.endswith("bad.parquet") and caught.value.row_group == 0
    assert "bad.parquet" in str(caught.value)


def test_stats_have_the_names_of_bench(shards):
    dataset = open_shards(shards)
    list(dataset)
    figures = dataset.stats()
    assert figures["rows"] == ROWS and figures["batches"] == 63


def test_a_plan_pins_shards_and_order(shards, tmp_path, engine_binary):
    data = tmp_path / "data"
    shutil.copytree(shards, data)
    plan = tmp_path / "plan.json"
    subprocess.run([engine_binary, "plan", data, "--shuffle", "--seed", "7", "--no-cache", "--save", plan], check=True, capture_output=True)
    given = {"seed": 7, "shuffle_buffer": None}
    before = ids(open_shards(data, plan=plan, **given))
    assert before == ids(open_shards(data, **given))
    shutil.copy(data / "part-0.parquet", data / "part-9.parquet")
    assert open_shards(data, **given).size == ROWS + 1000
    dataset = open_shards(data, plan=plan, **given)
    assert dataset.size == ROWS and ids(dataset) == before
    assert ids(open_shards(data, plan=f"file://{plan}", **given)) == before
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        open_shards(data, plan=tmp_path / "nothing.json", **given)
    with pytest.raises(errors.OptionError, match=r"part-0\.parquet: not a plan of shardfeed: it begins like another kind of file"):
        open_shards(data, plan=data / "part-0.parquet", **given)


def test_relative_addresses(shards, monkeypatch):
    monkeypatch.chdir(shards)
    assert StreamingDataset("part-1.parquet", batch_size=10, cache=False).size == 1000
    assert StreamingDataset(["part-*.parquet"], batch_size=10, cache=False).size == ROWS


def test_repr_and_names():
    assert set(shardfeed.__all__) <= set(dir(shardfeed))


def test_quiet_exit(shards, runtime):
    """A program that just ends, in the middle of an epoch and with batches in hand, prints nothing."""
    program = f"""
        import shardfeed
        dataset = shardfeed.StreamingDataset({str(shards)!r}, batch_size=8, cache=False)
        held = []
        for i, batch in enumerate(dataset):
            held.append(batch["x"])
            if i == 10:
                break
        iterator = iter(dataset)
        batch = next(iterator)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=250, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("before", "here", "differs"), [("2KiB", "2KiB", False), ("2KiB", "4KiB", True), ("4KiB", "2KiB/rank", False), (300, "2KiB", True)]
)
def test_a_state_wins_over_a_buffer_in_bytes(shards, before, here, differs):
    state = open_shards(shards, shuffle_buffer=before).state_dict()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_shards(shards, shuffle_buffer=here).load_state_dict(state)
    assert ["shuffle_buffer" in str(w.message) for w in caught] == [True] * differs


def test_a_tail_that_differs_from_the_state(shards):
    state = open_shards(shards, tail="drop").state_dict()
    with pytest.warns(shardfeed.ShardfeedWarning, match="taken with tail=drop, and tail=short here wins: epochs end differently"):
        open_shards(shards, tail="short").load_state_dict(state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_shards(shards, tail="drop").load_state_dict(state)
        open_shards(shards).load_state_dict(state)
