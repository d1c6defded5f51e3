"""The arguments of a data set: their types, which values are allowed, and the Spec that the engine
gets.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypedDict
from uuid import UUID

import numpy as np

from . import _bucket, _image, _manifest, _pack, _redact, _sources
from ._args import _features, _rules, _sizes, _storage
from ._args._checks import Problems, did_you_mean, encoded, flag, got, is_whole, number, one_of, path, regular, seed, share, type_name
from ._args._types import Address, Decoder, Filters, Lengths, Manifest, Path, Stack, Tail, Unknown
from ._bucket import Bucket
from ._image import Image
from ._npy import Npy
from ._pack import Pack
from ._sources import Source
from .errors import OptionError

Packing = Mapping[str, int] | Pack
Bucketing = Mapping[str, int] | Bucket

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NOT_A_TIME = -(2**63)  # as numpy has it

_SHUFFLE_ONLY = ("shuffle_buffer", "lanes", "start", "max_world_size")
_PAD_KEYS = ("value", "max_length", "to_max", "multiple", "side", "cut")


class DatasetOptions(TypedDict, total=False):
    """The arguments of StreamingDataset besides uri and batch_size."""

    sources: Mapping[str, Source] | None
    stop: Literal["first", "all"] | None
    epoch_size: int | None
    curriculum: Sequence[tuple[int, Mapping[str, float]]] | None
    batching: Literal["stratified", "per_source"] | None
    weights_in: Literal["samples", "tokens"] | None
    tokens: str | None
    columns: Sequence[str] | None
    filters: Filters | None
    parts: Mapping[str, float] | None
    part: str | None
    part_key: str | None
    part_seed: int
    subsample: float | None
    rows: Path | None
    rows_new: Literal["error", "keep", "drop"] | None
    weight: str | None
    pack: Packing | None
    bucket: Bucketing | None
    shuffle: bool
    shuffle_buffer: int | str | None
    seed: int
    rank: int | None
    world_size: int | None
    replication: int | None
    mesh: Any
    drop_last: bool
    tail: Tail | None
    with_row_valid: bool
    row_ids: bool
    seeds: bool
    memory: int | str | None
    cache: bool
    cache_dir: Path | None
    cache_limit: int | float | str | None
    cache_policy: str | None
    decoded_limit: int | float | str | None
    index_dir: Path | None
    storage_options: Mapping[str, Any] | None
    null: Mapping[str, Any] | None
    pad: Mapping[str, Any] | None
    max_length: Lengths | None
    vocabulary: Mapping[str, Sequence[str] | Mapping[str, int] | Path] | None
    unknown: Unknown | Mapping[str, Unknown]
    cast: Mapping[str, Any] | None
    hash: Mapping[str, int] | None
    scale: Mapping[str, tuple[float, float]] | None
    stack: Mapping[str, Stack] | None
    images: Mapping[str, Image | Npy | Literal["auto"]] | Literal["auto"] | None
    image_decoder: Decoder
    manifest: Manifest | None
    plan: Path | None
    opening: Literal["each", "first"] | None
    strict: bool
    missing: Literal["error", "null"]
    partition_types: Mapping[str, Any] | None
    invalid_utf8: Literal["refuse", "replace"]
    on_error: Literal["raise", "mask", "skip"]
    max_lost: float | None
    lanes: int | None
    unit_rows: int | None
    start: Literal["filled", "direct"] | None
    max_world_size: int | None
    slots: int | None
    collate_workers: int | None
    timeout: float | None


@dataclass(frozen=True)
class Options:
    """The arguments of StreamingDataset that decide what is read. It documents them."""

    uri: Address | None
    batch_size: int | None
    sources: Mapping[str, Any] | None = None
    stop: str | None = None
    epoch_size: int | None = None
    curriculum: Sequence[tuple[int, Mapping[str, float]]] | None = None
    batching: str | None = None
    weights_in: str | None = None
    tokens: str | None = None
    columns: Sequence[str] | None = None
    filters: Filters | None = None
    parts: Mapping[str, float] | None = None
    part: str | None = None
    part_key: str | None = None
    part_seed: int = 0
    subsample: float | None = None
    rows: Path | None = None
    rows_new: str | None = None
    weight: str | None = None
    pack: Packing | None = None
    bucket: Bucketing | None = None
    shuffle: bool = True
    shuffle_buffer: int | str | None = None
    seed: int = 0
    drop_last: bool = False
    tail: str | None = None
    row_ids: bool = False
    seeds: bool = False
    memory: int | str | None = None
    cache: bool = True
    cache_dir: Path | None = None
    cache_limit: int | float | str | None = None
    cache_policy: str | None = None
    decoded_limit: int | float | str | None = None
    index_dir: Path | None = None
    storage_options: Mapping[str, Any] | None = None
    null: Mapping[str, Any] | None = None
    pad: Mapping[str, Any] | None = None
    max_length: Lengths | None = None
    vocabulary: Mapping[str, Sequence[str] | Mapping[str, int] | Path] | None = None
    unknown: Unknown | Mapping[str, Unknown] = "error"
    cast: Mapping[str, Any] | None = None
    hash: Mapping[str, int] | None = None
    scale: Mapping[str, tuple[float, float]] | None = None
    stack: Mapping[str, Any] | None = None
    images: Mapping[str, Any] | str | None = None
    image_decoder: str = "auto"
    manifest: Manifest | None = None
    plan: Path | None = None
    strict: bool = False
    missing: str = "error"
    partition_types: Mapping[str, Any] | None = None
    invalid_utf8: str = "refuse"
    on_error: str = "raise"
    max_lost: float | None = None
    lanes: int | None = None
    unit_rows: int | None = None
    start: str | None = None
    max_world_size: int | None = None
    slots: int | None = None
    collate_workers: int | None = None

    def spec(self, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's Spec.

        What is wrong is added to problems, or raised as one error without them.
        """
        found = Problems() if problems is None else problems
        spec = {
            "addresses": [] if self.uri is None else found.of(_addresses, self.uri),
            **self._mixture(found),
            **self._steps(found),
            "columns": found.of(_columns, self.columns),
            "row_ids": found.of(flag, "row_ids", self.row_ids),
            "seeds": found.of(flag, "seeds", self.seeds),
            **self._choice(found),
            **(found.of(_manifest.spec, self.manifest) or {}),
            "plan": found.of(_place, "plan", self.plan),
            "strict": found.of(flag, "strict", self.strict),
            "missing": found.of(one_of, "missing", self.missing, "error", "null"),
            "partition_types": found.of(_features.partition_types, self.partition_types),
            "invalid_utf8": found.of(one_of, "invalid_utf8", self.invalid_utf8, "refuse", "replace"),
            **self._lost(found),
            **self._order(found),
            **self._kept(found),
            "storage": found.of(_storage.options, self.storage_options),
            "env": _storage.environment(os.environ),
            "null": found.of(_nulls, self.null),
            "pad": found.of(_pads, self.pad, self.max_length),
            "pack": _pack.spec(
                self.pack, rows=self.batch_size is None, padded=self.pad if isinstance(self.pad, Mapping) else (), problems=found
            ),
            "bucket": _bucket.spec(self.bucket, batch_size=self.batch_size, packed=self.pack is not None, problems=found),
            **self._words(found),
            "cast": found.of(_features.casts, self.cast),
            "hash": found.of(_features.hashes, self.hash),
            "scale": found.of(_features.scales, self.scale),
            "stack": found.of(_features.stacks, self.stack, _value),
            "images": found.of(_image.images, self.images),
            "image_decoder": found.of(_image.decoder, self.image_decoder, self.images),
            "slots": found.of(number, "slots", self.slots, 2),
            "workers": found.of(number, "collate_workers", self.collate_workers),
        }
        if problems is None:
            found.report()
        return spec

    def _mixture(self, found: Problems) -> dict[str, Any]:
        if self.uri is None and self.sources is None:
            found.found.append(f"uri must be {_URI}, got None; several data sets are given as sources")
        elif self.uri is not None and self.sources is not None:
            found.found.append("sources have addresses of their own, got a uri as well: leave one of the two out")
        sources = _sources.specs(self.sources, _Reads, found)
        if self.batching == "per_source" and self.batch_size is None:
            found.found.append("batching 'per_source' needs a batch_size, got None: single rows are in no batch of one source")
        return {
            "sources": sources,
            "stop": found.of(one_of, "stop", self.stop or "", "", "first", "all"),
            "epoch_size": found.of(number, "epoch_size", self.epoch_size),
            "curriculum": found.of(_sources.curriculum, self.curriculum, [s["name"] for s in sources]),
            "batching": found.of(one_of, "batching", self.batching or "", "", "stratified", "per_source"),
            "weights_in": found.of(one_of, "weights_in", self.weights_in or "", "", "samples", "tokens"),
            "tokens": found.of(_Reads.word, "tokens", self.tokens),
        }

    def _lost(self, found: Problems) -> dict[str, Any]:
        on_error = found.of(one_of, "on_error", self.on_error, "raise", "mask", "skip")
        if on_error == "raise" and self.max_lost is not None:
            found.found.append(f"max_lost needs on_error='mask' or 'skip', got max_lost={self.max_lost!r} alone")
        most = 0.0 if self.max_lost is None else found.of(share, "max_lost", self.max_lost)
        return {"on_error": on_error, "max_lost": most}

    def _words(self, found: Problems) -> dict[str, Any]:
        vocabulary = found.of(_vocabularies, self.vocabulary)
        unknown = {} if vocabulary is None else found.of(_unknowns, self.unknown, vocabulary)
        return {"vocabulary": vocabulary, "unknown": unknown}

    def _choice(self, found: Problems) -> dict[str, Any]:
        """Which rows are read. The engine checks how these arguments go together."""
        filters = found.of(_rules.text, self.filters)
        return {
            "filters": filters,
            "now": "",  # see _engine/_now.py
            "directory": os.getcwd() if filters and "@" in filters else self._directory(),  # of the files that filters name
            "parts": found.of(_parts, self.parts),
            "part": found.of(_word, "part", self.part),
            "part_key": found.of(_word, "part_key", self.part_key),
            "part_seed": found.of(seed, self.part_seed, "part_seed"),
            "subsample": found.of(_share, self.subsample),
            "rows": found.of(path, "rows", self.rows),
            "rows_new": found.of(one_of, "rows_new", self.rows_new or "", "", "error", "keep", "drop"),
            "weight": found.of(_word, "weight", self.weight),
        }

    def _directory(self) -> str:
        """The working directory, where filters of sources name files."""
        texts = [s.filters for s in (self.sources or {}).values() if isinstance(s, _sources.Source)]
        return os.getcwd() if any(isinstance(text, str) and "@" in text for text in texts) else ""

    def _order(self, found: Problems) -> dict[str, Any]:
        shuffle, buffer = found.of(flag, "shuffle", self.shuffle), self.shuffle_buffer
        if shuffle is False:
            found.of(self._only_when_shuffled)
        return {
            "shuffle": shuffle,
            "shuffle_buffer": "" if buffer is None else found.of(_sizes.buffer_text, "shuffle_buffer", buffer),
            "seed": found.of(seed, self.seed),
            "lanes": found.of(number, "lanes", self.lanes),
            "unit_rows": found.of(number, "unit_rows", self.unit_rows),
            "start": found.of(one_of, "start", self.start or "", "", "filled", "direct"),
            "max_world_size": found.of(number, "max_world_size", self.max_world_size),
        }

    def _only_when_shuffled(self) -> None:
        given = [name for name in _SHUFFLE_ONLY if getattr(self, name) is not None]
        if given:
            raise OptionError(f"shuffle=False reads in file order, got {', '.join(given)} as well: leave out, or give shuffle=True")

    def _steps(self, found: Problems) -> dict[str, Any]:
        size, memory = self.batch_size, self.memory
        return {
            "batch_size": 1 if size is None else found.of(number, "batch_size", size, most=2**31 - 1),
            "tail": found.of(self._tail),
            "memory": "" if memory is None else found.of(_sizes.bytes_text, "memory", memory),
        }

    def _tail(self) -> str:
        tail = one_of("tail", self.tail or "", "", "drop", "pad", "short", "carry")
        if flag("drop_last", self.drop_last) and tail not in ("", "drop"):
            raise OptionError(f"drop_last=True means tail='drop', got tail={tail!r} as well: give one of them")
        return "drop" if self.drop_last else tail

    def _kept(self, found: Problems) -> dict[str, Any]:
        limit = self.cache_limit
        cache = found.of(flag, "cache", self.cache)
        decoded = self.decoded_limit
        if cache is False and (limit is not None or self.cache_policy is not None or decoded not in (None, 0, "0")):
            found.found.append("cache=False keeps nothing: leave out cache_limit, cache_policy and decoded_limit")
        if decoded not in (None, 0, "0"):
            decoded = found.of(_sizes.limit_text, "decoded_limit", decoded)
        return {
            "cache_dir": found.of(path, "cache_dir", self.cache_dir),
            "cache_limit": "" if limit is None else found.of(_sizes.limit_text, "cache_limit", limit),
            "cache_policy": found.of(_cache_policy, "cache_policy", self.cache_policy or ""),
            "decoded_limit": "" if decoded is None else str(decoded),
            "no_cache": cache is False,
            "index_dir": found.of(path, "index_dir", self.index_dir),
        }


