"""Sources of a mixture with tokenizers of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
from steps import Run
from tokenizers import models, pre_tokenizers, trainers

from shardfeed import Pack, Source, StreamingDataset, Tokenizer, errors

pytestmark = pytest.mark.usefixtures("job")

ENDS = {"web": "<|end|>", "code": "</s>"}


def text(i: int) -> str:
    return " ".join(f"{word} {i * k}" for k, word in enumerate(("the", "thing", "def f(x):", "naïve") * (i % 4 + 1)))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("texts")
    pq.write_table(pa.table({"id": range(200), "text": [text(i) for i in range(200)]}), directory / "part.parquet", row_group_size=50)
    return directory


@pytest.fixture(scope="module")
def made() -> dict[str, tokenizers.Tokenizer]:
    """A tokenizer for each source, with other tokens and another end."""
    all_of_them = {}
    for (name, end), size in zip(ENDS.items(), (400, 300)):
        specials = [end] if name == "web" else ["<pad>", end]
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(
            map(text, range(200)), trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet)
        )
        all_of_them[name] = tokenizer
    return all_of_them


def mixture(table: Path, made: dict[str, Any], **more: Any) -> StreamingDataset:
    """Two sources of one table. The rows of "code" have the second tokenizer."""
    own = {"tokenize": {"text": made["code"]}, **more.pop("own", {})}
    sources = {"web": Source(table, weight=2), "code": Source(table, weight=1, filters="id > 20", **own)}
    options: dict[str, Any] = {"tokenize": {"text": made["web"]}, "row_ids": True, "tail": "short", "batch_size": 5, **more}
    return StreamingDataset(sources=sources, **options)


@pytest.mark.parametrize("batching", ["stratified", "per_source"])
def test_rows_have_the_tokens_of_their_source(table: Path, made: dict[str, tokenizers.Tokenizer], batching: Any) -> None:
    seen = {"web": 0, "code": 0}
    for batch in mixture(table, made, pad={"text": -1}, batching=batching):
        sources = batch["source"].tolist()
        assert batching == "stratified" or len(set(sources)) == 1
        for i, of, ids, n in zip(batch["id"].tolist(), sources, batch["text"].tolist(), batch["text_lengths"].tolist()):
            name = list(ENDS)[of]
            assert ids[:n] == made[name].encode(text(i)).ids
            seen[name] += 1
    assert min(seen.values()) > 60


def test_blocks_end_documents_as_their_source_does(table: Path, made: dict[str, tokenizers.Tokenizer]) -> None:
    pack = Pack({"text": 96}, eos=ENDS["web"], strategy="bfd_split", with_columns=["seq_lengths"])
    ends: dict[str, set[int]] = {name: set() for name in ENDS}
    documents = dict.fromkeys(ENDS, 0)
    for batch in mixture(table, made, pack=pack, own={"eos": ENDS["code"]}):
        for block, lengths, of in zip(batch["text"].tolist(), batch["seq_lengths"], batch["source"]):
            name, at = list(ENDS)[int(of[0])], 0
            for n in lengths.tolist():
                at += n
                ends[name].add(block[at - 1])
                documents[name] += 1
    assert ends == {name: {made[name].token_to_id(end)} for name, end in ENDS.items()} == {"web": {0}, "code": {1}}
    assert min(documents.values()) > 60


def test_resume_on_other_ranks_at_every_step(table: Path, made: dict[str, tokenizers.Tokenizer]) -> None:
    given: Any = {"pack": Pack({"text": 64}, eos=ENDS["web"]), "own": {"eos": ENDS["code"]}, "shuffle_buffer": 50}
    assert Run(lambda **how: mixture(table, made, **given, **how), lambda batch: batch["text"].tolist(), 6).resumes() > 5


def test_another_tokenizer_of_a_source_is_refused(table: Path, made: dict[str, tokenizers.Tokenizer]) -> None:
    dataset = mixture(table, made)
    next(iter(dataset))
    other = mixture(table, {"web": made["web"], "code": Tokenizer(made["code"], specials="text")})
    other.load_state_dict(dataset.state_dict())
    with pytest.raises(errors.StateError, match=r"rule.*specials=text.*specials=parse"):
        next(iter(other))


def test_first_start_compares_each_tokenizer(
    table: Path, made: dict[str, tokenizers.Tokenizer], runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixture(table, made)
    monkeypatch.setattr("shardfeed._compared._encode", lambda tokenizer, file: lambda text: made["web"].encode(text).ids)
    with pytest.raises(errors.DataError, match="makes other tokens of column 'text'"):
        mixture(table, made, row_ids=False, seed=1, own={"tokenize": {"text": Tokenizer(made["code"], max_tokens=500)}})


@pytest.mark.parametrize(
    ("own", "more", "message"),
    [
        ({"tokenize": "x.json"}, {}, "tokenize must be a dict"),
        ({"tokenize": {"text": 3}}, {}, r"sources\['code'\] the tokenizer of column 'text' must be a path"),
        ({"eos": 1.5}, {}, r"sources\['code'\] eos must be a whole number"),
        ({"tokenize": {"title": "x.json"}}, {}, 'has a tokenizer of column "title" in place of that of all sources'),
        ({}, {"pack": Pack({"text": 64}, eos=7)}, "eos of pack is the number of a token of another"),
        (
            {},
            {"pack": Pack({"text": 64}, eos="<|end|>")},
            'source "code": pack names a token as eos that the tokenizer of column "text" does not',
        ),
        ({"tokenize": None, "eos": 3}, {"pack": Pack({"text": 64}, eos=7)}, "has eos, and no tokenizer of its own"),
    ],
)
def test_refused(table: Path, made: dict[str, Any], own: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.OptionError, match=message):
        mixture(table, made, own=own, **more)
