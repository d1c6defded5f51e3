"""Under JAX, on processors of this machine: make test-jax."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("jax", reason="JAX is not installed: make test-jax")

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from ranks import FRUGAL, JOBS, Line
from servers import ROOT, free_address

import shardfeed
import shardfeed.jax
from shardfeed import errors

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

ROWS = 4000
BATCH = 64  # rows of a global batch
STEPS = 10  # of jobs that are left early
IDS: dict[str, Any] = {"columns": ["id"], "seed": 7, "cast": {"id": "int32"}}


def data_sharding() -> NamedSharding:
    return NamedSharding(Mesh(np.array(jax.devices()), ("data",)), P("data"))


def ids_of(batches: Any) -> list[list[int]]:
    return [np.asarray(batch["id"]).tolist() for batch in batches]


def flat(steps: list[list[int]]) -> list[int]:
    return [i for step in steps for i in step]


# One process


@pytest.mark.parametrize("sharded", [False, True], ids=["on one device", "on four devices"])
def test_an_epoch_has_the_rows_of_a_data_set(runtime: Path, shards: Path, sharded: bool) -> None:
    loader = shardfeed.jax.DataLoader(shards, data_sharding() if sharded else None, global_batch_size=BATCH, **IDS)
    wanted = ids_of(shardfeed.StreamingDataset(shards, batch_size=BATCH, drop_last=True, **IDS))
    batches = list(loader)
    assert ids_of(batches) == wanted
    assert len(loader) == len(wanted) == ROWS // BATCH
    assert len(set(flat(wanted))) == len(flat(wanted))
    assert {len(batch["id"].sharding.device_set) for batch in batches} == {4 if sharded else 1}
    assert (loader.rank, loader.world_size, loader.size, list(loader.schema)) == (0, 1, ROWS, ["id"])
    assert loader.stats()["rows"] > 0
    second = ids_of(loader)
    assert second != wanted
    loader.set_epoch(0)
    assert ids_of(loader) == wanted


@pytest.mark.parametrize("steps", [1, 7, 61, 62])
def test_a_state_resumes_exactly(runtime: Path, shards: Path, steps: int) -> None:
    loader = shardfeed.jax.DataLoader(shards, data_sharding(), global_batch_size=BATCH, **IDS)
    batches = iter(loader)
    for _ in range(steps):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    again = shardfeed.jax.DataLoader(shards, global_batch_size=BATCH, **IDS)
    again.load_state_dict(state)
    left = ids_of(batches)
    assert ids_of(again) == (left or ids_of(loader))


def test_batches_of_a_data_set(runtime: Path, shards: Path) -> None:
    options: dict[str, Any] = {"columns": ["id", "x"], "cast": {"id": "int32"}, "tail": "pad"}
    dataset = shardfeed.StreamingDataset(shards, batch_size=BATCH, with_row_valid=True, **options)
    doubled = dataset.map(lambda batch: {"id": batch["id"], "twice": batch["x"] * 2, "_row_valid": batch.row_valid})
    kept = dataset.filter(lambda batch: batch["x"] < 100)
    seen, rows, masked = [], 0, 0
    for batch, of_function, of_filter in zip(
        shardfeed.jax.batches(dataset, data_sharding()), shardfeed.jax.batches(doubled), shardfeed.jax.batches(kept)
    ):
        assert (np.asarray(of_function["twice"]) == np.asarray(batch["id"]).astype(np.float32)).all()
        assert batch["id"].shape == batch["_row_valid"].shape == (BATCH,)
        assert isinstance(batch["_row_valid"], jax.Array) and batch["_row_valid"].dtype == bool
        seen += np.asarray(batch["id"])[np.asarray(batch["_row_valid"])].tolist()
        rows += BATCH
        masked += int(of_filter["_row_valid"].sum())
    assert sorted(seen) == list(range(ROWS))
    assert rows > ROWS, "the last batch has padding"
    assert masked == 200


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_the_wait_for_the_devices_is_a_copy(runtime: Path, shards: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def slow_put(value: Any) -> Any:
        time.sleep(0.01)
        return jnp.asarray(value)

    monkeypatch.setattr(jax, "device_put", slow_put)
    if kind == "torch":
        pytest.importorskip("torch")
        import shardfeed.torch
    make = shardfeed.torch.StreamingDataset if kind == "torch" else shardfeed.StreamingDataset
    dataset = make(shards, batch_size=BATCH, drop_last=True, **IDS).map(lambda batch: {"id": np.asarray(batch["id"])})
    steps = sum(1 for _ in shardfeed.jax.batches(dataset))
    parts = dataset.stats()["wait"]["parts"]
    assert parts["copy"] >= steps * 0.01
    assert parts.get("map", 0.0) < parts["copy"] / 2


def test_arrays_stay_as_they_are(runtime: Path, shards: Path) -> None:
    """100 further batches leave them alone, and what is made of donated ones is right."""
    options: dict[str, Any] = {"columns": ["x", "label"], "seed": 3}
    wanted = [(b["x"].copy(), b["label"].copy()) for b in shardfeed.StreamingDataset(shards, batch_size=32, **options)]
    assert len(wanted) == 125
    for over in (None, data_sharding()):
        double = jax.jit(lambda x: x * 2, donate_argnums=0)
        kept, doubled = [], []
        loader = shardfeed.jax.DataLoader(shards, over, global_batch_size=32, **options)
        for step, batch in enumerate(loader):
            if step < 20:
                kept.append(batch["label"])
            else:
                doubled.append(double(batch["x"]))
                assert batch["x"].is_deleted()
        for array, (_, label) in zip(kept, wanted[:20]):
            assert (np.asarray(array) == label).all()
        for array, (x, _) in zip(doubled, wanted[20:]):
            assert (np.asarray(array) == 2 * x).all()


def test_one_device_shares_the_memory_of_the_batch(runtime: Path, shards: Path) -> None:
    dataset = shardfeed.StreamingDataset(shards, batch_size=256, columns=["x"], drop_last=True)
    addresses = []

    def note(batch: Any) -> dict[str, Any]:
        addresses.append(batch["x"].ctypes.data)
        return {"x": batch["x"]}

    arrays = [batch["x"].unsafe_buffer_pointer() for batch in shardfeed.jax.batches(dataset.map(note))]
    assert arrays == addresses


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight rows of each kind of column."""
    count = range(8)
    columns = {
        "id": pa.array(count, pa.int64()),
        "large": pa.array([2**40 + i for i in count], pa.int64()),
        "unsigned": pa.array(count, pa.uint64()),
        "y": pa.array([i / 3 for i in count], pa.float64()),
        "huge": pa.array([1e300] * 8, pa.float64()),
        "day": pa.array([dt.date(2024, 1, 1 + i) for i in count]),
        "at": pa.array([dt.datetime(1970, 1, 1, 0, 0, i) for i in count], pa.timestamp("ms")),
        "flag": pa.array([i % 2 == 0 for i in count]),
        "half": pa.array([i / 2 for i in count], pa.float32()).cast(pa.float16()),
        "price": pa.array(count, pa.decimal128(18, 2)),
        "wide": pa.array(count, pa.decimal128(38, 2)),
        "word": [f"w{i}" for i in count],
        "raw": [b"x"] * 8,
        "list": [list(range(i)) for i in count],
        "map": pa.array([[("a", i)] for i in count], pa.map_(pa.string(), pa.int32())),
        "struct": pa.array([{"a": i, "b": {"c": i * 1.5}} for i in count]),
        "text_of": pa.array([{"t": "x"}] * 8),
        "nothing": pa.nulls(8),
        "bytes": pa.array([b"0" * 16] * 8, pa.binary(16)),
    }
    directory = tmp_path_factory.mktemp("types")
    pq.write_table(pa.table(columns), directory / "part-0.parquet")
    return directory