def _addresses(uri: Any) -> list[str]:
    """A list, a tuple or a generator of addresses.

    A table is iterable too, and gives the names of its columns.
    """
    listed = (
        isinstance(uri, Iterable) and not isinstance(uri, (Mapping, bytes)) and not hasattr(uri, "shape") and not hasattr(uri, "schema")
    )
    given = [uri] if isinstance(uri, (str, os.PathLike)) else list(uri) if listed else None
    if given is None:
        raise OptionError(f"uri must be {_URI}, got {type_name(uri)}" + _in_memory(uri))
    for address in given:
        if not isinstance(address, (str, os.PathLike)):
            raise OptionError(f"uri must be {_URI}, got a list with {type_name(address)} in it" + _in_memory(address))
    if not given or not all(map(os.fspath, given)):
        raise OptionError(f"uri is empty: it must be {_URI}")
    if not isinstance(uri, (str, os.PathLike)) and all(_is_name(a) for a in given):
        raise OptionError(f"there are no files {', '.join(map(repr, given))}: uri must be {_URI}; columns are named in columns=")
    return [encoded("the address", _absolute(os.fspath(a)), _redact.address) for a in given]


_URI = "an address such as 's3://bucket/path', a path, or a list of them"


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
    return os.path.abspath(os.path.expanduser(address))


