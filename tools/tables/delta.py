"""Writes the Delta tables of testdata/tables/delta by Spark and delta-rs, with their rows at every version: delta.py JARS OUT [NAME...]."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.errors import AnalysisException  # noqa: E402 - Java reads the environment
from pyspark.sql import SparkSession  # noqa: E402

from values import rows  # noqa: E402


def session(jars: Path) -> SparkSession:
    """Start a Spark with Delta's extensions."""
    names = [str(p) for p in sorted(jars.glob("*.jar")) if p.name.startswith(("delta-", "unitycatalog-"))]
    settings = {
        "spark.jars": ",".join(names),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1200m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(Path("/tmp") / f"spark-{os.getpid()}"),
        "spark.databricks.delta.schema.autoMerge.enabled": "true",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[1]").appName("tables")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Table:
    """A table by Spark, which writes its rows at every version at last."""

    def __init__(self, spark: SparkSession, out: Path, name: str) -> None:
        self.spark, self.at, self.rows = spark, out / name, out / f"{name}.json"
        shutil.rmtree(self.at, ignore_errors=True)

    def sql(self, *statements: str) -> None:
        """Run statements, in which T is the table."""
        for s in statements:
            self.spark.sql(s.replace(" T ", f" delta.`{self.at}` ").replace(" T(", f" delta.`{self.at}`("))

    def split(self, rows_of_a_part: int | None) -> None:
        """Split checkpoints after a number of actions."""
        name = "spark.databricks.delta.checkpoint.partSize"
        if rows_of_a_part is None:
            self.spark.conf.unset(name)
        else:
            self.spark.conf.set(name, str(rows_of_a_part))

    def finish(self, first: int = 0, ids: bool = False) -> None:
        """Write the rows of all versions, and remove what readers do not read. With ids, versions that track rows have row IDs."""
        last = self.spark.sql(f"describe history delta.`{self.at}`").agg({"version": "max"}).collect()[0][0]
        found, tracked = {}, 0
        for v in range(first, last + 1):
            frame = self.spark.read.format("delta").option("versionAsOf", v).load(str(self.at))
            if ids:
                try:
                    frame = frame.selectExpr("*", "_metadata.row_id as _row_id")
                    tracked += 1
                except AnalysisException:  # it does not track rows
                    pass
            found[str(v)] = rows(frame)
        write(self.rows, found)
        tidy(self.at)
        print(self.at.name, last + 1, "versions", *([tracked, "with row IDs"] if tracked else []), flush=True)


def write(name: Path, versions: dict[str, Any]) -> None:
    """Write rows, a version a line."""
    lines = [f"{json.dumps(v)}: {json.dumps(r, ensure_ascii=False, separators=(',', ':'))}" for v, r in versions.items()]
    name.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def tidy(table: Path) -> None:
    """Remove checksums and hints, which are not read."""
    for name in [*table.rglob("*.crc"), *table.rglob("_last_checkpoint")]:
        name.unlink()


def vectors(spark: SparkSession, out: Path) -> None:
    """Deletion vectors, columns by name, renames, odd names and partitions, a checkpoint."""
    table = Table(spark, out, "vectors")
    insert = """insert into T select id, concat('text ', id), cast(id as float) / 7, cast(id % 9 as int),
      named_struct('a', cast(id as int), 'b', array(named_struct('c', id, 'd', 'x'))), map('k', id),
      case when id % 3 = 0 then 'en' when id % 3 = 1 then 'de/x y=%25' else null end from range({}, {}, 1, 1)"""
    table.sql(
        """create table T (id bigint, text string, score float, `odd name, (x)` int,
          nested struct<a: int, b: array<struct<c: bigint, d: string>>>, m map<string, bigint>, lang string)
          using delta partitioned by (lang) tblproperties ('delta.enableDeletionVectors'='true',
          'delta.columnMapping.mode'='name', 'delta.checkpointInterval'='8',
          'delta.dataSkippingNumIndexedCols'='1')""",
        insert.format(0, 40),
        "delete from T where id % 7 = 0",
        insert.format(40, 48),
        "alter table T rename column text to body",
        "alter table T rename column nested.a to first",
        "update T set score = -1 where id % 15 = 0",
        "delete from T where id between 10 and 30 and lang is null",
        "alter table T drop column nested.b",
        "alter table T add column late string",
        "insert into T (id, body, score, `odd name, (x)`, lang, late) values (500, 'z', 1.5, 3, 'en', 'L')",
        "insert into T (id, lang) values (501, 'fr')",
        "alter table T drop column late",
        "alter table T add column late int",
        "insert into T (id, lang, late) values (502, '', 7)",
    )
    table.finish()


def wide(spark: SparkSession, out: Path) -> None:
    """Type widening, row tracking, checkpoints of version 2 with sidecars."""
    table = Table(spark, out, "wide")
    table.split(2)
    table.sql(
        """create table T (id int, small tinyint, x float, d decimal(8,2), day date) using delta tblproperties (
          'delta.checkpointPolicy'='v2', 'delta.enableTypeWidening'='true', 'delta.enableRowTracking'='true',
          'delta.enableDeletionVectors'='true', 'delta.checkpointInterval'='5')""",
        """insert into T select cast(id as int), cast(id % 100 as tinyint), cast(id as float) / 3, cast(id as decimal(8,2)),
          date_add(date '2020-01-01', cast(id as int)) from range(0, 60, 1, 3)""",
        "delete from T where id % 5 = 0",
        "alter table T alter column id type bigint",
        "alter table T alter column small type int",
        "alter table T alter column x type double",
        "alter table T alter column d type decimal(12,2)",
        """insert into T select id + 5000000000, cast(id * 1000 as int), cast(id as double) / 3, cast(id as decimal(12,2)), null
          from range(0, 10, 1, 1)""",
        "delete from T where id = 5000000007",
    )
    table.finish()
    table.split(None)


def tracked(spark: SparkSession, out: Path) -> None:
    """Row IDs: of files, kept by updates, merges and compactions, in commits and a checkpoint."""
    table = Table(spark, out, "tracked")
    insert = "insert into T select id, concat('text ', id), cast(id % 9 as int) from range({}, {}, 1, 2)"
    table.sql(
        """create table T (id bigint, text string, n int) using delta tblproperties ('delta.enableRowTracking'='true',
          'delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='name', 'delta.checkpointInterval'='6')""",
        insert.format(0, 40),
        "delete from T where id % 7 = 0",
        "update T set n = -1 where id % 5 = 0",
        insert.format(40, 60),
        """merge into T using (select id, concat('new ', id) as text, 0 as n from range(50, 70)) as s on T.id = s.id
          when matched and s.id % 2 = 0 then update set * when matched then delete when not matched then insert *""".replace(
            "T.id", f"delta.`{table.at}`.id"
        ),
        "alter table T rename column text to body",
        "update T set body = 'twice' where id % 10 = 0",
        "optimize T ",
        insert.format(70, 75).replace("text '", "late '"),
        "delete from T where id in (3, 71)",
    )
    table.finish(ids=True)


def parts(spark: SparkSession, out: Path) -> None:
    """Partitions of all types, with odd values and nulls."""
    table = Table(spark, out, "parts")
    table.sql(
        """create table T (id int, b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f float, d double, c decimal(10,3),
          day date, at timestamp, ntz timestamp_ntz, s string, raw binary) using delta
          partitioned by (b, i1, i2, i4, i8, f, d, c, day, at, ntz, s, raw)""",
        """insert into T values
          (1, true, -128, 300, -70000, 5000000000, 1.5, -0.1, 12.345, date '1969-12-31', timestamp '2024-02-29 12:30:45.123456',
            timestamp_ntz '1999-12-31 23:59:59.5', 'a b/c=d%25é', X'416263'),
          (2, false, 127, -1, 0, -1, float('nan'), double('inf'), -0.001, date '0001-01-01', timestamp '1900-01-01 00:00:00',
            timestamp_ntz '2024-02-29 00:00:00', 'plain', X'41'),
          (3, null, null, null, null, null, null, null, null, null, null, null, null, null),
          (4, true, 1, 2, 3, 4, float('-inf'), 1e300, 0, date '9999-12-31', timestamp '9999-12-31 23:59:59.999999',
            timestamp_ntz '2024-02-29 00:00:00.000001', '', X'')""",
        "insert into T select id + 10, b, i1, i2, i4, i8, f, d, c, day, at, ntz, concat(s, ' 2'), raw from T where id < 3",
    )
    table.finish()


def evolved(spark: SparkSession, out: Path) -> None:
    """Columns by ID, many versions with their times in commits, schemas that grow, a checkpoint of several files."""
    table = Table(spark, out, "evolved")
    table.split(5)
    table.sql(
        """create table T (id int, a struct<x: int>) using delta tblproperties ('delta.columnMapping.mode'='id',
          'delta.enableInCommitTimestamps'='true', 'delta.checkpointInterval'='9')""",
        "insert into T select cast(id as int), named_struct('x', cast(id as int)) from range(0, 8, 1, 2)",
        "alter table T add column at timestamp",
        "alter table T add column a.y string",
    )
    for i in range(8):
        table.sql(f"insert into T values ({100 + i}, named_struct('x', {i}, 'y', 'v{i}'), timestamp '2024-01-0{i + 1} 00:00:00')")
    table.sql(
        "alter table T drop column a.x",
        "delete from T where id % 4 = 0",
        "alter table T rename column a to b",
        "optimize T ",
        "insert into T values (200, named_struct('y', 'last'), null)",
        "delete from T where true",
    )
    table.finish()
    table.split(None)


def rs(out: Path) -> None:
    """A table by delta-rs, with a delete, a checkpoint and a compaction."""
    at = str(out / "rs")
    shutil.rmtree(at, ignore_errors=True)

    def frame(lo: int, hi: int) -> pa.Table:
        n = range(lo, hi)
        start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
        times = [start + datetime.timedelta(seconds=i) for i in n]
        return pa.table(
            {
                "id": pa.array(n, pa.int64()),
                "lang": ["en" if i % 2 else "de é/" for i in n],
                "v": [i / 3 for i in n],
                "at": pa.array(times, pa.timestamp("us", "UTC")),
                "c": pa.array([decimal.Decimal(i) / 4 for i in n], pa.decimal128(20, 2)),
                "tags": pa.array([["a", None] if i % 3 else [] for i in n], pa.list_(pa.string())),
            }
        )

    write_deltalake(at, frame(0, 20), partition_by=["lang"])
    write_deltalake(at, frame(100, 106), mode="append")
    DeltaTable(at).delete("id % 7 = 0")
    for i in range(3):
        write_deltalake(at, frame(200 + i * 10, 202 + i * 10), mode="append")
    DeltaTable(at).create_checkpoint()
    DeltaTable(at).optimize.compact()
    DeltaTable(at).update(predicate="id = 1", updates={"v": "-1.0"})
    versions = {}
    for v in range(DeltaTable(at).version() + 1):
        found = DeltaTable(at, version=v).to_pyarrow_table()
        lines = [
            [
                r["id"],
                r["lang"],
                r["v"],
                r["at"].replace(tzinfo=None).isoformat(timespec="microseconds") + "Z",
                f"{r['c']:.2f}",
                r["tags"],
            ]
            for r in found.select(["id", "lang", "v", "at", "c", "tags"]).to_pylist()
        ]
        versions[str(v)] = {"columns": ["id", "lang", "v", "at", "c", "tags"], "rows": sorted(lines, key=repr)}
    write(out / "rs.json", versions)
    tidy(Path(at))
    print("rs", len(versions), "versions", flush=True)


def main() -> None:
    jars, out = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    names = sys.argv[3:]
    if not names or "rs" in names:
        rs(out)
    by_spark = [make for make in (vectors, wide, tracked, parts, evolved) if not names or make.__name__ in names]
    if by_spark:
        spark = session(jars)
        for make in by_spark:
            make(spark, out)
        spark.stop()


if __name__ == "__main__":
    main()
