"""Addresses of data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _redact
from ..errors import OptionError
from ._checks import encoded, path, type_name

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TABLE = re.compile(r"(?:delta|iceberg)\+(?=.)")

FORM = "an address such as 's3://bucket/path', a path, or a list of them"


def addresses(uri: Any) -> list[str]:
    """A list, a tuple or a generator of addresses.

    A table is iterable too, and gives the names of its columns.
    """
    listed = (
        isinstance(uri, Iterable) and not isinstance(uri, (Mapping, bytes)) and not hasattr(uri, "shape") and not hasattr(uri, "schema")
    )
    given = [uri] if isinstance(uri, (str, os.PathLike)) else list(uri) if listed else None
    if given is None:
        raise OptionError(f"uri must be {FORM}, got {type_name(uri)}" + _in_memory(uri))
    for address in given:
        if not isinstance(address, (str, os.PathLike)):
            raise OptionError(f"uri must be {FORM}, got a list with {type_name(address)} in it" + _in_memory(address))
    if not given or not all(map(os.fspath, given)):
        raise OptionError(f"uri is empty: it must be {FORM}")
    if not isinstance(uri, (str, os.PathLike)) and all(_is_name(a) for a in given):
        raise OptionError(f"there are no files {', '.join(map(repr, given))}: uri must be {FORM}; columns are named in columns=")
    return [encoded("the address", _absolute(os.fspath(a)), _redact.address) for a in given]


def _in_memory(value: Any) -> str:
    """What to do with a table or an array."""
    if hasattr(value, "to_parquet"):
        return ": write it with to_parquet(path), and give the path"
    return ": write it to a parquet file, and give its path" if hasattr(value, "shape") or hasattr(value, "schema") else ""


def _is_name(address: Any) -> bool:
    """Whether an address looks like the name of a column, and no file has it."""
    return isinstance(address, str) and address.isidentifier() and not os.path.exists(address)


def _absolute(address: str) -> str:
    """An address without a scheme is a path, made absolute here: the engine has another working
    directory.
    """
    if _SCHEME.match(address):
        return address
    if table := _TABLE.match(address):
        return table[0] + _absolute(address[table.end() :])
    return os.path.abspath(os.path.expanduser(address))


def place(name: str, value: Any) -> str:
    """A path, made absolute, or the address of a file on servers; empty for None."""
    return encoded(name, value, _redact.address) if isinstance(value, str) and _SCHEME.match(value) else path(name, value)
