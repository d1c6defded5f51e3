"""The DataLoader as an object: arguments, batches, map, close, and what a notebook shows."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from shardfeed import errors  # noqa: E402
from shardfeed.torch import Batch, DataLoader, StreamingDataset  # noqa: E402
from shardfeed.torch._loader_options import resolve_device  # noqa: E402

pytestmark = pytest.mark.usefixtures("job")


def double(batch: Batch) -> Any:
    return (batch["id"] * 2).tolist()


def total(numbers: list[int]) -> int:
    return sum(numbers)


def drawn(batch: Batch, generator: Any) -> float:
    return torch.rand(1, generator=generator).item()


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "num_workers": ({"num_workers": "2"}, errors.OptionError, "^num_workers must be a whole number, got '2'$"),
    "negative": ({"num_workers": -1}, errors.OptionError, "^num_workers must be at least 0, got -1$"),
    "None": ({"num_workers": None}, errors.OptionError, "num_workers must be a whole number, got None"),
    "prefetch": ({"prefetch": 1.5}, errors.OptionError, "prefetch must be a whole number, got 1.5"),
    "prefetch_factor": ({"num_workers": 1, "prefetch_factor": 0}, errors.OptionError, "prefetch_factor must be at least 1, got 0"),
    "no workers": ({"prefetch_factor": 2}, errors.OptionError, "prefetch_factor needs num_workers of at least 1, got 2 with num_workers=0"),
    "nothing persists": ({"persistent_workers": True}, errors.OptionError, "persistent_workers=True needs num_workers"),
    "image_device": ({"image_device": "gpu"}, errors.OptionError, "image_device must be 'cpu', 'cuda' or 'auto', got 'gpu'"),
    "image_cpu_share": ({"image_device": "cuda", "image_cpu_share": 2}, errors.OptionError, "image_cpu_share must be a number from 0 to 1"),
    "nothing to divide": ({"image_cpu_share": 0.5}, errors.OptionError, "image_cpu_share needs image_device='cuda' or 'auto', got 0.5"),
    "pin_memory": ({"pin_memory": "yes"}, errors.OptionError, "pin_memory must be True or False, got 'yes'"),
    "collate_fn": ({"collate_fn": 3}, errors.OptionError, "collate_fn must be a function of a batch, got 3"),
    "worker_init_fn": ({"num_workers": 1, "worker_init_fn": 3}, errors.OptionError, "worker_init_fn must be a function"),
    "context": ({"num_workers": 1, "multiprocessing_context": "spwan"}, errors.OptionError, "must be one of 'fork'.* got 'spwan'"),
    "headspace": ({"headspace": 0}, errors.OptionError, "headspace must be True, False or a whole number of at least 1.* got 0"),
    "headspace None": ({"headspace": None}, errors.OptionError, "headspace must be True, False or a whole number .* got None"),
    "device": ({"device": "cdua"}, errors.OptionError, "device must be 'auto'.* got 'cdua'; did you mean 'cuda'"),
    "gpu": ({"device": "gpu:1"}, errors.OptionError, "got 'gpu:1'; did you mean 'cuda'"),
    "device True": ({"device": True}, errors.OptionError, "device must be 'auto'.* got True"),
    "misspelt": ({"colums": ["id"]}, TypeError, "DataLoader has no argument 'colums'; did you mean 'columns'?"),
    "a method": ({"take": 3}, TypeError, r"no argument 'take': it is a method: loader.take\(3\) ends each epoch"),
    "a function": ({"filter": len}, TypeError, "no argument 'filter': give filters; a function goes to the method filter"),
    "torch's": ({"sampler": None}, TypeError, "no argument 'sampler': the engine shuffles"),
    "misspelt own": ({"num_worker": 2}, TypeError, "no argument 'num_worker'; did you mean 'num_workers'?"),
    "the data set's": ({"seed": -1}, errors.OptionError, "^seed must be"),
    "both": ({"seed": -1, "num_workers": "2"}, errors.OptionError, "(?s)2 arguments are wrong:.*num_workers must be.*seed must be"),
}


@pytest.mark.parametrize(("given", "kind", "words"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(given: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        DataLoader("s3://bucket/never-opened", batch_size=8, **given)


def test_data_that_is_not_there(shards: Path) -> None:
    with pytest.raises(TypeError, match="DataLoader needs batch_size: rows of a batch"):
        DataLoader(shards)
    with pytest.raises(TypeError, match="DataLoader takes only data by position, got 8 as well"):
        DataLoader(shards, 8)
    with pytest.raises(errors.OptionError, match="the data set already decides batch_size, seed"):
        DataLoader(StreamingDataset(shards, batch_size=8), batch_size=8, seed=1)
    with pytest.raises(
        errors.OptionError, match=r"must be a shardfeed.torch.StreamingDataset, .* or an address, got a shardfeed.DataLoader"
    ):
        DataLoader(DataLoader(shards, batch_size=8))
    with pytest.raises(errors.OptionError, match="got a dict"):
        DataLoader({"id": [1]}, batch_size=8)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device(None) is None
    assert resolve_device("auto") == torch.device("cpu")
    assert resolve_device(torch.device("meta")) == torch.device("meta")
    with pytest.raises(errors.OptionError, match=r"needs CUDA.*use 'auto'"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device(1) == torch.device("cuda:1")
    with pytest.raises(errors.OptionError, match="device must be below cuda:2, the CUDA devices here, got 'cuda:9'"):
        resolve_device("cuda:9")


def test_what_a_loader_says_of_its_data(shards: Path) -> None:
    loader = DataLoader(shards, batch_size=300, device="auto")
    assert loader.size == 4000 and len(loader) == 14 and loader.batch_size == 300
    assert list(loader.schema) == ["id", "x", "label", "text", "tokens"]
    shown = loader._repr_html_()
    assert "DataLoader" in shown and "4000" in shown and "int64" in shown


@pytest.mark.parametrize("workers", [0, 2])
def test_map(shards: Path, workers: int) -> None:
    loader = DataLoader(shards, batch_size=300, seed=3, num_workers=workers, persistent_workers=workers > 0)
    plain = [(batch["id"] * 2).tolist() for batch in loader]
    mapped = loader.map(double)
    assert mapped.num_workers == workers and mapped.persistent_workers == loader.persistent_workers
    assert list(mapped) == plain
    sums = mapped.map(total)
    assert list(sums) == [sum(numbers) for numbers in plain]
    assert sum(next(iter(sums)) for _ in range(1)) != sum(plain[0]), "the next epoch"


def test_map_with_a_generator(shards: Path) -> None:
    loader = DataLoader(shards, batch_size=1000)
    numbers = list(loader.map(drawn, random=True))
    assert len(set(numbers)) == 4 and numbers == list(loader.map(drawn, random=True))


def test_map_and_collate_fn(shards: Path) -> None:
    with pytest.raises(errors.OptionError, match="call the function in collate_fn, or map the data set"):
        DataLoader(shards, batch_size=8, collate_fn=double).map(total)


@pytest.mark.parametrize("workers", [0, 2])
def test_close(shards: Path, workers: int) -> None:
    with DataLoader(shards, batch_size=100, num_workers=workers, persistent_workers=workers > 0) as loader:
        batches = iter(loader)
        held = [next(batches) for _ in range(3)]
        ids = [batch["id"].tolist() for batch in held]
    assert list(batches) == []
    assert [batch["id"].tolist() for batch in held] == ids
    state = loader.state_dict()
    loader.close()
    for use in (lambda: iter(loader), lambda: loader.load_state_dict(state), loader.__enter__):
        with pytest.raises(ValueError, match="the loader was closed: make a new one"):
            use()
    again = DataLoader(shards, batch_size=100)
    again.load_state_dict(state)
    assert len(list(again)) == 37


def test_close_leaves_a_given_data_set_open(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=500, columns=["id"])
    epochs = []
    for _ in range(2):
        with DataLoader(dataset) as loader:
            epochs.append([batch["id"].tolist() for batch in loader])
    assert epochs[0] != epochs[1], "the second loader goes on to the next epoch"
    assert sorted(i for batch in epochs[1] for i in batch) == list(range(4000))


def test_close_when_the_engine_is_gone(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own error is the one that is seen."""

    def gone() -> dict[str, Any]:
        raise errors.EngineGone("gone")

    with pytest.raises(LookupError), DataLoader(shards, batch_size=100) as loader:
        monkeypatch.setattr(loader.dataset, "_state_here", gone)
        raise LookupError


