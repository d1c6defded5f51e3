"""Several sources by weight: what batches hold, states, weights that change, and errors."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
from shardfeed import Source, StreamingDataset
from shardfeed.errors import DataError, OptionError, SchemaError, StateError

SIZES = {"web": 600, "code": 200, "books": 40}
FIRST = {name: 10_000 * n for n, name in enumerate(SIZES)}


@pytest.fixture
def tables(tmp_path: Path, runtime: Path) -> Path:
    """A folder for each source. Ids tell the source; web has a score, and books a body."""
    for name, rows in SIZES.items():
        (tmp_path / name).mkdir()
        ids = range(FIRST[name], FIRST[name] + rows)
        columns: dict[str, Any] = {"id": ids, "body" if name == "books" else "text": [f"{name} {i}" for i in ids]}
        if name == "web":
            columns["score"] = [i / rows for i in range(rows)]
        pq.write_table(pa.table(columns), tmp_path / name / "0.parquet", row_group_size=50)
    return tmp_path


def sources(tables: Path, **weights: float) -> dict[str, Source]:
    weights = weights or {"web": 6, "code": 3, "books": 1}
    return {name: Source(tables / name, weight=w, rename={"body": "text"} if name == "books" else None) for name, w in weights.items()}


def mixture(tables: Path, **more: Any) -> StreamingDataset[Any]:
    return StreamingDataset(**{"sources": sources(tables), "batch_size": 20, "columns": ["id", "text"], "seed": 5, **more})


def shares(ids: list[int]) -> dict[str, int]:
    counts = Counter(list(SIZES)[i // 10_000] for i in ids)
    return {name: counts[name] for name in SIZES}


def read(dataset: StreamingDataset[Any], batches: int | None = None) -> list[list[int]]:
    found = []
    for n, batch in enumerate(dataset):
        assert [str(t) for t in batch["text"]] == [f"{list(SIZES)[i // 10_000]} {i}" for i in batch["id"].tolist()]
        found.append(batch["id"].tolist())
        if n + 1 == batches:
            break
    return found


def flat(steps: list[list[int]]) -> list[int]:
    return [i for step in steps for i in step]


def test_batches_have_all_sources(tables: Path) -> None:
    dataset = mixture(tables, row_ids=True)
    assert dataset.size == 400  # until books have been read once
    assert len(dataset) == 20
    for batch in dataset:
        assert np.array_equal(batch["source"], batch["id"] // 10_000)
        if len(batch["id"]) == 20:
            assert list(np.bincount(batch["source"], minlength=3)) == pytest.approx([12, 6, 2], abs=2)
    assert dataset.stats()["sources"] == pytest.approx({"web": 240, "code": 120, "books": 40}, abs=2)


def test_epochs(tables: Path) -> None:
    once = flat(read(mixture(tables)))
    assert len(set(once)) == len(once) == 400
    assert shares(once) == {"web": 240, "code": 120, "books": 40}
    every = flat(read(mixture(tables, stop="all")))
    assert shares(every) == {"web": 600, "code": 300, "books": 100}
    assert set(every) == {i for name, rows in SIZES.items() for i in range(FIRST[name], FIRST[name] + rows)}
    assert mixture(tables, epoch_size=100).size == 100


def test_repeat_and_choose(tables: Path) -> None:
    chosen = {"web": Source(tables / "web", choose=100), "code": Source(tables / "code"), "books": Source(tables / "books", repeat=3)}
    dataset = StreamingDataset(sources=chosen, batch_size=20, columns=["id"])
    for _ in range(3):
        ids = [i for batch in dataset for i in batch["id"].tolist()]
        assert shares(ids) == {"web": 100, "code": 200, "books": 120}


def assert_whole_passes(ids: list[int]) -> None:
    """Each row of a source came as often as any other, or once more in the pass in progress."""
    times = Counter(ids)
    for name, rows in SIZES.items():
        of = [times[i] for i in range(FIRST[name], FIRST[name] + rows)]
        passes, rest = divmod(sum(of), rows)
        assert Counter(of) == Counter({passes: rows - rest, passes + 1: rest}) - Counter(), name


@pytest.mark.parametrize("lanes", [None, 64])
@pytest.mark.parametrize("world_size", [1, 3, 16])
@pytest.mark.parametrize(
    ("arguments", "epoch"),
    [
        ({}, {"web": 240, "code": 120, "books": 40}),
        ({"stop": "all"}, {"web": 600, "code": 300, "books": 100}),
        ({"epoch_size": 480}, {"web": 288, "code": 144, "books": 48}),
        ({"epoch_size": 333}, None),
        ({"batching": "per_source"}, None),
    ],
)
def test_passes_are_whole(
    tables: Path, arguments: dict[str, Any], epoch: dict[str, int] | None, world_size: int, lanes: int | None
) -> None:
    """Every epoch ends with whole passes and parts of one, and has as many samples of each source as its stop says."""
    more = {"batch_size": 48 // world_size, "world_size": world_size, "lanes": lanes, "tail": "short"} | arguments
    ranks = [mixture(tables, rank=rank, **more) for rank in range(world_size)]
    ids: list[int] = []
    for _ in range(3):
        got = [i for dataset in ranks for i in flat(read(dataset))]
        if epoch:
            assert shares(got) == epoch
        ids += got
        assert_whole_passes(ids)


@pytest.mark.parametrize(
    ("arguments", "least"), [({}, {}), ({"stop": "all"}, SIZES), ({"sources": "choose"}, {"web": 100, "code": 200, "books": 15})]
)
def test_epochs_of_steps_of_one_source(tables: Path, arguments: dict[str, Any], least: dict[str, int]) -> None:
    """An epoch has whole steps of each source, at least as many samples as its stop says, and as many as size says."""
    if "sources" in arguments:
        arguments = {"sources": {name: Source(tables / name, choose=n, rename={"body": "text"}) for name, n in least.items()}}
        arguments["sources"]["web"] = Source(tables / "web", choose=100)
        arguments["sources"]["code"] = Source(tables / "code", choose=200)
    dataset = mixture(tables, batching="per_source", batch_size=32, **arguments)
    size, got = dataset.size, shares(flat(read(dataset)))
    assert size == sum(got.values()) == 32 * len(dataset)
    assert all(n % 32 == 0 for n in got.values())
    assert all(got[name] >= n for name, n in least.items())
    assert any(got[name] >= n for name, n in (least or SIZES).items())
    if "sources" in arguments:
        assert got == {"web": 128, "code": 224, "books": 32}


def test_passes_are_whole_after_weights_were_set(tables: Path) -> None:
    """On three ranks, then on two with other weights, then on four with others again."""
    ids: list[int] = []
    state, more = None, {"epoch_size": 1200, "tail": "drop"}
    for world_size, weights in ((3, {"books": 9}), (2, {"web": 1}), (4, {"code": 0}), (1, {"code": 7})):
        for rank in range(world_size):
            dataset = mixture(tables, batch_size=60 // world_size, rank=rank, world_size=world_size, **more)
            if state:
                dataset.load_state_dict(state)
            ids += flat(read(dataset, batches=4))
        assert_whole_passes(ids)
        dataset.set_weights(weights)
        state = dataset.state_dict()


@pytest.mark.parametrize("tail", ["drop", "pad", "carry"])
def test_batches_of_one_source_each(tables: Path, tail: str) -> None:
    dataset = mixture(tables, batching="per_source", epoch_size=390, tail=tail)
    assert dataset.size == 400  # whole steps
    assert len(dataset) == 20
    steps = read(dataset)
    assert [len(ids) for ids in steps] == [20] * 20
    assert all(len({i // 10_000 for i in ids}) == 1 for ids in steps)
    assert shares(flat(steps)) == pytest.approx({"web": 240, "code": 120, "books": 40}, abs=20)
    taken = dataset.stats()["sources"]
    assert taken == shares(flat(steps))


def test_states_of_batches_of_one_source(tables: Path) -> None:
    """A run continues at another world size with the same steps, also after new weights."""
    given = {"batching": "per_source", "epoch_size": 400, "lanes": 4}
    first = mixture(tables, **given)
    got = read(first, batches=5)
    first.set_weights({"books": 0})
    state = first.state_dict()
    whole = [sorted(ids) for ids in read(first)]
    parts: list[list[int]] = [[] for _ in whole]
    for rank in range(2):
        rest = mixture(tables, batch_size=10, rank=rank, world_size=2, **given)
        rest.load_state_dict(state)
        for n, ids in enumerate(read(rest)):
            parts[n] += ids
    assert [sorted(ids) for ids in parts] == whole
    assert len(got) + len(whole) == 20
    assert shares(flat(whole))["books"] == 0
    other = mixture(tables, batch_size=15, **given)
    other.load_state_dict(state)
    with pytest.raises(OptionError, match="batch_size times the world size must be 20 as in the state, got 15 x 1"):
        read(other)
    stratified = mixture(tables, epoch_size=400, lanes=4)
    stratified.load_state_dict(state)
    with pytest.raises(StateError, match="batching is per_source in the state and stratified here"):
        read(stratified)


def test_a_plan_pins_sources(tables: Path, engine_binary: Path) -> None:
    """A plan that the command saved for six ranks, for one rank, with shards that came later."""
    file, plan = tables / "sources.json", tables / "plan.sfp"
    weights = {"web": 6, "code": 3}
    file.write_text(json.dumps({name: {"addresses": [str(tables / name)], "weight": w} for name, w in weights.items()}))
    save = ["plan", "--sources", file, "--shuffle", "--world-size", "6", "--columns", "id", "--no-cache", "--save", plan]
    subprocess.run([engine_binary, *save], check=True, capture_output=True)
    given: dict[str, Any] = {"sources": sources(tables, **weights), "columns": ["id"], "batch_size": 20, "epoch_size": 400}
    before = StreamingDataset(**given, plan=plan)
    want = [batch["id"].tolist() for batch in before]
    assert before.state_dict()["shardfeed"]["lanes"] == 6
    shutil.copy(tables / "web/0.parquet", tables / "web/9.parquet")
    assert [batch["id"].tolist() for batch in StreamingDataset(**given, plan=plan)] == want
    with pytest.raises(OptionError, match=r'sources must be those that the plan was saved with, \["web" "code"\], got \["web"\]'):
        StreamingDataset(**{**given, "sources": sources(tables, web=1)}, plan=plan)


def test_single_rows_are_in_no_batch_of_one_source(tables: Path) -> None:
    with pytest.raises(OptionError, match="batching 'per_source' needs a batch_size, got None"):
        mixture(tables, batching="per_source", batch_size=None)


def test_weights_in_tokens(tmp_path: Path, runtime: Path) -> None:
    """Equal weights of tokens are three times as many samples of a third of the tokens."""
    for name, first, length in (("short", 0, 10), ("long", 1000, 30)):
        (tmp_path / name).mkdir()
        table = pa.table({"id": range(first, first + 200), "token_ids": [[7] * length] * 200, "mask": [[1]] * 200})
        pq.write_table(table, tmp_path / name / "0.parquet", row_group_size=50)
    both = {name: Source(tmp_path / name) for name in ("short", "long")}
    dataset = StreamingDataset(sources=both, batch_size=20, columns=["id"], epoch_size=400, weights_in="tokens", tokens="token_ids")
    ids = [i for batch in dataset for i in batch["id"].tolist()]
    assert sum(i < 1000 for i in ids) == pytest.approx(300, abs=2)
    dataset.set_weights({"long": 0.5})  # tokens too: 6 of 7 samples are short
    state = dataset.state_dict()
    ids = [i for batch in dataset for i in batch["id"].tolist()]
    assert sum(i < 1000 for i in ids) == pytest.approx(343, abs=2)
    in_samples = StreamingDataset(sources=both, batch_size=20, columns=["id"], epoch_size=400)
    in_samples.load_state_dict(state)
    assert [i for batch in in_samples for i in batch["id"].tolist()] == ids
    with pytest.raises(OptionError, match="there are token_ids, mask: name one of them by tokens"):
        StreamingDataset(sources=both, batch_size=20, weights_in="tokens")


def test_rules_of_sources(tables: Path) -> None:
    chosen = {
        "web": Source(tables / "web", filters=[("score", "<", 0.25)]),
        "code": Source(tables / "code", parts={"train": 3, "val": 1}, part="val"),
        "books": Source(tables / "books", filters="id >= 20010", rename={"body": "text"}),
    }
    dataset = StreamingDataset(sources=chosen, batch_size=10, columns=["id"], stop="all")
    by: dict[str, set[int]] = {name: set() for name in SIZES}
    for batch in dataset:
        for i in batch["id"].tolist():
            by[list(SIZES)[i // 10_000]].add(i)
    assert by["web"] == set(range(150))
    assert len(by["code"]) == 50
    assert by["books"] == set(range(20010, 20040))


@pytest.mark.parametrize(
    ("source", "alone"),
    [
        ({"parts": {"a": 1, "b": 2}, "part": "a", "part_seed": 9}, {}),
        ({"parts": {"a": 1, "b": 2}, "part": "a", "part_key": "text", "part_seed": 2}, {}),
        ({"subsample": 0.3}, {}),
        ({"row_weight": "score"}, {"weight": "score"}),
        ({"rows": "chosen.rows", "rows_new": "drop"}, {}),
        ({"rows": "chosen.rows", "rows_new": "keep"}, {}),
    ],
)
def test_rules_of_sources_are_those_of_data_sets(tables: Path, source: dict[str, Any], alone: dict[str, Any]) -> None:
    """A source alone has the rows that the same arguments choose of a data set."""
    web = tables / "web"
    if "rows" in source:
        source = {**source, "rows": tables / "chosen.rows"}
        shardfeed.select(web, lambda batch: batch["id"] % 3 == 0, columns=["id"], save=source["rows"])
        pq.write_table(pa.table({"id": [7000, 7001], "text": ["web 7000", "web 7001"], "score": [0.5, 0.5]}), web / "1.parquet")
    arguments = {name: value for name, value in source.items() if name != "row_weight"} | alone
    want = sorted(flat(read(StreamingDataset(web, batch_size=20, columns=["id", "text"], **arguments))))
    mixed = StreamingDataset(sources={"web": Source(web, **source)}, batch_size=20, columns=["id", "text"], lanes=1, tail="short")
    assert sorted(flat(read(mixed))) == want and 0 < len(want) < 600


def test_missing_columns(tables: Path) -> None:
    dataset = mixture(tables, columns=None, missing="null")
    assert list(dataset.schema) == ["id", "text", "score"]
    for batch in dataset:
        assert np.array_equal(np.isnan(batch["score"]), batch["id"] >= 10_000)
    with pytest.raises(shardfeed.errors.SchemaError, match='column "score"'):
        mixture(tables, columns=None)


@pytest.mark.parametrize("world_size", [1, 2])
def test_states(tables: Path, world_size: int) -> None:
    """A state that is loaded into another number of ranks goes on after the last batch."""
    whole = read(mixture(tables, tail="pad"))
    first = mixture(tables, tail="pad")
    got = read(first, batches=7)
    state = first.state_dict()
    for rank in range(world_size):
        rest = mixture(tables, tail="pad", batch_size=20 // world_size, rank=rank, world_size=world_size)
        rest.load_state_dict(state)
        for n, ids in enumerate(read(rest)):
            if rank == 0:
                got.append([])
            got[7 + n] += ids
    assert [sorted(set(ids)) for ids in got] == [sorted(set(ids)) for ids in whole]


def test_set_weights(tables: Path) -> None:
    dataset = mixture(tables, epoch_size=200)
    read(dataset)
    dataset.set_weights({"web": 0, "books": 3})
    state = dataset.state_dict()
    assert state["shardfeed"]["weights"] == [[0, [6, 3, 1]], [200, [0, 3, 3], True]]
    second = read(dataset)
    assert shares(flat(second)) == pytest.approx({"web": 0, "code": 100, "books": 100}, abs=2)
    other = mixture(tables, epoch_size=200)
    other.load_state_dict(state)
    assert read(other) == second
    assert other.state_dict()["shardfeed"]["weights"] == state["shardfeed"]["weights"]


def test_set_weights_in_the_middle(tables: Path) -> None:
    """The weights change at the batch; no sample is lost and none comes again."""
    dataset = mixture(tables, epoch_size=400)
    before = read(dataset, batches=5)
    dataset.set_weights({"code": 0})
    after = read(dataset)
    assert len(before) + len(after) == 20
    assert shares(flat(after))["code"] == 0
    web = [i for i in flat(before + after) if i < 10_000]
    assert len(set(web)) == len(web)


def test_set_weights_among_other_changes(tables: Path) -> None:
    """Changes before stay, and changes that come later; a second change at one place replaces the first."""
    dataset = mixture(tables, epoch_size=400, curriculum=[(40, {"web": 2}), (200, {"web": 1, "code": 0})])
    read(dataset, batches=5)
    for weight in (8, 9):
        dataset.set_weights({"books": weight})
        weights = dataset.state_dict()["shardfeed"]["weights"]
        assert weights == [[0, [6, 3, 1]], [40, [2, 3, 1]], [100, [2, 3, weight], True], [200, [1, 0, 1]]]
    rest = read(dataset)
    assert shares(flat(rest[:5])) == pytest.approx({"web": 14, "code": 22, "books": 64}, abs=2)
    assert shares(flat(rest[5:])) == pytest.approx({"web": 100, "code": 0, "books": 100}, abs=2)


def test_weights_may_change_63_times(tables: Path) -> None:
    dataset = mixture(tables, epoch_size=400, curriculum=[(300 + n, {"web": n}) for n in range(1, 63)])
    read(dataset, batches=1)
    dataset.set_weights({"web": 2})
    assert len(dataset.state_dict()["shardfeed"]["weights"]) == 64
    read(dataset, batches=1)
    with pytest.raises(OptionError, match="the weights can change 63 times in a run"):
        dataset.set_weights({"web": 3})


def test_curriculum(tables: Path) -> None:
    dataset = mixture(tables, epoch_size=400, curriculum=[(100, {"web": 0}), (200, {"web": 6, "code": 0})])
    steps = read(dataset)
    assert shares(flat(steps[:5])) == pytest.approx({"web": 60, "code": 30, "books": 10}, abs=2)
    assert shares(flat(steps[5:10])) == pytest.approx({"web": 0, "code": 75, "books": 25}, abs=2)
    assert shares(flat(steps[10:])) == pytest.approx({"web": 171, "code": 0, "books": 29}, abs=2)


def test_seeds_differ_from_pass_to_pass(tables: Path) -> None:
    """Rows of a small source come many times in an epoch, each time with other seeds."""
    dataset = mixture(tables, stop="all", seeds=True)
    seen: dict[int, set[int]] = {}
    for batch in dataset:
        for i, seed in zip(batch["id"].tolist(), batch["_seed"].tolist()):
            assert seed not in seen.setdefault(i, set())
            seen[i].add(seed)
    assert max(map(len, seen.values())) == 3


def test_states_of_other_sources(tables: Path) -> None:
    state = mixture(tables).state_dict()
    others = {
        "other names": (mixture(tables, sources=sources(tables, web=1, code=1)), "sources is"),
        "one data set": (StreamingDataset(tables / "web", batch_size=20, seed=5), "sources is"),
        "another filter": (
            StreamingDataset(
                sources={**sources(tables), "web": Source(tables / "web", weight=6, filters="id > 5")},
                batch_size=20,
                columns=["id", "text"],
            ),
            "sources.web.rule",
        ),
    }
    for what, (dataset, message) in others.items():
        dataset.load_state_dict(state)
        with pytest.raises((StateError, DataError), match=message):
            next(iter(dataset))
            pytest.fail(what)
    plain = StreamingDataset(tables / "web", batch_size=20, seed=5).state_dict()
    dataset = mixture(tables)
    dataset.load_state_dict(plain)
    with pytest.raises(StateError, match="sources is none"):
        next(iter(dataset))


def test_states_that_were_edited(tables: Path) -> None:
    state = mixture(tables).state_dict()
    for edit, message in (
        (lambda s: s["weights"].append([0, [1, 1, 1]]), "weights: must be from ascending samples"),
        (lambda s: s["weights"].append([50, [1, 1]]), "one for each of 3 sources, got 2"),
        (lambda s: s["weights"].append([50, [0, 0, 0]]), "must have one above 0"),
        (lambda s: s["weights"].append([50, [1, -1, 1]]), "weights"),
        (lambda s: s["sources"].pop(), "weights"),
        (lambda s: s.update(weights=[[0, [1, 1, object()]]]), "JSON values"),
        (lambda s: s.update(batching="per_source"), "batching"),
        (lambda s: s["counts"].append(1), "counts: must be of each of 3 sources"),
        (lambda s: s.update(plan="mix/1"), "finish the epoch with the version that saved the state"),
        (lambda s: s.update(plan="mix/2"), "finish the epoch with the version that saved the state"),
    ):
        bad = copy.deepcopy(state)
        edit(bad["shardfeed"])
        with pytest.raises(StateError, match=message):
            dataset = mixture(tables)
            dataset.load_state_dict(bad)
            next(iter(dataset))
    numpy = copy.deepcopy(state)
    numpy["shardfeed"]["weights"] = [[np.int64(0), list(np.array([6.0, 3.0, 1.0]))]]
    dataset = mixture(tables)
    dataset.load_state_dict(numpy)
    assert read(dataset) == read(mixture(tables))


@pytest.mark.parametrize(
    ("here", "message"),
    [
        ({}, None),
        ({"epoch_size": 300}, "epoch_size=400, which wins over epoch_size=300 here"),
        ({"curriculum": [(100, {"web": 2})]}, r"which wins over weights=.*\(100, {'web': 2.0, 'code': 3.0, 'books': 1.0}\)"),
        (
            {"weights": {"web": 1}},
            "weights={'web': 6, .*}, which wins over weights={'web': 1.0, 'code': 3.0, 'books': 1.0}",
        ),
        ({"shuffle_buffer": 60}, "shuffle_buffer=.*, which wins over shuffle_buffer=60 here"),
        ({"shuffle_buffer": 300}, None),
        ({"shuffle_buffer": "1GiB/rank"}, None),
        ({"shuffle_buffer": "1GiB"}, "shuffle_buffer=.*, which wins over shuffle_buffer=1073741824B here"),
        ({"shuffle_buffer": "2KiB"}, "shuffle_buffer=.*, which wins over shuffle_buffer=2048B here"),
        ({"lanes": 4}, "lanes=2, which wins over lanes=4 here"),
        ({"unit_rows": 10}, "unit_rows=0, which wins over unit_rows=10 here"),
        ({"start": "direct"}, "start=filled, which wins over start=direct here"),
        ({"weights_in": "samples"}, None),
        ({"weights_in": "tokens", "tokens": "words"}, "weights_in=samples, which wins over weights_in=tokens here"),
    ],
)
def test_options_that_a_state_brings(tables: Path, here: dict[str, Any], message: str | None) -> None:
    """A state wins over other options, and says so. Weights that set_weights made are no other options."""
    for name in SIZES:
        table = pq.read_table(tables / name / "0.parquet")
        table = table.append_column("words", pa.array([[i, i] for i in range(len(table))]))
        pq.write_table(table, tables / name / "0.parquet", row_group_size=50)
    run = mixture(tables, epoch_size=400, shuffle_buffer=300, lanes=2, columns=["id", "text", "words"])
    read(run, batches=1)
    run.set_weights({"books": 2})
    others = dict(here)
    weights = {"web": 6, "code": 3, "books": 1} | others.pop("weights", {})
    given = {"epoch_size": 400, "shuffle_buffer": 300, "lanes": 2, "sources": sources(tables, **weights)} | others
    given["columns"] = ["id", "text", "words"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture(tables, **given).load_state_dict(run.state_dict())
    texts = [str(w.message) for w in caught]
    assert len(texts) == (message is not None), texts
    assert message is None or re.search(message, texts[0]), texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": {}}, "sources must be a dict of Source by name"),
        ({"sources": {"web": "web/"}}, r"write Source\('web/'\)"),
        ({"sources": {"": Source("x")}}, "sources must have names"),
        ({"sources": {"web": Source("x", weight=0)}}, r"sources\['web'\] weight must be a number above 0, got 0"),
        ({"sources": {"web": Source("x", weight=float("nan"))}}, "weight must be a number above 0, got nan"),
        ({"sources": {"web": Source("x", weight=float("inf"))}}, "weight must be a number above 0, got inf"),
        ({"sources": {"web": Source("x", weight=-1)}}, "weight must be a number above 0, got -1"),
        ({"sources": {"web": Source("x", weight="7")}}, "weight must be a number above 0, got '7'"),
        ({"sources": {"web": Source("x", choose=0)}}, "choose must be at least 1, got 0"),
        ({"sources": {"web": Source("x", weight=1), "b": Source("y", repeat=2)}}, r'sources\["web"\] weight contradicts repeat and choose'),
        ({"sources": {"web": Source("x")}, "filters": "id > 1"}, "filters is an option of each of sources"),
        ({"sources": {"web": Source("x")}, "shuffle": False}, "sources need shuffle"),
        ({"sources": {"web": Source("x")}, "weight": "w"}, "give it as row_weight"),
        ({"sources": {"web": Source("x")}, "stop": "first", "epoch_size": 5}, "stop says how long an epoch is, and so does epoch_size"),
        ({"sources": {"web": Source("x")}, "stop": "last"}, "stop must be 'first' or 'all', got 'last'"),
        ({"sources": {"web": Source("x")}, "curriculum": [(5, {"web": 2})]}, "curriculum needs epoch_size"),
        ({"sources": {"web": Source("x")}, "curriculum": [(5, {"wob": 2})], "epoch_size": 9}, "'wob', which is no source"),
        ({"sources": {"web": Source("x")}, "curriculum": {"web": 2}}, "must be a list of"),
        (
            {"sources": {"web": Source("x"), "b": Source("y")}, "curriculum": [(5, {"web": 0}), (7, {"b": 0})], "epoch_size": 9},
            r"curriculum\[1\] must leave one source a weight above 0",
        ),
        (
            {"sources": {"web": Source("x")}, "curriculum": [(5, {"web": 2}), (5, {"web": 3})], "epoch_size": 9},
            r"curriculum\[1\] must be from a sample after 5 on, got 5",
        ),
        ({"sources": {"web": Source("x")}, "uri": "y"}, "got a uri as well"),
        ({"sources": {"web": Source("x", rename={"a": ""})}}, "rename must be a dict of names"),
        ({"sources": {"web": Source("x", filters="id >")}}, r'sources\["web"\] filters'),
    ],
)
def test_wrong_arguments(runtime: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        StreamingDataset(**arguments, batch_size=4)


def test_wrong_data(tables: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tables / "empty.parquet")
    pq.write_table(pa.table({"id": ["one"]}), tables / "texts.parquet")
    for chosen, error, message in (
        ({"web": Source(tables / "web"), "none": Source(tables / "empty.parquet")}, DataError, 'source "none": it has no rows'),
        ({"web": Source(tables / "web", filters="id < 0")}, OptionError, 'source "web": filters must keep at least one row'),
        ({"web": Source(tables / "web", filters="wrong > 1")}, OptionError, 'source "web": filters names column "wrong"'),
        ({"web": Source(tables / "nowhere")}, FileNotFoundError, 'source "web"'),
        ({"web": Source(tables / "web", rename={"txt": "text"})}, shardfeed.ShardfeedError, "to be renamed"),
        ({"web": Source(tables / "web"), "b": Source(tables / "texts.parquet")}, SchemaError, "its type is string here and int64 in"),
    ):
        with pytest.raises(error, match=message):
            StreamingDataset(sources=chosen, batch_size=4, columns=["id"])


def test_set_weights_refuses(tables: Path) -> None:
    dataset = mixture(tables)
    for wrong, message in (
        ({"wbe": 1}, "'wbe', which is no source; known are web, code, books; did you mean 'web'?"),
        ({"web": -1}, "at least 0 for 'web', got -1"),
        ({"web": float("nan")}, "at least 0 for 'web', got nan"),
        ({"web": float("inf")}, "at least 0 for 'web', got inf"),
        ({"web": 0, "code": 0, "books": 0}, "must leave one source a weight above 0"),
        ({}, "takes weights by name"),
    ):
        with pytest.raises(OptionError, match=message.replace("?", r"\?")):
            dataset.set_weights(wrong)
    with pytest.raises(OptionError, match="this data set has none"):
        StreamingDataset(tables / "web", batch_size=4).set_weights({"web": 1})


def test_select_needs_one_data_set(tables: Path) -> None:
    assert "and 2 more" in repr(mixture(tables))
    assert mixture(tables).locate(601).path.endswith("code/0.parquet")


@pytest.mark.parametrize("workers", [0, 2])
def test_loader(tables: Path, workers: int) -> None:
    """A loader of sources, with weights that change after the last batch that it handed out."""
    torch = pytest.importorskip("shardfeed.torch")
    given = {"sources": sources(tables), "batch_size": 20, "columns": ["id"], "seed": 5, "epoch_size": 400}
    want = mixture(tables, columns=["id"], epoch_size=400)
    before = [batch["id"].tolist() for _, batch in zip(range(5), want, strict=False)]
    want.set_weights({"code": 0})
    after = [batch["id"].tolist() for batch in want]
    with torch.DataLoader(**given, num_workers=workers) as loader:
        assert [batch["id"].tolist() for _, batch in zip(range(5), loader, strict=False)] == before
        loader.set_weights({"code": 0})
        assert [batch["id"].tolist() for batch in loader] == after
    with pytest.raises(TypeError, match="DataLoader needs data"):
        torch.DataLoader(batch_size=4)


def test_ranks_see_the_same_weights(tables: Path) -> None:
    """Ranks of one process that change the weights alike divide the steps."""
    ranks = [mixture(tables, batch_size=10, rank=r, world_size=2, epoch_size=200, tail="drop", lanes=4) for r in range(2)]
    alone = mixture(tables, epoch_size=200, tail="drop", lanes=4)
    for dataset in (*ranks, alone):
        for _ in dataset:
            pass
        dataset.set_weights({"web": 1})
    parts = [[batch["id"].tolist() for batch in dataset] for dataset in ranks]
    assert [sorted(a + b) for a, b in zip(*parts, strict=True)] == [sorted(batch["id"].tolist()) for batch in alone]


def test_epoch_size_of_one_data_set(shards, tmp_path):
    """It is a mixture of one source: exact passes, which epochs continue."""

    def data(epoch_size=1500, **given):
        return StreamingDataset(shards, batch_size=50, columns=["id"], cache=False, **({"epoch_size": epoch_size} | given))

    def ids(epoch_size=1500, **given):
        return [i for batch in data(epoch_size, **given) for i in batch["id"].tolist()]

    for given, rows in (({}, 4000), ({"filters": "id < 1000"}, 1000), ({"parts": {"a": 3, "b": 1}, "part": "b"}, 1000)):
        whole, seen = data(**given), Counter()
        assert (len(whole), whole.size) == (30, 1500)
        for epoch in range(4):
            came = [i for batch in whole for i in batch["id"].tolist()]
            assert len(came) == 1500
            seen.update(came)
            passes, more = divmod((epoch + 1) * 1500, rows)
            assert Counter(seen[i] for i in ids(None, **given)) == +Counter({passes: rows - more, passes + 1: more})

    first, again, other = data(), data(), data(2000)
    came = [batch["id"].tolist() for _ in range(2) for batch in first]
    iterator = iter(again)
    for _ in range(7):
        next(iterator)
    state = again.state_dict()
    again.load_state_dict(state)
    assert [batch["id"].tolist() for _ in range(2) for batch in again] == came[7:]
    with pytest.warns(UserWarning, match=r"taken with epoch_size=1500, which wins over epoch_size=2000 here"):
        other.load_state_dict(state)
    with pytest.raises(OptionError, match=r"^epoch_size needs shuffle: in file order an epoch is all rows$"):
        data(shuffle=False)
    with pytest.raises(OptionError, match=r"^filters at column 4, near"):
        data(filters="id ~ 3")


@pytest.mark.parametrize("batching", ["stratified", "per_source"])
def test_a_state_wins_over_stop(tables: Path, batching: str) -> None:
    state = mixture(tables, stop="all", batching=batching).state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixture(tables, stop="all", batching=batching).load_state_dict(state)
    for stop in ("first", None):
        other = mixture(tables, stop=stop, batching=batching)
        with pytest.warns(UserWarning, match=r"with epochs of \d+ rows, which win over stop=first with epochs of \d+ here"):
            other.load_state_dict(state)
