"""Files by Spark (parquet-java): Hadoop's LZ4, INT96, legacy lists and decimals, version 2 pages with delta encodings."""

import os
import shutil
import tempfile

import pyarrow.parquet as pq

import values as v

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "lz4_raw"]
PAGES = {
    "v1": {},
    "v2": {"parquet.writer.version": "v2"},
    "v1-tiny": {"parquet.page.size": "256", "parquet.page.row.count.limit": "20", "parquet.dictionary.page.size": "256"},
    "v2-tiny": {"parquet.writer.version": "v2", "parquet.page.size": "256", "parquet.page.row.count.limit": "20"},
    "v1-plain": {"parquet.enable.dictionary": "false"},
    "v2-plain": {"parquet.writer.version": "v2", "parquet.enable.dictionary": "false"},
}
UNKNOWN = ("uint", "float16", "fixed", "decimal39", "decimal76", "time_", "timestamp_ns", "timestamp_ms", "date_wide", "timestamp_us_wide")


def session():
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch = tempfile.mkdtemp(prefix="spark-")
    builder = SparkSession.builder.master("local[1]").appName("matrix")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": scratch,
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate(), scratch


def files(out, rows):
    spark, scratch = session()
    try:
        write_all(spark, out, rows, scratch)
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def write_all(spark, out, rows, scratch):
    # The values come in through parquet, which Spark reads with all its types; session settings
    # change how they go out.
    def frame(name, table):
        path = f"{scratch}/{name}.parquet"
        pq.write_table(table, path, store_schema=False)
        return spark.read.parquet(path).coalesce(1)

    flat = frame("flat", v.flat_table([n for n in v.FLAT if not n.startswith(UNKNOWN)], rows))
    no_null = frame("no_null", v.flat_table([n for n in v.FLAT if not n.startswith(UNKNOWN)], rows, nullable=False))
    nested = frame("nested", v.nested_table([n for n in v.NESTED if not n.startswith("fixed")], rows))

    def write(group, name, df, conf=None, **options):
        directory = f"{scratch}/out"
        conf = conf or {}
        for key, value in conf.items():
            spark.conf.set(key, value)
        writer = df.write.mode("overwrite")
        for key, value in options.items():
            writer = writer.option(key, value)
        writer.parquet(directory)
        for key in conf:
            spark.conf.unset(key)
        part = next(f for f in sorted(os.listdir(directory)) if f.endswith(".parquet"))
        target = out / "spark" / group / f"{name}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(f"{directory}/{part}", target)
        return target

    for codec in CODECS:
        for pages, options in PAGES.items():
            if pages in ("v1", "v2") or codec in ("none", "lz4"):
                write(f"codec {codec}", f"flat-{pages}", flat, compression=codec, **options)
                write(f"codec {codec}", f"nested-{pages}", nested, compression=codec, **options)
    legacy = {"spark.sql.parquet.writeLegacyFormat": "true"}
    write("legacy", "flat", flat, legacy)
    write("legacy", "nested", nested, legacy)
    write("legacy", "nested-v2", nested, legacy, **PAGES["v2-tiny"])
    write("legacy", "required", two_level(no_null), legacy)
    # pyarrow refuses lists in two-level lists, so it reads them in the standard form.
    write("legacy", "required-twin", two_level(no_null)).rename(out / "spark" / "legacy" / "required.twin")
    for unit in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        for pages in ("v1", "v2", "v1-plain"):
            columns = flat.select("timestamp_us", "timestamp_us_utc", "date")
            conf = {"spark.sql.parquet.outputTimestampType": unit, "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
                    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}  # fmt: skip
            write("timestamps", f"{unit.lower()}-{pages}", columns, conf, **PAGES[pages])
    write("shapes", "no-rows", flat.limit(0))
    write(
        "shapes",
        "row-groups",
        no_null,
        **{"parquet.block.size": "4096", "parquet.page.size": "512", "parquet.block.size.row.check.min": "10"},
    )
    write("page index, crc", "crc", flat, **{"parquet.page.write-checksum.enabled": "true", "parquet.page.size": "256"})
    only_sql(spark, write, rows)


def two_level(df):
    """Lists whose elements can't be null are two-level lists in the legacy format."""
    from pyspark.sql import functions as f

    return df.select(
        "int32",
        f.array("int32", f.lit(2)).alias("numbers"),
        f.array(f.struct("string", f.lit(2).alias("y"))).alias("structs"),
        f.array(f.array("int32"), f.array(f.lit(1), f.lit(2))).alias("lists"),
        f.create_map(f.lit("k"), f.array("int64")).alias("map"),
    )


def only_sql(spark, write, rows):
    """Types that only SQL makes here: intervals as numbers, chars, nested nulls of every depth."""
    query = f"""
        select id, cast(id % 10 as decimal(1, 0)) as d1, cast(id % 7 as byte) as b, cast(id % 99 as short) as s,
               make_ym_interval(cast(id % 9 as int), 1) as ym, make_dt_interval(cast(id % 5 as int), 2, 3, 4.5) as dt,
               if(id % 2 = 0, null, named_struct('p', if(id % 3 = 0, null, array(null, array(id, null))))) as nulls,
               map_from_arrays(array(concat('k', id)), array(cast(null as int))) as m,
               binary(concat('b', id)) as bin, parse_json(concat('{{"i": ', id, '}}')) as variant, cast('c' as char(4)) as fixed_text
        from range({rows})"""
    sql = spark.sql(query).coalesce(1)
    write("types", "sql", sql)
    write("types", "sql-v2", sql, **PAGES["v2"])
