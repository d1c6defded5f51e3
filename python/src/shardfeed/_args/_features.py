"""Features: casts, hashes, scales and matrices of columns, as arguments of a data set."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import OptionError
from ._checks import did_you_mean, encoded, got, number

DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
CAST_DTYPES = (*DTYPES, "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
_PARTITIONS = (*(dtype for dtype in DTYPES if "16" not in dtype or "int" in dtype), "date", "string")
_STACK_KEYS = ("columns", "dtype", "null", "keep")
_EXAMPLES = {
    "cast": "{'label': 'int32'}",
    "partition_types": "{'month': 'int32'}",
    "hash": "{'user_id': 1_000_000}",
    "scale": "{'price': (12.5, 3.1)}",
    "stack": "{'x': ['num_*', 'price']}",
}


def casts(given: Any) -> dict[str, str]:
    """The dtypes of columns by their names."""
    return {column: dtype_name(f"cast of column {column!r}", dtype, CAST_DTYPES) for column, dtype in _by_column("cast", given)}


def partition_types(given: Any) -> dict[str, str]:
    """The types of partitions by their names."""
    names = {str: "string", datetime.date: "date"}
    types = _by_column("partition_types", given)
    return {
        key: dtype_name(f"type of partition {key!r}", names.get(of, of) if isinstance(of, type) else of, _PARTITIONS) for key, of in types
    }


def hashes(given: Any) -> dict[str, int]:
    """The buckets of columns."""
    return {column: number(f"hash of column {column!r}", _present("hash", column, n)) for column, n in _by_column("hash", given)}


def scales(given: Any) -> dict[str, list[float]]:
    """The means and deviations of columns."""
    return {column: _scale(column, pair) for column, pair in _by_column("scale", given)}


def stacks(given: Any, value: Callable[[str, Any], Any]) -> dict[str, dict[str, Any]]:
    """The matrices by their names; value makes JSON of their nulls."""
    return {name: _stack(name, how, value) for name, how in _by_column("stack", given)}


def _by_column(argument: str, given: Any) -> Iterable[tuple[str, Any]]:
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and k for k in given):
        raise OptionError(f"{argument} must be a dict by name, as in {argument}={_EXAMPLES[argument]}, {got(given)}")
    return [(encoded(argument, name), how) for name, how in given.items()]


def _present(argument: str, column: str, value: Any) -> Any:
    if value is None:
        raise OptionError(f"{argument} of column {column!r} must be a whole number, got None")
    return value


def dtype_name(what: str, dtype: Any, known: Sequence[str] = DTYPES) -> str:
    """A dtype of torch or numpy, or its name."""
    name = dtype if isinstance(dtype, str) else str(dtype)
    if isinstance(dtype, (type, np.dtype)):
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = repr(dtype)
    name = name.removeprefix("torch.")
    if name not in known:
        raise OptionError(f"{what} must be {', '.join(known[:-1])} or {known[-1]}, {got(dtype)}{did_you_mean(name, known)}")
    return name


def _scale(column: str, pair: Any) -> list[float]:
    values = list(pair) if isinstance(pair, (list, tuple, np.ndarray)) else []
    if len(values) != 2 or not all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in values):
        raise OptionError(f"scale of column {column!r} must be a mean and a deviation, as in (12.5, 3.1), {got(pair)}")
    mean, deviation = map(float, values)
    if not math.isfinite(mean) or not 0 < deviation < math.inf:
        raise OptionError(f"scale of column {column!r} must have a finite mean and a deviation above 0, {got(pair)}")
    return [mean, deviation]


def _stack(name: str, how: Any, value: Callable[[str, Any], Any]) -> dict[str, Any]:
    options = how if isinstance(how, Mapping) else {"columns": how}
    what = f"stack {name!r}"
    for key in options:
        if key not in _STACK_KEYS:
            raise OptionError(f"{what} takes {', '.join(_STACK_KEYS)}, got {key!r}{did_you_mean(key, _STACK_KEYS)}")
    null, keep = options.get("null"), options.get("keep")
    return {
        "columns": _names(f"the columns of {what}", options.get("columns")),
        "dtype": "" if options.get("dtype") is None else dtype_name(f"the dtype of {what}", options["dtype"]),
        "null": None if null is None else value(f"null of {what}", null),
        "keep": ["*"] if keep is True else _names(f"keep of {what}", keep) if keep else [],
    }


def _names(what: str, given: Any) -> list[str]:
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)) else []
    if not names or not all(isinstance(n, str) and n for n in names):
        hint = f": give [{given!r}]" if isinstance(given, str) and given else ""
        raise OptionError(f"{what} must be a list of names or patterns such as 'num_*', {got(given)}{hint}")
    return [encoded(what, name) for name in names]
