"""Tables that hypothesis makes: any type, nulls, nesting, empty lists, texts of any script, large binary values."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_BINARY = st.binary(max_size=20) | st.builds(lambda b, n: b * n, st.binary(min_size=1, max_size=3), st.integers(1, 5000))


def _decimals(precision: int, scale: int) -> st.SearchStrategy:
    top = 10**precision - 1
    exact = decimal.Context(prec=100)
    return st.integers(-top, top).map(lambda v: decimal.Decimal(v).scaleb(-scale, exact))


def _floats(width: int) -> st.SearchStrategy:
    return st.floats(width=width, allow_nan=False)


_UTC = dt.timezone.utc
_TIMES = {"min_value": dt.datetime(1700, 1, 1), "max_value": dt.datetime(2200, 1, 1)}

LEAVES: list[tuple[pa.DataType, st.SearchStrategy]] = [
    (pa.bool_(), st.booleans()),
    *[(pa.from_numpy_dtype(f"i{w}"), st.integers(-(2 ** (8 * w - 1)), 2 ** (8 * w - 1) - 1)) for w in (1, 2, 4, 8)],
    *[(pa.from_numpy_dtype(f"u{w}"), st.integers(0, 2 ** (8 * w) - 1)) for w in (1, 2, 4, 8)],
    (pa.float16(), _floats(16).map(np.float16)),
    (pa.float32(), _floats(32)),
    (pa.float64(), _floats(64)),
    (pa.string(), _TEXT),
    (pa.binary(), _BINARY),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
    (pa.date32(), st.dates()),
    (pa.time32("ms"), st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (pa.time64("us"), st.times()),
    (pa.timestamp("ms"), st.datetimes(**_TIMES).map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (pa.timestamp("us", "UTC"), st.datetimes(**_TIMES, timezones=st.just(_UTC))),
    (pa.timestamp("ns"), st.datetimes(**_TIMES)),
    (pa.decimal128(7, 2), _decimals(7, 2)),
    (pa.decimal128(18, 18), _decimals(18, 18)),
    (pa.decimal128(38, 10), _decimals(38, 10)),
    (pa.decimal256(60, 0), _decimals(60, 0)),
]

Kind = tuple[pa.DataType, st.SearchStrategy]  # a type, and its values


def _maybe(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(values, st.none())


def _part(name: str, kind: Kind, nullable: bool) -> tuple[pa.Field, st.SearchStrategy]:
    return pa.field(name, kind[0], nullable), _maybe(kind[1]) if nullable else kind[1]


def _list(kind: Kind, nullable: bool) -> Kind:
    field, items = _part("element", kind, nullable)
    return pa.list_(field), st.lists(items, max_size=4)


def _sized(kind: Kind, size: int) -> Kind:
    return pa.list_(kind[0], size), st.lists(_maybe(kind[1]), min_size=size, max_size=size)


def _struct(members: list[tuple[Kind, bool]]) -> Kind:
    parts = [_part(f"m{i}", kind, nullable) for i, (kind, nullable) in enumerate(members)]
    return pa.struct([field for field, _ in parts]), st.fixed_dictionaries({field.name: values for field, values in parts})


def _map(kind: Kind) -> Kind:
    return pa.map_(pa.string(), kind[0]), st.dictionaries(_TEXT, _maybe(kind[1]), max_size=3).map(lambda d: list(d.items()))


def _nested(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.tuples(inner, st.booleans()).map(lambda t: _list(*t)),
        st.tuples(inner, st.integers(1, 3)).map(lambda t: _sized(*t)),
        st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3).map(_struct),
        inner.map(_map),
    )


_FLAT = st.sampled_from(LEAVES)
_DEPTHS = [_FLAT, _nested(_FLAT), _nested(_nested(_FLAT)), _nested(_nested(_nested(_FLAT)))]
KINDS: st.SearchStrategy = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3]).flatmap(lambda depth: _DEPTHS[depth])


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 12) -> pa.Table:
    rows = draw(st.integers(1, max_rows))
    columns, fields = [], []
    for i, (kind, values) in enumerate(draw(st.lists(KINDS, min_size=1, max_size=4))):
        nullable = draw(st.booleans())
        column = draw(st.lists(_maybe(values) if nullable else values, min_size=rows, max_size=rows))
        columns.append(pa.array(column, kind))
        fields.append(pa.field(f"c{i}", kind, nullable))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
