"""Tokens of several columns in one list, with labels: those that the library tokenizers makes of each text."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tokenizers
from steps import Run
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from shardfeed import MapDataset, Pack, Source, StreamingDataset, Tokenizer, errors

pytestmark = pytest.mark.usefixtures("job")

END, START = "<|end|>", "<|start|>"
ROWS = 240
JOIN = ["prompt", "completion"]


def text(seed: str, most: int) -> str | None:
    """A text of a few languages; null at times, and empty at times."""
    draw = random.Random(seed)
    if draw.random() < 0.05:
        return None
    words = ["the", " it's", " we'll", "12345", "naïve", " 日本語", "\U0001f600", " def f(x):\n\treturn x", "e\u0301", " "]
    return "".join(draw.choice(words) for _ in range(draw.randrange(most)))


def texts(i: int) -> dict[str, str | None]:
    return {"prompt": text(f"prompt {i % 50}", 9), "completion": text(f"completion {i}", 12), "note": text(f"note {i}", 4)}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards; few different prompts, so that they are a dictionary's."""
    directory = tmp_path_factory.mktemp("turns")
    for k in range(2):
        ids = range(ROWS // 2 * k, ROWS // 2 * (k + 1))
        columns = {name: [texts(i)[name] for i in ids] for name in ("prompt", "note", "completion")}
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), **columns}), directory / f"part-{k}.parquet", row_group_size=50)
    return directory


@pytest.fixture(scope="module")
def tokenizer() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = [t for i in range(ROWS) for t in texts(i).values() if t]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(words, trainers.BpeTrainer(vocab_size=400, special_tokens=[END, START], initial_alphabet=alphabet))
    made.post_processor = processors.TemplateProcessing(single=f"{START} $A {END}", special_tokens=[(END, 0), (START, 1)])
    return made


@pytest.fixture(scope="module")
def file(tokenizer: tokenizers.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def wanted(
    tokenizer: tokenizers.Tokenizer, i: int, join: Any = JOIN, labels: Any = ("completion",), template: bool = False, max_tokens: int = 0
) -> tuple[list[int], list[int]]:
    """The tokens of a row and its labels; both are empty for a row with a null."""
    parts = [(texts(i)[name], name in labels) for name in join]
    if any(t is None for t, _ in parts):
        return [], []
    ids, marks = ([1], [-100]) if template else ([], [])
    for t, trained in parts:
        of = tokenizer.encode(t, add_special_tokens=False).ids
        ids, marks = ids + of, marks + (of if trained else [-100] * len(of))
    if max_tokens:
        ids, marks = ids[: max_tokens - template], marks[: max_tokens - template]
    if template:
        ids, marks = [*ids, 0], [*marks, 0 if parts[-1][1] else -100]
    return ids, marks


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"template": True},
        {"max_tokens": 9},
        {"template": True, "max_tokens": 9},
        {"labels": ["prompt"]},
        {"labels": ["prompt"], "template": True},
        {"join": ["completion", "note", "prompt"], "labels": ["note", "prompt"]},
        {"join": ["completion"], "labels": ["completion"]},
    ],
    ids=str,
)
def test_each_text_has_its_own_tokens(table: Path, tokenizer: tokenizers.Tokenizer, file: Path, how: dict[str, Any]) -> None:
    how = {"join": JOIN, "labels": ["completion"], **how}
    pad = {"input_ids": 7, "labels": -100}
    seen = set()
    dataset = StreamingDataset(table, batch_size=7, tokenize={"input_ids": Tokenizer(file, **how)}, pad=pad, tail="short", seed=1)
    for batch in dataset:
        others = {"prompt", "note", "completion"} - set(how["join"])
        assert set(batch) == {"id", "input_ids", "input_ids_lengths", "labels", "labels_lengths"} | others
        assert batch["input_ids"].dtype == batch["labels"].dtype == np.int32
        for i, ids, labels, n in zip(
            batch["id"].tolist(), batch["input_ids"].tolist(), batch["labels"].tolist(), batch["labels_lengths"].tolist()
        ):
            assert (ids[:n], labels[:n]) == wanted(tokenizer, i, **how)
            seen.add(i)
    assert seen == set(range(ROWS))
    assert bool(dataset.stats()["truncated_documents"]) == ("max_tokens" in how)


