"""Tokenizers as objects of their libraries."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal, NamedTuple

Library = Literal["tokenizers", "tiktoken", "mistral-common"]


class Opened(NamedTuple):
    """A tokenizer of a library, without the objects around it."""

    library: Library  # the name of its distribution
    tokenizer: Any

    def spec(self) -> dict[str, Any]:
        """The members of the engine's form. The content is a file of the library."""
        if self.library == "tokenizers":
            return {"content": self.tokenizer.to_str().encode()}
        if self.library == "tiktoken":
            encoding = self.tokenizer
            return {"content": _ranks(encoding), "pattern": encoding._pat_str, "special_tokens": encoding._special_tokens}
        return {"content": _tekken(self.tokenizer)}


def opened(given: Any) -> Opened | None:
    """The tokenizer of a library that an object is or holds, or None.

    Parts of tiktoken.Encoding and of Tekkenizer have had these names in all versions.
    """
    if isinstance(given, type):
        return None
    inner = getattr(given, "backend_tokenizer", given)  # of transformers
    if callable(getattr(inner, "to_str", None)):
        return Opened("tokenizers", inner)
    if hasattr(inner, "_mergeable_ranks") and hasattr(inner, "_pat_str"):
        return Opened("tiktoken", inner)
    inner = _of_mistral(given)
    if hasattr(inner, "_tekken_token2id_nospecial") and hasattr(inner, "_all_special_tokens"):
        return Opened("mistral-common", inner)
    return None


def is_sentencepiece(given: Any) -> bool:
    """Whether it is or holds a model of SentencePiece, as older ones of mistral_common do."""
    inner = _of_mistral(given)
    return any(callable(getattr(model, "IsControl", None)) for model in (inner, getattr(inner, "_model", None)))


def _of_mistral(given: Any) -> Any:
    """The innermost tokenizer of mistral_common, also of the backend in transformers."""
    for outer in ("tokenizer", "instruct_tokenizer", "tokenizer"):
        given = getattr(given, outer, given)
    return given


def _ranks(encoding: Any) -> bytes:
    """The file of an encoding."""
    ranks = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks)


def _tekken(tokenizer: Any) -> bytes:
    """The tekken.json of a Tekkenizer."""
    ranks, special = tokenizer._tekken_token2id_nospecial, tokenizer._all_special_tokens
    config = {
        "pattern": tokenizer._model._pat_str,
        "default_vocab_size": len(ranks) + len(special),
        "default_num_special_tokens": len(special),
    }
    vocab = [{"rank": rank, "token_bytes": base64.b64encode(token).decode()} for token, rank in ranks.items()]
    tokens = [{"rank": t["rank"], "token_str": str(t["token_str"])} for t in special]
    return json.dumps({"config": config, "vocab": vocab, "special_tokens": tokens}).encode()