def test_close_before_anything_began(shards: Path) -> None:
    loader = DataLoader(shards, batch_size=100)
    batches = iter(loader)
    loader.close()
    assert list(batches) == [] and loader.state_dict()["shardfeed"]["position"] == 0


class Waiting:
    """Batches that come only when it is closed, and then none does."""

    def __init__(self) -> None:
        self.asked, self.closed = threading.Event(), threading.Event()

    def __next__(self) -> Any:
        self.asked.set()
        assert self.closed.wait(60)
        raise StopIteration

    def close(self) -> None:
        self.closed.set()


def test_close_wakes_a_thread_that_waits(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = DataLoader(shards, batch_size=8)
    source = Waiting()
    monkeypatch.setattr(loader, "_open", lambda: (source, source))
    batches = iter(loader)
    taken: list[Any] = []
    thread = threading.Thread(target=lambda: taken.extend(batches), daemon=True)
    thread.start()
    assert source.asked.wait(60)
    loader.close()
    thread.join(60)
    assert not thread.is_alive() and taken == []


# Batches


def test_a_batch_prints_in_one_line(shards: Path) -> None:
    batch = next(iter(DataLoader(shards, batch_size=8, shuffle=False)))
    assert repr(batch) == (
        "Batch(8 rows: id int64[8] cpu, x float32[8] cpu, label int32[8] cpu, text Bytes[8] str cpu, tokens Ragged[8] of int32[13] cpu)"
    )
    moved = Batch({"x": torch.zeros(3, 2, device="meta"), "s": {"a": torch.zeros(3, dtype=torch.bool)}, "own": object()})
    assert repr(moved) == "Batch(3 rows: x float32[3, 2] meta, s {a bool[3] cpu}, own object)"
    wide = Batch({f"x{i}": torch.zeros(2) for i in range(100)})
    assert repr(wide).endswith("x15 float32[2] cpu, and 84 more)") and "\n" not in repr(wide)
    assert repr(Batch()) == "Batch(0 rows: )"


def test_a_notebook_shows_a_batch(shards: Path) -> None:
    batch = next(iter(DataLoader(shards, batch_size=8, shuffle=False)))
    shown = batch._repr_html_()
    assert "Batch of 8 rows" in shown and "<td style='text-align:left'>0, 1, 2, ...</td>" in shown and "&#x27;row 0&#x27;" in shown
    assert batch._ipython_key_completions_() == list(batch)
    Batch({"x": torch.zeros(2, device="meta"), "n": torch.tensor(3), "o": object()})._repr_html_()


def test_keys_that_are_not_columns(shards: Path) -> None:
    batch = next(iter(DataLoader(shards, batch_size=8)))
    for key, words in {"lable": "there is no column 'lable'; did you mean 'label'", 0: "keys are column names, got 0"}.items():
        with pytest.raises(errors.ColumnError, match=words):
            batch[key]
        assert batch.get(key) is None and key not in batch


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b)), Batch.copy, lambda b: type(b)(b.items())],
    ids=["copy", "deepcopy", "pickle", "Batch.copy", "items"],
)
def test_copies_are_batches(again: Any) -> None:
    batch = Batch({"x": torch.arange(3), "s": {"y": torch.ones(3)}})
    other = again(batch)
    assert type(other) is Batch and repr(other) == repr(batch)


