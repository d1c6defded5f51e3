"""The engine's Spec of a data set's arguments, and which values are allowed."""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from . import _boxes, _bucket, _image, _manifest, _pack, _sources, _tokenizer
from ._args import _addresses, _features, _pads, _rules, _sizes, _storage, _vocabulary
from ._args._arguments import parameters_of
from ._args._checks import Problems, encoded, flag, got, number, one_of, parts, path, seed, share, snapshot, word
from ._args._types import Address, Path
from ._keywords import DatasetOptions
from .errors import OptionError

DEFAULTS = {p.name: p.default for p in parameters_of(DatasetOptions)}

_SHUFFLE_ONLY = ("shuffle_buffer", "lanes", "start", "max_world_size")

# Options with a conversion of their own for the engine, and options of StreamingDataset itself.
_OTHERS = {"part_seed", "shuffle", "seed", "drop_last", "tail", "cache", "cache_policy", "image_decoder", "plan", "slots"}
_OTHERS |= {"collate_workers", "rank", "world_size", "replication", "with_row_valid", "opening", "timeout"}


class Options(SimpleNamespace):
    """The arguments of a data set by name, with the defaults of those that are not given."""

    def __init__(self, uri: Address | None, batch_size: int | None, **given: Any) -> None:
        super().__init__(uri=uri, batch_size=batch_size, **{**DEFAULTS, **given})

    def spec(self, problems: Problems | None = None) -> dict[str, Any]:
        """Returns the engine's Spec.

        What is wrong is added to problems, or raised as one error without them.
        """
        found = Problems() if problems is None else problems
        spec = {
            "addresses": [] if self.uri is None else found.of(_addresses.addresses, self.uri),
            **self._mixture(found),
            **self._steps(found),
            **{name: found.of(check, name, getattr(self, name)) for name, check in _CHECKS.items()},
            "columns": found.of(_columns, self.columns),
            **self._choice(found),
            **(found.of(_manifest.spec, self.manifest) or {}),
            "snapshot": found.of(snapshot, self.snapshot),
            "plan": found.of(_addresses.place, "plan", self.plan),
            "partition_types": found.of(_features.partition_types, self.partition_types),
            "max_lost": self._lost(found),
            **self._order(found),
            **self._kept(found),
            "storage": found.of(_storage.options, self.storage_options),
            "env": _storage.environment(os.environ),
            "null": found.of(_pads.nulls, self.null),
            "pad": found.of(_pads.pads, self.pad, self.max_length),
            "pack": _pack.spec(
                self.pack, rows=self.batch_size is None, padded=self.pad if isinstance(self.pad, Mapping) else (), problems=found
            ),
            "bucket": _bucket.spec(self.bucket, batch_size=self.batch_size, packed=self.pack is not None, problems=found),
            **self._words(found),
            "tokenize": _tokenizer.specs(self.tokenize, found),
            "cast": found.of(_features.casts, self.cast),
            "hash": found.of(_features.hashes, self.hash),
            "scale": found.of(_features.scales, self.scale),
            "stack": found.of(_features.stacks, self.stack, _pads.value),
            "images": found.of(_image.images, self.images),
            "boxes": found.of(_boxes.boxes, self.boxes),
            "image_decoder": found.of(_image.decoder, self.image_decoder, self.images),
            "slots": found.of(number, "slots", self.slots, 2),
            "workers": found.of(number, "collate_workers", self.collate_workers),
        }
        if problems is None:
            found.report()
        return spec

    def _mixture(self, found: Problems) -> dict[str, Any]:
        if self.uri is None and self.sources is None:
            found.found.append(f"uri must be {_addresses.FORM}, got None; several data sets are given as sources")
        elif self.uri is not None and self.sources is not None:
            found.found.append("sources have addresses of their own, got a uri as well: leave one of the two out")
        sources = _sources.specs(self.sources, found)
        if self.batching == "per_source" and self.batch_size is None:
            found.found.append("batching 'per_source' needs a batch_size, got None: single rows are in no batch of one source")
        return {
            "sources": sources,
            "curriculum": found.of(_sources.curriculum, self.curriculum, [s["name"] for s in sources]),
        }

    def _lost(self, found: Problems) -> float | None:
        if self.on_error == "raise" and self.max_lost is not None:
            found.found.append(f"max_lost needs on_error='mask' or 'skip', got max_lost={self.max_lost!r} alone")
        return found.of(share, "max_lost", self.max_lost)

    def _words(self, found: Problems) -> dict[str, Any]:
        vocabulary = found.of(_vocabulary.vocabularies, self.vocabulary)
        unknown = {} if vocabulary is None else found.of(_vocabulary.unknowns, self.unknown, vocabulary)
        return {"vocabulary": vocabulary, "unknown": unknown}

    def _choice(self, found: Problems) -> dict[str, Any]:
        """Which rows are read. The engine checks how these arguments go together."""
        filters = found.of(_rules.text, self.filters)
        return {
            "filters": filters,
            "now": "",  # see _engine/_now.py
            "directory": os.getcwd() if filters and "@" in filters else self._directory(),  # of the files that filters name
            "parts": found.of(parts, self.parts),
            "part_seed": found.of(seed, self.part_seed, "part_seed"),
            "subsample": found.of(share, "subsample", self.subsample, _sources.LEAST_SHARE),
        }

    def _directory(self) -> str:
        """The working directory, where filters of sources name files."""
        texts = [s.filters for s in (self.sources or {}).values() if isinstance(s, _sources.Source)]
        return os.getcwd() if any(isinstance(text, str) and "@" in text for text in texts) else ""

    def _order(self, found: Problems) -> dict[str, Any]:
        shuffle = found.of(flag, "shuffle", self.shuffle)
        if shuffle is False:
            found.of(self._only_when_shuffled)
        return {
            "shuffle": shuffle,
            "shuffle_buffer": found.of(_sizes.buffer_text, "shuffle_buffer", self.shuffle_buffer),
            "seed": found.of(seed, self.seed),
        }

    def _only_when_shuffled(self) -> None:
        given = [name for name in _SHUFFLE_ONLY if getattr(self, name) is not None]
        if given:
            raise OptionError(f"shuffle=False reads in file order, got {', '.join(given)} as well: leave out, or give shuffle=True")

    def _steps(self, found: Problems) -> dict[str, Any]:
        return {
            "batch_size": found.of(number, "batch_size", self.batch_size, most=2**31 - 1) if self.batch_size is not None else 1,
            "tail": found.of(self._tail),
            "memory": found.of(_sizes.bytes_text, "memory", self.memory),
        }

    def _tail(self) -> str:
        tail = one_of("tail", self.tail or "", "", "drop", "pad", "short", "carry")
        if flag("drop_last", self.drop_last) and tail not in ("", "drop"):
            raise OptionError(f"drop_last=True means tail='drop', got tail={tail!r} as well: give one of them")
        return "drop" if self.drop_last else tail

    def _kept(self, found: Problems) -> dict[str, Any]:
        cache = found.of(flag, "cache", self.cache)
        decoded = found.of(_sizes.limit_text, "decoded_limit", self.decoded_limit, none=True)
        if cache is False and (self.cache_limit is not None or self.cache_policy is not None or decoded not in ("", "0")):
            found.found.append("cache=False keeps nothing: leave out cache_limit, cache_policy and decoded_limit")
        return {
            "cache_limit": found.of(_sizes.limit_text, "cache_limit", self.cache_limit),
            "cache_policy": found.of(_cache_policy, "cache_policy", self.cache_policy or ""),
            "decoded_limit": decoded,
            "no_cache": cache is False,
        }


