"""The data loader for torchtitan, as its trainer builds it. test_train_packed.py has a training."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchtitan")

import tokenizers  # noqa: E402
from tokenizers import models, pre_tokenizers, processors  # noqa: E402
from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.tokenizer import HuggingFaceTokenizer  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402

import shardfeed.torchtitan  # noqa: E402
from shardfeed import Source, errors  # noqa: E402

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore")]

SIZE, BATCH = 16, 3


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of tokens that no other document has."""
    directory = tmp_path_factory.mktemp("tokens")
    documents = [[1000 * i + k + 2 for k in range((5 * i) % 23)] for i in range(60)]
    columns = {"input_ids": pa.array(documents, pa.list_(pa.int32())), "id": pa.array(range(60), pa.int64())}
    pq.write_table(pa.table(columns), directory / "part-0.parquet", row_group_size=20)
    return directory


def build(table: Path, rank: int = 0, world_size: int = 1, batch_size: int = BATCH, tokenizer: Any = None, **given: Any) -> Any:
    """As torchtitan's Trainer does."""
    config = shardfeed.torchtitan.DataLoader.Config(dataset_path=str(table), **given)
    return config.build(
        dp_world_size=world_size, dp_rank=rank, tokenizer=tokenizer, seq_len=SIZE, local_batch_size=batch_size, snapshot_every_n_steps=None
    )


def test_what_models_take(table: Path) -> None:
    loader = build(table, infinite=False, batch_size=1, tokenizer=SimpleNamespace(eos_id=1, bos_id=0), add_eos=True, add_bos=True)
    assert isinstance(loader, BaseDataLoader)
    tokens, targets = [], 0
    for inputs, labels in loader:
        assert list(inputs) == ["input", "positions"]
        ids, places = inputs["input"], inputs["positions"]
        assert ids.dtype == places.dtype == labels.dtype == torch.int64
        assert ids.shape == places.shape == labels.shape and ids.shape[1] == SIZE
        follows = torch.zeros_like(labels, dtype=torch.bool)
        follows[:, :-1] = places[:, 1:] == places[:, :-1] + 1
        kept = labels != -100
        assert torch.equal(labels[:, :-1][kept[:, :-1]], ids[:, 1:][kept[:, :-1]]) and not bool((kept & ~follows).any())
        assert bool((places < SIZE).all())
        targets += int(kept.sum())
        tokens += ids.flatten().tolist()
    documents = [d for d in pq.read_table(table)["input_ids"].to_pylist() if d]
    assert sorted(t for t in tokens if t > 1) == sorted(t for d in documents for t in d)
    assert tokens.count(1) == len(documents)
    blocks = loader.dataset.size
    assert targets <= sum(len(d) + 1 for d in documents) and targets >= sum(len(d) + 1 for d in documents) - blocks


def take(batches: Iterator[Any], steps: int) -> list[list[tuple[int, ...]]]:
    return [[tuple(block) for block in next(batches)[0]["input"].tolist()] for _ in range(steps)]


def over_ranks(taken: list[Any]) -> list[list[tuple[int, ...]]]:
    """The blocks of each step."""
    return [sorted(block for blocks in ranks for block in blocks) for ranks in zip(*taken)]


def counted(batches: Iterable[Any]) -> int:
    return sum(int((labels != -100).sum()) for _, labels in batches)


def test_an_endless_stream_on_any_number_of_ranks(table: Path) -> None:
    """A step may have blocks of two epochs, and a state of two ranks continues on three."""
    pairs = [build(table, rank, 2, seed=3) for rank in range(2)]
    size = pairs[0].dataset.size
    assert size % 6
    streams = [iter(loader) for loader in pairs]
    before = [take(stream, 4) for stream in streams]
    states = [loader.state_dict() for loader in pairs]
    assert list(states[0]) == ["shardfeed"]
    texts = [json.loads(state["shardfeed"]) for state in states]
    assert texts[0]["shardfeed"] == texts[1]["shardfeed"]
    threes = [build(table, rank, 3, 2, seed=3) for rank in range(3)]
    for loader in threes:
        loader.load_state_dict(states[0])
    epochs = 2 * size // 6
    after = [take(iter(loader), epochs) for loader in threes]
    rest = [take(stream, epochs) for stream in streams]
    assert over_ranks(after) == over_ranks(rest)
    blocks = [block for ranks in zip(*before) for blocks in ranks for block in blocks]
    blocks += [block for ranks in zip(*after) for blocks in ranks for block in blocks]
    first = sorted(t for block in blocks[:size] for t in block if t)
    assert first == sorted(t for d in pq.read_table(table)["input_ids"].to_pylist() for t in d), "the first epoch has each token once"


def test_one_epoch_counts_each_block_once(table: Path) -> None:
    """As torchtitan's Validator reads it: even steps, and no label in what fills the last one."""
    ranks = [list(build(table, rank, 2, infinite=False)) for rank in range(2)]
    assert len(ranks[0]) == len(ranks[1])
    alone = build(table, infinite=False, batch_size=1)
    assert sum(map(counted, ranks)) == counted(alone)


def test_a_step_of_several_batches_may_be_held(table: Path) -> None:
    """The trainer takes all batches of a step before it uses the first."""
    held, again = iter(build(table)), iter(build(table))
    batches = [next(held) for _ in range(12)]
    for inputs, labels in batches:
        wanted, targets = next(again)
        assert torch.equal(inputs["input"], wanted["input"]) and torch.equal(labels, targets)


