"""Fill-in-the-middle: tokens, rates and forms, the same blocks on any ranks and after any step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

import shardfeed.torch
from shardfeed import FillInTheMiddle, Pack, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

SIZE, EOS, PREFIX, MIDDLE, SUFFIX, FILE = 128, 1, 2, 3, 4, 5
FIM = FillInTheMiddle(PREFIX, MIDDLE, SUFFIX, spm_rate=0.25)
MADE = ["position_ids", "doc_ids", "seq_lengths", "cu_seqlens", "max_seqlen"]


def document(i: int) -> list[int]:
    """Tokens that no other document has, in their order."""
    return list(range(1000 * i + 10, 1000 * i + 10 + (7 * i) % 61))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("documents")
    for k in range(2):
        ids = range(300 * k, 300 * (k + 1))
        tokens = pa.array([document(i) for i in ids], pa.list_(pa.int32()))
        columns = {"token_ids": tokens, "mask": tokens, "id": pa.array(ids, pa.int64())}
        pq.write_table(pa.table(columns), directory / f"part-{k}.parquet", row_group_size=100)
    return directory


def whole(tokens: list[int]) -> list[int]:
    """A document before its permutation, without what is beyond its block."""
    if not tokens or tokens[0] != PREFIX:
        return tokens
    end = [EOS] if tokens[-1] == EOS else []
    rest = tokens[1 : len(tokens) - len(end)]
    suffix = rest.index(SUFFIX) if SUFFIX in rest else len(rest)
    middle = rest.index(MIDDLE) if MIDDLE in rest else len(rest)
    return rest[:suffix] + rest[middle + 1 :] + rest[suffix + 1 : middle] + end


@pytest.mark.parametrize("strategy", ["wrapped", "bfd", "bfd_split"])
def test_blocks_are_those_without_it_permuted(table: Path, strategy: Any) -> None:
    def batches(fim: FillInTheMiddle | None) -> Any:
        pack = Pack({"token_ids": SIZE}, strategy=strategy, eos=EOS, fim=fim, with_columns=MADE, labels="next")
        return shardfeed.torch.DataLoader(table, batch_size=5, columns=["token_ids", "id"], pack=pack, shuffle=True, seed=3)

    documents = permuted = first = lost = 0
    for plain, batch in zip(batches(None), batches(FIM), strict=True):
        edges = [0]
        for row in range(len(batch["token_ids"])):
            assert batch["id"][row].tolist() == plain["id"][row].tolist()
            at = before = 0
            lengths = batch["seq_lengths"][row].tolist()
            for number, (length, had) in enumerate(zip(lengths, plain["seq_lengths"][row].tolist(), strict=True)):
                piece = batch["token_ids"][row, at : at + length].tolist()
                want = plain["token_ids"][row, before : before + had].tolist()
                got = whole(piece)
                if at + length < SIZE:
                    assert got == want
                else:  # the end of the block
                    lost += len(want) - len(got)
                    assert set(got) <= set(want)
                documents, permuted = documents + 1, permuted + (PREFIX in piece)
                first += piece[:2] == [PREFIX, SUFFIX]
                assert batch["position_ids"][row, at : at + length].tolist() == list(range(length))
                assert (batch["doc_ids"][row, at : at + length] == number).all()
                assert batch["labels"][row, at : at + length].tolist() == [*piece[1:], -100][:length]
                at, before = at + length, before + had
                edges.append(row * SIZE + at)
            assert (batch["token_ids"][row, at:] == 0).all() and (batch["doc_ids"][row, at:] == -1).all()
            if at < SIZE:
                edges.append((row + 1) * SIZE)
        assert batch["cu_seqlens"].tolist() == edges
        assert batch["max_seqlen"] == int(np.diff(edges).max())
    assert documents > 580 and lost > 0
    assert 0.43 < permuted / documents < 0.55  # a document beyond its block has no token
    assert 0.2 < first / permuted < 0.42  # SPM, and PSM without a prefix


@pytest.mark.parametrize("shuffle", [True, False])
def test_blocks_are_the_same_on_any_ranks_and_after_any_step(table: Path, shuffle: bool) -> None:
    def dataset(rank: int, world: int, rows: int) -> StreamingDataset:
        pack = Pack({"token_ids": SIZE}, eos=EOS, fim=FIM)
        return StreamingDataset(
            table,
            batch_size=rows,
            columns=["token_ids"],
            pack=pack,
            shuffle=shuffle,
            seed=7,
            rank=rank,
            world_size=world,
            tail="drop",
        )

    def steps(rank: int, world: int, rows: int, state: Any = None) -> list[np.ndarray]:
        d = dataset(rank, world, rows)
        if state is not None:
            d.load_state_dict(state)
        return [np.sort(batch["token_ids"].copy().view("V512").ravel()) for batch in d]

    alone = steps(0, 1, 6)
    d = dataset(0, 1, 6)
    states = [d.state_dict()]
    states += [d.state_dict() for _ in d]
    for at, state in enumerate(states[: len(alone)]):
        for world in (2, 3):
            ranks = zip(*(steps(rank, world, 6 // world, state) for rank in range(world)), strict=True)
            assert [np.sort(np.concatenate(parts)).tobytes() for parts in ranks] == [a.tobytes() for a in alone[at:]]
    later = dataset(0, 1, 6)
    later.set_epoch(1)
    assert {v.tobytes() for step in alone for v in step} != {
        v.tobytes() for batch in later for v in batch["token_ids"].copy().view("V512").ravel()
    }


def test_sentinels_and_boundaries_by_their_texts(tmp_path: Path) -> None:
    specials = ["<eos>", "<pre>", "<mid>", "<suf>", "<file>"]
    tokenizer = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(specials)
    pq.write_table(pa.table({"text": ["abc<file>bca", "c", "aaaa"] * 30}), tmp_path / "a.parquet")
    fim = FillInTheMiddle("<pre>", "<mid>", "<suf>", rate=1, boundaries=["<file>"])
    pack = Pack({"text": 64}, eos="<eos>", fim=fim, strategy="bfd", value=-1)
    ids = {word: tokenizer.token_to_id(word) for word in specials}
    found = []
    for batch in shardfeed.torch.DataLoader(
        tmp_path, batch_size=2, columns=["text"], tokenize={"text": tokenizer}, pack=pack, tail="short"
    ):
        for block in batch["text"].tolist():
            for text in "".join(tokenizer.id_to_token(t) for t in block if t >= 0).split("<eos>")[:-1]:
                for fragment in text.split("<file>"):
                    assert fragment.startswith("<pre>") and fragment.count("<suf>") == fragment.count("<mid>") == 1
                    prefix, rest = fragment[5:].split("<suf>")
                    suffix, middle = rest.split("<mid>")
                    found.append(prefix + middle + suffix)
    assert set(found) == {"abc", "bca", "c", "aaaa"} and len(ids) == 5
    numbers = FillInTheMiddle(ids["<pre>"], ids["<mid>"], ids["<suf>"], rate=1, boundaries=[ids["<file>"]])
    by_number = Pack({"text": 64}, eos="<eos>", fim=numbers, strategy="bfd", value=-1)
    first, second = (
        [
            batch["text"].tobytes()
            for batch in StreamingDataset(tmp_path, batch_size=2, columns=["text"], tokenize={"text": tokenizer}, pack=p)
        ]
        for p in (pack, by_number)
    )
    assert first == second


@pytest.mark.parametrize(
    ("fim", "pack", "want"),
    [
        (FillInTheMiddle(2, 3, 3), {}, "three different tokens"),
        (FillInTheMiddle(1, 3, 4), {}, "token 1 as prefix of fill-in-the-middle, and as eos, bos or a boundary"),
        (FIM, {"eos": None}, "needs an eos with fill-in-the-middle, or boundaries"),
        (FillInTheMiddle(2, 3, 2**40), {}, "do not hold suffix 1099511627776"),
        (FillInTheMiddle("<pre>", 3, 4), {}, 'needs tokenize to find the number of token "<pre>"'),
        (FillInTheMiddle(2, 3, 4, rate=0), {}, "rate of fim must be a number above 0 and at most 1, got 0"),
        (FillInTheMiddle(2, 3, 4, spm_rate=2), {}, "spm_rate of fim must be"),
        (FillInTheMiddle(2, None, 4), {}, "middle of fim must be a whole number"),  # type: ignore[arg-type]
        (FillInTheMiddle(2, 3, 4, boundaries=[1.5]), {}, "each of boundaries of fim must be a whole number"),  # type: ignore[list-item]
        ((2, 3, 4), {}, "fim of pack must be a shardfeed.FillInTheMiddle"),
    ],
)
def test_refusals(table: Path, fim: Any, pack: dict[str, Any], want: str) -> None:
    with pytest.raises(errors.OptionError) as e:
        len(
            StreamingDataset(table, batch_size=2, columns=["token_ids"], pack=Pack({"token_ids": SIZE}, **{"eos": EOS, "fim": fim, **pack}))
        )
    assert want in str(e.value)


def test_columns_beside_the_tokens_are_refused(table: Path) -> None:
    with pytest.raises(errors.OptionError, match='column "mask" has a value for each of them: leave it out of columns'):
        len(
            StreamingDataset(
                table,
                batch_size=2,
                columns=["token_ids", "mask"],
                pack=Pack({"token_ids": SIZE}, fim=FillInTheMiddle(2, 3, 4, boundaries=[FILE])),
            )
        )


def test_a_state_of_another_rate_is_refused(table: Path) -> None:
    def dataset(rate: float) -> StreamingDataset:
        pack = Pack({"token_ids": SIZE}, eos=EOS, fim=FillInTheMiddle(PREFIX, MIDDLE, SUFFIX, rate=rate))
        return StreamingDataset(table, batch_size=2, columns=["token_ids"], pack=pack)

    d = dataset(0.5)
    next(iter(d))
    other = dataset(0.6)
    with pytest.raises(errors.ShardfeedError, match="rule"):
        other.load_state_dict(d.state_dict())
        next(iter(other))
