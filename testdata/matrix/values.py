"""Columns of every type, as Arrow arrays: first the edge values, then random ones, with nulls where asked.

The same name always holds the same kind of values, so that files of different writers can be read side by side.
"""

import random
import struct
import zlib
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

CONTEXT = Context(prec=100)
NULL_EVERY = 7  # about one value in so many is null in a nullable column

WORDS = [
    "",
    "a",
    "null",
    "NaN",
    "한국어 제목",
    "ü",
    "日本語",
    "😀 emoji",
    'quote " and \\',
    "tab\tline\nend",
    "\x00\x1f\x7f",
    "</script>\u2028",
]
LONG = "shardfeed " * 700


def rng_of(name, seed):
    """A random source that depends on the column's name, not on Python's hash."""
    return random.Random(zlib.crc32(name.encode()) * 1_000_003 + seed)


def integers(bits, signed=True):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = [0, 1, high, low, high - 1, low + 1, high // 2]

    def draw(r):
        width = r.randrange(1, bits)
        v = r.getrandbits(width)
        return -v if signed and r.random() < 0.5 else v

    return edges, draw


def floats(pack, edges):
    """Random floats by their bits, so that all exponents, subnormals and not-a-numbers occur."""
    size = struct.calcsize(pack)

    def draw(r):
        return struct.unpack(pack, r.randbytes(size))[0] if r.random() < 0.5 else round(r.gauss(0, 100), 2)

    return [*edges, 0.0, -0.0, 1.0, -1.5, float("nan"), float("inf"), float("-inf")], draw


def strings(long=True):
    edges = [*WORDS, LONG] if long else WORDS

    def draw(r):
        return r.choice(WORDS) + "".join(r.choice("abcdefgh 가나다라éß") for _ in range(r.randrange(0, 24)))

    return edges, draw


def labels():
    return [], lambda r: f"카테고리 {int(r.random() ** 2 * 40):02d}"


def blobs(fixed=None):
    size = (lambda r: fixed) if fixed else (lambda r: r.randrange(0, 40))
    edges = [b"\x00" * fixed, b"\xff" * fixed] if fixed else [b"", b"\x00", b"\xff\xd8\xff\xe0 no utf-8", bytes(range(256))]
    return edges, lambda r: r.randbytes(size(r))


def decimals(precision, scale):
    top = 10**precision - 1
    edges = [Decimal(v).scaleb(-scale, CONTEXT) for v in (0, 1, -1, top, -top, 10 ** (precision - 1))]
    return edges, lambda r: Decimal(r.randrange(-(10 ** r.randrange(1, precision + 1)), 10 ** r.randrange(1, precision + 1))).scaleb(
        -scale, CONTEXT
    )


def instants(per_second, first_year=1, last_year=9999):
    """Ticks since 1970 between two years; nanoseconds only reach from 1677 to 2262."""
    low, high = (first_year - 1970) * 31_556_952, (last_year - 1970) * 31_556_952
    edges = [0, 1, -1, 86_400 * per_second - 1, -86_400 * per_second, low * per_second, high * per_second, 951_782_400 * per_second]
    return edges, lambda r: r.randrange(low * per_second, high * per_second)


def days(first_year=1, last_year=9999):
    low, high = int((first_year - 1970) * 365.2425), int((last_year - 1970) * 365.2425)
    return [0, 1, -1, 11_016, 11_017, low, high], lambda r: r.randrange(low, high)


def clocks(per_second):
    top = 86_400 * per_second - 1
    return [0, 1, top, 43_200 * per_second], lambda r: r.randrange(0, top)


WIDE = (-3000, 12000)  # years beyond 0..9999 are written in ISO 8601's extended form

# name -> (Arrow type, edge values and a draw, integers to be viewed as that type)
FLAT = {
    "bool": (pa.bool_(), ([True, False], lambda r: r.random() < 0.7)),
    "int8": (pa.int8(), integers(8)),
    "int16": (pa.int16(), integers(16)),
    "int32": (pa.int32(), integers(32)),
    "int64": (pa.int64(), integers(64)),
    "uint8": (pa.uint8(), integers(8, False)),
    "uint16": (pa.uint16(), integers(16, False)),
    "uint32": (pa.uint32(), integers(32, False)),
    "uint64": (pa.uint64(), integers(64, False)),
    "float16": (pa.float16(), floats("<e", [65504.0, 6e-08, 0.1])),
    "float32": (pa.float32(), floats("<f", [3.4028234663852886e38, 1e-45, 16777216.0])),
    "float64": (pa.float64(), floats("<d", [1.7976931348623157e308, 5e-324, 0.1, 1e21, 1e-7, 123456789012345680.0])),
    "string": (pa.string(), strings()),
    "label": (pa.string(), labels()),
    "binary": (pa.binary(), blobs()),
    "fixed1": (pa.binary(1), blobs(1)),
    "fixed16": (pa.binary(16), blobs(16)),
    "fixed33": (pa.binary(33), blobs(33)),
    "decimal5_2": (pa.decimal128(5, 2), decimals(5, 2)),
    "decimal9_0": (pa.decimal128(9, 0), decimals(9, 0)),
    "decimal18_18": (pa.decimal128(18, 18), decimals(18, 18)),
    "decimal19_4": (pa.decimal128(19, 4), decimals(19, 4)),
    "decimal38_10": (pa.decimal128(38, 10), decimals(38, 10)),
    "decimal39_3": (pa.decimal256(39, 3), decimals(39, 3)),
    "decimal76_40": (pa.decimal256(76, 40), decimals(76, 40)),
    "date": (pa.date32(), days()),
    "date_wide": (pa.date32(), days(*WIDE)),
    "time_ms": (pa.time32("ms"), clocks(10**3)),
    "time_us": (pa.time64("us"), clocks(10**6)),
    "time_ns": (pa.time64("ns"), clocks(10**9)),
    "timestamp_ms": (pa.timestamp("ms"), instants(10**3)),
    "timestamp_us": (pa.timestamp("us"), instants(10**6)),
    "timestamp_ns": (pa.timestamp("ns"), instants(10**9, 1678, 2262)),
    "timestamp_ms_utc": (pa.timestamp("ms", "UTC"), instants(10**3)),
    "timestamp_us_utc": (pa.timestamp("us", "UTC"), instants(10**6)),
    "timestamp_ns_utc": (pa.timestamp("ns", "UTC"), instants(10**9, 1678, 2262)),
    "timestamp_ms_wide": (pa.timestamp("ms"), instants(10**3, *WIDE)),
    "timestamp_us_wide": (pa.timestamp("us", "UTC"), instants(10**6, *WIDE)),
}


def values(name, n, seed=0, nullable=True):
    """n Python values of a flat column: edges first, then random ones; about one in seven is None."""
    edges, draw = FLAT[name][1]
    r = rng_of(name, seed)
    out = edges[:n] + [draw(r) for _ in range(n - len(edges))]
    r.shuffle(out)
    return [None if nullable and r.randrange(NULL_EVERY) == 0 else v for v in out]


def array(name, n, seed=0, nullable=True):
    """The flat column as an Arrow array of its type."""
    return typed(values(name, n, seed, nullable), FLAT[name][0])


def typed(raw, t):
    """Python values as an Arrow array; dates and times are given as ticks."""
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return pa.array(raw, pa.int32()).view(t)
    if pa.types.is_temporal(t):
        return pa.array(raw, pa.int64()).view(t)
    if pa.types.is_float16(t):
        return pa.array([None if v is None else np.float16(np.clip(v, -65504, 65504) if np.isfinite(v) else v) for v in raw], t)
    return pa.array(raw, t)


# Nested columns.

NESTED = {
    "list_int": pa.list_(pa.int32()),
    "list_double": pa.list_(pa.float64()),
    "list_string": pa.list_(pa.string()),
    "list_required": pa.list_(pa.field("element", pa.int64(), nullable=False)),
    "list_list": pa.list_(pa.list_(pa.int16())),
    "list_list_list": pa.list_(pa.list_(pa.list_(pa.string()))),
    "list4": pa.list_(pa.list_(pa.list_(pa.list_(pa.int32())))),
    "struct": pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.float64())]),
    "struct_required": pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.string())]),
    "struct_struct": pa.struct([("x", pa.struct([("y", pa.struct([("z", pa.int64()), ("w", pa.bool_())]))])), ("n", pa.int8())]),
    "struct_list": pa.struct([("ids", pa.list_(pa.int32())), ("name", pa.string())]),
    "list_struct": pa.list_(pa.struct([("k", pa.string()), ("v", pa.list_(pa.float32()))])),
    "map": pa.map_(pa.string(), pa.int32()),
    "map_int": pa.map_(pa.int64(), pa.float64()),
    "map_struct": pa.map_(pa.string(), pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])),
    "map_map": pa.map_(pa.int32(), pa.map_(pa.string(), pa.bool_())),
    "list_map": pa.list_(pa.map_(pa.string(), pa.int64())),
    "deep": pa.struct([("l", pa.list_(pa.map_(pa.string(), pa.list_(pa.struct([("d", pa.date32()), ("m", pa.decimal128(12, 3))])))))]),
    "fixed_list": pa.list_(pa.float32(), 4),
    "fixed_list_int": pa.list_(pa.int32(), 3),
    "list_timestamp": pa.list_(pa.timestamp("us", "UTC")),
    "list_binary": pa.list_(pa.binary()),
    "list_bool": pa.list_(pa.bool_()),
}