def first_batch(types: Path, *columns: str, **options: Any) -> Any:
    return next(iter(shardfeed.jax.DataLoader(types, global_batch_size=8, columns=list(columns), shuffle=False, **options)))


@pytest.fixture
def x64() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def test_columns_of_64_bits_with_x64(runtime: Path, types: Path, x64: None) -> None:
    batch = first_batch(types, "large", "unsigned", "huge", "at", "price")
    assert {name: str(array.dtype) for name, array in batch.items()} == {
        "large": "int64",
        "unsigned": "uint64",
        "huge": "float64",
        "at": "int64",
        "price": "int64",
    }
    assert batch["large"].tolist() == [2**40 + i for i in range(8)]
    assert batch["at"].tolist() == [1000 * i for i in range(8)]
    assert batch["price"].tolist() == [100 * i for i in range(8)]


def test_narrow(runtime: Path, types: Path) -> None:
    batch = first_batch(types, "id", "unsigned", "y", "at", "struct", narrow=True)
    assert (batch["id"].dtype, batch["unsigned"].dtype, batch["y"].dtype, batch["at"].dtype) == ("int32", "uint32", "float32", "int32")
    assert batch["id"].tolist() == batch["unsigned"].tolist() == batch["struct"]["a"].tolist() == list(range(8))
    assert np.asarray(batch["y"]).tolist() == np.float32([i / 3 for i in range(8)]).tolist()
    assert batch["struct"]["b"]["c"].tolist() == [i * 1.5 for i in range(8)]


