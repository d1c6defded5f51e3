"""Tokenizers of tiktoken and Mistral, as their users have them: the tokens are those of their libraries."""

from __future__ import annotations

import base64
import json
import os
import random
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import Pack, StreamingDataset, Tokenizer, errors

tiktoken = pytest.importorskip("tiktoken", reason="make test-text has it")
openai_public = pytest.importorskip("tiktoken_ext.openai_public")

pytestmark = pytest.mark.usefixtures("job")

END = "<|endoftext|>"
VOCABULARIES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardfeed" / "vocabularies"


def text(i: int) -> str:
    draw = random.Random(i)
    words = [
        "the",
        "it's",
        "WE'LL",
        "1234567",
        "naïve",
        "日本語",
        "\U0001f600",
        "def f(x):\n\treturn x",
        "   ",
        "\n\n ",
        "e\u0301",
        END,
        "<|fim",
    ]
    return " ".join(draw.choice(words) for _ in range(draw.randrange(60)))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("texts")
    pq.write_table(pa.table({"id": range(300), "text": list(map(text, range(300)))}), directory / "part.parquet", row_group_size=40)
    return directory


def small_ranks() -> dict[bytes, int]:
    """All bytes, and a few words."""
    tokens = [bytes([b]) for b in range(256)] + [b"th", b"he", b"the", b" the", b"12", b"34", b"1234", "é".encode(), b"\n\n", b"  "]
    return {token: rank for rank, token in enumerate(tokens)}


def pattern(name: str) -> str:
    """The expression of one of OpenAI's encodings, whose vocabulary is not loaded, or of nanochat."""
    if name == "nanochat":
        return r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ranks = openai_public.load_tiktoken_bpe, openai_public.data_gym_to_mergeable_bpe_ranks
    openai_public.load_tiktoken_bpe = openai_public.data_gym_to_mergeable_bpe_ranks = lambda *_, **__: {}
    try:
        return str(getattr(openai_public, name)()["pat_str"])
    finally:
        openai_public.load_tiktoken_bpe, openai_public.data_gym_to_mergeable_bpe_ranks = ranks


def file_of(encoding: Any, path: Path) -> Path:
    ranks = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks))
    return path


def read(table: Path, tokenizer: Any, cache: Path) -> dict[int, list[int]]:
    """The tokens of each row."""
    found = {}
    for batch in StreamingDataset(table, batch_size=7, tokenize={"text": tokenizer}, pad={"text": -1}, tail="short", cache_dir=cache):
        for i, ids, n in zip(batch["id"].tolist(), batch["text"].tolist(), batch["text_lengths"].tolist()):
            found[i] = ids[:n]
    return found


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "nanochat"])
@pytest.mark.parametrize("specials", ["parse", "text"])
def test_encodings(table: Path, tmp_path: Path, name: str, specials: Any) -> None:
    encoding = tiktoken.Encoding(name, pat_str=pattern(name), mergeable_ranks=small_ranks(), special_tokens={END: 300})
    special = {END} if specials == "parse" else set()
    want = {i: encoding.encode(text(i), allowed_special=special, disallowed_special=()) for i in range(300)}
    assert read(table, Tokenizer(encoding, specials=specials), tmp_path) == want
    assert len(list((tmp_path / "checked").iterdir())) == 1  # the first start compared
    if name == "nanochat":  # which has objects alone
        return
    file = file_of(encoding, tmp_path / "ranks.tiktoken")
    assert read(table, Tokenizer(file, pattern=name, special_tokens={END: 300}, specials=specials), tmp_path) == want


def test_first_start_compares_with_tiktoken(table: Path, tmp_path: Path) -> None:
    encoding = tiktoken.Encoding("other", pat_str=pattern("cl100k_base"), mergeable_ranks=small_ranks(), special_tokens={END: 300})
    encoding._pat_str = pattern("gpt2")
    with pytest.raises(errors.DataError, match=rf"^tiktoken {tiktoken.__version__} makes other tokens of column 'text'"):
        read(table, encoding, tmp_path)
    assert len(read(table, Tokenizer(encoding, check=False), tmp_path)) == 300


def test_packed_by_the_text_of_a_token(table: Path, tmp_path: Path) -> None:
    encoding = tiktoken.Encoding("small", pat_str=pattern("cl100k_base"), mergeable_ranks=small_ranks(), special_tokens={END: 300})
    blocks = StreamingDataset(
        table,
        batch_size=1,
        columns=["text"],
        tokenize={"text": encoding},
        pack=Pack({"text": 64}, eos=END),
        shuffle=False,
        cache_dir=tmp_path,
    )
    got = [token for batch in blocks for token in batch["text"].ravel().tolist()]
    want = [token for i in range(40) if text(i) for token in [*encoding.encode(text(i), allowed_special="all"), 300]]
    whole = len(want) // 64 * 64
    assert got[:whole] == want[:whole]


