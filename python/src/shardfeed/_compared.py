"""Compares the engine's tokens with the library's, at the first start of a stream."""

from __future__ import annotations

import base64
import contextlib
import importlib.metadata
import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._engine._connection import Connection
from ._sources import Source
from ._tokenizer import Tokenizer
from ._tokenizer_objects import opened
from .errors import DataError, ShardfeedError

log = logging.getLogger("shardfeed")

Encode = Callable[[str], Sequence[int]]


def compare(
    given: Mapping[str, Any] | None, sources: Mapping[str, Source] | None, connection: Connection, rank: int, world_size: int
) -> None:
    """Compares documents of the data, if the library is installed and no earlier start did.

    The engine has documents for one rank of a machine.
    """
    of_sources = {"": given, **{name: source.tokenize for name, source in (sources or {}).items()}}
    tokenizers = {
        (source, name): t if isinstance(t, Tokenizer) else Tokenizer(t)
        for source, of in of_sources.items()
        for name, t in (of or {}).items()
    }
    libraries = {key: _library(t) for key, t in tokenizers.items()}
    if not any(libraries.values()):
        return
    try:
        found = _documents(connection, rank=rank, world_size=world_size, library=str(sorted({*libraries.values()})))
    except (ShardfeedError, OSError) as e:  # what fails here fails in the stream too, if that reads it
        log.warning("the first documents are not compared: %s", e)
        return
    whole = bool(found) and all(libraries.values())
    for column in found.get("columns", ()):
        key = (column.get("source", ""), column["tokenizer"])
        encode = _encode(tokenizers[key], column.get("file")) if libraries[key] else None
        if encode is None:
            whole = False
            continue
        for document in column["documents"] or ():
            _compare(column["column"], document, encode(document["text"]), libraries[key])
    if whole and found["checked"]:
        with contextlib.suppress(OSError):
            checked = Path(found["checked"])
            checked.parent.mkdir(parents=True, exist_ok=True)
            checked.touch()


def _library(tokenizer: Tokenizer) -> str:
    """The library to compare with, and its version; empty without one."""
    if not tokenizer.check or tokenizer.pattern is not None:
        return ""
    of = opened(tokenizer.file)
    name = "tokenizers" if of is None else of.library
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _documents(connection: Connection, **ask: Any) -> dict[str, Any]:
    """The first documents of the columns and their tokens; empty if there is nothing to compare."""
    file = Path(connection.path).with_name(f"{secrets.token_hex(8)}.documents")
    try:
        if not connection.ask(documents=file.name, **ask).get("documents"):
            return {}
        return dict(json.loads(file.read_bytes()))
    finally:
        file.unlink(missing_ok=True)


def _encode(tokenizer: Tokenizer, file: str | None) -> Encode | None:
    """The library's function for texts; None if the library cannot read the file.

    file is the content of the file that the tokenizer names.
    """
    of = opened(tokenizer.file)
    made: Any = None if of is None else of.tokenizer
    if of is not None and of.library == "tiktoken":
        special = set() if tokenizer.specials == "text" else "all"
        return lambda text: made.encode(text, allowed_special=special, disallowed_special=())
    if of is not None and of.library == "mistral-common":
        return lambda text: made.encode(text, bos=False, eos=False)
    if file is not None:
        content = base64.b64decode(file).decode()
    elif tokenizer.specials == "text" or made.truncation or made.padding:
        content = made.to_str()
    else:
        return _one(made, tokenizer.template)
    from tokenizers import Tokenizer as Library

    try:
        made = Library.from_str(content)
    except Exception as e:  # it has no class of its own
        log.info("tokens are not compared: the library tokenizers cannot read the file: %s", e)
        return None
    made.no_truncation()
    made.no_padding()
    made.encode_special_tokens = tokenizer.specials == "text"
    return _one(made, tokenizer.template)


def _one(made: Any, template: bool) -> Encode:
    """Encodes a text at a time: threads of the library would make it warn of every fork."""
    return lambda text: made.encode(text, add_special_tokens=template).ids


def _compare(column: str, document: Mapping[str, Any], want: Sequence[int], library: str) -> None:
    have = document["tokens"]
    if have == list(want):
        return
    at = next((i for i, (a, b) in enumerate(zip(have, want)) if a != b), min(len(have), len(want)))
    one, other = (f"is {ids[at]}" if at < len(ids) else "is none" for ids in (have, want))
    raise DataError(
        f"{library} makes other tokens of column {column!r}: in row {document['row']} of {document['path']} token {at} {one}, and there it "
        f"{other}; please report it with the tokenizer; shardfeed.Tokenizer(..., check=False) leaves the comparison out"
    )
