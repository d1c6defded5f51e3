"""Writes random Delta tables by Spark and delta-rs, with their rows at every version.

delta_histories.py JARS OUT [--rs N] [--spark N] [--first N]: a history follows from its number, and is written again in the same way.
`go test ./table/delta -run TestGolden -tables OUT` compares the rows.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import decimal
import random
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta import Table, session, write
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from values import float32, instant, number

TYPES: dict[str, pa.DataType] = {
    "i1": pa.int8(),
    "i2": pa.int16(),
    "i4": pa.int32(),
    "i8": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "s": pa.string(),
    "raw": pa.binary(),
    "b": pa.bool_(),
    "c": pa.decimal128(12, 3),
    "wide": pa.decimal128(30, 5),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "ntz": pa.timestamp("us"),
    "list": pa.list_(pa.int64()),
    "struct": pa.struct([("x", pa.int32()), ("y", pa.string())]),
    "map": pa.map_(pa.string(), pa.int64()),
}
PARTITIONS = ["i1", "i4", "i8", "s", "b", "c", "day", "at", "ntz", "d"]


class Values:
    """Random values of types."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        """Return a short text, some of it of odd characters."""
        return "".join(self.random.choices(string.ascii_letters + " %/=é#?&+'\"\\", k=self.random.randrange(1, 6))).strip() or "x"

    def of(self, kind: pa.DataType) -> Any:
        """Return a value of a type, or null."""
        r = self.random
        if r.random() < 0.1:
            return None
        if pa.types.is_integer(kind):
            bits = min(kind.bit_width, 40)
            return r.choice([r.randrange(-3, 4), r.randrange(-(1 << (bits - 1)), 1 << (bits - 1))])
        if pa.types.is_floating(kind):
            return r.choice([r.randrange(-4, 5) / 2, r.gauss(0, 1e6)])
        if pa.types.is_string(kind):
            return self.text()
        if pa.types.is_binary(kind):
            return r.randbytes(r.randrange(4))
        if pa.types.is_boolean(kind):
            return r.random() < 0.5
        if pa.types.is_decimal(kind):
            least = 0 if kind == TYPES["c"] else -(10**6)  # delta-rs writes the partition -1.25 as -1.-25
            return decimal.Decimal(r.randrange(least, 10**6)).scaleb(-kind.scale)
        if pa.types.is_date(kind):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randrange(-20000, 40000))
        if pa.types.is_timestamp(kind):
            start = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if kind.tz else None)
            return start + datetime.timedelta(microseconds=r.choice([r.randrange(3) * 10**6, r.randrange(-(10**15), 10**15)]))
        if pa.types.is_list(kind):
            return [self.of(kind.value_type) for _ in range(r.randrange(4))]
        if pa.types.is_struct(kind):
            return {f.name: self.of(f.type) for f in kind}
        return [(k, self.of(kind.item_type)) for k in r.sample(["k", "l", "m"], r.randrange(3))]


def form(value: Any, kind: pa.DataType) -> Any:
    """Return a value as JSON has it."""
    if value is None:
        return None
    if pa.types.is_float32(kind):
        return number(float32(value))
    if pa.types.is_floating(kind):
        return number(value)
    if pa.types.is_decimal(kind):
        return f"{value:.{kind.scale}f}"
    if pa.types.is_date(kind):
        return value.isoformat()
    if pa.types.is_timestamp(kind):
        return instant(value) + ("Z" if kind.tz else "")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64.b64encode(value).decode()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [form(v, kind.value_type) for v in value]
    if pa.types.is_struct(kind):
        return {f.name: form(value[f.name], f.type) for f in kind}
    if pa.types.is_map(kind):
        return [[form(k, kind.key_type), form(v, kind.item_type)] for k, v in value]
    return value


def arrow_rows(table: pa.Table) -> dict[str, Any]:
    """Return the columns of a table and its rows, in an order of their own."""
    found = [[form(row[f.name], f.type) for f in table.schema] for row in table.to_pylist()]
    return {"columns": table.column_names, "rows": sorted(found, key=repr)}


class Rust:
    """A random history by delta-rs."""

    def __init__(self, seed: int, at: Path) -> None:
        self.values, self.random, self.at, self.next = Values(seed), random.Random(-seed - 1), str(at), 0
        self.columns = ["id", *self.random.sample(list(TYPES), self.random.randrange(2, 8))]
        self.parts: list[str] = []
        shutil.rmtree(at, ignore_errors=True)

    def frame(self, n: int, columns: list[str] | None = None) -> pa.Table:
        """Return new rows."""
        columns = columns or self.columns
        ids = list(range(self.next, self.next + n))
        self.next += n
        arrays = [pa.array(ids, pa.int64()) if c == "id" else self.column(c, n) for c in columns]
        return pa.table(arrays, names=columns)

    def column(self, name: str, n: int) -> pa.Array:
        kind = TYPES[name.split("_")[0]]
        if name in self.parts:  # few values
            some = [self.values.of(kind) for _ in range(3)]
            return pa.array(self.random.choices(some, k=n), kind)
        return pa.array([self.values.of(kind) for _ in range(n)], kind)

    def create(self) -> None:
        choice = [c for c in self.columns if c in PARTITIONS]
        self.parts = self.random.sample(choice, min(len(choice), self.random.randrange(3)))
        write_deltalake(
            self.at,
            self.frame(self.random.randrange(1, 40)),
            partition_by=self.parts or None,
            configuration={"delta.checkpointInterval": "1000"},
        )

    def append(self) -> None:
        write_deltalake(self.at, self.frame(self.random.randrange(1, 20)), mode="append")

    def grow(self) -> None:
        new = f"{self.random.choice(list(TYPES))}_{self.next}"
        self.columns = [*self.columns, new]
        write_deltalake(self.at, self.frame(5), mode="append", schema_mode="merge")

    def add_column(self) -> None:
        name = f"i8_{self.next}a"
        self.columns, self.next = [*self.columns, name], self.next + 1
        DeltaTable(self.at).alter.add_columns([Field(name, PrimitiveType("long"))])

    def delete(self) -> None:
        k = self.random.randrange(2, 7)
        DeltaTable(self.at).delete(f"id % {k} = {self.random.randrange(k)}")

    def delete_all(self) -> None:
        DeltaTable(self.at).delete()

    def update(self) -> None:
        k = self.random.randrange(2, 7)
        DeltaTable(self.at).update(predicate=f"id % {k} = 0", updates={"id": "id + 100000"})

    def merge(self) -> None:
        have = DeltaTable(self.at).to_pyarrow_table().select(["id"]).to_pydict()["id"]
        frame = self.frame(6)
        ids = self.random.sample(have, min(3, len(have))) if have else []
        ids += frame["id"].to_pylist()[len(ids) :]
        frame = frame.set_column(0, "id", pa.array(ids, pa.int64()))
        merge = DeltaTable(self.at).merge(frame, predicate="t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def overwrite(self) -> None:
        write_deltalake(self.at, self.frame(10), mode="overwrite")

    def repartition(self) -> None:
        self.columns = ["id", *self.random.sample(list(TYPES), self.random.randrange(2, 8))]
        choice = [c for c in self.columns if c in PARTITIONS]
        self.parts = self.random.sample(choice, min(len(choice), self.random.randrange(3)))
        write_deltalake(self.at, self.frame(12), mode="overwrite", schema_mode="overwrite", partition_by=self.parts or None)

    def compact(self) -> None:
        DeltaTable(self.at).optimize.compact()

    def checkpoint(self) -> None:
        DeltaTable(self.at).create_checkpoint()

    def restore(self) -> None:
        table = DeltaTable(self.at)
        table.restore(self.random.randrange(table.version() + 1))
        schema = Schema.from_arrow(DeltaTable(self.at).schema().to_arrow())
        self.columns = [f.name for f in schema.fields]
        self.parts = DeltaTable(self.at).metadata().partition_columns

    def run(self) -> None:
        """Write the history and its rows."""
        self.create()
        steps: list[Callable[[], None]] = [
            *[self.append, self.delete, self.update, self.merge] * 2,
            *[self.grow, self.add_column, self.overwrite, self.repartition, self.compact, self.checkpoint, self.restore, self.delete_all],
        ]
        failed = []
        for _ in range(self.random.randrange(4, 12)):
            step = self.random.choice(steps)
            try:
                step()
            except Exception as e:  # what the writer cannot do is no step of the history
                failed.append(f"{step.__name__}: {str(e)[:100]}")
        versions = {}
        for v in range(DeltaTable(self.at).version() + 1):
            versions[str(v)] = arrow_rows(DeltaTable(self.at, version=v).to_pyarrow_table())
        write(Path(self.at + ".json"), versions)
        print(Path(self.at).name, len(versions), "versions", *failed, flush=True)


class Spark:
    """A random history by Spark."""

    def __init__(self, spark: Any, seed: int, out: Path, name: str) -> None:
        self.spark, self.random, self.next = spark, random.Random(seed), 0
        self.table = Table(spark, out, name)
        self.columns = {
            "k": "string",
            "n": "int",
            "x": "float",
            "c": "decimal(8,2)",
            "day": "date",
            "st": "struct<a: int, b: string>",
            "l": "array<int>",
        }
        self.part = self.random.choice([None, "k", "day", "n"])
        self.maps = False

    def value(self, kind: str) -> str:
        values = {
            "string": "case id % 4 when 0 then null when 1 then 'a/b c%d' else concat('t', id % 3) end",
            "int": "cast(id % 5 as int)",
            "bigint": "id * 3000000000",
            "float": "cast(id as float) / 7",
            "double": "cast(id as double) / 7",
            "decimal(8,2)": "cast(id / 4 as decimal(8,2))",
            "decimal(12,2)": "cast(id * 100000 as decimal(12,2))",
            "date": "date_add(date '1999-12-30', cast(id % 3 as int))",
            "array<int>": "array(cast(id as int), null)",
        }
        return values.get(kind, "named_struct('a', cast(id as int), 'b', 'y')")

    def select(self, n: int) -> str:
        self.next += n
        values = ", ".join(f"{self.value(kind)} as `{name}`" for name, kind in self.columns.items())
        return f"select id, {values} from range({self.next - n}, {self.next}, 1, 1)"

    def create(self) -> None:
        r = self.random
        properties = {
            "delta.checkpointInterval": str(r.randrange(2, 7)),
            "delta.enableDeletionVectors": r.choice(["true", "true", "false"]),
        }
        mode = r.choice(["none", "name", "id"])
        if mode != "none":
            self.maps = True
            properties["delta.columnMapping.mode"] = mode
        properties["delta.enableTypeWidening"] = r.choice(["true", "false"])
        properties["delta.checkpointPolicy"] = r.choice(["classic", "v2"])
        if r.random() < 0.5:
            properties["delta.enableRowTracking"] = "true"
        if r.random() < 0.3:
            properties["delta.enableInCommitTimestamps"] = "true"
        self.table.split(r.choice([None, 2]))
        columns = ", ".join(f"`{name}` {kind}" for name, kind in {"id": "bigint", **self.columns}.items())
        settings = ", ".join(f"'{k}'='{v}'" for k, v in properties.items())
        by = f"partitioned by ({self.part})" if self.part else ""
        self.table.sql(f"create table T ({columns}) using delta {by} tblproperties ({settings})")

    def append(self) -> None:
        self.table.sql("insert into T " + self.select(self.random.randrange(1, 30)))

    def delete(self) -> None:
        k = self.random.randrange(2, 7)
        self.table.sql(f"delete from T where id % {k} = {self.random.randrange(k)}")

    def update(self) -> None:
        self.table.sql(f"update T set id = id + 100000 where id % {self.random.randrange(2, 7)} = 0")

    def merge(self) -> None:
        self.next -= min(self.next, 5)
        condition = "s.id = t.id when matched then update set * when not matched then insert *"
        self.table.sql(f"merge into T t using ({self.select(10)}) s on {condition}")

    def add_column(self) -> None:
        name, kind = f"new {self.next}" if self.maps else f"new_{self.next}", self.random.choice(["string", "int", "array<int>"])
        self.table.sql(f"alter table T add column `{name}` {kind}")
        self.columns[name] = kind

    def drop_column(self) -> None:
        name = self.random.choice([n for n in self.columns if n != self.part])
        self.table.sql(f"alter table T drop column `{name}`")
        del self.columns[name]

    def rename(self) -> None:
        name = self.random.choice([n for n in self.columns if n != self.part])
        self.table.sql(f"alter table T rename column `{name}` to `{name}_{self.next}`")
        self.columns = {(f"{n}_{self.next}" if n == name else n): k for n, k in self.columns.items()}

    def widen(self) -> None:
        name, wide = self.random.choice([("n", "bigint"), ("x", "double"), ("c", "decimal(12,2)")])
        self.table.sql(f"alter table T alter column {name} type {wide}")
        self.columns[name] = wide

    def map_names(self) -> None:
        self.table.sql("alter table T set tblproperties ('delta.columnMapping.mode'='name')")
        self.maps = True

    def use_vectors(self) -> None:
        self.table.sql("alter table T set tblproperties ('delta.enableDeletionVectors'='true')")

    def track_rows(self) -> None:
        """Give all rows IDs, in old files too."""
        self.table.sql("alter table T set tblproperties ('delta.enableRowTracking'='true')")

    def overwrite(self) -> None:
        self.table.sql("insert overwrite T " + self.select(12))

    def optimize(self) -> None:
        self.table.sql("optimize T ")

    def restore(self) -> None:
        before = dict(self.columns)
        self.table.sql("restore table T to version as of 1")
        kinds = {f.name: f.dataType.simpleString() for f in self.spark.read.format("delta").load(str(self.table.at)).schema.fields}
        del kinds["id"]
        self.columns = {n: before.get(n, k) if k.startswith("struct") else k for n, k in kinds.items()}

    def clone(self) -> None:
        """Write a table on the files of this one."""
        source, self.table = self.table.at, Table(self.spark, self.table.at.parent, self.table.at.name + "-clone")
        self.table.sql(f"create table T shallow clone delta.`{source}`")
        self.delete()
        self.append()
        self.table.finish(ids=True)

    def run(self) -> None:
        """Write the history and its rows."""
        self.create()
        self.append()
        steps: list[Callable[[], None]] = [
            *[self.append, self.delete, self.update, self.merge] * 2,
            *[
                self.add_column,
                self.drop_column,
                self.rename,
                self.widen,
                self.map_names,
                self.use_vectors,
                self.track_rows,
                self.overwrite,
                self.optimize,
                self.restore,
            ],
        ]
        failed = []
        for _ in range(self.random.randrange(3, 9)):
            step = self.random.choice(steps)
            try:
                step()
            except Exception as e:  # what the writer cannot do is no step of the history
                failed.append(f"{step.__name__}: {str(e)[:60]}")
        self.table.finish(ids=True)
        if self.random.random() < 0.3:
            self.clone()
        if failed:
            print(*failed, sep="\n  ", flush=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("jars", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--rs", type=int, default=150)
    options.add_argument("--spark", type=int, default=50)
    options.add_argument("--first", type=int, default=0)
    o = options.parse_args()
    out = o.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for i in range(o.first, o.first + o.rs):
        Rust(i, out / f"rs-{i}").run()
    if o.spark:
        spark = session(o.jars)
        for i in range(o.first, o.first + o.spark):
            Spark(spark, i, out, f"spark-{i}").run()
        spark.stop()


if __name__ == "__main__":
    main()
