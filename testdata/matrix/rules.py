#!/usr/bin/env python3
"""rules.py BIN [--rows N] [--filters N] [--seed S]: filters random tables by our language, by DuckDB and by pyarrow, and compares the rows.

BIN is the program of rule/testdata/evaluate. Each table has columns of all types that DuckDB writes, with nulls and NaN. DuckDB gets
the same condition as SQL; it orders NaN above all numbers, so comparisons of floats are spelled out. pyarrow gets a list of tuples, and
we the text that the Python package makes of it.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import pyarrow.parquet as pq

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "src"))
from shardfeed._args import _rules

COMPARISONS = ["=", "!=", "<", "<=", ">", ">="]
INTS = ["-128", "-1", "0", "1", "7", "127"]
UNSIGNED = ["0", "1", "7", "200", "255"]
FLOATS = ["0.5", "-0.0", "0", "1e30", "-3", "nan", "inf", "-inf", "2.25"]
TEXTS = ["", "a", "ab", "b", "it's", 'say "x"', "한국", "é", "É", "AB", "Straße", "İx", "50%_", "a\\b", "two\nlines", "zz"]
TIMES = ["1969-12-31 23:59:59.999", "1970-01-01 00:00:00", "2024-02-29 12:30:00.5", "2024-03-01 00:00:00", "1700-01-01 01:02:03"]
ZONES = ["+00", "-05:30", "+09:00"]
DATES = ["1582-10-15", "1969-12-31", "2024-02-29", "9999-12-31"]
UUIDS = ["00000000-0000-0000-0000-000000000001", "123e4567-e89b-12d3-a456-426614174000", "ffffffff-0000-0000-0000-000000000000"]


class Column:
    """A column: its name and type, and its values as literals of DuckDB and of ours."""

    def __init__(self, name, kind, pairs, path=None, floats=False):
        self.name, self.kind, self.pairs, self.floats = name, kind, pairs, floats
        self.path = path or name
        self.sql = self.path + "::varchar" if kind.startswith("enum") else self.path

    def literal(self, r):
        return r.choice(self.pairs)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def same(kind, texts):
    return [(f"'{t}'::{kind}", t) for t in texts]


def instants(kind, word):
    return [(f"{quoted(t)}::{kind}", f"{word} {quoted(t)}" if word else quoted(t)) for t in TIMES]


def floats(kind):
    return [(f"{quoted(t)}::{kind}", t) for t in FLOATS]


def columns():
    strings = [(quoted(t), quoted(t)) for t in TEXTS]
    wide = ["-99999999999999999999999999.9999999999", "0.0000000001", "-0.0000000001", "12345678901234567890.5"]
    return [
        Column("flag", "boolean", same("boolean", ["true", "false"])),
        *(Column(f"i{n}", k, same(k, INTS)) for n, k in [(8, "tinyint"), (16, "smallint"), (32, "integer")]),
        Column("i64", "bigint", same("bigint", [*INTS, "9223372036854775807", "-9223372036854775807", "9007199254740993"])),
        *(Column(f"u{n}", k, same(k, UNSIGNED)) for n, k in [(8, "utinyint"), (16, "usmallint"), (32, "uinteger")]),
        Column("u64", "ubigint", same("ubigint", [*UNSIGNED, "18446744073709551615", "9223372036854775808"])),
        Column("f32", "float", floats("float"), floats=True),
        Column("f64", "double", floats("double"), floats=True),
        Column("d4", "decimal(4, 1)", same("decimal(4, 1)", ["-999.9", "0", "0.1", "12.5", "999.9"])),
        Column("d18", "decimal(18, 6)", same("decimal(18, 6)", ["-1.000001", "0", "123456789012.5"])),
        Column("d38", "decimal(38, 10)", same("decimal(38, 10)", [*wide, "0", "7"])),
        Column("name", "varchar", strings),
        Column("colour", "enum('red', 'green', 'blue')", [(quoted(c), quoted(c)) for c in ("red", "green", "blue")]),
        Column("raw", "blob", [(f"unhex({quoted(h)})", f"x'{h}'") for h in ("", "00", "00ff", "61", "6162", "ff")]),
        Column("day", "date", [(f"date {quoted(d)}", f"date {quoted(d)}") for d in DATES]),
        Column("clock", "time", [(f"time {quoted(t)}", quoted(t)) for t in ("00:00:00", "12:30:00.000001", "23:59:59.999999")]),
        Column("ms", "timestamp_ms", instants("timestamp_ms", "")),
        Column("us", "timestamp", instants("timestamp", "timestamp")),
        Column("ns", "timestamp_ns", instants("timestamp_ns", "")),
        Column("utc", "timestamptz", [(f"'{t}{z}'::timestamptz", f"timestamp '{t}{z}'") for t in TIMES for z in ZONES]),
        Column("id", "uuid", [(f"{quoted(u)}::uuid", quoted(u)) for u in UUIDS]),
        Column("x", "integer", same("integer", INTS), path="s.x"),
        Column("t", "varchar", strings, path="s.t"),
        Column("tokens", "integer[]", [("[]::integer[]", ""), ("[1]::integer[]", ""), ("[1, null, 3]::integer[]", "")]),
    ]


def write(path, rows, seed):
    """Writes a table of random values, and returns the connection that holds it as t."""
    db = duckdb.connect()
    db.execute("set TimeZone = 'UTC'; set threads = 1")
    values = {}
    for n, c in enumerate(columns()):
        listed = ", ".join(f"({sql})::{c.kind}" for sql, _ in c.pairs)
        nulls = [0, 1, 8][n % 3]  # of as many values as there are
        listed += f", null::{c.kind}" * nulls
        values[c.path] = f"[{listed}][1 + (hash(i, {seed * 100 + n}) % {len(c.pairs) + nulls})::integer]"
    members = ", ".join(f"{p[2:]} := {v}" for p, v in values.items() if p.startswith("s."))
    tops = ", ".join(f"{v} as {p}" for p, v in values.items() if "." not in p)
    struct = f"case when hash(i, {seed}) % 5 = 0 then null else struct_pack({members}) end as s"
    db.execute(f"create table t as select i, {tops}, {struct} from range({rows}) r(i)")
    db.execute(f"copy (select * from t order by i) to {quoted(str(path))} (format parquet, row_group_size 2048)")
    return db


def condition(r, cols, depth):
    """A random condition as (ours, DuckDB's)."""
    if depth == 0 or r.random() < 0.25:
        return comparison(r, r.choice(cols))
    if r.random() < 0.25:
        ours, sql = condition(r, cols, depth - 1)
        return f"not ({ours})", f"not ({sql})"
    word = r.choice(["and", "or"])
    parts = [condition(r, cols, depth - 1) for _ in range(r.randint(2, 3))]
    return tuple("(" + f" {word} ".join(p[side] for p in parts) + ")" for side in (0, 1))


def comparison(r, c):
    if r.random() < 0.15:
        word = r.choice(["is null", "is not null"])
        return f"{c.path} {word}", f"{c.path} {word}"
    measure = {"tokens": "len(tokens)", "name": "length(name)", "t": "length(s.t)", "raw": "octet_length(raw)"}.get(c.name)
    if c.pairs[0][1] == "''" and r.random() < 0.5:
        return search(r, c)
    if measure and (c.name == "tokens" or r.random() < 0.2):
        return numbers(r, f"len({c.path})", measure, lambda: (n := str(r.randint(0, 4)), n)[::-1], ordered=True)
    if c.floats:
        return float_comparison(r, c)
    return numbers(r, c.path, c.sql, lambda: c.literal(r), ordered=c.name != "flag")


def search(r, c):
    """A search in a string, or a comparison in one case. DuckDB has the same functions."""
    fold = r.choice(["", "", "lower", "upper"])
    name = f"{fold}({c.path})" if fold else c.path
    value = r.choice(TEXTS)
    if r.random() < 0.2:
        return numbers(r, name, name, lambda: (quoted(r.choice(TEXTS)),) * 2, ordered=True)
    lo, hi = sorted(r.choices(range(len(value) + 1), k=2))
    if r.random() < 0.5:
        both = f"{r.choice(['contains', 'starts_with', 'ends_with'])}({name}, {quoted(value[lo:hi])})"
    else:
        both = f"{name} {r.choice(['', 'not '])}{like(r, value[lo:hi], fold)}"
    return both, both


def like(r, text, fold):
    escape = r.choice(["", "", "!", "\\"])
    pieces = [r.choice(["%", "_"]) if r.random() < 0.2 else escape + c if c in ("%", "_", escape) else c for c in text]
    pattern = r.choice(["", "%"]) + "".join(pieces) + r.choice(["", "%"])
    word = "like" if fold == "upper" else r.choice(["like", "ilike"])
    return f"{word} {quoted(pattern)}" + (f" escape {quoted(escape)}" if escape else "")


def numbers(r, ours, sql, literal, ordered):
    kind = r.random()
    word = r.choice(["", "not "])
    if kind < 0.25:
        members = [literal() for _ in range(r.randint(1, 4))]
        return f"{ours} {word}in ({', '.join(m[1] for m in members)})", f"{sql} {word}in ({', '.join(m[0] for m in members)})"
    if kind < 0.4 and ordered:
        lo, hi = literal(), literal()
        return f"{ours} {word}between {lo[1]} and {hi[1]}", f"{sql} {word}between {lo[0]} and {hi[0]}"
    op, (theirs, mine) = r.choice(COMPARISONS if ordered else COMPARISONS[:2]), literal()
    if mine.startswith(("date ", "timestamp ")) and not mine.startswith("date '9999") and r.random() < 0.3:
        by = f" {r.choice('+-')} interval '{r.randint(-40, 40)} {r.choice(['days', 'months', 'years', 'weeks'])}'"
        return f"{ours} {op} {mine}{by}", f"{sql} {op} {theirs}{by}"
    return f"{ours} {op} {mine}", f"{sql} {op} {theirs}"


def float_comparison(r, c):
    """IEEE's comparison in SQL: NaN is unequal to all and orders with nothing."""
    if r.random() < 0.15:
        word = r.choice(["", "not "])
        return f"{c.path} is {word}nan", f"{word}isnan({c.path})"
    if r.random() < 0.3:
        members = [c.literal(r) for _ in range(r.randint(1, 4))]
        finite = [sql for sql, text in members if text != "nan"]
        found = f"{c.path} in ({', '.join(finite)})" if finite else "false"
        return f"{c.path} in ({', '.join(m[1] for m in members)})", ieee(c, found, "false")
    op, (sql, text) = r.choice(COMPARISONS), c.literal(r)
    nan = "true" if op == "!=" else "false"
    return f"{c.path} {op} {text}", ieee(c, nan if text == "nan" else f"{c.path} {op} {sql}", nan)


def ieee(c, usual, nan):
    return f"(case when {c.path} is null then null when isnan({c.path}) then {nan} else {usual} end)"


def evaluate(binary, path, texts, home):
    """The rows that our evaluator keeps, or its error, for each text."""
    lines = "".join(json.dumps(t) + "\n" for t in texts)
    env = {**os.environ, "XDG_CACHE_HOME": home}
    done = subprocess.run([binary, str(path)], input=lines, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit(f"evaluate failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def against_duckdb(r, args, db, path, home):
    made = [condition(r, columns(), r.randint(0, 3)) for _ in range(args.filters)]
    for (text, sql), got in zip(made, evaluate(args.bin, path, [m[0] for m in made], home)):
        want = [i for (i,) in db.execute(f"select i from t where {sql} order by i").fetchall()]
        if got != want:
            yield f"{text}\n  DuckDB: {sql}\n  {difference(got, want)}"


def difference(got, want):
    if isinstance(got, str):
        return got
    odd = sorted(set(got) ^ set(want))
    return f"{len(got)} rows, want {len(want)}; the first that differs is {odd[0] if odd else 'their order'}"


def against_pyarrow(r, args, path, home):
    table = pq.read_table(path)
    made = [[dnf_condition(r, table) for _ in range(r.randint(1, 3))] for _ in range(args.filters // 2)]
    texts = [_rules.text(m) for m in made]
    for dnf, text, got in zip(made, texts, evaluate(args.bin, path, texts, home)):
        # pyarrow's "not in" keeps nulls, SQL's and ours do not.
        present = [(c, "in", table[c].drop_null().unique().to_pylist()) for c, op, _ in dnf if op == "not in"]
        want = pq.read_table(path, columns=["i"], filters=dnf + present)["i"].to_pylist()
        if got != want:
            yield f"{text}\n  pyarrow: {dnf}\n  {difference(got, want)}"


def dnf_condition(r, table):
    names = [c.name for c in columns() if "." not in c.path and c.name not in ("tokens", "id", "u64")]  # pyarrow fails on large uint64
    name = r.choice(names)
    values = [v for v in table[name].drop_null().unique().to_pylist() if not (isinstance(v, float) and math.isnan(v))]
    op = r.choice(["==", "!=", "in", "not in", *([] if name == "flag" else COMPARISONS)])
    if op in ("in", "not in"):
        values = [v for v in values if not isinstance(v, float) or v != 0]  # pyarrow looks for 0 and -0 apart
        return name, op, r.sample(values, r.randint(1, len(values)))
    return name, op, r.choice(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="the program of rule/testdata/evaluate")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--filters", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    r = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as home:
        path = pathlib.Path(home) / "table.parquet"
        db = write(path, args.rows, args.seed)
        problems = [*against_duckdb(r, args, db, path, home), *against_pyarrow(r, args, path, home)]
    for p in problems:
        print(p)
    print(f"{len(problems)} of {args.filters + args.filters // 2} filters differ")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
