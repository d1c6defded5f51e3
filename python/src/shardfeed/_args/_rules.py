"""Filters as pyarrow, pandas and Hugging Face datasets write them, as the engine's text.

A list of tuples is their and, a list of lists of tuples the or of ands: pyarrow's DNF. An
expression of pyarrow.compute is translated. A text is the engine's own language and passes as it
is.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from ..errors import OptionError
from . import _expressions
from ._checks import did_you_mean, encoded, got, type_name

_OPERATORS = ("==", "=", "!=", "<", "<=", ">", ">=", "in", "not in")
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "between", "null", "true", "false"})  # names that must be quoted
_FORMS = (
    "a text as in 'score >= 0.5 and lang in (\"en\", \"de\")', pyarrow's list of tuples as in [('score', '>=', 0.5)], or an expression of "
    "pyarrow.compute"
)


def text(filters: Any) -> str:
    """Returns the engine's text of filters, and an empty one for None.

    One error lists all that is wrong with them.
    """
    if filters is None:
        return ""
    if isinstance(filters, str):
        if not filters.strip():
            raise OptionError("filters must not be empty; leave them out to read all rows")
        return encoded("filters", filters)
    if type(filters).__name__ == "Expression" and type(filters).__module__.startswith("pyarrow"):
        return _expressions.text(filters, _literal, _quoted)
    if not isinstance(filters, (list, tuple)):
        raise OptionError(f"filters must be {_FORMS}, {got(filters)}")
    if isinstance(filters, tuple) and _is_condition(filters):
        raise OptionError(f"filters must be a list of tuples, got one tuple; write [{filters!r}]")
    if not filters:
        raise OptionError("filters must not be an empty list; leave them out to read all rows")
    problems: list[str] = []
    ors = _groups(filters, problems)
    if len(problems) == 1:
        raise OptionError(problems[0])
    if problems:
        raise OptionError(f"{len(problems)} filters are wrong:\n  - " + "\n  - ".join(problems))
    return " or ".join(" and ".join(group) for group in ors)


def _is_condition(value: Any) -> bool:
    """Whether a value is one condition, valid or not: conditions start with the name of a column."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], str)


def _groups(filters: Collection[Any], problems: list[str]) -> list[list[str]]:
    if all(isinstance(f, (list, tuple)) and f and isinstance(f[0], (list, tuple)) for f in filters):
        return [_group(f"filters[{i}]", f, problems) for i, f in enumerate(filters)]
    return [_group("filters", filters, problems)]


def _group(where: str, conditions: Iterable[Any], problems: list[str]) -> list[str]:
    """The texts of conditions that all must hold."""
    found = []
    for i, condition in enumerate(conditions):
        try:
            found.append(_condition(condition))
        except OptionError as e:
            problems.append(f"{where}[{i}] {e}")
    return found


def _condition(condition: Any) -> str:
    if not isinstance(condition, (list, tuple)) or len(condition) != 3:
        raise OptionError(f"must be a tuple (column, operator, value), {got(condition)}")
    column, operator, value = condition
    if not isinstance(column, str) or not column:
        raise OptionError(f"must begin with the name of a column, {got(column)}")
    if not isinstance(operator, str) or operator not in _OPERATORS:
        hint = _other_operator(column, operator) if isinstance(operator, str) else ""
        raise OptionError(f"has an unknown operator, {got(operator)}; known are {' '.join(_OPERATORS)}{hint}")
    if operator in ("in", "not in"):
        return f"{_name(column)} {operator} ({_members(column, operator, value)})"
    if _has_members(value):
        raise OptionError(f"compares {column!r} by {operator!r} with {type_name(value)}; use 'in' for several values")
    return f"{_name(column)} {operator} {_literal(column, value)}"


def _other_operator(column: str, operator: str) -> str:
    """Suggests a text for a filter that tuples cannot express."""
    if operator.lower().replace("_", "") in ("like", "notlike", "not like", "ilike", "contains", "startswith", "endswith", "is", "isnan"):
        return f"; write the filter as a text, as in \"{_name(column)} like 'a%'\""
    return did_you_mean(operator.lower(), _OPERATORS)