@pytest.mark.parametrize(("column", "value"), [("large", "1099511627776"), ("huge", "1e\\+300")])
def test_narrow_refuses_values_that_do_not_fit(runtime: Path, types: Path, column: str, value: str) -> None:
    with pytest.raises(errors.DataError, match=f"column '{column}' has the value {value}, which does not fit") as error:
        first_batch(types, column, narrow=True)
    assert error.value.column == column


def test_other_types(runtime: Path, types: Path) -> None:
    batch = first_batch(types, "day", "flag", "half", "word", cast={"half": "bfloat16", "word": "int32"}, hash={"word": 5})
    assert batch["day"].tolist() == [19723 + i for i in range(8)]
    assert batch["flag"].tolist() == [True, False] * 4
    assert (batch["half"].dtype, batch["half"].tolist()) == (jnp.bfloat16, [i / 2 for i in range(8)])
    assert batch["word"].dtype == "int32" and set(batch["word"].tolist()) <= set(range(5))


def test_every_column_that_jax_cannot_take_is_named_at_once(runtime: Path, types: Path) -> None:
    with pytest.raises(errors.OptionError) as error:
        shardfeed.jax.DataLoader(types, global_batch_size=8)
    for words in (
        "column 'word' is string: JAX has no strings: give vocabulary={'word': words} or hash={'word': buckets}",
        "column 'text_of.t' is string",
        "column 'raw' is binary: JAX has no binary values",
        "column 'list' is list<int64>: lists of different lengths do not make an array: give pad={'list': 0}",
        "column 'map' is map",
        "column 'nothing' is null",
        "column 'bytes' is fixed binary(16)",
        "column 'wide' is decimal(38,2): it has more digits than any number of JAX: give cast={'wide': 'float32'}",
        "'large' (int64), 'unsigned' (uint64)",
    ):
        assert words in str(error.value)
    assert "'day'" not in str(error.value)


def test_the_cast_that_an_error_proposes_is_taken(runtime: Path, types: Path) -> None:
    columns = ["id", "unsigned", "y", "price", "at", "struct"]
    with pytest.raises(errors.OptionError, match=r"'at' \(int64\).*'struct.a' \(int64\).*silently") as error:
        first_batch(types, *columns)
    (cast,) = re.findall(r"cast=({.*?})", str(error.value))
    assert list(eval(cast)) == ["id", "unsigned", "y", "price"]
    batch = first_batch(types, *columns[:4], cast=eval(cast))
    assert batch["price"].tolist() == list(range(8))


@pytest.mark.parametrize(
    ("options", "compilations"),
    [
        ({"pad": {"tokens": 0}, "tail": "drop"}, range(2, 100)),
        ({"pad": {"tokens": {"value": 0, "max_length": 4, "to_max": True}}, "tail": "drop"}, range(1, 2)),
    ],
    ids=["to the longest", "to_max"],
)
def test_compilations(runtime: Path, shards: Path, options: dict[str, Any], compilations: range) -> None:
    compiled = []

    @jax.jit
    def step(tokens: jax.Array) -> jax.Array:
        compiled.append(tokens.shape)
        return tokens.sum()

    loader = shardfeed.jax.DataLoader(shards, global_batch_size=3, columns=["tokens"], seed=1, **options)
    assert sum(int(step(batch["tokens"])) for batch in loader) > 0
    assert len(compiled) in compilations


