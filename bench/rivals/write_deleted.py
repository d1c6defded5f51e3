"""write_deleted.py JARS SOURCE TARGET: tables of the rows of a set, a tenth of them deleted, by Spark.

    TARGET/delta                             Delta, with deletion vectors
    TARGET/db/positions                      Iceberg, with position deletes
    TARGET/db/equality                       Iceberg, with one equality delete, as Flink commits it
    TARGET/delta_rewritten, db/rewritten     the same rows without deletes, by the same writer

JARS is the directory of the jars of tools/tables/pom.xml. With Spark's defaults each file has one row group, so that the tables have
equally many: of several, a rewritten file has fewer, which mix less in a shuffle buffer, and so cost less.
"""

import glob
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark.sql import SparkSession

DELETED = "pmod(hash(id), 10) = 0"


def session(jars, target):
    names = [n for pattern in ("delta-*", "unitycatalog-*", "iceberg-spark-*") for n in glob.glob(f"{jars}/{pattern}.jar")]
    settings = {
        "spark.jars": ",".join(names),
        "spark.driver.extraClassPath": ":".join(names),  # for the calls of Iceberg's library from Python
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.files.maxPartitionBytes": str(1 << 30),  # a partition, and so a file, for each file
        "spark.sql.files.openCostInBytes": str(1 << 30),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": f"{target}/none",
        "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.h.type": "hadoop",
        "spark.sql.catalog.h.warehouse": target,
    }
    builder = SparkSession.builder.master("local[1]").appName("deleted")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def delta(spark, source, target):
    table = f"delta.`{target}/delta`"
    vectors = "tblproperties ('delta.enableDeletionVectors'='true')"
    spark.sql(f"create table {table} using delta {vectors} as select * from parquet.`{source}`")
    spark.sql(f"delete from {table} where {DELETED}")
    spark.sql(f"create table delta.`{target}/delta_rewritten` using delta as select * from {table}")


def iceberg(spark, source, target):
    properties = f"""'format-version'='2', 'write.delete.mode'='merge-on-read',
        'read.split.open-file-cost'='{1 << 30}', 'read.split.target-size'='{1 << 30}'"""
    for name in ("positions", "equality"):
        spark.sql(f"create table h.db.{name} using iceberg tblproperties ({properties}) as select * from parquet.`{source}`")
    spark.sql(f"delete from h.db.positions where {DELETED}")
    equality(spark, f"{target}/db/equality/data/deletes.parquet")
    files = len(glob.glob(f"{source}/*.parquet"))  # Spark reads a partition for each row group of Iceberg, and would write a file for each
    rewritten = f"select /*+ coalesce({files}) */ * from h.db.equality"
    spark.sql(f"create table h.db.rewritten using iceberg tblproperties ({properties}) as {rewritten}")


def equality(spark, path):
    """Delete rows by their ids. Spark does not write equality deletes, so the file is pyarrow's, and Iceberg's library commits it."""
    jvm = spark._jvm.org.apache.iceberg
    table = jvm.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "h.db.equality")
    key = table.schema().findField("id").fieldId()
    ids = spark.sql(f"select id from h.db.equality where {DELETED}").toArrow()["id"]
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(key)})])
    pq.write_table(pa.table([ids], schema=schema), path)
    keys = spark._sc._gateway.new_array(spark._sc._gateway.jvm.int, 1)
    keys[0] = key
    file = jvm.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(keys).withPath(path)
    file = file.withFormat("parquet").withFileSizeInBytes(os.path.getsize(path)).withRecordCount(len(ids)).build()
    table.newRowDelta().addDeletes(file).commit()
    spark.sql("refresh table h.db.equality")


def main():
    jars, source, target = sys.argv[1:]
    spark = session(jars, target)
    delta(spark, source, target)
    iceberg(spark, source, target)
    for name in (f"delta.`{target}/delta`", f"delta.`{target}/delta_rewritten`", "h.db.positions", "h.db.equality", "h.db.rewritten"):
        print(name, spark.sql(f"select count(*), sum(id) from {name}").collect()[0])
    spark.stop()


if __name__ == "__main__":
    main()
