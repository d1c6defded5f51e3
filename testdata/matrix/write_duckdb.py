"""Files by DuckDB: its own types (intervals, enums, hugeints, bits) and its encodings of parquet version 2."""

import re

import duckdb

import values as v

CODECS = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"]

# Columns as SQL over i, the row's number; every seventh value of a column is null, each column at
# another place.
COLUMNS = {
    "boolean": "i % 3 = 0",
    "tinyint": "(i % 256 - 128)::tinyint",
    "smallint": "(i * 37 % 65536 - 32768)::smallint",
    "integer": "(i * 7919 - 1000000)::integer",
    "bigint": "(i::bigint * 1000003 * 1000003 - 5)",
    "utinyint": "(i % 256)::utinyint",
    "usmallint": "(i * 31 % 65536)::usmallint",
    "uinteger": "(4294967295 - i)::uinteger",
    "ubigint": "(18446744073709551615 - i)::ubigint",
    "float": "(i / 7.0 - 20)::float",
    "double": "(i / 7.0)::double",
    "special": "(case i % 4 when 0 then 'nan' when 1 then 'inf' when 2 then '-inf' else '-0.0' end)::double",
    "decimal4_1": "(i % 1000 / 10.0)::decimal(4, 1)",
    "decimal9_3": "(i * 1.001 - 100)::decimal(9, 3)",
    "decimal18_6": "(i * 123456.789 - 1)::decimal(18, 6)",
    "decimal38_12": "(i * 123456789.000000000001)::decimal(38, 12)",
    "varchar": "'값 ' || repeat('x', i % 40) || i",
    "label": "'label ' || (i % 13)",
    "blob": "('\\x00\\xFF' || i)::blob",
    "date": "date '1582-10-10' + (i * 211)::integer",
    "time": "time '00:00:00.000001' + to_milliseconds(i * 1234)",
    "timestamp": "timestamp '0001-01-01 00:00:00.123456' + to_days((i * 3001)::integer)",
    "timestamp_ms": "(timestamp '1969-12-31 23:59:59.999' + to_hours(i))::timestamp_ms",
    "timestamp_ns": "(timestamp '1970-01-01 00:00:00.000001' + to_minutes(i * 997))::timestamp_ns",
    "timestamptz": "timestamptz '2026-03-01 12:00:00.5+09' + to_seconds(i * 99991)",
    "timetz": "'10:00:00.25+09'::timetz",
    "uuid": "('6ba7b810-9dad-11d1-80b4-' || lpad(to_hex(i), 12, '0'))::uuid",
    "interval": "to_months(i::integer) + to_days((i % 31)::integer) + to_milliseconds(i)",
    "enum": "(['red', 'green', 'blue'][i % 3 + 1])::colour",
    "bit": "'0101'::bit",
    "hugeint": "(i::hugeint * 100000000000000000000)",
    "bignum": "(i::bignum)",
    "variant": "(i * 0.5)::variant",
    "union": "union_value(number := i::integer)",
    "json": "json_object('i', i, 'name', '이름')",
    "list": "range(i % 5)",
    "list_varchar": "[x::varchar for x in range(i % 4)]",
    "list_list": "[range(x) for x in range(i % 4)]",
    "array": "[i, i + 1, i + 2]::integer[3]",
    "array_text": "['a' || i, null]::varchar[2]",
    "array_array": "[[i, 1], case when i % 5 = 0 then null else [2, i] end]::integer[2][2]",
    "struct_array": "{'a': case when i % 3 = 0 then null else [i, null]::integer[2] end, 'b': i}",
    "list_array": "[case when x % 2 = 0 then null else [x, i]::integer[2] end for x in range(i % 5)]",
    "array_filled": "[i, i + 1, i + 2]::integer[3]",
    "struct": "{'a': i, 'b': 'b' || i, 'c': {'d': [i]}}",
    "map": "map {'k' || i: i, 'l': null}",
    "list_struct": "[{'k': x, 'v': [x::varchar]} for x in range(i % 3)]",
}

# Columns that DuckDB writes in ways that pyarrow refuses. They get a twin: the same values in a
# form that it reads.
#   array     a null array has as many entries as an array (a list's null has one)
#   uinteger  first values and deltas of 33 bits in DELTA_BINARY_PACKED (version 2)
#             and version 1 is their twin
ARRAYS = ["array", "array_text", "array_array", "struct_array", "list_array"]
TWINS = [*ARRAYS, "uinteger"]


def twin_of(name):
    """The column with lists in place of arrays."""
    sql = expression(name, 0, True)
    return re.sub(r"(integer|varchar)((\[2\]|\[3\])+)", lambda m: m[1] + "[]" * m[2].count("["), sql)


def expression(name, position, nullable):
    sql = COLUMNS[name]
    nullable = nullable and name != "array_filled"
    return f'case when (i + {position}) % 7 = 0 then null else {sql} end as "{name}"' if nullable else f'{sql} as "{name}"'


def files(out, rows):
    con = duckdb.connect(config={"threads": 1})
    con.execute("set timezone = 'UTC'; create type colour as enum ('red', 'green', 'blue')")

    def copy(group, name, query, **options):
        path = out / "duckdb" / group / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = ", ".join(f"{k} {x}" for k, x in {"format": "parquet", **options}.items())
        con.execute(f"copy ({query}) to '{path}' ({settings})")
        return path

    def select(names, nullable=True, count=rows):
        return f"select {', '.join(expression(n, p, nullable) for p, n in enumerate(names))} from range({count}) t(i)"

    for name in COLUMNS:
        for version in ("v1", "v2"):
            path = copy("types", f"{name}-{version}", select([name]), parquet_version=version)
            if name in TWINS:
                twin = copy("types", f"{name}-{version}-twin", f"select {twin_of(name)} from range({rows}) t(i)", parquet_version="v1")
                twin.rename(path.with_suffix(".twin"))
    usual = [name for name in COLUMNS if name not in TWINS]
    for codec in CODECS:
        for version in ("v1", "v2"):
            copy(f"codec {codec}", f"all-{version}", select(usual), codec=codec, parquet_version=version)
    copy("nullability", "no-null", select(usual, nullable=False))
    copy("shapes", "no-rows", select(usual, count=0))
    copy("shapes", "row-groups", select(usual, count=9000), row_group_size=2048)
    copy("shapes", "no-dictionary", select(usual), dictionary_size_limit=1, parquet_version="v2")
    from_arrow(con, out, rows)


def from_arrow(con, out, rows):
    """The columns that the other writers hold too, where DuckDB has their types."""
    names = [n for n in v.FLAT if not n.startswith(("float16", "fixed", "decimal39", "decimal76", "date_wide", "time_ns"))]
    names = [n for n in names if "wide" not in n and n != "uint32"]
    flat = v.flat_table(names, rows)
    nested = v.nested_table([n for n in v.NESTED if n not in ("fixed_list", "fixed_list_int")], rows)
    for kind, t in (("flat", flat), ("nested", nested)):
        con.register("t", t)
        for version in ("v1", "v2"):
            path = out / "duckdb" / "codec zstd" / f"arrow-{kind}-{version}.parquet"
            con.execute(f"copy (select * from t) to '{path}' (format parquet, codec zstd, parquet_version {version})")
        # Here too version 2 has deltas of 33 bits; version 1 is its twin.
        con.execute(f"copy (select * from t) to '{path.with_suffix('.twin')}' (format parquet, parquet_version v1)")