def _place(name: str, value: Any) -> str:
    """A path, made absolute, or the address of a file on servers; empty for None."""
    return encoded(name, value, _redact.address) if isinstance(value, str) and _SCHEME.match(value) else path(name, value)


def _columns(columns: Any) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise OptionError(f"columns must be a list of names, got {columns!r}: give columns=[{columns!r}]")
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, Mapping) else []
    if not names or not all(isinstance(n, str) and n for n in names):
        raise OptionError(f"columns must be a list of names or dotted paths, or None for all columns, {got(columns)}")
    return [encoded("the column", name) for name in names]


def _word(name: str, value: Any) -> str:
    """A name, of a column or a part; None is none."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise OptionError(f"{name} must be a name, {got(value)}")
    return encoded(name, value)


def _parts(given: Any) -> dict[str, float]:
    parts = {}
    for name, weight in _named("parts", given, '{"train": 9, "val": 1}').items():
        if not isinstance(weight, (int, float, np.integer, np.floating)) or isinstance(weight, bool) or not 0 <= weight < math.inf:
            raise OptionError(f"parts[{name!r}] must be a weight of at least 0, {got(weight)}")
        parts[encoded("parts", name)] = float(weight)
    if given is not None and not parts:
        raise OptionError("parts must not be empty; leave it out to read all rows")
    return parts


def _share(value: Any) -> float:
    if value is None:
        return 0.0
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool) or not 1e-6 <= value <= 1:
        raise OptionError(f"subsample must be from 0.000001 to 1, {got(value)}")
    return float(value)


def _named(name: str, given: Any, example: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(k, str) for k in given):
        raise OptionError(f"{name} must be a dict, as in {name}={example}, {got(given)}")
    return given


def _nulls(given: Any) -> dict[str, Any]:
    return {column: _value(f"null of column {column!r}", v) for column, v in _named("null", given, "{'price': 0.0}").items()}


def _value(what: str, value: Any) -> Any:
    """A value in JSON: NaN is text, bytes are an object with base64."""
    if isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value):
        return _NOT_A_TIME
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value))
    if isinstance(value, np.timedelta64):
        raise OptionError(f"{what} must be a datetime.time, a whole number in the column's unit, or NaT, {got(value)}")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (bool, int, float, str)):
        return value
    raise OptionError(f"{what} must be a number, True or False, text, bytes, a date, datetime, time, Decimal or UUID, {got(value)}")


def _pads(given: Any, max_length: Any) -> list[dict[str, Any]]:
    pads = {column: _pad(column, how) for column, how in _named("pad", given, "{'token_ids': 0}").items()}
    lengths = max_length if isinstance(max_length, Mapping) else dict.fromkeys(pads, max_length) if max_length is not None else {}
    if max_length is not None and not pads:
        raise OptionError("max_length cuts padded lists: name their columns in pad={column: value}")
    for column, length in lengths.items():
        if column not in pads:
            raise OptionError(f"max_length names column {column!r}, which is not in pad: give pad={{{column!r}: value}} as well")
        pads[column]["max_length"] = _levels(f"max_length of column {column!r}", length)
    return [_by_level(pad) for pad in pads.values()]


def _levels(what: str, given: Any) -> list[int]:
    """A number for all levels of lists, or one for each, as 0 for None."""
    if isinstance(given, (list, tuple)) and given:
        return [number(what, n) for n in given]
    return [number(what, given)]


def _by_level(pad: dict[str, Any]) -> dict[str, Any]:
    """The engine's form of a pad, which has the sizes of the outer lists and of those within."""
    lengths, multiples = pad["max_length"], pad["multiple"]
    what = f"pad of column {pad['column']!r}"
    if pad["to_max"] and not all(lengths):
        raise OptionError(f"{what}: to_max needs a max_length")
    levels = max(len(lengths), len(multiples))
    if min(len(lengths), len(multiples)) not in (1, levels):
        raise OptionError(f"{what} has max_length for {len(lengths)} levels of lists and multiple for {len(multiples)}: give as many")
    lengths, multiples = (sizes * levels if len(sizes) == 1 else sizes for sizes in (lengths, multiples))
    sizes = [{"max_length": n, "multiple": m} for n, m in zip(lengths, multiples)]
    return {**pad, **sizes[0], **({"within": sizes[1:]} if levels > 1 else {})}


