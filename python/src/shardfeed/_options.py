"""The arguments of a data set: what they mean, what cannot be meant, and the engine's words for them."""

from __future__ import annotations

import base64
import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _sizes, _storage
from .errors import OptionError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NOT_A_TIME = -(2**63)  # as numpy has it

_EPOCHS = 2**62  # more than anyone counts to, and one more is a number still

_SHUFFLE_ONLY = ("shuffle_buffer", "lanes", "start", "max_world_size")
_PAD_KEYS = ("value", "max_length", "to_max", "multiple", "side", "cut")

Paths = str | os.PathLike[str]


@dataclass(frozen=True)
class Options:
    """The arguments of StreamingDataset that decide what is read; it says there what they are."""

    uri: Paths | Sequence[Paths]
    batch_size: int | None
    columns: Sequence[str] | None = None
    shuffle: bool = True
    shuffle_buffer: int | str | None = None
    seed: int = 0
    drop_last: bool = False
    tail: str | None = None
    memory: int | str | None = None
    cache: bool = True
    cache_dir: Paths | None = None
    cache_limit: int | float | str | None = None
    cache_policy: str | None = None
    index_dir: Paths | None = None
    storage_options: Mapping[str, Any] | None = None
    null: Mapping[str, Any] | None = None
    pad: Mapping[str, Any] | None = None
    max_length: int | Mapping[str, int] | None = None
    vocabulary: Mapping[str, Sequence[str] | Mapping[str, int]] | None = None
    manifest: Paths | None = None
    plan: Paths | None = None
    missing: str = "error"
    invalid_utf8: str = "refuse"
    lanes: int | None = None
    unit_rows: int | None = None
    start: str | None = None
    max_world_size: int | None = None
    slots: int | None = None
    collate_workers: int | None = None

    def spec(self) -> dict[str, Any]:
        """The engine's Spec, or an error that says what cannot be meant."""
        return {
            "addresses": _addresses(self.uri),
            "columns": _columns(self.columns),
            "manifest": _path("manifest", self.manifest),
            "plan": _path("plan", self.plan),
            "missing": _one_of("missing", self.missing, "error", "null"),
            "invalid_utf8": _one_of("invalid_utf8", self.invalid_utf8, "refuse", "replace"),
            **self._order(),
            **self._steps(),
            **self._kept(),
            "storage": _storage.options(self.storage_options),
            "env": _storage.environment(os.environ),
            "null": _nulls(self.null),
            "pad": _pads(self.pad, self.max_length),
            "vocabulary": _vocabularies(self.vocabulary),
            "slots": _number("slots", self.slots, 2),
            "workers": _number("collate_workers", self.collate_workers),
        }

    def _order(self) -> dict[str, Any]:
        if not _flag("shuffle", self.shuffle):
            for name in _SHUFFLE_ONLY:
                if getattr(self, name) is not None:
                    raise OptionError(f"{name} says how to shuffle, and shuffle=False reads in file order: leave one out")
        buffer = self.shuffle_buffer
        return {
            "shuffle": _flag("shuffle", self.shuffle),
            "shuffle_buffer": "" if buffer is None else _sizes.rows_or_bytes_text("shuffle_buffer", buffer),
            "seed": _seed(self.seed),
            "lanes": _number("lanes", self.lanes),
            "unit_rows": _number("unit_rows", self.unit_rows),
            "start": _one_of("start", self.start or "", "", "filled", "direct"),
            "max_world_size": _number("max_world_size", self.max_world_size),
        }

    def _steps(self) -> dict[str, Any]:
        return {
            "batch_size": 1 if self.batch_size is None else _number("batch_size", self.batch_size, most=2**31 - 1),
            "tail": self._tail(),
            "memory": "" if self.memory is None else _sizes.bytes_text("memory", self.memory),
        }

    def _tail(self) -> str:
        tail = _one_of("tail", self.tail or "", "", "drop", "pad", "short", "carry")
        if _flag("drop_last", self.drop_last) and tail not in ("", "drop"):
            raise OptionError(f"drop_last=True is tail='drop', and tail={tail!r} says something else: leave one out")
        return "drop" if self.drop_last else tail

    def _kept(self) -> dict[str, Any]:
        if not _flag("cache", self.cache) and (self.cache_limit is not None or self.cache_policy is not None):
            raise OptionError("cache=False keeps nothing: leave out cache_limit and cache_policy")
        return {
            "cache_dir": _path("cache_dir", self.cache_dir),
            "cache_limit": "" if self.cache_limit is None else _sizes.limit_text("cache_limit", self.cache_limit),
            "cache_policy": _one_of("cache_policy", self.cache_policy or "", "", "keep", "lru"),
            "no_cache": not self.cache,
            "index_dir": _path("index_dir", self.index_dir),
        }


def _addresses(uri: Any) -> list[str]:
    several = isinstance(uri, Iterable) and not isinstance(uri, Mapping)
    given = [uri] if isinstance(uri, (str, os.PathLike)) else list(uri) if several else None
    if given is None or not all(isinstance(a, (str, os.PathLike)) for a in given):
        raise OptionError(f"uri is an address such as 's3://bucket/path', a path, or a list of them; this is {uri!r}")
    if not given or not all(map(os.fspath, given)):
        raise OptionError("uri is empty: give an address such as 's3://bucket/path', or a path")
    return [_encoded("the address", _absolute(os.fspath(a))) for a in given]


def _absolute(address: str) -> str:
    """Addresses without a scheme are paths; the engine does not share this process's directory."""
    if _SCHEME.match(address):
        return address
    return os.path.abspath(os.path.expanduser(address))


