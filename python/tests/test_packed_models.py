"""Packed batches in models of transformers: losses equal to passes over single documents, and what
the collator of transformers gives.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import shardfeed  # noqa: E402
from shardfeed import Pack, errors  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402
from shardfeed.torch.huggingface import Flatten, TrainerMixin, packed  # noqa: E402

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore")]

SIZE, WORDS = 32, 50
FLAT = ["input_ids", "labels", "position_ids", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"]


@pytest.fixture(scope="module")
def documents() -> list[list[int]]:
    return [[(7 * i + 3 * k + k * k) % WORDS for k in range(1 + (5 * i) % 23)] for i in range(30)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]]) -> Path:
    directory = tmp_path_factory.mktemp("tokens")
    labels = [[t if k % 3 else -100 for k, t in enumerate(d)] for d in documents]
    columns = {"input_ids": pa.array(documents, pa.list_(pa.int32())), "labels": pa.array(labels, pa.list_(pa.int64()))}
    pq.write_table(pa.table(columns), directory / "part-0.parquet", row_group_size=15)
    return directory


def model(attention: str) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        use_cache=False,  # with a cache, attention would not look for documents
        attn_implementation=attention,
    )
    return transformers.LlamaForCausalLM(config).eval()


def pieces(batch: Any) -> list[slice]:
    edges = batch["cu_seq_lens_q"].tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("attention, strategy", [("sdpa", "bfd"), ("eager", "wrapped")])
def test_loss_is_that_of_single_documents(table: Path, documents: list[list[int]], attention: str, strategy: Any) -> None:
    network = model(attention)
    seen = 0
    for batch in packed(table, pack=Pack({"input_ids": SIZE}, strategy=strategy), batch_size=4, tail="short"):
        assert list(batch) == FLAT
        counted = batch["labels"][:, 1:] != -100  # models shift: no token before the first one predicts it
        with torch.no_grad():
            loss = network(**batch).loss
            alone, tokens = 0.0, 0
            for piece in pieces(batch):
                ids, labels = batch["input_ids"][:, piece], batch["labels"][:, piece]
                if int((labels[:, 1:] != -100).sum()):
                    alone += float(network(input_ids=ids, labels=labels).loss) * int((labels[:, 1:] != -100).sum())
                    tokens += int((labels[:, 1:] != -100).sum())
                    if strategy == "bfd":
                        assert ids[0].tolist() in documents
        assert tokens == int(counted.sum()) > 0
        assert float(loss) == pytest.approx(alone / tokens, rel=1e-5)
        seen += tokens
    if strategy == "bfd":
        assert seen == sum(len(d) - 1 for d in documents)


def test_the_same_as_the_collator_of_transformers(table: Path) -> None:
    collate = transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)
    for batch in packed(table, pack={"input_ids": SIZE}, batch_size=2, seq_idx=True):
        ids = batch["input_ids"][0]
        wanted = collate([{"input_ids": ids[piece].tolist(), "labels": batch["labels"][0, piece].tolist()} for piece in pieces(batch)])
        assert wanted.keys() == batch.keys()
        for name, value in wanted.items():
            if isinstance(value, torch.Tensor):
                assert batch[name].dtype == value.dtype and torch.equal(batch[name], value), name
            else:
                assert type(batch[name]) is int and batch[name] == value, name


def test_labels_of_the_data_are_kept(table: Path) -> None:
    given = {"columns": ["input_ids", "labels"], "pack": Pack({"input_ids": SIZE, "labels": SIZE}, strategy="bfd")}
    for batch in packed(table, **given):
        labels, ids = batch["labels"][0], batch["input_ids"][0]
        place = batch["position_ids"][0]
        kept = labels != -100
        assert torch.equal(labels[kept], ids[kept]) and bool((place[kept] % 3 != 0).all()) and bool(kept.any())


def test_padding_of_the_last_step_has_no_labels(table: Path) -> None:
    """Blocks over all ranks are counted once each, although each rank has the same steps."""
    size = StreamingDataset(table, batch_size=1, pack={"input_ids": SIZE}, columns=["input_ids"]).size
    world_size = next(w for w in (2, 3, 5, 7) if size % w)
    steps, counted, whole = set(), 0, 0
    for rank in range(world_size):
        batches = list(packed(table, pack={"input_ids": SIZE}, tail="pad", rank=rank, world_size=world_size))
        steps.add(len(batches))
        counted += sum(int((batch["labels"] != -100).sum()) for batch in batches)
    for batch in packed(table, pack={"input_ids": SIZE}, tail="short"):
        whole += int((batch["labels"] != -100).sum())
    assert len(steps) == 1 and counted == whole > 0


def test_a_shuffled_stream_drops_what_fills_no_step(table: Path) -> None:
    size = StreamingDataset(table, batch_size=1, pack={"input_ids": SIZE}, columns=["input_ids"]).size
    world_size = next(w for w in (2, 3, 5, 7) if size % w)
    given: dict[str, Any] = {"pack": {"input_ids": SIZE}, "rank": world_size - 1, "world_size": world_size}
    assert len(packed(table, **given)) == size // world_size
    assert len(packed(table, shuffle=False, **given)) == len(packed(table, tail="pad", **given)) == size // world_size + 1
    assert len(packed(table, drop_last=False, **given)) == size // world_size + 1


def test_an_evaluation_leaves_out_what_fills_the_last_step(table: Path, tmp_path: Path) -> None:
    """A rank has a batch without a real block, whose loss is NaN."""
    size = StreamingDataset(table, batch_size=1, pack={"input_ids": SIZE}, columns=["input_ids"]).size
    world_size = next(w for w in (2, 3, 5, 7) if size % w)

    class Trainer(TrainerMixin, transformers.Trainer):
        pass

    given: dict[str, Any] = {"pack": {"input_ids": SIZE}, "shuffle": False, "world_size": world_size}
    ranks = [packed(table, rank=rank, **given) for rank in range(world_size)]
    dataset = next(rank for rank in ranks if any(bool((batch["labels"] == -100).all()) for batch in rank))
    network = model("sdpa")
    with torch.no_grad():
        losses = torch.stack([network(**batch).loss for batch in dataset])
    assert int(losses.isnan().sum()) == 1
    args = transformers.TrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", disable_tqdm=True, logging_nan_inf_filter=False
    )
    found = Trainer(model=network, args=args, eval_dataset=dataset).evaluate()["eval_loss"]
    assert found == pytest.approx(float(losses[~losses.isnan()].mean()), rel=1e-5)


def test_what_is_refused(table: Path) -> None:
    with pytest.raises(errors.OptionError, match="Flatten needs the columns 'position_ids', 'cu_seqlens', 'max_seqlen', 'labels'"):
        next(iter(StreamingDataset(table, batch_size=1, columns=["input_ids"], pack={"input_ids": SIZE}).map(Flatten())))
    with pytest.raises(errors.OptionError, match='labels of pack must be "same" or left out'):
        packed(table, pack=Pack({"input_ids": SIZE}, labels="next"))
    with pytest.raises(errors.OptionError, match="pack must name a column and the tokens of a block"):
        packed(table, pack=8192)  # type: ignore[arg-type]
    with pytest.raises(errors.ShardfeedError, match="input_id"):
        packed(table, pack={"input_id": SIZE})


def test_a_mixture(table: Path) -> None:
    sources = {"one": shardfeed.Source(table), "other": shardfeed.Source(table)}
    (size,) = {batch["input_ids"].shape for batch in packed(sources=sources, stop="first", pack={"input_ids": SIZE}, batch_size=2)}
    assert size == (1, 2 * SIZE)


def test_columns_that_are_asked_for_come_too(table: Path) -> None:
    given = packed(table, pack=Pack({"input_ids": SIZE}, with_columns=["doc_ids"]))
    assert list(given.schema) == ["input_ids", "doc_ids", "position_ids", "cu_seqlens", "max_seqlen", "labels"]


def test_the_function_is_pickled(table: Path) -> None:
    loader = shardfeed.torch.DataLoader(packed(table, pack={"input_ids": SIZE}), num_workers=1)
    here = [batch["input_ids"].tolist() for batch in packed(table, pack={"input_ids": SIZE})]
    assert [batch["input_ids"].tolist() for batch in loader] == here