def _pad(column: str, how: Any) -> dict[str, Any]:
    options = how if isinstance(how, Mapping) else {"value": how}
    what = f"pad of column {column!r}"
    for key in options:
        if key not in _PAD_KEYS:
            raise OptionError(f"{what} takes {', '.join(_PAD_KEYS)}, got {key!r}{did_you_mean(key, _PAD_KEYS)}")
    value = options.get("value")
    return {
        "column": column,
        "value": None if value is None else _value(what, value),
        "max_length": _levels(f"max_length of column {column!r}", options.get("max_length")),
        "to_max": flag(f"to_max in the {what}", options.get("to_max", False)),
        "multiple": _levels(f"multiple of column {column!r}", options.get("multiple")),
        "left": one_of(f"side in the {what}", options.get("side", "right"), "left", "right") == "left",
        "cut_left": one_of(f"cut in the {what}", options.get("cut", "right"), "left", "right") == "left",
    }


def _vocabularies(given: Any) -> dict[str, list[str]]:
    return {column: _words(column, words) for column, words in _named("vocabulary", given, "{'label': ['cat', 'dog']}").items()}


class _Reads:
    """The checks that the arguments of a source share with those of a data set."""

    addresses = staticmethod(_addresses)
    parts = staticmethod(_parts)
    word = staticmethod(_word)
    share = staticmethod(_share)


