"""Sources: several data sets that are read together by weight."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _tokenizer
from ._args import _addresses, _rules
from ._args._arguments import arguments
from ._args._checks import Problems, did_you_mean, encoded, got, is_number, number, one_of, parts, path, seed, share, snapshot, word
from ._args._types import Address, Filters, Path
from ._fim import token
from .errors import OptionError

LEAST_SHARE = 1e-6  # of subsample


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """Which rows of a source are read, and how often."""

    weight: float | None = None
    repeat: float | None = None
    choose: int | None = None
    filters: Filters | None = None
    parts: Mapping[str, float] | None = None
    part: str | None = None
    part_key: str | None = None
    part_seed: int = 0
    subsample: float | None = None
    rows: Path | None = None
    rows_new: Literal["error", "keep", "drop"] | None = None
    row_weight: str | None = None
    rename: Mapping[str, str] | None = None
    snapshot: str | int | None = None
    tokenize: Mapping[str, Any] | None = None
    eos: int | str | None = None
    bos: int | str | None = None
    value: int | str | None = None


@arguments
@dataclass(frozen=True)
class Source(_Choice):
    """One of several data sets in ``StreamingDataset(sources={name: Source(...)})``.

    Args:
        uri (str, Path, or list of them): what to read, as the uri of a data set.
        weight (float, default 1): its share of the samples, in proportion to the weights of the
            others.
        repeat (float, default None): how many times an epoch has each sample of the source, as in 2
            or 0.5. If one source has repeat or choose, no source has a weight: an epoch has each
            of the other sources once.
        choose (int, default None): how many samples of the source an epoch has.
        filters, parts, part, part_key, part_seed, subsample, rows, rows_new: which rows are read,
            as the arguments of a data set.
        row_weight (str, default None): a column with how often each row comes, as the weight of a
            data set.
        rename (dict, default None): other names for columns, ``{"body": "text"}``. Filters use the
            new names.
        snapshot (str or int, default None): which snapshot of a table to read, as the snapshot of a data
            set.
        tokenize (dict, default None): tokenizers that replace the data set's, for the same columns:
            ``{"text": "other.json"}``.
        eos, bos, value (int or str, default None): tokens of the source's own tokenizer, which
            replace the ones of the data set's ``pack``. A token that ``pack`` names by its text is found in
            the source's tokenizer otherwise.
    """

    uri: Address

    def spec(self, name: str, found: Problems) -> dict[str, Any]:
        """The engine's Source."""
        within = Problems()
        filters = within.of(_rules.text, self.filters)
        spec = {
            "name": name,
            "addresses": within.of(_addresses.addresses, self.uri),
            **self._share(within),
            "filters": filters,
            "parts": within.of(parts, self.parts),
            "part": within.of(word, "part", self.part),
            "part_key": within.of(word, "part_key", self.part_key),
            "part_seed": within.of(seed, self.part_seed, "part_seed"),
            "subsample": within.of(share, "subsample", self.subsample, LEAST_SHARE),
            "rows": within.of(path, "rows", self.rows),
            "rows_new": within.of(one_of, "rows_new", self.rows_new or "", "", "error", "keep", "drop"),
            "row_weight": within.of(word, "row_weight", self.row_weight),
            "rename": within.of(_renamed, self.rename),
            "snapshot": within.of(snapshot, self.snapshot),
            **self._tokens(within),
        }
        found.found.extend(f"sources[{name!r}] {problem}" for problem in within.found)
        return spec

    def _tokens(self, found: Problems) -> dict[str, Any]:
        given = {"eos": self.eos, "bos": self.bos, "value": self.value}
        spec: dict[str, Any] = {name: found.of(token, name, t) for name, t in given.items() if t is not None}
        if self.tokenize is not None:
            spec["tokenize"] = _tokenizer.specs(self.tokenize, found)
        return spec

    def _share(self, found: Problems) -> dict[str, Any]:
        repeat = 0.0 if self.repeat is None else found.of(_above_zero, "repeat", self.repeat)
        choose = found.of(number, "choose", self.choose)
        weight = 0.0 if self.weight is None else found.of(_above_zero, "weight", self.weight)
        return {"weight": weight, "repeat": repeat, "choose": choose}