def test_tekken(table: Path, tmp_path: Path) -> None:
    encoding = tiktoken.Encoding("tekken", pat_str=pattern("o200k_base"), mergeable_ranks=small_ranks(), special_tokens={})
    ranks = small_ranks()
    config = {"pattern": encoding._pat_str, "default_vocab_size": len(ranks) + 20, "default_num_special_tokens": 20}
    vocab = [{"rank": rank, "token_bytes": base64.b64encode(token).decode()} for token, rank in ranks.items()]
    (tmp_path / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocab}))
    want = {i: [20 + token for token in encoding.encode_ordinary(text(i))] for i in range(300)}
    assert read(table, tmp_path / "tekken.json", tmp_path) == want


def of_mistral() -> Any:
    """The tokenizer of the package mistral-common."""
    tokenizers = pytest.importorskip("mistral_common.tokens.tokenizers.mistral", reason="make test-text has it")
    return tokenizers.MistralTokenizer.v3(is_tekken=True)


@pytest.mark.parametrize("form", ["MistralTokenizer", "InstructTokenizer", "Tekkenizer", "transformers"])
def test_mistral(table: Path, tmp_path: Path, form: str) -> None:
    mistral = of_mistral()
    tekken = mistral.instruct_tokenizer.tokenizer
    assert tekken.encode("<s>", bos=False, eos=False) != [1]  # texts of special tokens are text
    want = {i: tekken.encode(text(i), bos=False, eos=False) for i in range(300)}
    given = {"MistralTokenizer": mistral, "InstructTokenizer": mistral.instruct_tokenizer, "Tekkenizer": tekken}
    given["transformers"] = types.SimpleNamespace(tokenizer=mistral)  # as its MistralCommonBackend has it
    assert read(table, given[form], tmp_path) == want
    assert len(list((tmp_path / "checked").iterdir())) == 1  # the first start compared


def test_special_tokens_of_mistral(table: Path, tmp_path: Path) -> None:
    mistral = of_mistral()
    pack = Pack({"text": 64}, bos="<s>", eos="</s>", value="<pad>")
    blocks = StreamingDataset(
        table, batch_size=1, columns=["text"], tokenize={"text": mistral}, pack=pack, shuffle=False, cache_dir=tmp_path
    )
    got = [token for batch in blocks for token in batch["text"].ravel().tolist()]
    tekken = mistral.instruct_tokenizer.tokenizer
    want = [token for i in range(40) if text(i) for token in tekken.encode(text(i), bos=True, eos=True)]
    whole = len(want) // 64 * 64
    assert got[:whole] == want[:whole]


def test_first_start_compares_with_mistral(table: Path, tmp_path: Path) -> None:
    tekken = of_mistral().instruct_tokenizer.tokenizer
    tekken.encode = lambda text, bos, eos: [1]
    with pytest.raises(errors.DataError, match=r"^mistral-common [0-9.]+ makes other tokens of column 'text'"):
        read(table, tekken, tmp_path)


def test_sentencepiece_of_mistral_is_refused(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece", reason="make test-text has it")
    mistral = type(of_mistral()).v3()
    for given in (mistral, mistral.instruct_tokenizer.tokenizer):
        with pytest.raises(errors.OptionError, match=r"is a model of SentencePiece; give the tokenizer\.json of the model"):
            read(table, given, tmp_path)


@pytest.mark.parametrize(
    ("name", "hash"),
    [("cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"), ("o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790")],
)
def test_vocabularies_of_models(table: Path, tmp_path: Path, name: str, hash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = next((VOCABULARIES / "python").rglob(hash), None)
    if file is None:
        pytest.skip("make tokens-long fetches the vocabularies")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(file.parent))
    encoding = tiktoken.get_encoding(name)
    want = {i: encoding.encode(text(i), allowed_special="all") for i in range(300)}
    assert read(table, encoding, tmp_path) == want
    assert read(table, Tokenizer(file, pattern=name), tmp_path) == want  # with the special tokens of the encoding


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda e, f: f, "the file is not JSON but has tokens and ranks, as files of tiktoken have: name its pattern"),
        (lambda e, f: Tokenizer(f, pattern="gpt9"), 'the pattern is "gpt9", known ones are cl100k_base'),
        (lambda e, f: Tokenizer(e, pattern="gpt2"), "pattern and special_tokens of the tokenizer of column 'text' are of a file"),
        (lambda e, f: Tokenizer(f, pattern="gpt2", special_tokens={END: -1}), "the id of token"),
        (
            lambda e, f: Tokenizer(f, pattern="gpt2", special_tokens=[END]),
            "special_tokens of the tokenizer of column 'text' must be a dict",
        ),
        (lambda e, f: tiktoken.Encoding("x", pat_str=r"\w+|\W+", mergeable_ranks=small_ranks(), special_tokens={}), "the pattern is"),
    ],
)
def test_refused(table: Path, tmp_path: Path, given: Any, message: str) -> None:
    encoding = tiktoken.Encoding("small", pat_str=pattern("gpt2"), mergeable_ranks=small_ranks(), special_tokens={})
    with pytest.raises(errors.ShardfeedError, match=message):
        read(table, given(encoding, file_of(encoding, tmp_path / "ranks.tiktoken")), tmp_path)
