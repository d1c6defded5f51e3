"""Writes Iceberg tables of random histories, and the rows that the writer reads at every snapshot.

    python histories.py JARS DIRECTORY [--spark N] [--java N] [--py N] [--first N]

SHARDFEED_TABLES=DIRECTORY go test -run TestHistories ./table/iceberg compares them. The number of a
history is its seed.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import random
import subprocess
from typing import Any

import iceberg

COLUMNS = "id bigint, lang string, text string, v float, st struct<a: int, b: string>"
PARTITIONS = ["", "lang", "bucket(3, id)", "truncate(2, text)", "lang, bucket(2, id)"]
ROWS = """select id, case when id % 4 = 0 then null else concat('l', id % 3) end as lang, concat('t', id % 17) as text,
    cast(id as float) / 4 as v, case when id % 5 = 0 then null else named_struct('a', cast(id as int), 'b', 'x') end as st
    from range({}, {}, 1, 1)"""


class Spark:
    """A table that Spark changes at random."""

    def __init__(self, spark: Any, seed: int) -> None:
        self.spark, self.random, self.name = spark, random.Random(seed), f"spark{seed}"
        self.extra: list[str] = []  # columns that were added
        self.format = self.random.choice([1, 2, 2, 3, 3])
        partitions = self.random.choice(PARTITIONS)
        modes = ", ".join(f"'write.{m}.mode'='{self.mode()}'" for m in ("delete", "update", "merge"))
        by = f"partitioned by ({partitions})" if partitions else ""
        self.sql(f"create table {{}} ({COLUMNS}) using iceberg {by} tblproperties ('format-version'='{self.format}', {modes})")
        self.append()
        for _ in range(self.random.randint(4, 9)):
            self.random.choice([self.append, self.append, self.delete, self.delete, self.delete, self.update, self.merge, self.change])()

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{}", f"h.{self.name}"))

    def mode(self) -> str:
        return self.random.choice(["merge-on-read", "merge-on-read", "copy-on-write"])

    def append(self) -> None:
        first = self.random.randint(0, 80)
        self.sql("insert into {} (id, lang, text, v, st) " + ROWS.format(first, first + self.random.randint(1, 40)))

    def where(self) -> str:
        n = self.random.randint(1, 60)
        return self.random.choice(
            [f"id % {n} = 0", f"id between {n} and {n + 7}", f"text = 't{n % 17}'", f"lang = 'l{n % 3}' and id > {n}", "lang is null"]
        )

    def delete(self) -> None:
        self.sql("delete from {} where " + self.where())

    def update(self) -> None:
        column = self.random.choice(["lang = 'l9'", "text = 'updated'", "v = null", *(f"{c} = 5" for c in self.extra)])
        self.sql(f"update {{}} set {column} where {self.where()}")

    def merge(self) -> None:
        first = self.random.randint(0, 90)
        self.sql(f"""merge into {{}} t using (select id from range({first}, {first + 20}, 1, 1)
            where id not in (select id from {{}} group by id having count(*) > 1)) s on t.id = s.id
            when matched and t.id % 3 = 0 then delete when matched then update set text = 'merged'
            when not matched then insert (id, text) values (s.id, 'inserted')""")

    def change(self) -> None:
        n = self.random.randint(0, 6)
        if n == 0:
            self.extra.append(f"c{len(self.extra)}")
            self.sql(f"alter table {{}} add column {self.extra[-1]} int {self.random.choice(['first', 'after lang', ''])}")
        elif n == 1 and self.extra:
            self.sql(f"alter table {{}} drop column {self.extra.pop()}")
        elif n == 2:
            self.sql("alter table {} alter column v type double")
        elif n == 3 and self.format < 3:
            self.format += 1
            self.sql(f"alter table {{}} set tblproperties ('format-version'='{self.format}')")
        elif n == 4:
            self.sql(f"call h.system.rewrite_data_files(table => '{self.name}', options => map('rewrite-all', 'true'))")
        elif n == 5:
            self.sql(f"alter table {{}} create or replace tag `tag {self.random.randint(0, 2)}`")
        else:
            transform = self.random.choice(["bucket(5, id)", "truncate(1, text)"])
            self.sql(f"alter table {{}} {self.random.choice(['add', 'drop'])} partition field {transform}")


def by_spark(spark: Any, seeds: range) -> None:
    for seed in seeds:
        try:
            Spark(spark, seed)
        except Exception as error:  # a change that does not fit the table: the history ends there
            print(f"spark{seed}:", str(error)[:100].replace("\n", " "))
        write(f"spark{seed}", iceberg.spark_rows(spark, f"spark{seed}"))


def write(name: str, rows: dict[str, Any]) -> None:
    with open(f"{iceberg.WORK}/{name}/rows.json", "w") as f:
        json.dump(rows, f)
    print(name, {k: len(v["rows"]) for k, v in rows.items()}, flush=True)


def by_java(jars: str, seeds: range) -> None:
    classes, path = iceberg.compiled(jars)
    command = ["java", "-Xmx600m", "-cp", classes + ":" + path, "Histories", iceberg.WORK, str(seeds.start), str(seeds.stop)]
    subprocess.run(command, check=True)


def by_pyiceberg(seeds: range) -> None:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import IdentityTransform

    catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + iceberg.WORK)
    catalog.create_namespace("n")
    for seed in seeds:
        chance = random.Random(seed)
        schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("v", pa.float64())])
        table = catalog.create_table(f"n.py{seed}", schema, location=f"file://{iceberg.WORK}/py{seed}", properties={"format-version": "2"})
        for _ in range(chance.randint(4, 10)):
            first, n, step = chance.randint(0, 80), chance.randint(1, 40), chance.randint(0, 7)
            names = [f.name for f in table.schema().fields]
            values = {"id": list(range(first, first + n)), "text": [f"t{i % 7}" for i in range(n)]}
            rows = pa.table({name: values.get(name, pa.nulls(n, pa.float64())) for name in names})
            if step < 3:
                table.append(rows)
            elif step < 5:
                table.delete(chance.choice([f"id < {first}", f"text == 't{n % 7}'", f"id > {first} and text != 't3'"]))
            elif step == 5:
                table.overwrite(rows, overwrite_filter=f"id < {first}")
            elif step == 6 and "v" in names:
                with table.update_schema() as change:
                    chance.choice([lambda c=change: c.delete_column("v"), lambda c=change: c.rename_column("v", "w")])()
            else:
                with table.update_spec() as spec:
                    if table.spec().fields:
                        spec.remove_field(table.spec().fields[0].name)
                    else:
                        spec.add_field("text", IdentityTransform())  # others need pyiceberg-core
        if table.current_snapshot() is None:
            table.append(rows)
        found = {"": iceberg.arrow_rows(table.scan())}
        for snapshot in table.snapshots():
            found[str(snapshot.snapshot_id)] = iceberg.arrow_rows(table.scan(snapshot_id=snapshot.snapshot_id))
        write(f"py{seed}", found)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("jars")
    options.add_argument("to")
    for writer, count in {"spark": 60, "java": 80, "py": 60, "first": 0}.items():
        options.add_argument(f"--{writer}", type=int, default=count)
    o = options.parse_args()
    iceberg.WORK = os.path.abspath(o.to)
    os.makedirs(o.to, exist_ok=True)
    if o.py:
        by_pyiceberg(range(o.first, o.first + o.py))
    if o.java:
        by_java(o.jars, range(o.first, o.first + o.java))
    if o.spark:
        spark = iceberg.session(o.jars)
        by_spark(spark, range(o.first, o.first + o.spark))
        spark.stop()
    print(len(glob.glob(o.to + "/*/rows.json")), "tables")


if __name__ == "__main__":
    main()