@pytest.mark.parametrize(
    ("columns", "has"),
    [
        (None, {"id", "note", "completion", "input_ids"}),
        (["id", "input_ids"], {"id", "input_ids"}),
        (["id"], {"id", "input_ids"}),
        (["input_ids", "prompt"], {"input_ids", "prompt"}),
        (["pro*"], {"input_ids", "prompt"}),
    ],
)
def test_tokens_under_another_name(table: Path, tokenizer: tokenizers.Tokenizer, columns: Any, has: set[str]) -> None:
    dataset = StreamingDataset(
        table, columns=columns, batch_size=5, tokenize={"input_ids": Tokenizer(tokenizer, join="prompt")}, tail="short", shuffle=False
    )
    at = 0
    for batch in dataset:
        assert set(batch) == has
        for k, ids in enumerate(batch["input_ids"]):
            want = texts(at)["prompt"]
            assert list(ids) == (tokenizer.encode(want or "", add_special_tokens=False).ids)
            if "prompt" in has:
                assert batch["prompt"][k] == (want or "")
            at += 1
    assert at == ROWS


def test_a_text_has_tokens_of_two_tokenizers(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    both = {
        "a": Tokenizer(tokenizer, join="prompt"),
        "z": Tokenizer(tokenizer, join=JOIN, template=True),
        "prompt": Tokenizer(tokenizer, max_tokens=2),
    }
    rows = MapDataset(table, tokenize=both)
    assert set(rows[0]) == {"id", "note", "a", "z", "prompt"}
    for i in range(0, ROWS, 11):
        row = rows[i]
        want = tokenizer.encode(texts(i)["prompt"] or "", add_special_tokens=False).ids
        assert list(row["a"]) == want and list(row["prompt"]) == want[:2]
        assert list(row["z"]) == wanted(tokenizer, i, template=True)[0]


def test_rows_by_number(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    rows = MapDataset(table, columns=["id", "input_ids"], tokenize={"input_ids": Tokenizer(tokenizer, join=JOIN, labels="completion")})
    for i in (0, 5, 57, ROWS - 1):
        assert (list(rows[i]["input_ids"]), list(rows[i]["labels"])) == wanted(tokenizer, i)


def documents(
    tokenizer: tokenizers.Tokenizer, how: str | None, labels: Any = ("completion",), around: bool = True
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The documents of all rows, between bos and eos, and their labels as Pack(labels=how) has them."""
    all_ = []
    for i in range(ROWS):
        ids, marks = wanted(tokenizer, i, labels=labels)
        if not ids:
            continue
        if around:
            ids, marks = [1, *ids, 0], [-100, *marks, 0 if "completion" in labels else -100]
        if how == "next":
            marks = [*marks[1:], -100]
        elif how == "same":
            marks = [-100, *marks[1:]]
        all_.append((tuple(ids), tuple(marks)))
    return all_


@pytest.mark.parametrize("how", [None, "same", "next"])
@pytest.mark.parametrize("labels", [["completion"], ["prompt"]])
@pytest.mark.parametrize("named", [{"input_ids": 128}, {"input_ids": 128, "labels": 128}])
def test_packed_documents_are_whole(
    table: Path, tokenizer: tokenizers.Tokenizer, how: Any, labels: list[str], named: dict[str, int]
) -> None:
    pack = Pack(named, strategy="bfd", bos=START, eos=END, value=END, labels=how, with_columns=["seq_lengths"])
    made = Tokenizer(tokenizer, join=JOIN, labels=labels)
    found: list[Any] = []
    for batch in StreamingDataset(table, columns=["id"], batch_size=1, tokenize={"input_ids": made}, pack=pack, seed=3, tail="short"):
        ids, marks, at = batch["input_ids"][0].tolist(), batch["labels"][0].tolist(), 0
        for n in np.asarray(batch["seq_lengths"][0]).tolist():
            found.append((tuple(ids[at : at + n]), tuple(marks[at : at + n])))
            at += n
        assert set(ids[at:]) <= {0} and set(marks[at:]) <= {-100}
    assert Counter(found) == Counter(documents(tokenizer, how, labels))


def test_packed_for_models_of_transformers(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    packed = pytest.importorskip("shardfeed.torch.huggingface").packed
    made = Tokenizer(tokenizer, join=JOIN, labels=["completion"])
    found: list[Any] = []
    pack = Pack({"input_ids": 128}, strategy="bfd", bos=START, eos=END, value=END)
    for batch in packed(table, pack=pack, tokenize={"input_ids": made}, seed=3, tail="short"):
        ids, labels, edges = batch["input_ids"][0].tolist(), batch["labels"][0].tolist(), batch["cu_seq_lens_q"].tolist()
        found += [(tuple(ids[a:b]), tuple(labels[a:b])) for a, b in pairwise(edges)]
    padding = Counter({d: n for d, n in Counter(found).items() if set(d[0]) == {0}})
    assert Counter(found) - padding == Counter(documents(tokenizer, "same"))


def test_wrapped_blocks_in_file_order(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    made = Tokenizer(tokenizer, join=JOIN, labels="completion")
    pack = Pack({"input_ids": 32}, with_columns=["seq_lengths"])
    ids: list[int] = []
    marks: list[int] = []
    for batch in StreamingDataset(
        table, columns=["input_ids"], batch_size=1, tokenize={"input_ids": made}, pack=pack, shuffle=False, tail="short"
    ):
        n = int(np.sum(batch["seq_lengths"][0]))
        ids, marks = ids + batch["input_ids"][0].tolist()[:n], marks + batch["labels"][0].tolist()[:n]
    want = documents(tokenizer, None, around=False)
    assert ids == [t for d, _ in want for t in d]
    assert marks == [t for _, d in want for t in d]


def test_buckets(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    made = Tokenizer(tokenizer, join=JOIN, labels="completion", template=True)
    seen, pad = set(), {"input_ids": 0, "labels": -100}
    for batch in StreamingDataset(
        table, columns=["id"], batch_size=1, tokenize={"input_ids": made}, bucket={"input_ids": 256}, pad=pad, filters="id > 20", seed=2
    ):
        assert batch["input_ids"].size <= 256 and batch["input_ids"].shape == batch["labels"].shape
        for i, ids, labels, n in zip(
            batch["id"].tolist(), batch["input_ids"].tolist(), batch["labels"].tolist(), batch["labels_lengths"].tolist()
        ):
            assert (ids[:n], labels[:n]) == wanted(tokenizer, i, template=True)
            seen.add(i)
    assert seen == set(range(21, ROWS))


def test_mixture(table: Path, tokenizer: tokenizers.Tokenizer, tmp_path: Path) -> None:
    other = pa.table(
        {"id": pa.array(range(1000, 1100), pa.int64()), "question": ["q"] * 100, "completion": ["a"] * 100, "note": [""] * 100}
    )
    pq.write_table(other, tmp_path / "other.parquet")
    sources = {"turns": Source(table, weight=1), "other": Source(tmp_path, weight=1, rename={"question": "prompt"})}
    made = Tokenizer(tokenizer, join=JOIN, labels=["completion"])
    a, q = (tokenizer.encode(t).ids[1:-1] for t in "aq")
    seen: Counter[bool] = Counter()
    for batch in StreamingDataset(
        sources=sources,
        columns=["id"],
        batch_size=8,
        tokenize={"input_ids": made},
        pad={"input_ids": 0, "labels": -100},
        weights_in="tokens",
    ):
        for i, ids, labels, n in zip(
            batch["id"].tolist(), batch["input_ids"].tolist(), batch["labels"].tolist(), batch["labels_lengths"].tolist()
        ):
            assert (ids[:n], labels[:n]) == ((q + a, [-100, *a]) if i >= 1000 else wanted(tokenizer, i))
            seen[i >= 1000] += 1
    assert seen[True] > 3 * seen[False]  # its rows have two tokens


def run(table: Path, tokenizer: Any) -> Run:
    given: Any = {"columns": ["input_ids"], "tokenize": {"input_ids": tokenizer}, "pack": Pack({"input_ids": 48}, eos=END, labels="next")}
    given |= {"shuffle_buffer": 50, "tail": "drop", "seed": 3}
    return Run(
        lambda **how: StreamingDataset(table, **given, **how),
        lambda batch: list(zip(batch["input_ids"].tolist(), batch["labels"].tolist())),
        6,
    )


def test_resume_on_other_ranks_at_every_step(table: Path, tokenizer: tokenizers.Tokenizer) -> None:
    made = run(table, Tokenizer(tokenizer, join=JOIN, labels=["completion"]))
    assert made.resumes() > 4
    _, state = made.steps(2, stop=1)
    for other in (Tokenizer(tokenizer, join=JOIN[::-1], labels=["completion"]), Tokenizer(tokenizer, join=JOIN, labels=["prompt"])):
        with pytest.raises(errors.ShardfeedError, match="rule"):
            run(table, other).steps(1, state)


@pytest.mark.parametrize(
    ("how", "more", "message"),
    [
        ({"join": []}, {}, r"join of the tokenizer of column 'input_ids' must name columns, as in \['prompt', 'completion'\], got \[\]"),
        ({"join": 5}, {}, "join of the tokenizer of column 'input_ids' must name columns"),
        ({"join": JOIN, "labels": [""]}, {}, "labels of the tokenizer of column 'input_ids' must name columns"),
        ({"join": ["prompt", "prompt"]}, {}, r'tokenize\["input_ids"\] must join different columns, got \["prompt" "prompt"\]'),
        (
            {"join": JOIN, "labels": ["note"]},
            {},
            r'tokenize\["input_ids"\] has labels of column "note", which is none of those that it joins',
        ),
        ({"join": ["prompt", "nothing"]}, {}, 'needs column "nothing", which is not read'),
        ({"join": ["prompt", "nothing"]}, {"columns": ["id"]}, '"nothing"'),
        ({"join": ["prompt", "id"]}, {}, 'needs a column with one text a row, and "id" is int64'),
        ({}, {}, 'needs column "input_ids", which is not read'),
        ({"join": JOIN}, {"vocabulary": {"prompt": ["a"]}}, 'contradicts vocabulary of column "prompt"'),
        ({"join": JOIN, "template": True}, {"pack": Pack({"input_ids": 64}, eos=END)}, "leave one of the two out"),
        ({"join": JOIN}, {"pack": Pack({"prompt": 64})}, 'pack["prompt"] names a column that is not read'),
    ],
)
def test_refused(table: Path, file: Path, how: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ShardfeedError, match=message.replace('pack["prompt"]', r'pack\["prompt"\]')):
        next(iter(StreamingDataset(table, batch_size=2, tokenize={"input_ids": Tokenizer(file, **how)}, **more)))


@pytest.mark.parametrize(
    ("tokenize", "message"),
    [
        ({"id": {"join": JOIN}}, r'tokenize\["id"\] makes the column "id", and there is another of that name: leave it out of columns'),
        (
            {"a": {"join": JOIN, "labels": JOIN}, "b": {"join": "note", "labels": "note"}},
            r'tokenize\["b"\] makes the column "labels", as that of "a" does',
        ),
        (
            {"a": {"join": JOIN, "labels": JOIN}, "labels": {"join": "note"}},
            r'tokenize\["a"\] makes the column "labels", as that of "labels" does',
        ),
    ],
)
def test_names_that_clash(table: Path, file: Path, tokenize: dict[str, Any], message: str) -> None:
    made = {name: Tokenizer(file, **how) for name, how in tokenize.items()}
    with pytest.raises(errors.ShardfeedError, match=message):
        next(iter(StreamingDataset(table, batch_size=2, tokenize=made)))
    if "id" in made:  # a column that is not read leaves its name
        batch = next(iter(StreamingDataset(table, batch_size=2, columns=["id", "note"], tokenize=made)))
        assert set(batch) == {"id", "note"} and batch["id"][0].dtype == np.int32
