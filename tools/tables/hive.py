"""Makes tables in a Hive metastore by Spark, with their rows as Spark reads them: hive.py METASTORE DIR JARS."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession  # noqa: E402 - Java reads the environment

from values import rows  # noqa: E402


def session(metastore: str, work: Path, jars: Path) -> SparkSession:
    """Start a Spark whose catalog is the metastore, also for tables of Delta."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "900m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.hadoop.hive.metastore.uris": f"thrift://{metastore}",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.jars": ",".join(str(jar) for name in ("delta-*", "unitycatalog-*", "RoaringBitmap-*") for jar in jars.glob(name)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[1]").appName("hive").enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# Values of thirteen types.
VALUES = """cast(-id as tinyint), cast(id as smallint), cast(-id as int), id * 3000000000,
  cast(id as float) / 3, id / 3, cast(id as decimal(10,2)) / 4, id % 2 = 0,
  date_add(date'2026-01-01', cast(id as int)),
  timestamp'2026-01-01 12:34:56.789' + make_interval(0, 0, 0, cast(id as int)),
  concat('k ', id), 'v', cast(id as decimal(30,5)) / 7"""

# Each table is made by its statements; AT is a directory outside the warehouse.
TABLES = {
    # Partitions elsewhere, dropped, null, and without files.
    "shop": [
        "create table shop (id bigint, text string) partitioned by (lang string, year int) stored as parquet",
        """insert into shop partition (lang, year) select id, concat('t', id),
             case id % 4 when 0 then 'en' when 1 then 'd e/=%25:ü' when 2 then null else '' end,
             cast(2020 + id % 3 as int) from range(0, 60, 1, 1)""",
        "alter table shop add partition (lang='fr', year=1999) location 'AT/fr'",
        "insert into shop partition (lang='fr', year=1999) select id, 'fr' from range(1000, 1010)",
        "alter table shop add partition (lang='it', year=1999) location 'AT/it'",
        "alter table shop drop partition (lang='en', year=2020)",
    ],
    # Columns that came later, and a partition with files from before.
    "evolved": [
        """create table evolved (id int, s struct<a: int, b: string>) partitioned by (day date)
             stored as parquet""",
        """insert into evolved partition (day='2026-01-01')
             select cast(id as int), named_struct('a', cast(id as int), 'b', 'x') from range(5)""",
        "alter table evolved add columns (more array<string>, later double)",
        """insert into evolved partition (day='2026-01-02')
             select cast(id as int), named_struct('a', cast(id as int), 'b', 'y'),
             array('p', null, cast(id as string)), id / 4 from range(5)""",
    ],
    # Partition columns of all types.
    "keys": [
        """create table keys (id bigint) partitioned by (a tinyint, b smallint, c int, d bigint,
             e float, f double, g decimal(10,2), h boolean, i date, j timestamp, k string,
             l varchar(9), m decimal(30,5)) stored as parquet""",
        f"""insert into keys select id, {VALUES} from range(3)""",
        f"insert into keys select 9{', null' * 13}",
    ],
    # Values of all types.
    "types": [
        """create table types (a tinyint, b smallint, c int, d bigint, e float, f double,
             g decimal(10,2), h boolean, i date, j timestamp, k string, l varchar(9),
             m decimal(30,5), n binary, o map<string, int>,
             p array<struct<x: int, y: array<int>>>) stored as parquet""",
        f"""insert into types select {VALUES}, cast('bin' as binary), map('a', cast(id as int)),
             array(named_struct('x', cast(id as int), 'y', array(1, 2)), null) from range(3)""",
        f"insert into types select null{', null' * 15}",
    ],
    # Names with capitals, in the table and in files, as Spark's own tables have them.
    "mixed": [
        "create table mixed (Id bigint, Text string, Part struct<Aa: int>, Day string) using parquet partitioned by (Day)",
        "insert into mixed select id, 'x', named_struct('Aa', cast(id as int)), 'Mon' from range(4)",
        "insert into mixed select id, 'x', null, null from range(4, 6)",
    ],
    # Types that Hive does not know, for which Spark keeps no columns in the metastore.
    "ntz": [
        "create table ntz (Id bigint, at timestamp_ntz, p int) using parquet partitioned by (p)",
        "insert into ntz select id, timestamp_ntz'2026-01-01 12:34:56', cast(id % 2 as int) from range(4)",
    ],
    "buckets": [
        "create table buckets (id bigint, text string) using parquet clustered by (id) into 3 buckets",
        "insert into buckets select id, concat('t', id) from range(20)",
    ],
    "outside": [
        "create external table outside (id bigint) stored as parquet location 'AT/out side'",
        "insert into outside select id from range(7)",
    ],
    # A table of Delta, to which the metastore leads.
    "lake": [
        """create table lake (id bigint, text string, lang string) using delta partitioned by (lang)
             tblproperties ('delta.enableDeletionVectors'='true')""",
        "insert into lake select id, concat('t', id), if(id % 2 = 0, 'en', null) from range(0, 20, 1, 1)",
        "delete from lake where id % 3 = 0",
    ],
    "empty": ["create table empty (id bigint, text string) stored as parquet"],
}

# Tables that are refused.
OTHERS = [
    "create table orc (id bigint) stored as orc",
    "create table text (id bigint) stored as textfile",
    "create view seen as select * from shop",
    "create table json (id bigint) using json",
]


def case(spark: SparkSession, at: Path) -> None:
    """Make a table as Hive does, whose names are all lower-case, over files that have capitals."""
    spark.sql(f"create external table lower (id bigint, text string, part struct<aa: int>) stored as parquet location '{at}/lower'")
    files = spark.sql("select id as Id, 'x' as TEXT, named_struct('Aa', cast(id as int)) as Part from range(3)")
    files.write.mode("append").parquet(f"{at}/lower")
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    conf.set("hive.metastore.uris", spark.conf.get("spark.hadoop.hive.metastore.uris"))
    client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)
    table = client.getTable("default", "lower")
    for name in list(table.getParameters()):
        if name.startswith("spark.sql."):
            table.getParameters().remove(name)
    client.alter_table("default", "lower", table)
    client.close()


def main() -> None:
    """Make the tables."""
    metastore, work, jars = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    at = work / "elsewhere"
    spark = session(metastore, work, jars)
    for statements in [*TABLES.values(), OTHERS]:
        for s in statements:
            spark.sql(s.replace("AT/", f"{at}/"))
    case(spark, at)
    found = {name: rows(spark.table(name)) for name in [*TABLES, "lower"]}
    (work / "rows.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