def specs(given: Any, found: Problems) -> list[dict[str, Any]]:
    """The engine's Sources."""
    if given is None:
        return []
    if not isinstance(given, Mapping) or not given:
        found.found.append(f"sources must be a dict of Source by name, as in sources={{'web': Source(uri, weight=7)}}, {got(given)}")
        return []
    all_of_them = []
    for name, source in given.items():
        if not isinstance(name, str) or not name:
            found.found.append(f"sources must have names, {got(name)}")
            continue
        if isinstance(source, (str, os.PathLike)):
            found.found.append(f"sources[{name!r}] must be a Source, {got(source)}: write Source({source!r})")
        elif not isinstance(source, Source):
            found.found.append(f"sources[{name!r}] must be a Source, {got(source)}")
        else:
            all_of_them.append(source.spec(encoded("sources", name), found))
    if not any(s["repeat"] or s["choose"] for s in all_of_them):
        for s, source in zip(all_of_them, (v for v in given.values() if isinstance(v, Source)), strict=False):
            if source.weight is None:
                s["weight"] = 1.0
    return all_of_them


def curriculum(given: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """The engine's Curriculum."""
    if given is None:
        return []
    changes = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
    if changes is None or not all(isinstance(c, Sequence) and len(c) == 2 for c in changes):
        raise OptionError(f"curriculum must be a list of (sample, weights), as in [(1_000_000, {{'web': 3}})], {got(given)}")
    return [
        {"from": number("the sample of a change in curriculum", sample), "weights": weights(w, names, "curriculum")}
        for sample, w in changes
    ]


def weights(given: Any, names: Sequence[str], what: str) -> dict[str, float]:
    """Weights of sources by name."""
    if not isinstance(given, Mapping) or not given:
        raise OptionError(f"{what} takes weights by name, as in {{{names[0] if names else 'web'!r}: 3}}, {got(given)}")
    for name, weight in given.items():
        if name not in names:
            raise OptionError(
                f"{what} has a weight of {name!r}, which is no source; known are {', '.join(names)}{did_you_mean(name, names)}"
            )
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise OptionError(f"{what} must have a weight of at least 0 for {name!r}, {got(weight)}")
    return {name: float(weight) for name, weight in given.items()}


def changed(state: Mapping[str, Any], given: Mapping[str, float]) -> dict[str, Any]:
    """Returns the state with other weights of sources from its position on."""
    at = int(state["epoch"]) * int(state["rows"]) + int(state["position"])
    names = [source["name"] for source in state["sources"]]
    before = [change for change in state["weights"] if change[0] <= at]
    new = [given.get(name, old) for name, old in zip(names, before[-1][1], strict=True)]
    if not any(new):
        raise OptionError(f"set_weights must leave one source a weight above 0, {got(dict(given))}")
    # A plan for this sample stays: what passes have left was divided by it.
    kept = [change for change in state["weights"] if change[0] < at or (change[0] == at and len(change) == 2 and at > 0)]
    later = [change for change in state["weights"] if change[0] > at]
    if len(kept) + len(later) >= _MOST_CHANGES:
        raise OptionError(f"the weights can change {_MOST_CHANGES - 1} times in a run, and have")
    if at == 0:  # nothing was taken yet
        return {**{name: v for name, v in state.items() if name != "counts"}, "weights": [[0, new, True], *later]}
    return {**state, "weights": [*kept, [at, new, True], *later]}


_MOST_CHANGES = 64


def _above_zero(name: str, value: Any) -> float:
    if not is_number(value) or not 0 < value < math.inf:
        raise OptionError(f"{name} must be a number above 0, {got(value)}")
    return float(value)


def _renamed(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(n, str) and n for pair in given.items() for n in pair):
        raise OptionError(f"rename must be a dict of names, as in {{'body': 'text'}}, {got(given)}")
    return dict(given)
