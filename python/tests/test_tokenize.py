"""Tokens of texts: those of the library tokenizers, in any order and on any ranks."""

from __future__ import annotations

import importlib.metadata
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
from ranks import Job, readers
from servers import S3, s3  # noqa: F401 - a fixture
from steps import Run
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from shardfeed import MapDataset, Pack, StreamingDataset, Tokenizer, errors

pytestmark = pytest.mark.usefixtures("job")

END = "<|end|>"


def text(i: int) -> str:
    """A text of a few languages, with contractions, digits and, in some, a special token."""
    draw = random.Random(i)
    words = ["the", "it's", "we'll", "12345", "naïve", "日本語", "\U0001f600", "def f(x):\n\treturn x", "  ", "Ελλάδα", "e\u0301", END]
    return " ".join(draw.choice(words) for _ in range(draw.randrange(60)))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of 150 texts; every 13th is null."""
    directory = tmp_path_factory.mktemp("texts")
    for k in range(2):
        ids = range(150 * k, 150 * (k + 1))
        texts = [None if i % 13 == 0 else text(i) for i in ids]
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "text": texts}), directory / f"part-{k}.parquet", row_group_size=40)
    return directory


@pytest.fixture(scope="module")
def tokenizer() -> tokenizers.Tokenizer:
    """A byte-level tokenizer, trained on the texts."""
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(map(text, range(300)), trainers.BpeTrainer(vocab_size=500, special_tokens=[END], initial_alphabet=alphabet))
    made.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 0)])
    return made


@pytest.fixture(scope="module")
def file(tokenizer: tokenizers.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


FORMS: dict[str, dict[str, Any]] = {
    "path": {},
    "object": {},
    "template": {"template": True},
    "cut": {"max_tokens": 20},
    "cut template": {"template": True, "max_tokens": 20},
}


def wanted(tokenizer: tokenizers.Tokenizer, i: int, template: bool = False, max_tokens: int = 0) -> list[int]:
    if i % 13 == 0:
        return []
    limited = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    if max_tokens:
        limited.enable_truncation(max_tokens)
    return limited.encode(text(i), add_special_tokens=template).ids


@pytest.mark.parametrize("form", FORMS)
def test_tokens_are_those_of_the_library(table: Path, tokenizer: tokenizers.Tokenizer, file: Path, form: str) -> None:
    given: Any = {"path": file, "object": tokenizer}.get(form) or Tokenizer(file, **FORMS[form])
    seen = set()
    dataset = StreamingDataset(table, batch_size=7, tokenize={"text": given}, pad={"text": -1}, tail="short", filters="id < 280")
    for batch in dataset:
        for i, ids, n in zip(batch["id"].tolist(), batch["text"].tolist(), batch["text_lengths"].tolist()):
            assert ids[:n] == wanted(tokenizer, i, **FORMS[form])
            seen.add(i)
    assert seen == set(range(280))
    made = dataset.stats()
    different = {text(i): i for i in range(280) if i % 13}  # a dictionary's text is tokenized once for each row group
    assert made["tokenized_tokens"] >= sum(len(wanted(tokenizer, i, **FORMS[form])) for i in different.values())
    assert bool(made["truncated_documents"]) == ("max_tokens" in FORMS[form])
    assert made["special_documents"] >= sum(END in text(i) for i in different.values())


def test_rows_by_number(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    dataset = MapDataset(table, tokenize={"text": tokenizer})
    for i in (0, 5, 299):
        assert list(dataset[i]["text"]) == wanted(tokenizer, i)


def packed(table: Path | str, tokenizer: Any, **more: Any) -> StreamingDataset:
    pack = Pack({"text": 64}, eos=END, with_columns=["seq_lengths"])
    return StreamingDataset(table, columns=["id", "text"], tokenize={"text": tokenizer}, pack=pack, tail="drop", seed=3, **more)


def test_blocks_have_every_document(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    end, found = tokenizer.token_to_id(END), []
    for batch in packed(table, tokenizer, batch_size=1, filters="id >= 40"):
        found += np.asarray(batch["text"]).ravel().tolist()
    want = [token for i in range(40, 300) for ids in [wanted(tokenizer, i)] if ids for token in [*ids, end]]
    rest = sorted(found)
    for token in sorted(want):
        rest.remove(token)
    assert set(rest) <= {0}


def run(table: Path, tokenizer: Any) -> Run:
    return Run(lambda **how: packed(table, tokenizer, shuffle_buffer=50, **how), lambda batch: batch["text"].tolist(), 6)


def test_resume_on_other_ranks_at_every_step(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    assert run(table, tokenizer).resumes() > 5


@pytest.mark.parametrize("other", [{"specials": "text"}, {"max_tokens": 30}])
def test_another_tokenizer_does_not_resume(table: Path, tokenizer: tokenizers.Tokenizer, other: dict[str, Any]) -> None:
    _, state = run(table, tokenizer).steps(1, stop=1)
    with pytest.raises(errors.ShardfeedError, match="rule"):
        run(table, Tokenizer(tokenizer, **other)).steps(1, state)


def test_another_tokenizer_does_not_resume_rows(table: Path, two_files: list[Path]) -> None:
    def begin(file: Path) -> StreamingDataset:
        return StreamingDataset(table, batch_size=4, tokenize={"text": file}, seed=3)

    dataset = begin(two_files[0])
    next(iter(dataset))
    same, other = (begin(file) for file in two_files)
    same.load_state_dict(dataset.state_dict())
    next(iter(same))
    with pytest.raises(errors.StateError, match="rule") as failed:
        other.load_state_dict(dataset.state_dict())
        next(iter(other))
    assert names_both(str(failed.value))


@pytest.fixture
def two_files(file: Path, tokenizer: tokenizers.Tokenizer, tmp_path: Path) -> list[Path]:
    """The tokenizer, and one that makes other tokens."""
    model = json.loads(tokenizer.to_str())
    model["normalizer"] = None
    other = tmp_path / "other.json"
    other.write_text(json.dumps(model))
    return [file, other]


def names_both(text: str) -> bool:
    return "tokenize" in text and len(set(re.findall(r"sha256:[0-9a-f]+", text))) == 2


def test_ranks_with_different_tokenizers_on_one_node(job: str, table: Path, two_files: list[Path]) -> None:
    for rank in readers(2, lambda rank: [table, "--batch-size", 4, "--pause", 0.2, "--tokenizer", two_files[rank]]):
        said, words = rank.communicate(timeout=250)
        assert rank.returncode == 3, words
        last = json.loads(said.splitlines()[-1])
        assert last["error"] == "RankMismatchError" and names_both(last["text"]), last


def test_ranks_with_different_tokenizers_on_two_nodes(runtime: Path, table: Path, two_files: list[Path], tmp_path: Path) -> None:
    with Job("nodes.py", 2, tmp_path, table, "--seeds", 7, 7, "--tokenizers", *two_files) as ran:
        ran.wait()
    told = ran.lines("error")
    assert [line["error"] for line in told] == ["RankMismatchError"] * 2
    assert all(names_both(line["text"]) for line in told), told
    assert not ran.lines("step")


class Changed:
    """A tokenizer whose file is not what it makes tokens by. It counts the texts."""

    truncation = padding = None

    def __init__(self, tokenizer: tokenizers.Tokenizer, file: str) -> None:
        self.tokenizer, self.file, self.texts = tokenizer, file, 0

    def to_str(self) -> str:
        return self.file

    def encode(self, text: str, add_special_tokens: bool) -> Any:
        self.texts += 1
        return self.tokenizer.encode(text, add_special_tokens=add_special_tokens)


def test_first_start_compares_with_the_library(
    table: Path, tokenizer: tokenizers.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(given: Any, **more: Any) -> StreamingDataset:
        return StreamingDataset(table, batch_size=4, tokenize={"text": given}, cache_dir=tmp_path, **more)

    same = Changed(tokenizer, tokenizer.to_str())
    start(same, pack={"text": 32})
    assert same.texts == sum(i % 13 > 0 for i in range(150))  # of the first shard
    start(same, shuffle=False)
    assert same.texts == sum(i % 13 > 0 for i in range(150))  # it agreed
    start(Tokenizer(same, template=True))
    assert same.texts == 2 * sum(i % 13 > 0 for i in range(150))

    model = json.loads(tokenizer.to_str())
    model["normalizer"] = None
    other = Changed(tokenizer, json.dumps(model))
    for _ in range(2):  # what differs is not remembered
        with pytest.raises(errors.DataError, match=r"row \d+ of .*part-0.parquet token \d+ is \d+, and there it is \d+; .*check=False"):
            start(other)
    assert sum(1 for _ in start(Tokenizer(other, check=False))) == 75
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0")
    with pytest.raises(errors.DataError, match=r"tokenizers 0\.0"):
        start(other)
    same.texts = 0
    start(same)
    assert same.texts > 0  # another version of the library


@pytest.mark.parametrize("specials", ["parse", "text", "error"])
def test_comparison_with_options(table: Path, tokenizer: tokenizers.Tokenizer, file: Path, tmp_path: Path, specials: Any) -> None:
    limited = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    limited.enable_truncation(3)
    limited.enable_padding()
    for n, given in enumerate((file, limited, Tokenizer(file, max_tokens=9), Tokenizer(limited, max_tokens=9, template=True))):
        given = given if isinstance(given, Tokenizer) else Tokenizer(given)
        StreamingDataset(table, batch_size=4, tokenize={"text": replace(given, specials=specials)}, cache_dir=tmp_path / str(n))
        assert len(list((tmp_path / str(n) / "checked").iterdir())) == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tokenize": {"text": 5}}, "tokenizer of column 'text' must be a path or an address of a tokenizer.json"),
        ({"tokenize": {"text": tokenizers.Tokenizer}}, "tokenizer of column 'text' must be a path or an address of a tokenizer.json"),
        ({"tokenize": {"text": "meta-llama/Llama-3.1-8B"}}, "no such file or directory; to use a name of the Hugging Face Hub, download"),
        ({"tokenize": "tokenizer.json"}, "tokenize must be a dict"),
        ({"tokenize": {"text": Tokenizer("a.json", specials="drop")}}, "specials of the tokenizer of column 'text'"),  # type: ignore[arg-type]
        ({"tokenize": {"text": Tokenizer("a.json", max_tokens=0)}}, "max_tokens of the tokenizer of column 'text' must be"),
        ({"tokenize": {"text": "SHORT"}}, "must have max_tokens of at least 2, room for a token beside the template's, got 1"),
        ({"tokenize": {"text": "/nowhere/tokenizer.json"}}, "no such file"),
        ({"tokenize": {"id": "FILE"}}, 'needs a column with one text a row, and "id" is int64'),
        ({"tokenize": {"text": "FILE"}, "pack": Pack({"text": 8}, eos="<none>")}, "does not have"),
        ({"tokenize": {"text": "TEMPLATE"}, "pack": Pack({"text": 8}, eos=END)}, "leave one of the two out"),
    ],
)
def test_refused(table: Path, file: Path, more: dict[str, Any], message: str) -> None:
    if isinstance(more["tokenize"], dict):
        forms = {"FILE": file, "TEMPLATE": Tokenizer(file, template=True), "SHORT": Tokenizer(file, template=True, max_tokens=1)}
        more = {**more, "tokenize": {k: forms.get(v, v) if isinstance(v, str) else v for k, v in more["tokenize"].items()}}
    with pytest.raises(errors.ShardfeedError, match=message):
        next(iter(StreamingDataset(table, batch_size=2, **more)))


def test_second_start_reads_no_shard(
    runtime: Path,
    s3: S3,  # noqa: F811
    table: Path,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one whose rule has a filter and a part: their counts are kept beside the index."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    address, counted = s3.put(table), []
    rule = {"filters": "id > 20", "parts": {"train": 0.8, "test": 0.2}, "part": "train"}
    for n in range(3):
        monkeypatch.setenv("SHARDFEED_JOB", f"{tmp_path} {n}")  # an engine of its own
        before = len(s3.requests())
        given: Any = Tokenizer(file, specials="text" if n == 2 else "parse", check=False)
        dataset = packed(address, given, batch_size=1, cache=False, index_dir=tmp_path / "index", **rule)
        gets = [key for request, key in s3.requests(before) if request == "GetObject"]
        counted.append((len(dataset), bool(gets)))
    assert counted[0] == (counted[1][0], True) and not counted[1][1]
    assert counted[2][1], "counts of another tokenizer were taken"


def test_binary_texts_that_are_not_utf8(tmp_path: Path, file: Path, tokenizer: tokenizers.Tokenizer) -> None:
    texts = [b"the cat", b"na\xefve \xff\xfe", None] * 20
    pq.write_table(pa.table({"text": pa.array(texts, pa.binary())}), tmp_path / "a.parquet")

    def dataset(**more: Any) -> StreamingDataset:
        return StreamingDataset(tmp_path, batch_size=4, columns=["text"], tokenize={"text": file}, shuffle=False, **more)

    for pack in (None, {"text": 16}):
        with pytest.raises(errors.DataError, match=r"the text is not valid UTF-8 \(set invalid_utf8 to replace"):
            list(dataset(pack=pack))
    want = [tokenizer.encode(t.decode(errors="replace"), add_special_tokens=False).ids if t else [] for t in texts]
    got = [row.tolist() for batch in dataset(invalid_utf8="replace") for row in batch["text"]]
    assert got == want
    blocks = [batch["text"] for batch in dataset(invalid_utf8="replace", pack={"text": 16})]
    assert np.concatenate(blocks).ravel()[: sum(map(len, want))].tolist() == [t for w in want for t in w]


def test_column_of_nulls(tmp_path: Path, file: Path) -> None:
    pq.write_table(pa.table({"text": pa.nulls(20)}), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=4, columns=["text"], tokenize={"text": file})
    assert [len(row) for batch in dataset for row in batch["text"]] == [0] * 20
    with pytest.raises(errors.OptionError, match="must find tokens in at least one row, got 20 rows without any"):
        len(StreamingDataset(tmp_path, batch_size=4, columns=["text"], tokenize={"text": file}, pack={"text": 16}))