def refused(shards: Path) -> dict[str, tuple[Callable[[], Any], type[Exception], str]]:
    def loader(sharding: Any = None, **options: Any) -> Any:
        return shardfeed.jax.DataLoader(shards, sharding, **{"global_batch_size": BATCH, **IDS, **options})

    def batches(sharding: Any = None, **options: Any) -> Any:
        return shardfeed.jax.batches(shardfeed.StreamingDataset(shards, **{"batch_size": BATCH, **IDS, **options}), sharding)

    over, of = data_sharding(), errors.OptionError
    model = NamedSharding(Mesh(np.array(jax.devices()), ("model",)), P(None, "model"))
    text = shardfeed.StreamingDataset(shards, batch_size=BATCH, columns=["id"], drop_last=True)
    return {
        "no uri": (lambda: shardfeed.jax.DataLoader(), TypeError, "needs uri"),
        "no size": (lambda: shardfeed.jax.DataLoader(shards), TypeError, "needs global_batch_size"),
        "batch_size": (lambda: loader(batch_size=4), TypeError, "batch_size: give global_batch_size"),
        "rank": (lambda: loader(rank=0, world_size=2), TypeError, "the sharding says which rows"),
        "unknown": (lambda: loader(colums=["id"]), TypeError, "did you mean 'columns'"),
        "size": (lambda: loader(global_batch_size=0), of, "global_batch_size must be"),
        "narrow": (lambda: loader(narrow=1), of, "narrow must be True or False"),
        "no sharding": (lambda: loader("data"), of, "sharding must be a sharding of JAX.*got 'data'"),
        "parts": (lambda: loader(over, global_batch_size=BATCH + 2), of, "global_rows must be a multiple of the 4 parts .* got 66"),
        "second axis": (lambda: loader(model), of, "must shard the first axis, which is the rows"),
        "by column": (lambda: loader({"x": over}), of, "sharding has none for the column 'id'"),
        "no columns": (lambda: loader({}), of, "sharding must be a sharding of JAX.*got None"),
        "short": (lambda: batches(), of, "the last batch of an epoch would be short: .*drop_last=True"),
        "tail": (lambda: loader(tail="short"), of, "the last batch of an epoch would be short"),
        "rows": (lambda: batches(batch_size=None), of, "need batches: give the data set batch_size"),
        "skip": (lambda: loader(on_error="skip"), of, "on_error='skip' makes batches shorter"),
        "bucket": (
            lambda: loader(global_batch_size=1, columns=["tokens"], cast=None, bucket={"tokens": 64}, pad={"tokens": 0}),
            of,
            "bucket makes batches of several shapes",
        ),
        "no data set": (lambda: shardfeed.jax.batches([1]), of, "needs a shardfeed.StreamingDataset, got a list"),
        "place": (lambda: batches(over, rank=1, world_size=2, drop_last=True), of, "rank 1 of 2, and the sharding needs rank 0 of 1"),
        "wide function": (lambda: next(shardfeed.jax.batches(text.map(lambda b: {"y": b["id"] / 2}))), of, "column 'y' \\(float64\\)"),
        "text function": (lambda: next(shardfeed.jax.batches(text.map(lambda b: {"y": ["a"] * BATCH}))), of, "column 'y' is <U1"),
        "no mapping": (lambda: next(shardfeed.jax.batches(text.map(lambda b: b["id"]))), of, "must return a mapping of arrays"),
        "fewer rows": (
            lambda: next(shardfeed.jax.batches(text.map(lambda b: {"y": np.float32(b["id"][:3])}))),
            errors.DataError,
            "column 'y' has the shape \\[3\\], and a batch has 64 rows",
        ),
    }


REFUSED = """no uri, no size, batch_size, rank, unknown, size, narrow, no sharding, parts, second axis, by column, no columns, short, tail,
 rows, skip, bucket, no data set, place, wide function, text function, no mapping, fewer rows"""


@pytest.mark.parametrize("case", [case.strip() for case in REFUSED.split(",")])
def test_what_is_refused(runtime: Path, shards: Path, case: str) -> None:
    call, kind, says = refused(shards)[case]
    with pytest.raises(kind, match=says):
        call()