def test_a_mixture(table: Path) -> None:
    sources = {"low": Source(str(table), filters="id < 30", weight=3), "high": Source(str(table), filters="id >= 30", weight=1)}
    config = shardfeed.torchtitan.DataLoader.Config(options={"sources": sources, "stop": "first"})
    loaders = [config.build(dp_world_size=1, dp_rank=0, seq_len=SIZE, local_batch_size=BATCH) for _ in range(2)]
    stream = iter(loaders[0])
    blocks = [block for step in take(stream, 8) for block in step]
    low = [block for block in blocks if max(block) < 30_000]
    assert all(max(block) < 30_000 or min(t for t in block if t) >= 30_000 for block in blocks)
    assert abs(len(low) - 18) <= 1
    loaders[1].load_state_dict(loaders[0].state_dict())
    assert take(iter(loaders[1]), 8) == take(stream, 8)


def test_the_command_line(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchtitan reads a configuration of the user's, with changes by flags."""
    lines = [
        "import shardfeed.torchtitan",
        "from torchtitan.models.llama3 import config_registry",
        "def mine():",
        "    config = config_registry.llama3_debugmodel()",
        f"    options = {{'sources': {{'a': shardfeed.Source({str(table)!r}), 'b': shardfeed.Source({str(table)!r})}}}}",
        "    config.dataloader = shardfeed.torchtitan.DataLoader.Config(seed=7, options=options)",
        "    return config",
    ]
    (tmp_path / "my_titan_config.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    flags = ["--dataloader.seed", "3", "--dataloader.strategy", "bfd"]
    config = ConfigManager().parse_args(["--module", "my_titan_config", "--config", "mine", *flags])
    found = config.dataloader
    assert type(found) is shardfeed.torchtitan.DataLoader.Config and (found.seed, found.strategy) == (3, "bfd")
    assert list(found.options["sources"]) == ["a", "b"] and json.dumps(found.to_dict())


def test_options_reach_the_data_set(table: Path) -> None:
    loader = build(table, infinite=False, strategy="bfd", options={"filters": [("id", "<", 5)]})
    ids = {int(t) // 1000 for inputs, _ in loader for t in inputs["input"].flatten() if t}
    assert ids == {1, 2, 3, 4}
    assert list(build(table, options={"columns": ["input_ids", "id"]}).dataset.schema)[:2] == ["input_ids", "id"]


def test_the_seed_and_the_workers_reach_the_loader(table: Path) -> None:
    three, again, four = (take(iter(build(table, seed=seed)), 6) for seed in (3, 3, 4))
    assert three == again != four
    loader = build(table, seed=3, num_workers=1)
    assert loader._loader.num_workers == 1 and take(iter(loader), 6) == three


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The trainer's, whose file adds the first token to each text."""
    made = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    directory = tmp_path_factory.mktemp("assets")
    made.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    return HuggingFaceTokenizer(tokenizer_path=str(directory))


@pytest.mark.parametrize("around", [False, True])
def test_texts_by_the_trainers_tokenizer(tmp_path: Path, tokenizer: Any, around: bool) -> None:
    texts = [f"{i} it's a text, naïve {'日本語' * (i % 9)}" for i in range(90)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "part-0.parquet", row_group_size=30)
    loader = build(
        tmp_path, tokens="text", tokenize=True, tokenizer=tokenizer, add_bos=around, add_eos=around, infinite=False, batch_size=1
    )
    found = []
    for inputs, _ in loader:
        found += inputs["input"].flatten().tolist()
    want = [t for text in texts for t in tokenizer.encode(text, add_bos=around, add_eos=around) if around or t != 256]
    if around:
        assert found.count(256) == found.count(257) == len(texts)  # never twice
    padding = len(found) - len(want)
    assert sorted(found) == sorted([0] * padding + want) and 0 <= padding < 3 * SIZE


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokenize": True}, "dataloader.tokenize needs torchtitan's HuggingFaceTokenizer, got None"),
        ({"add_eos": True}, "dataloader.add_eos needs a tokenizer with eos_id, and this one has none"),
        ({"options": {"batch_size": 4}}, "dataloader.options has batch_size, which other settings of the trainer say"),
        ({"tokens": "input_id"}, "input_id"),
        ({"strategy": "bdf"}, "did you mean 'bfd'?"),
    ],
)
def test_what_is_refused(table: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ShardfeedError) as e:
        build(table, **given)
    assert message in str(e.value)


def test_no_address_and_another_loaders_state(table: Path) -> None:
    with pytest.raises(errors.OptionError, match=r"dataloader\.dataset_path must be an address"):
        shardfeed.torchtitan.DataLoader.Config().build(dp_world_size=1, dp_rank=0, seq_len=SIZE, local_batch_size=1)
    loader = build(table)
    loader.load_state_dict({})
    with pytest.raises(errors.StateError, match="has the keys dp_rank_0, world_size, and not 'shardfeed'"):
        loader.load_state_dict({"dp_rank_0": b"", "world_size": 1})


def test_nothing_to_repeat(table: Path) -> None:
    with pytest.raises(errors.ShardfeedError):
        next(iter(build(table, options={"filters": [("id", ">", 1000)]})))


@pytest.mark.parametrize("replication, message", [(2, ""), (3, "got 3: rank 1 of 4 is data-parallel rank 0 of 2"), (0, "got 0")])
def test_ranks_that_see_the_same(table: Path, monkeypatch: pytest.MonkeyPatch, replication: int, message: str) -> None:
    """Tensor parallelism of two, and data parallelism of two."""
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    if message:
        with pytest.raises(errors.OptionError, match=message):
            build(table, 0, 2, replication=replication)
        return
    loader = build(table, 0, 2, replication=replication)
    assert (loader.dataset.rank, loader.dataset.world_size) == (0, 2)
    assert take(iter(loader), 3) == take(iter(build(table, 0, 2)), 3)