LEAF_NAMES = {
    pa.int8(): "int8", pa.int16(): "int16", pa.int32(): "int32", pa.int64(): "int64", pa.bool_(): "bool", pa.float32(): "float32",
    pa.float64(): "float64", pa.string(): "string", pa.binary(): "binary", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp_us_utc",
}  # fmt: skip


def draw_nested(t, r, nullable=True):
    """One random value of a nested type, as the Python object that pyarrow takes."""
    if nullable and r.randrange(NULL_EVERY) == 0:
        return None
    if pa.types.is_struct(t):
        return {f.name: draw_nested(f.type, r, f.nullable) for f in t}
    if pa.types.is_map(t):
        keys = {draw_nested(t.key_type, r, False) for _ in range(r.choice((0, 1, 1, 2, 5)))}
        return [(k, draw_nested(t.item_type, r)) for k in sorted(keys)]
    if pa.types.is_fixed_size_list(t):
        return [draw_nested(t.value_type, r, False) for _ in range(t.list_size)]
    if pa.types.is_list(t):
        return [draw_nested(t.value_type, r, t.value_field.nullable) for _ in range(r.choice((0, 1, 2, 3, 9)))]
    if pa.types.is_decimal(t):
        return decimals(t.precision, t.scale)[1](r)
    if pa.types.is_string(t):
        return strings(long=False)[1](r)
    if pa.types.is_date32(t):
        return r.randrange(-100_000, 100_000)
    _, draw = FLAT[LEAF_NAMES[t]][1]
    return draw(r)