def _encoded(what: str, text: str) -> str:
    """Refuses a text that cannot be told to the engine: names of files that are not UTF-8, for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{what} {text!r} is not UTF-8, which names and addresses have to be") from None
    if "\0" in text:
        raise OptionError(f"{what} {text!r} has a NUL byte in it")
    return text


def _path(name: str, path: Any) -> str:
    if path is None:
        return ""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise OptionError(f"{name}={path!r} is no path")
    return _encoded(name, os.path.abspath(os.path.expanduser(os.fspath(path))))


def _columns(columns: Any) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise OptionError(f"columns is a list of names: columns=[{columns!r}]")
    names = list(columns) if isinstance(columns, Iterable) else []
    if not names or not all(isinstance(n, str) and n for n in names):
        raise OptionError(f"columns={columns!r}: give names or dotted paths, or None for all columns")
    return [_encoded("the column", name) for name in names]


def _one_of(name: str, value: Any, *known: str) -> str:
    if value not in known:
        words = [repr(k) for k in known if k]
        near = difflib.get_close_matches(str(value), [k for k in known if k], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise OptionError(f"{name}={value!r} must be {', '.join(words[:-1])} or {words[-1]}{hint}")
    return str(value)


def _number(name: str, value: Any, least: int = 1, most: int = 2**63 - 1) -> int:
    if value is None:
        if name == "batch_size":
            raise OptionError("batch_size is a number of rows, or None for single rows")
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise OptionError(f"{name}={value!r} is no whole number")
    if not least <= value <= most:
        raise OptionError(f"{name}={value} must be {f'at least {least}' if value < least else f'at most {most}'}")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name}={value!r} must be True or False")
    return bool(value)


def seconds(name: str, value: Any) -> float | None:
    """Returns a time to wait: None and infinity are for ever."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
        raise OptionError(f"{name}={value!r} must be a number of seconds, more than 0, or None for no limit")
    return None if math.isinf(value) else float(value)


def epoch(value: Any) -> int:
    """Returns the number of an epoch."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < _EPOCHS:
        raise OptionError(f"epoch {value!r} must be a whole number from 0, and below 2**62")
    return int(value)


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise OptionError(f"seed={seed!r} must be a whole number from 0 to 2**64 - 1")
    return int(seed)


def _named(name: str, given: Any, example: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(k, str) for k in given):
        raise OptionError(f"{name} is a dict by column, as in {name}={example}; this is {given!r}")
    return given


def _nulls(given: Any) -> dict[str, Any]:
    return {column: _value(f"null of column {column!r}", v) for column, v in _named("null", given, "{'price': 0.0}").items()}


def _value(what: str, value: Any) -> Any:
    """A value as the engine reads it: JSON, NaN as text, bytes in an object of their own."""
    if isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value):
        return _NOT_A_TIME
    if isinstance(value, (np.datetime64, np.timedelta64)):
        raise OptionError(f"{what}: give a time as it is stored, a whole number in the column's unit; numpy's NaT is taken too")
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (bool, int, float, str)):
        return value
    raise OptionError(f"{what}: {value!r} is a {type(value).__name__}; give a number, True or False, text, or bytes")


def _pads(given: Any, max_length: Any) -> list[dict[str, Any]]:
    pads = {column: _pad(column, how) for column, how in _named("pad", given, "{'token_ids': 0}").items()}
    lengths = max_length if isinstance(max_length, Mapping) else dict.fromkeys(pads, max_length) if max_length is not None else {}
    if max_length is not None and not pads:
        raise OptionError("max_length cuts lists that are padded: name their columns and the value in pad={column: value}")
    for column, length in lengths.items():
        if column not in pads:
            raise OptionError(f"max_length names column {column!r}, which pad does not: give pad={{{column!r}: value}} as well")
        pads[column]["max_length"] = _number(f"max_length of column {column!r}", length)
    for column, pad in pads.items():
        if pad["to_max"] and not pad["max_length"]:
            raise OptionError(f"pad of column {column!r}: to_max needs a max_length")
    return list(pads.values())


def _pad(column: str, how: Any) -> dict[str, Any]:
    options = how if isinstance(how, Mapping) else {"value": how}
    what = f"pad of column {column!r}"
    for key in options:
        if key not in _PAD_KEYS:
            near = difflib.get_close_matches(str(key), _PAD_KEYS, 1)
            raise OptionError(
                f"{what}: {key!r} is not known, {', '.join(_PAD_KEYS)} are" + (f"; did you mean {near[0]!r}?" if near else "")
            )
    value = options.get("value")
    return {
        "column": column,
        "value": None if value is None else _value(what, value),
        "max_length": _number(f"max_length of column {column!r}", options.get("max_length")),
        "to_max": bool(options.get("to_max", False)),
        "multiple": _number(f"multiple of column {column!r}", options.get("multiple")),
        "left": _one_of(f"{what}: side", options.get("side", "right"), "left", "right") == "left",
        "cut_left": _one_of(f"{what}: cut", options.get("cut", "right"), "left", "right") == "left",
    }


def _vocabularies(given: Any) -> dict[str, list[str]]:
    return {column: _words(column, words) for column, words in _named("vocabulary", given, "{'label': ['cat', 'dog']}").items()}


def _words(column: str, words: Any) -> list[str]:
    if isinstance(words, Mapping):
        if sorted(words.values()) != list(range(len(words))):
            raise OptionError(
                f"vocabulary of column {column!r}: its {len(words)} words must have the places 0 to {len(words) - 1}, each once"
            )
        words = sorted(words, key=words.__getitem__)
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise OptionError(f"vocabulary of column {column!r} is a list of words, or a dict of their places; this is {words!r}")
    listed = list(words)
    if not listed or not all(isinstance(w, str) for w in listed):
        raise OptionError(f"vocabulary of column {column!r}: words are texts, and there must be one")
    return listed
