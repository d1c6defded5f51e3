"""Values in place of nulls and behind the ends of lists."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from ..errors import OptionError
from ._checks import did_you_mean, flag, got, named, number, one_of

_NOT_A_TIME = -(2**63)  # as numpy has it
_PAD_KEYS = ("value", "max_length", "to_max", "multiple", "side", "cut")


def nulls(given: Any) -> dict[str, Any]:
    return {column: value(f"null of column {column!r}", v) for column, v in named("null", given, "{'price': 0.0}").items()}


def value(what: str, value: Any) -> Any:
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


def pads(given: Any, max_length: Any) -> list[dict[str, Any]]:
    pads = {column: _pad(column, how) for column, how in named("pad", given, "{'token_ids': 0}").items()}
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
    filler = options.get("value")
    return {
        "column": column,
        "value": None if filler is None else value(what, filler),
        "max_length": _levels(f"max_length of column {column!r}", options.get("max_length")),
        "to_max": flag(f"to_max in the {what}", options.get("to_max", False)),
        "multiple": _levels(f"multiple of column {column!r}", options.get("multiple")),
        "left": one_of(f"side in the {what}", options.get("side", "right"), "left", "right") == "left",
        "cut_left": one_of(f"cut in the {what}", options.get("cut", "right"), "left", "right") == "left",
    }
