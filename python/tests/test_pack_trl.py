"""Blocks of each row group held against TRL's pack_dataset: their number, their documents, their
tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("trl")

import datasets
from trl import pack_dataset

from shardfeed import Pack, StreamingDataset

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore")]

GROUP, GROUPS = 130, 4
SIZES = [48, 256, 1000]

Document = list[int] | None


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Documents of 0 to some thousand tokens, among them nulls and multiples of each size. No token
    comes twice.
    """
    drawn = np.random.default_rng(13).lognormal(4.5, 1.3, GROUP * GROUPS).astype(int)
    lists: list[Document] = []
    at = 1
    for i, length in enumerate(drawn.tolist()):
        n = 0 if i % 17 == 0 else SIZES[i % 3] * (1 + i % 2) if i % 11 == 0 else length
        lists.append(None if i % 19 == 0 else list(range(at, at + n)))
        at += n
    return lists


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, documents: list[Document]) -> Path:
    path = tmp_path_factory.mktemp("documents") / "part-0.parquet"
    columns = {"token_ids": pa.array(documents, pa.list_(pa.int32())), "id": pa.array(range(len(documents)), pa.int64())}
    pq.write_table(pa.table(columns), path, row_group_size=GROUP)
    return path


def theirs(documents: list[Document], size: int, strategy: str) -> Iterator[list[dict[str, Any]]]:
    """TRL's blocks of each row group, which it packs as one batch."""
    datasets.disable_progress_bars()
    for group in range(GROUPS):
        rows = datasets.Dataset.from_dict({"token_ids": documents[group * GROUP : (group + 1) * GROUP]})
        yield list(pack_dataset(rows, size, strategy, {"batch_size": None}))


def ours(table: Path, size: int, strategy: Any, **given: Any) -> list[list[dict[str, Any]]]:
    """Our blocks of each row group, without their padding."""
    pack = Pack({"token_ids": size}, strategy=strategy, with_columns=["seq_lengths"])
    found: list[list[dict[str, Any]]] = [[] for _ in range(GROUPS)]
    for batch in StreamingDataset(table, batch_size=1, columns=["token_ids", "id"], pack=pack, **given):
        lengths, ids = batch["seq_lengths"][0].tolist(), batch["id"][0]
        assert len({int(i) // GROUP for i in ids}) == 1, "a block is of one row group"
        found[int(ids[0]) // GROUP].append({"token_ids": batch["token_ids"][0].tolist()[: sum(lengths)], "seq_lengths": lengths})
    return found


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strategy", ["wrapped", "bfd", "bfd_split"])
def test_blocks_are_those_of_trl(table: Path, documents: list[Document], strategy: str, size: int, shuffle: bool) -> None:
    mine = ours(table, size, strategy, shuffle=shuffle)
    for blocks, want in zip(mine, theirs(documents, size, strategy), strict=True):
        assert len(blocks) == len(want) > 1
        assert Counter(t for b in blocks for t in b["token_ids"]) == Counter(t for b in want for t in b["token_ids"])
        if strategy != "wrapped":
            assert Counter(tuple(sorted(b["seq_lengths"])) for b in blocks) == Counter(tuple(sorted(b["seq_lengths"])) for b in want)
        elif not shuffle:
            assert [b["token_ids"] for b in blocks] == [b["token_ids"] for b in want]