def nested(name, n, seed=0, nullable=True):
    """A nested column as an Arrow array."""
    r = rng_of(name, seed)
    return nested_array([draw_nested(NESTED[name], r, nullable) for _ in range(n)], NESTED[name])


def nested_array(raw, t):
    """Builds through plain integers, because pyarrow takes no integers for nested dates and times."""
    return pa.array(raw, integral(t)).cast(t)


def integral(t):
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, integral(f.type), f.nullable) for f in t])
    if pa.types.is_map(t):
        return pa.map_(integral(t.key_type), integral(t.item_type))
    if pa.types.is_fixed_size_list(t):
        return pa.list_(integral(t.value_type), t.list_size)
    if pa.types.is_list(t):
        return pa.list_(t.value_field.with_type(integral(t.value_type)))
    if pa.types.is_date32(t):
        return pa.int32()
    return pa.int64() if pa.types.is_temporal(t) else t


def flat_table(names, n, seed=0, nullable=True):
    return table({name: array(name, n, seed, nullable) for name in names}, nullable)


def nested_table(names, n, seed=0, nullable=True):
    return table({name: nested(name, n, seed, nullable) for name in names}, nullable)


def table(columns, nullable=True):
    fields = [pa.field(name, a.type, nullable) for name, a in columns.items()]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