def test_torch_looks_into_batches() -> None:
    batch = Batch({"x": torch.arange(3), "s": {"y": torch.ones(3)}})
    moved = torch.utils._pytree.tree_map(lambda t: t + 1, batch)
    assert type(moved) is Batch and moved["x"].tolist() == [1, 2, 3] and moved["s"]["y"].tolist() == [2, 2, 2]
    file = io.BytesIO()
    torch.save(batch, file)
    file.seek(0)
    assert repr(torch.load(file, weights_only=True)) == repr(batch)
    pinned = torch.utils.data._utils.collate.default_convert(batch)
    assert type(pinned) is Batch


def test_compiled_functions_take_batches() -> None:
    @torch.compile(backend="eager", fullgraph=True)
    def compiled(batch: Batch) -> Any:
        return batch["x"] * 2 + batch["s"]["y"]

    assert compiled(Batch({"x": torch.arange(3), "s": {"y": torch.ones(3)}})).tolist() == [1, 3, 5]


@pytest.mark.parametrize("given", [{"batch_size": 128}, {"batch_size": None}, {"batch_size": 128, "filters": "id < 1000"}])
def test_the_length_of_its_data_set_is_its_rows(shards, given):
    """So correct / len(loader.dataset) is a share of the rows. Other lengths are of batches."""
    dataset = StreamingDataset(shards, cache=False, **given)
    rows = 1000 if "filters" in given else 4000
    steps = rows if given["batch_size"] is None else -(-rows // 128)
    loaders = [DataLoader(dataset), DataLoader(shards, cache=False, **given), pickle.loads(pickle.dumps(DataLoader(dataset)))]
    for loader in [*loaders, loaders[0].with_valid("id")]:
        assert (len(loader.dataset), len(loader), loader.size) == (rows, steps, rows)
        assert isinstance(loader.dataset, StreamingDataset) and "StreamingDataset" in repr(loader.dataset)
    assert len(dataset) == len(torch.utils.data.DataLoader(dataset, batch_size=None)) == steps
    assert len(torch.utils.data.DataLoader(loaders[0].dataset, batch_size=None)) == steps
    ranked = DataLoader(shards, cache=False, rank=1, world_size=2, **given)
    assert len(ranked.dataset) == rows and len(ranked) == -(-steps // 2)
    first = next(iter(loaders[0]))
    assert first["id"].tolist() and dataset.state_dict()["shardfeed"]["position"] > 0, "one data set"
