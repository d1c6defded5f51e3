"""Packed batches: every token once, the columns made of them, resume on other ranks, refusals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from steps import Run

import shardfeed.torch
from shardfeed import Pack, Ragged, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

SIZE = 64
MADE = ["position_ids", "doc_ids", "seq_lengths", "cu_seqlens", "max_seqlen"]


def document(i: int) -> list[int]:
    """Tokens that no other document has."""
    return list(range(1000 * i + 1, 1000 * i + 1 + (7 * i) % 151))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of 300 documents of 0 to 150 tokens; every 17th list is null."""
    directory = tmp_path_factory.mktemp("documents")
    for k in range(2):
        ids = range(300 * k, 300 * (k + 1))
        tokens = [None if i % 17 == 0 else document(i) for i in ids]
        columns = {
            "token_ids": pa.array(tokens, pa.list_(pa.int32())),
            "mask": pa.array([None if t is None else [n % 2 for n in t] for t in tokens], pa.list_(pa.int8())),
            "id": pa.array(ids, pa.int64()),
            "text": pa.array([f"document {i}" for i in ids], pa.string()),
            "n_tokens": pa.array([len(t or ()) for t in tokens], pa.int32()),
            "doc_ids": pa.array([[] for _ in ids], pa.list_(pa.int32())),
            "debt": pa.array([-1 if i == 101 else len(t or ()) for i, t in zip(ids, tokens)], pa.int32()),
        }
        pq.write_table(pa.table(columns), directory / f"part-{k}.parquet", row_group_size=100)
    return directory


def documents() -> dict[int, list[int]]:
    """Those with tokens."""
    return {i: document(i) for i in range(600) if i % 17 and document(i)}


@pytest.mark.parametrize("strategy", ["wrapped", "bfd_split"])
@pytest.mark.parametrize("world_size", [1, 2])
def test_every_token_comes_once(table: Path, strategy: Any, world_size: int) -> None:
    found: Counter[int] = Counter()
    steps = set()
    for rank in range(world_size):
        dataset = StreamingDataset(
            table,
            batch_size=4,
            columns=["token_ids"],
            pack=Pack({"token_ids": SIZE}, strategy=strategy, eos=-1, value=-2),
            rank=rank,
            world_size=world_size,
        )
        steps.add(len(dataset))
        for batch in dataset:
            assert batch["token_ids"].shape == (batch.rows, SIZE) and batch["token_ids"].dtype == np.int32
            found.update(batch["token_ids"][batch.row_valid].ravel().tolist())
    assert len(steps) == 1
    tokens = Counter(t for d in documents().values() for t in d)
    assert found.pop(-1) == len(documents())
    padding = found.pop(-2)
    assert found == tokens
    assert padding == dataset.size * SIZE - sum(tokens.values()) - len(documents())


def test_columns_of_a_packed_batch(table: Path) -> None:
    dataset = StreamingDataset(
        table,
        batch_size=3,
        columns=["token_ids", "mask", "id", "text"],
        pack=Pack({"token_ids": SIZE}, strategy="bfd_split", with_columns=MADE, labels="next"),
    )
    assert list(dataset.schema) == [
        "token_ids",
        "mask",
        "id",
        "text",
        "seq_lengths",
        "position_ids",
        "doc_ids",
        "cu_seqlens",
        "max_seqlen",
        "labels",
    ]
    whole = documents()
    for batch in dataset:
        tokens, positions, docs, labels = (batch[name] for name in ("token_ids", "position_ids", "doc_ids", "labels"))
        edges = [0]
        assert isinstance(batch["seq_lengths"], Ragged) and labels.dtype == np.int64 and positions.dtype == docs.dtype == np.int32
        for row, (lengths, ids, texts) in enumerate(zip(batch["seq_lengths"], batch["id"], batch["text"])):
            at = 0
            for number, (length, i, text) in enumerate(zip(lengths.tolist(), ids.tolist(), list(texts))):
                piece = tokens[row, at : at + length]
                begin = int(piece[0]) - whole[i][0]
                assert piece.tolist() == whole[i][begin : begin + length] and text == f"document {i}"
                assert batch["mask"][row, at : at + length].tolist() == [t % 2 for t in piece.tolist()]
                assert positions[row, at : at + length].tolist() == list(range(length))
                assert (docs[row, at : at + length] == number).all()
                assert labels[row, at : at + length].tolist() == [*piece[1:].tolist(), -100]
                at += length
                edges.append(row * SIZE + at)
            if at < SIZE:
                assert (docs[row, at:] == -1).all() and (labels[row, at:] == -100).all() and (tokens[row, at:] == 0).all()
                assert positions[row, at:].tolist() == list(range(SIZE - at))
                edges.append((row + 1) * SIZE)
        assert batch["cu_seqlens"].tolist() == edges and batch["cu_seqlens"].dtype == np.int32
        assert batch["max_seqlen"] == np.diff(edges).max() and type(batch["max_seqlen"]) is int
    assert "max_seqlen" in repr(batch) and "max_seqlen" in batch._repr_html_()
    assert batch.to_arrow().column("cu_seqlens").type.value_type == pa.int32()


