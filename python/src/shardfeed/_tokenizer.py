"""Tokenizers of text columns."""

from __future__ import annotations

import base64
import os
import zlib
from dataclasses import dataclass
from typing import Any, Literal

from ._args import _addresses
from ._args._checks import Problems, flag, got, named, number, one_of
from ._documented import documented
from .errors import OptionError

_FORM = "a path or an address of a tokenizer.json, a tokenizers.Tokenizer, or a shardfeed.Tokenizer"


@documented
@dataclass(frozen=True)
class Tokenizer:
    """How the texts of a column become tokens, in the engine.

    They are the same as of the library ``tokenizers``, exactly. A file with a part that the engine
    does not implement exactly is refused.

    Args:
        file (str, Path or tokenizers.Tokenizer): a tokenizer.json, by its path or its address on
            servers, or a tokenizer of the libraries ``tokenizers`` or ``transformers``.
        specials ("parse", "text" or "error", default "parse"): what the text of a special token
            inside a document becomes: the token, as in ``tokenizers``, the tokens of its
            characters, or an error.
        template (bool, default False): add the tokens that the file's post-processor adds around
            each text, such as ``<s>``. ``Pack(eos=, bos=)`` writes tokens around documents too:
            give one of them.
        check (bool, default True): compare the tokens of the first 1,000 documents with what the
            library ``tokenizers`` makes of them, where that is installed, at the first start with this
            tokenizer, data and version of the library. A difference is an error.
        max_tokens (int, default None): the most tokens of a text, with the template's.
            The end of a longer text is cut off, as by ``enable_truncation`` of ``tokenizers``.
    """

    file: Any
    specials: Literal["parse", "text", "error"] = "parse"
    template: bool = False
    check: bool = True
    max_tokens: int | None = None

    def spec(self, column: str, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's form."""
        found = Problems() if problems is None else problems
        where = f"tokenizer of column {column!r}"
        spec = {
            **(found.of(_file, where, self.file) or {}),
            "specials": found.of(one_of, f"specials of the {where}", self.specials, "parse", "text", "error"),
            "template": found.of(flag, f"template of the {where}", self.template),
            "max_tokens": 0 if self.max_tokens is None else found.of(number, f"max_tokens of the {where}", self.max_tokens, 1, 2**30),
        }
        found.of(flag, f"check of the {where}", self.check)
        if problems is None:
            found.report()
        return spec


def specs(given: Any, problems: Problems) -> dict[str, Any]:
    """Returns the engine's form of the argument tokenize."""
    columns = problems.of(named, "tokenize", given, "{'text': 'tokenizer.json'}") or {}
    return {name: (t if isinstance(t, Tokenizer) else Tokenizer(t)).spec(name, problems) for name, t in columns.items()}


def _file(where: str, file: Any) -> dict[str, str]:
    if isinstance(file, (str, os.PathLike)) and os.fspath(file):
        return {"file": _addresses.place(where, file)}
    inner = getattr(file, "backend_tokenizer", file)  # of transformers
    if not callable(getattr(inner, "to_str", None)):
        raise OptionError(f"the {where} must be {_FORM}, {got(file)}")
    return {"content": base64.b64encode(zlib.compress(inner.to_str().encode())).decode()}
