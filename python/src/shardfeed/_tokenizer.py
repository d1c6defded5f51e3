"""Tokenizers of text columns."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._args import _addresses
from ._args._arguments import arguments
from ._args._checks import Problems, encoded, flag, got, named, number, one_of, word
from ._tokenizer_objects import is_sentencepiece, opened
from .errors import OptionError

_FORM = (
    "a path or an address of a tokenizer.json, a tokenizers.Tokenizer, a tiktoken.Encoding, a MistralTokenizer, or a shardfeed.Tokenizer"
)


@arguments
@dataclass(frozen=True)
class Tokenizer:
    """How the texts of a column become tokens, in the engine.

    They are the same as of the libraries ``tokenizers``, ``tiktoken`` and ``mistral_common``,
    exactly. A file with a part that the engine does not implement exactly is refused.

    Args:
        file (str, Path or object): a tokenizer.json, Mistral's tekken.json or, with pattern, a file
            of tiktoken, by its path or its address on servers; or a tokenizer of the libraries
            ``tokenizers`` or ``transformers``, a ``tiktoken.Encoding``, or a ``MistralTokenizer``
            or ``Tekkenizer`` of ``mistral_common``.
        specials ("parse", "text" or "error", default "parse"): what the text of a special token
            inside a document becomes: the token, as in ``tokenizers``, the tokens of its
            characters, or an error.
        template (bool, default False): add the tokens that the file's post-processor adds around
            each text, such as ``<s>``. ``Pack(eos=, bos=)`` writes tokens around documents too:
            give one of them.
        pattern (str, default None): the pattern of a file of tiktoken, by the name of its encoding
            or family of models, such as "cl100k_base", "o200k_base", "llama3", "qwen" or "kimi".
        special_tokens (dict, default None): the special tokens of a file of tiktoken and their
            ids. None is the ones of the encoding, where pattern is one of OpenAI's.
        check (bool, default True): compare the tokens of the first 1,000 documents with what the
            library makes of them, ``tokenizers``, ``tiktoken`` or ``mistral_common``, where that is
            installed, at the first start with this tokenizer, data and version of the library. A
            difference is an error.
        max_tokens (int, default None): the most tokens of a text, with the template's.
            The end of a longer text is cut off, as by ``enable_truncation`` of ``tokenizers``.
        join (str or list, default None): the columns of texts, whose tokens become one list in this
            order: ``{"input_ids": Tokenizer(file, join=["prompt", "completion"])}``. Each text is
            encoded separately. None is the column that has the name of the tokens.
        labels (str or list, default None): columns of ``join`` whose tokens are trained. A column
            "labels" has their tokens, and -100 in place of all others.
    """

    file: Any
    specials: Literal["parse", "text", "error"] = "parse"
    template: bool = False
    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None
    check: bool = True
    max_tokens: int | None = None
    join: str | Sequence[str] | None = None
    labels: str | Sequence[str] | None = None

    def spec(self, column: str, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's form."""
        found = Problems() if problems is None else problems
        where = f"tokenizer of column {column!r}"
        spec = {
            **(found.of(_file, where, self.file) or {}),
            **(found.of(self._tiktoken, where) or {}),
            "specials": found.of(one_of, f"specials of the {where}", self.specials, "parse", "text", "error"),
            "template": found.of(flag, f"template of the {where}", self.template),
            "max_tokens": 0 if self.max_tokens is None else found.of(number, f"max_tokens of the {where}", self.max_tokens, 1, 2**30),
            **({} if self.join is None else {"join": found.of(_columns, f"join of the {where}", self.join)}),
            **({} if self.labels is None else {"labels": found.of(_columns, f"labels of the {where}", self.labels)}),
        }
        found.of(flag, f"check of the {where}", self.check)
        if problems is None:
            found.report()
        return spec

    def _tiktoken(self, where: str) -> dict[str, Any]:
        """The members of a file of tiktoken."""
        if self.pattern is None and self.special_tokens is None:
            return {}
        if not isinstance(self.file, (str, os.PathLike)):
            raise OptionError(f"pattern and special_tokens of the {where} are of a file of tiktoken, {got(self.file)}, which has its own")
        spec: dict[str, Any] = {"pattern": word(f"pattern of the {where}", self.pattern)}
        if self.special_tokens is not None:
            named(f"special_tokens of the {where}", self.special_tokens, "{'<|endoftext|>': 100257}")
            spec["special_tokens"] = {t: number(f"the id of token {t!r}", i, 0, 2**31 - 1) for t, i in self.special_tokens.items()}
        return spec


def specs(given: Any, problems: Problems) -> dict[str, Any]:
    """Returns the engine's form of the argument tokenize."""
    columns = problems.of(named, "tokenize", given, "{'text': 'tokenizer.json'}") or {}
    return {name: (t if isinstance(t, Tokenizer) else Tokenizer(t)).spec(name, problems) for name, t in columns.items()}


def _columns(where: str, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(f"{where} must name columns, as in ['prompt', 'completion'], {got(given)}")
    return [encoded(where, name) for name in names]


def _file(where: str, file: Any) -> dict[str, Any]:
    if isinstance(file, (str, os.PathLike)) and os.fspath(file):
        return {"file": _addresses.place(where, file)}
    if (of := opened(file)) is not None:
        spec = of.spec()
        return spec | {"content": _compressed(spec["content"])}
    if is_sentencepiece(file):
        raise OptionError(f"the {where} is a model of SentencePiece; give the tokenizer.json of the model")
    raise OptionError(f"the {where} must be {_FORM}, {got(file)}")


def _compressed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()