_LEAST_UNKNOWN = -100  # the label that torch's losses ignore


def _is_error(unknown: Any) -> bool:
    return isinstance(unknown, str) and unknown == "error"


def _unknowns(given: Any, vocabulary: Mapping[str, list[str]]) -> dict[str, int]:
    """The numbers of unknown words by column, of the columns whose unknown words are allowed."""
    by_column = isinstance(given, Mapping)
    if not by_column and not vocabulary and not _is_error(given):
        raise OptionError(f"unknown numbers words that a vocabulary lacks, {got(given)} alone: give vocabulary={{column: words}} as well")
    numbers = {}
    for column, index in given.items() if by_column else dict.fromkeys(vocabulary, given).items():
        if column not in vocabulary:
            raise OptionError(f"unknown names column {column!r}, which is not in vocabulary: give vocabulary={{{column!r}: words}} as well")
        most = len(vocabulary[column])
        if _is_error(index):
            continue
        if not is_whole(index) or not _LEAST_UNKNOWN <= index <= most:
            raise OptionError(
                f"unknown of column {column!r} must be 'error' or a whole number from {_LEAST_UNKNOWN} to {most}, the number of words, "
                f"{got(index)}"
            )
        numbers[column] = int(index)
    return numbers


def _words(column: str, words: Any) -> list[str]:
    if isinstance(words, (str, os.PathLike)):
        words = _listed(column, words)
    if isinstance(words, Mapping):
        if not all(map(is_whole, words.values())) or sorted(words.values()) != list(range(len(words))):
            raise OptionError(
                f"the vocabulary of column {column!r} must number its {len(words)} words from 0 to {len(words) - 1}, each once"
            )
        words = sorted(words, key=words.__getitem__)
    if not isinstance(words, Iterable):
        raise OptionError(f"the vocabulary of column {column!r} must be a list of words, a dict of their numbers, or a file, {got(words)}")
    listed = list(words)
    if not listed or not all(isinstance(w, str) for w in listed):
        raise OptionError(f"the vocabulary of column {column!r} must be a list of str with at least one, {got(words)}")
    return listed


def _cache_policy(argument: str, value: Any) -> str:
    """What a full cache does; how long it keeps is the engine's to check."""
    if isinstance(value, str) and re.fullmatch(r"keep=[0-9.]+(d|h|m|s|ms)([0-9.]+(m|s|ms))*", value):
        return value
    return one_of(argument, value, "", "keep", "lru")


def _listed(column: str, name: str | os.PathLike[str]) -> Any:
    """The words in a file of ``shardfeed vocab --save``, or a dict of their numbers."""
    try:
        with open(name, encoding="utf-8", opener=regular) as file:
            words = json.load(file)
    except (OSError, ValueError) as e:
        raise OptionError(
            f"the vocabulary of column {column!r} must be a list of words, a dict of their numbers, or a JSON file of either, "
            f"got {os.fspath(name)!r}: {e}"
        ) from None
    if not isinstance(words, (list, dict)):
        raise OptionError(f"the vocabulary of column {column!r} in {os.fspath(name)!r} must be a JSON list of words, {got(words)}")
    return words