def test_place_in_one_process() -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
    for spec in (P(), P("data"), P("model"), P(("data", "model")), P("data", "model"), P(None)):
        assert shardfeed.jax.place(NamedSharding(mesh, spec), 8) == (0, 1)
    assert shardfeed.jax.place(SingleDeviceSharding(jax.devices()[0]), 7) == (0, 1)


EXIT = """
import jax, shardfeed, shardfeed.jax, shardfeed.grain
import sys
loader = shardfeed.jax.DataLoader(sys.argv[1], global_batch_size=32, columns=["x"])
batches = iter(loader)
array = next(batches)["x"]
dataset = iter(shardfeed.StreamingDataset(sys.argv[1], batch_size=32, columns=["x"]))
next(dataset)
pipeline = iter(shardfeed.grain.Source(sys.argv[1], batch_size=32, columns=["x"]).map(lambda batch: batch))
next(pipeline)
print(float(array.sum()) > 0)
"""


def test_iterators_that_are_alive_at_exit_leave_no_traceback(runtime: Path, shards: Path) -> None:
    env = {**os.environ, **FRUGAL, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", EXIT, shards], capture_output=True, text=True, timeout=200, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


# Two processes


def together(commands: list[list[object]], **environment: str) -> list[str]:
    """Runs processes at the same time, and returns what they print."""
    env = {**os.environ, **FRUGAL, "JAX_PLATFORMS": "cpu", **environment}
    env.pop("SHARDFEED_JOB", None)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, *map(str, command)], env=env, **pipes) for command in commands]
    try:
        ends = [process.communicate(timeout=280) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (out, err) in zip(started, ends):
        assert process.returncode == 0, f"{out}\n{err}"
    return [out for out, _ in ends]


@pytest.fixture(scope="module")
def told(runtime: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """What each of two processes of JAX saw, with two devices each; see jobs/jax_processes.py."""
    directory, address = tmp_path_factory.mktemp("jax"), free_address()
    alone = shardfeed.jax.DataLoader(shards, global_batch_size=BATCH, **IDS)
    batches = iter(alone)
    for _ in range(STEPS):
        next(batches)
    state = directory / "state.json"
    state.write_text(json.dumps(alone.state_dict()))
    together([[JOBS / "jax_processes.py", address, process, shards, directory, state] for process in range(2)])
    return [json.loads((directory / f"{process}.json").read_text()) for process in range(2)]


@pytest.fixture(scope="module")
def epoch(runtime: Path, shards: Path) -> list[list[int]]:
    """The steps of the epoch that one process reads."""
    return ids_of(shardfeed.jax.DataLoader(shards, global_batch_size=BATCH, **IDS))


@pytest.mark.parametrize("name", ["data", "data x model", "alternating", "reversed"])
def test_two_processes_share_each_batch(told: list[Line], name: str) -> None:
    first, other = (line[name] for line in told)
    assert [first["place"], other["place"]] == ([[1, 2], [0, 2]] if name == "reversed" else [[0, 2], [1, 2]])
    ids = flat(first["ids"]) + flat(other["ids"])
    assert len(ids) == len(set(ids)) == ROWS // BATCH * BATCH, "each row once"
    assert len(first["ids"]) == len(other["ids"])
    assert {len(step) for line in (first, other) for step in line["ids"]} == {BATCH // 2}
    assert first["total"] == other["total"] == sum(ids)
    assert first["state"] == other["state"]
    assert first["engine"] == other["engine"]


def test_a_model_that_spans_processes_gets_the_same_rows(told: list[Line], epoch: list[list[int]]) -> None:
    first, other = (line["model over processes"] for line in told)
    assert first["place"] == other["place"] == [0, 1]
    assert first["ids"] == other["ids"] == epoch[:STEPS]
    assert first["total"] == other["total"] == sum(flat(epoch[:STEPS]))


def test_columns_over_the_model_axis(told: list[Line]) -> None:
    rows = [[*range(i, i + i % 5), 0, 0, 0, 0][:4] for i in range(BATCH)]
    sums = [sum(column) for column in zip(*rows)]
    assert [line["matrix"] for line in told] == [[sums, sums]] * 2


def test_the_rank_of_a_data_set_is_that_of_jax(told: list[Line]) -> None:
    first, other = (line["without arguments"] for line in told)
    assert [first["place"], other["place"]] == [[0, 2], [1, 2]]
    assert not set(flat(first["ids"])) & set(flat(other["ids"]))
    assert [first["ids"], other["ids"]] == [line["data"]["ids"] for line in told]


def test_two_processes_continue_for_one(told: list[Line], epoch: list[list[int]]) -> None:
    ids = [flat([*steps]) for steps in zip(*(line["resumed"]["ids"] for line in told))]
    assert [sorted(step) for step in ids] == [sorted(step) for step in epoch[STEPS:]]


def test_one_process_continues_for_two(told: list[Line], shards: Path) -> None:
    seen = [i for line in told for i in flat(line["left"]["ids"])]
    alone = shardfeed.jax.DataLoader(shards, data_sharding(), global_batch_size=BATCH // 2, **IDS)
    alone.load_state_dict(told[0]["left"]["state"])
    rest = flat(ids_of(alone))
    assert len(seen) == STEPS * BATCH
    assert sorted(seen + rest) == list(range(ROWS))


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("longest", "each process would pad to its own longest list"),
        ("no sharding", "sharding must be given where there are several processes of JAX, 2 here"),
        ("uneven", "of 3 parts process 0 holds 0, 1; process 1 holds 2: use as many devices of each process"),
        ("place", "the data set reads as rank 0 of 4, and the sharding needs rank"),
        ("seeds", "RankMismatchError: .*seed: 0 on rank 0, 1 on rank 1"),
    ],
)
def test_what_two_processes_must_not_do(told: list[Line], case: str, says: str) -> None:
    for line in told:
        assert re.search(says, line["refused"][case], re.S)


def test_a_process_without_a_device(told: list[Line]) -> None:
    assert [line["refused"]["of the first"] for line in told] == [
        "nothing",
        "OptionError: sharding must have a device of this process, 1: it has those of 0",
    ]


# The page


PAGE = (ROOT / "docs" / "jax.md").read_text()


def test_few_lines_of_a_loop_change() -> None:
    diff = PAGE.split("```diff\n")[1].split("```")[0].splitlines()
    assert 0 < len([line for line in diff if line[:1] in ("+", "-")]) <= 5


def test_the_job_of_the_page(runtime: Path, shards: Path, tmp_path: Path) -> None:
    """Two processes train three epochs. One continues after the last checkpoint of theirs."""
    here = {
        "s3://bucket/clicks": str(shards),
        "checkpoint.pickle": str(tmp_path / "checkpoint.pickle"),
        "jax.distributed.initialize()": f'jax.distributed.initialize("{free_address()}", 2, int(sys.argv[2]))',
        "4096": str(BATCH),
    }
    job = PAGE.split("```py\n")[1].split("```")[0]
    for there, ours in here.items():
        assert there in job
        job = job.replace(there, ours)
    program = tmp_path / "job.py"
    program.write_text(job)
    # JAX alone hangs in programs with several collectives on two devices each of two processes.
    two = together([[program, "--hosts", process] for process in range(2)], JAX_NUM_CPU_DEVICES="1")
    (one,) = together([[program]], JAX_NUM_CPU_DEVICES="4")
    found = [re.search(r"process (\d) of (\d): 186 steps, {'b': Array\((.*?),.*'w': Array\((.*?),", out) for out in [*two, one]]
    assert all(found), [*two, one]
    places, weights = zip(*((match.groups()[:2], [float(w) for w in match.groups()[2:]]) for match in found if match))
    assert places == (("0", "2"), ("1", "2"), ("0", "1"))
    assert weights[0] == weights[1] and 0 not in weights[0]
    assert weights[2] == pytest.approx(weights[0], rel=1e-4)


def test_a_data_set_of_the_page(runtime: Path, shards: Path) -> None:
    names: dict[str, Any] = {"shardfeed": shardfeed, "rows": data_sharding()}
    block = PAGE.split("```py\n")[2].split("```")[0].replace("s3://bucket/clicks", str(shards)).replace("4096", str(BATCH))
    exec(block.replace("batch_size", 'columns=["x"], batch_size', 1), names)
    assert names["batch"]["x"].shape == (BATCH,)
