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
from ._tokenizer import Tokenizer
from .errors import DataError, ShardfeedError

log = logging.getLogger("shardfeed")

Encode = Callable[[str], Sequence[int]]


def compare(given: Mapping[str, Any] | None, connection: Connection, rank: int, world_size: int) -> None:
    """Compares documents of the data, if the library is installed and no earlier start did.

    The engine has documents for one rank of a machine.
    """
    tokenizers = {name: t if isinstance(t, Tokenizer) else Tokenizer(t) for name, t in (given or {}).items()}
    if not any(t.check for t in tokenizers.values()):
        return
    try:
        library = f"tokenizers {importlib.metadata.version('tokenizers')}"
    except importlib.metadata.PackageNotFoundError:
        return
    try:
        found = _documents(connection, rank=rank, world_size=world_size, library=library)
    except (ShardfeedError, OSError) as e:  # what fails here fails in the stream too, if that reads it
        log.warning("tokens are not compared with those of %s: %s", library, e)
        return
    whole = bool(found)
    for column in found.get("columns", ()):
        encode = _encode(tokenizers[column["column"]], column.get("file"))
        if encode is None:
            whole = False
            continue
        for document in column["documents"] or ():
            _compare(column["column"], document, encode(document["text"]), library)
    if whole and found["checked"]:
        with contextlib.suppress(OSError):
            checked = Path(found["checked"])
            checked.parent.mkdir(parents=True, exist_ok=True)
            checked.touch()


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
    """What the library makes of a text with a tokenizer; None if that is not to be compared.

    file is the content of the file that the tokenizer names.
    """
    if not tokenizer.check:
        return None
    if file is None:
        made = getattr(tokenizer.file, "backend_tokenizer", tokenizer.file)
        content = made.to_str() if tokenizer.specials == "text" or made.truncation or made.padding else None
    else:
        content = base64.b64decode(file).decode()
    if content is not None:
        from tokenizers import Tokenizer as Library

        try:
            made = Library.from_str(content)
        except Exception as e:  # it has no class of its own
            log.info("tokens are not compared: the library tokenizers cannot read the file: %s", e)
            return None
        made.no_truncation()
        made.no_padding()
        made.encode_special_tokens = tokenizer.specials == "text"
    # One at a time: threads of the library would make it warn of every fork that follows.
    return lambda text: made.encode(text, add_special_tokens=tokenizer.template).ids


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