def _columns(columns: Any) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise OptionError(f"columns must be a list of names, got {columns!r}: give columns=[{columns!r}]")
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, Mapping) else []
    if not names or not all(isinstance(n, str) and n for n in names):
        raise OptionError(f"columns must be a list of names or dotted paths, or None for all columns, {got(columns)}")
    return [encoded("the column", name) for name in names]


def _cache_policy(argument: str, value: Any) -> str:
    """What a full cache does; how long it keeps is the engine's to check."""
    if isinstance(value, str) and re.fullmatch(r"keep=[0-9.]+(d|h|m|s|ms)([0-9.]+(m|s|ms))*", value):
        return value
    return one_of(argument, value, "", "keep", "lru")


def _check(hint: Any) -> Callable[[str, Any], Any] | None:
    """Returns the check for an option of a type, or None if the type has no check."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional, own = type(None) in kinds, tuple(kind for kind in kinds if kind is not type(None))
    if get_origin(own[0]) is Literal and len(own) == 1:
        words = get_args(own[0])
        return lambda name, value: one_of(name, value or "", "", *words) if optional else one_of(name, value, *words)
    return _BY_TYPE.get((own, optional))


_BY_TYPE: dict[Any, Callable[[str, Any], Any]] = {
    ((bool,), False): flag,
    ((int,), True): number,
    ((str,), True): word,
    (get_args(Path), True): path,
}
_CHECKS = {
    name: check for name, hint in get_type_hints(DatasetOptions).items() if name not in _OTHERS and (check := _check(hint)) is not None
}