def test_a_column_that_is_named_twice_comes_once(table: Path) -> None:
    pack = Pack({"token_ids": SIZE}, with_columns=["doc_ids", "max_seqlen", "doc_ids"])
    assert list(StreamingDataset(table, batch_size=3, columns=["token_ids"], pack=pack).schema) == ["token_ids", "doc_ids", "max_seqlen"]


def test_tensors_of_a_packed_batch(table: Path) -> None:
    loader = shardfeed.torch.DataLoader(
        table,
        batch_size=3,
        columns=["token_ids", "n_tokens"],
        pack=Pack({"token_ids": SIZE}, with_columns=MADE, labels="same", length="n_tokens"),
    )
    for batch in loader:
        tokens, edges = batch["token_ids"], batch["cu_seqlens"]
        assert tokens.shape[1:] == (SIZE,) and edges.dtype == torch.int32 and edges.ndim == 1
        assert int(edges[0]) == 0 and int(edges[-1]) == tokens.numel()
        assert type(batch["max_seqlen"]) is int and batch["max_seqlen"] == int(edges.diff().max())
        starts = batch["position_ids"] == 0
        assert torch.equal(starts.flatten().nonzero().flatten(), edges[:-1].long())
        kept = batch["labels"] != -100
        assert torch.equal(kept, ~starts & (batch["doc_ids"] >= 0)) and torch.equal(batch["labels"][kept], tokens[kept].long())
        assert repr(batch)


def test_a_padded_last_step_without_its_padding(table: Path) -> None:
    """What a kernel with variable lengths takes: edges up to the last real block, and no more."""
    given: dict[str, Any] = {"columns": ["token_ids"], "tail": "pad", "with_row_valid": True}
    size = StreamingDataset(table, batch_size=1, pack={"token_ids": SIZE}, columns=["token_ids"]).size
    batch_size = next(n for n in range(4, 9) if size % n > 1)
    pack = Pack({"token_ids": SIZE}, with_columns=MADE)
    *_, last = shardfeed.torch.StreamingDataset(table, batch_size=batch_size, pack=pack, **given)
    batch = shardfeed.torch.drop_padding(last)
    assert batch is not None and len(batch["token_ids"]) == size % batch_size < len(last["token_ids"])
    starts = (batch["position_ids"] == 0).flatten().nonzero().flatten()
    assert batch["cu_seqlens"].tolist() == [*starts.tolist(), batch["token_ids"].numel()]
    assert batch["cu_seqlens"].dtype == torch.int32 and batch["max_seqlen"] == int(batch["cu_seqlens"].diff().max())


def test_resume_on_other_ranks(table: Path) -> None:
    given: Any = {"columns": ["token_ids"], "pack": {"token_ids": SIZE}, "seed": 3, "tail": "drop", "shuffle_buffer": 50}
    run = Run(lambda **how: StreamingDataset(table, **given, **how), lambda batch: batch["token_ids"].tolist(), 12)
    assert run.resumes(lambda steps: (1, 5, steps - 1)) > 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pack": {"token_ids": 0}}, "pack of column 'token_ids' must be at least 1, got 0"),
        ({"pack": {}}, "pack must name columns and the tokens of a block"),
        ({"pack": 8192}, "pack must be a dict of tokens by column"),
        ({"pack": {"token_ids": 8, "mask": 16}}, "pack must have one size for all columns"),
        (
            {"pack": Pack({"token_ids": 8}, strategy="bdf")},
            "strategy of pack must be 'wrapped', 'bfd' or 'bfd_split', got 'bdf'; did you mean 'bfd'?",
        ),
        (
            {"pack": Pack({"token_ids": 8}, eos=1.5)},
            "or the text of a token, got 1.5",
        ),
        (
            {"pack": Pack({"token_ids": 8}, bos=2**63)},
            "or the text of a token, got 9223372036854775808",
        ),
        ({"pack": Pack({"token_ids": 8}, with_columns=["cu_seqlen"])}, "did you mean 'cu_seqlens'?"),
        ({"pack": {"token_ids": 8}, "pad": {"token_ids": 0}}, "pad and pack name column 'token_ids'"),
        (
            {"pack": Pack({"token_ids": 8}, with_columns="max_seqlen"), "batch_size": None},
            "with_columns of pack has 'max_seqlen', which is of a batch",
        ),
        ({"pack": {"tokens": 8}}, 'pack["tokens"] names a column that is not read'),
        ({"pack": {"id": 8}}, 'pack["id"] must be a column of lists of fixed-width values, got int64'),
        ({"pack": Pack({"token_ids": 8}, eos=2)}, 'column "mask" has no place for them: name it too, or leave it out of columns'),
        ({"pack": Pack({"token_ids": 8}, length="text")}, 'pack takes lengths from a column of integers, got "text", which is string'),
        (
            {"pack": Pack({"token_ids": 8}, with_columns=["doc_ids"])},
            'pack adds a column "doc_ids", and the data has one; leave it out of columns',
        ),
        ({"pack": {"doc_ids": 8}, "columns": ["doc_ids"]}, "pack must find tokens in at least one row, got 600 rows without any"),
        ({"pack": Pack({"token_ids": 8}, length="debt")}, 'pack takes lengths from 0 to 2147483645, got -1 in column "debt"'),
        ({"pack": {"token_ids": 8}, "seeds": True, "row_ids": True}, "seeds does not go with row_ids and pack together"),
    ],
)
def test_refused(table: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ShardfeedError) as e:
        StreamingDataset(table, **{"batch_size": 4, **given})
    assert message in str(e.value)


