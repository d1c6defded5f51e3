"""What `shardfeed cat` must print for a parquet file, from pyarrow's reading of it, and how printed lines compare with that.

Values are compared in a canonical form, so that neither spacing nor the digits of 1.0 against 1 matter, but everything else does:

    integers        Number("12"), digit for digit
    floats          Float(sign, digits, exponent) of the shortest decimal that reads back as the value in its own width
    strings         str (numbers printed as strings, such as decimals and timestamps, stay text)
    lists           list
    objects         Object, a list of (key, value), so that repeated keys and the order count
    null, booleans  None, True, False

pyarrow is asked for raw values (integers of a timestamp, bytes of an interval) and the parquet schema for their meaning, so that its
conversions, its time zones and its Python types are not part of the judgement.
"""

import base64
import json
import uuid
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class Number(str):
    """An integer as text."""


class Float(NamedTuple):
    """A finite float: sign, significant digits without zeros at the end, exponent."""

    sign: int
    digits: tuple
    exponent: int


class Object(list):
    """A JSON object as its (key, value) pairs."""


# Printed lines.


def parse(line):
    """The canonical form of a printed line; raises ValueError when it is not JSON."""
    return json.loads(line, object_pairs_hook=Object, parse_int=Number, parse_float=float_of, parse_constant=refuse)


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def float_of(text):
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    return Float(sign, digits, exponent) if any(digits) else Float(sign, (0,), 0)


def equal(got, want):
    """Whether a printed value is the expected one. A float may be printed as an integer (1 for 1.0)."""
    if isinstance(want, Float) and isinstance(got, Number):
        return float_of(got) == want
    if type(got) is not type(want):
        return False
    if isinstance(want, Object):
        return len(got) == len(want) and all(g[0] == w[0] and equal(g[1], w[1]) for g, w in zip(got, want))
    if isinstance(want, list):
        return len(got) == len(want) and all(equal(g, w) for g, w in zip(got, want))
    return got == want


# Expected rows.


def rows(path):
    """The canonical rows of a file, in file order. Where a twin lies beside it, of the same rows in a form that pyarrow reads, by that."""
    twin = path.with_suffix(".twin")
    path = twin if twin.exists() else path
    file = pq.ParquetFile(path, arrow_extensions_enabled=False)
    fine = pq.ParquetFile(path, arrow_extensions_enabled=False, coerce_int96_timestamp_unit="us")
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        nano, micro = file.read_row_group(group, use_threads=False), fine.read_row_group(group, use_threads=False)
        names = nano.schema.names
        rest = iter(leaves)
        columns = []
        for i, field in enumerate(nano.schema):
            convert = converter(field.type, rest)
            column = plain_list(nano.column(i))
            if has_int96(file, i, names):
                column = pair_int96(column, plain_list(micro.column(i)))
            columns.append([None if v is None else convert(v) for v in column])
        for r in range(count):
            yield Object((name, column[r]) for name, column in zip(names, columns))


def plain_list(column):
    """A column's values as Python objects, logical types stripped down to integers and bytes."""
    return [v for chunk in column.chunks for v in chunk.cast(plain(chunk.type)).to_pylist()]


def has_int96(file, i, names):
    parts = [file.schema.column(k) for k in range(len(file.schema))]
    return any(c.physical_type == "INT96" and c.path.split(".")[0] == names[i] for c in parts)


def pair_int96(nano, micro):
    """INT96 reads as nanoseconds between 1677 and 2262 alone; beyond that as microseconds, which is as fine as Spark writes."""
    if isinstance(nano, list):
        return [pair_int96(n, m) for n, m in zip(nano, micro)]
    if isinstance(nano, dict):
        return {k: pair_int96(n, micro[k]) for k, n in nano.items()}
    if isinstance(nano, tuple):
        return tuple(pair_int96(n, m) for n, m in zip(nano, micro))
    if not isinstance(nano, int) or isinstance(nano, bool):
        return nano
    return nano if nano // 1000 == micro else micro * 1000


def plain(t):
    """The Arrow type whose Python values are the raw ones of t."""
    if isinstance(t, pa.BaseExtensionType):
        return plain(t.storage_type)
    if pa.types.is_dictionary(t):
        return plain(t.value_type)
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, plain(f.type), f.nullable) for f in t])
    if pa.types.is_map(t):
        return pa.map_(pa.field("key", plain(t.key_type), False), pa.field("value", plain(t.item_type)))
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return pa.large_list(plain(t.value_type))
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return pa.int32()
    if pa.types.is_temporal(t):
        return pa.int64()
    if pa.types.is_float16(t):
        return pa.float32()
    return t


def converter(t, leaves):
    """A function from a raw value of Arrow type t to its canonical form; takes its leaves, depth first, from the iterator."""
    if isinstance(t, pa.BaseExtensionType):
        return converter(t.storage_type, leaves)
    if pa.types.is_struct(t):
        fields = [(f.name, optional(converter(f.type, leaves))) for f in t]
        return lambda v: Object((name, convert(v[name])) for name, convert in fields)
    if pa.types.is_map(t):
        key, value = optional(converter(t.key_type, leaves)), optional(converter(t.item_type, leaves))
        return lambda v: [[key(k), value(x)] for k, x in v]
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        element = optional(converter(t.value_type, leaves))
        return lambda v: [element(x) for x in v]
    return leaf(t, next(leaves))


def optional(convert):
    return lambda v: None if v is None else convert(v)


DIGITS = {"milliseconds": 3, "microseconds": 6, "nanoseconds": 9}
TEXT = ("String", "Enum", "JSON")


def leaf(t, column):
    """The canonical form of the values of one leaf, by its parquet type."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    if column.physical_type == "INT96":
        return lambda v: timestamp(v, 9)
    if kind in TEXT:
        return lambda v: v if isinstance(v, str) else v.decode()
    if kind == "UUID":
        return lambda v: str(uuid.UUID(bytes=v))
    if kind == "Decimal":
        return lambda v: format(v, "f")
    if kind == "Date":
        return (lambda v: date(v // 86_400_000)) if pa.types.is_date64(t) else date
    if kind == "Time":
        return lambda v: clock(v, DIGITS[logical["timeUnit"]])
    if kind == "Timestamp":
        digits = DIGITS[logical["timeUnit"]]
        factor = 10**digits // UNITS[t.unit]
        zone = "Z" if logical["isAdjustedToUTC"] else ""
        return lambda v: timestamp(v * factor, digits) + zone
    if column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and kind != "Float16":
        return lambda v: base64.b64encode(v).decode()
    if pa.types.is_floating(t):
        width = {16: np.float16, 32: np.float32, 64: np.float64}[t.bit_width]
        return lambda v: shortest(width(v))
    if pa.types.is_boolean(t):
        return bool
    return lambda v: Number(v)


UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def shortest(v):
    if np.isnan(v):
        return "NaN"
    if np.isinf(v):
        return "Infinity" if v > 0 else "-Infinity"
    return float_of(str(v))


# Dates and times: integer arithmetic, for years that Python's datetime doesn't know.


def date(days):
    """Days since 1970-01-01 in the proleptic Gregorian calendar, as ISO 8601 extends it."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    m = (5 * day_of_year + 2) // 153
    day, month = day_of_year - (153 * m + 2) // 5 + 1, m + 3 if m < 10 else m - 9
    year = era * 400 + year_of_era + (month <= 2)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def clock(ticks, digits):
    seconds, fraction = divmod(ticks, 10**digits)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:0{digits}d}"


def timestamp(ticks, digits):
    days, rest = divmod(ticks, 86_400 * 10**digits)
    return f"{date(days)}T{clock(rest, digits)}"