def _has_members(value: Any) -> bool:
    """Whether a value is a collection of Python, numpy, pandas or pyarrow."""
    if isinstance(value, (list, tuple, set, frozenset, dict, range)) or hasattr(value, "to_pylist"):
        return True
    return hasattr(value, "dtype") and np.ndim(value) > 0


def _name(column: str) -> str:
    """A dotted name, each part quoted if it needs quotes."""
    parts = column.split(".")
    if not all(parts):
        parts = [column]
    encoded("the name of a column", column)
    return ".".join(p if p.isascii() and p.isidentifier() and p.lower() not in _KEYWORDS else _quoted(p, '"') for p in parts)


def _quoted(value: str, quote: str) -> str:
    return quote + value.replace(quote, quote * 2) + quote


def _members(column: str, operator: str, value: Any) -> str:
    if hasattr(value, "to_pylist"):  # of pyarrow
        value = value.to_pylist()
    elif hasattr(value, "dtype") and np.ndim(value) == 1:  # not tolist(), which makes nanoseconds plain numbers
        value = list(value)
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise OptionError(f"needs a list, tuple or set behind {operator!r}, {got(value)}")
    literals = [_literal(column, v) for v in value]
    if isinstance(value, (set, frozenset)):
        literals.sort()  # sets have no order, and ranks must agree on the text
    if not literals:
        raise OptionError(f"has no values behind {operator!r}; give at least one")
    return ", ".join(literals)


def _literal(column: str, value: Any) -> str:
    """A value as the engine's text has it."""
    if hasattr(value, "as_py"):  # a pyarrow scalar
        value = value.as_py()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.datetime64):
        return _datetime64(column, value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NaTType", "NAType"):  # of pandas
        raise OptionError(f"compares {column!r} with {value}, and nothing is equal to null; as text: '{_name(column)} is null'")
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    raise OptionError(
        f"compares {column!r} with {type_name(value)}; a value is a number, text, bytes, a boolean, a Decimal, a date, a time or a datetime"
    )


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "nan" if math.isnan(value) else "-inf" if value < 0 else "inf"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        return _float(float(value))
    return format(value, "f") if -100 < value.adjusted() < 100 else str(value)


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return f"x'{bytes(value).hex()}'"


def _datetime(value: datetime.datetime) -> str:
    """A timestamp; with a zone, in UTC. pandas.Timestamp has nanoseconds."""
    zone = ""
    if value.tzinfo is not None:
        value, zone = value.astimezone(datetime.timezone.utc), "Z"
    nanoseconds = f"{getattr(value, 'nanosecond', 0):03d}"
    return f"timestamp '{value.strftime('%Y').zfill(4)}{value.strftime('-%m-%d %H:%M:%S.%f')}{nanoseconds}{zone}'"


def _datetime64(column: str, value: np.datetime64) -> str:
    if np.isnat(value):
        raise OptionError(f"compares {column!r} with NaT, and nothing is equal to null; as text: '{_name(column)} is null'")
    day = np.datetime_data(value)[0] in ("Y", "M", "W", "D")
    shown = str(value.astype("datetime64[D]" if day else value.dtype))
    return f"date '{shown}'" if day else f"timestamp '{shown if ':' in shown else shown + ':00'}'"


def _time(value: datetime.time) -> str:
    if value.tzinfo is not None:
        raise OptionError(f"has a time with a zone, {got(value)}; give one without")
    return f"time '{value.strftime('%H:%M:%S.%f')}'"


def _text(value: str) -> str:
    return _quoted(encoded("a value", str(value)), "'")


# Types and how they are written; the first that fits counts.
_WRITERS: tuple[tuple[Any, Any], ...] = (
    (bool, lambda v: str(v).lower()),
    (int, lambda v: str(int(v))),
    (float, _float),
    (Decimal, _decimal),
    (str, _text),
    ((bytes, bytearray, memoryview), _bytes),
    (datetime.datetime, _datetime),
    (datetime.date, lambda v: f"date '{v.isoformat()}'"),
    (datetime.time, _time),
    (uuid.UUID, lambda v: f"'{v}'"),
)