def test_filters_choose_documents(table: Path) -> None:
    dataset = StreamingDataset(table, batch_size=4, columns=["token_ids", "id"], pack={"token_ids": SIZE}, filters=[("id", "<", 50)])
    assert {i for batch in dataset for row in batch["id"] for i in row.tolist()} == {i for i in documents() if i < 50}
    with pytest.raises(errors.OptionError, match="a row of a packed batch is several documents"):
        dataset.filter(lambda batch: batch["id"])


def test_rows_by_number_have_no_blocks(table: Path) -> None:
    with pytest.raises(TypeError, match="give it to a StreamingDataset"):
        shardfeed.MapDataset(table, batch_size=4, pack={"token_ids": 8})  # type: ignore[call-arg]


def test_seeds_of_blocks(table: Path) -> None:
    given: dict[str, Any] = {"columns": ["token_ids"], "pack": {"token_ids": SIZE}, "seeds": True}
    seeds = [s for batch in StreamingDataset(table, batch_size=4, **given) for s in batch["_seed"].tolist()]
    assert len(set(seeds)) == len(seeds)
    other = [
        s
        for rank in range(2)
        for b in StreamingDataset(table, batch_size=2, rank=rank, world_size=2, **given)
        for s in b["_seed"][b.row_valid].tolist()
    ]
    assert sorted(other) == sorted(seeds)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind, padding", [(pa.int64(), -100), (pa.int8(), -100), (pa.uint16(), 0)])
def test_padding_of_labels(tmp_path: Path, named: bool, kind: pa.DataType, padding: int) -> None:
    """A list with the name labels has what losses leave out behind its documents, where it can."""
    lists = [[1, 2, 3], [4], [5, 6]]
    table = pa.table({"ids": pa.array(lists, pa.list_(pa.int32())), "labels": pa.array(lists, pa.list_(kind))})
    pq.write_table(table, tmp_path / "part-0.parquet")
    pack = Pack({"ids": 8, "labels": 8} if named else {"ids": 8}, value=9 if not named else 0)
    (batch,) = StreamingDataset(tmp_path, batch_size=1, shuffle=False, pack=pack)
    assert batch["labels"].tolist() == [[1, 2, 3, 4, 5, 6, padding, padding]]
    assert batch["ids"].tolist() == [[1, 2, 3, 4, 5, 6, *2 * [0 if named else 9]]]


def test_a_column_of_the_name_of_lengths(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ids": pa.array([[1]], pa.list_(pa.int32())), "seq_lengths": [1]}), tmp_path / "part-0.parquet")
    with pytest.raises(errors.OptionError, match='pack adds a column "seq_lengths", and the data has one: leave it out of columns'):
        StreamingDataset(tmp_path, batch_size=1, pack={"ids": 8})
    (batch,) = StreamingDataset(tmp_path, batch_size=1, pack={"ids": 8}, columns=["ids"])
    assert batch["ids"].tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]]


def test_long_documents_are_cut_and_told(table: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pq.write_table(pq.read_table(table), tmp_path / "part-0.parquet")  # one row group, whose documents are counted together
    dataset = StreamingDataset(tmp_path, batch_size=4, columns=["token_ids"], pack=Pack({"token_ids": 100}, strategy="bfd"))
    found = Counter(t for batch in dataset for t in batch["token_ids"].ravel().tolist() if t)
    assert found == Counter(t for d in documents().values() for t in d[:100])
    epochs, rest = divmod(dataset.stats()["truncated_documents"], sum(len(d) > 100 for d in documents().values()))
    assert epochs >= 1 and rest == 0, "the next epochs are read ahead, and count as well"
    assert "strategy bfd_split keeps all tokens" in caplog.text


def test_blocks_of_a_mixture_have_one_source(table: Path) -> None:
    sources = {"few": shardfeed.Source(table, weight=3, filters="id < 300"), "many": shardfeed.Source(table, weight=1, filters="id >= 300")}
    dataset = StreamingDataset(
        sources=sources, stop="first", batch_size=4, columns=["token_ids", "id"], pack={"token_ids": SIZE}, tail="drop"
    )
    blocks = [ids.tolist() for batch in dataset for ids in batch["id"]]
    few = [max(ids) < 300 for ids in blocks]
    assert all(max(ids) < 300 or min(ids) >= 300 for ids in blocks)
    assert abs(sum(few) - 0.75 * len(blocks)) <= 2 and len(blocks) == 4 * len(dataset)
