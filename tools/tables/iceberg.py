"""Writes the Iceberg tables of testdata/tables/iceberg, with the rows of each snapshot.

    python iceberg.py JARS DIRECTORY [NAME...]

With names, only these tables of Spark are written. JARS is the directory of Maven's jars, see
pom.xml. Spark runs the statements of iceberg/*.sql, Iceberg's Java library writes the tables of
iceberg/EqDeletes.java, and pyiceberg one more. A table is a zip file with its own name, of data/,
metadata/ and rows.json, which has the rows that its writer reads. Its metadata has paths below
WORK; readers look for files below the address that they open.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

WORK = "/tmp/shardfeed-tables/iceberg"
HERE = os.path.dirname(os.path.abspath(__file__)) + "/iceberg"


def session(jars: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    conf = {
        "spark.jars": ",".join(glob.glob(jars + "/iceberg-spark-runtime-*.jar")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1200m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.h.type": "hadoop",
        "spark.sql.catalog.h.warehouse": WORK,
    }
    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master("local[1]").appName("tables")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def spark_rows(spark: Any, name: str) -> dict[str, Any]:
    """Return the rows of the current snapshot, of each other one, and of each tag and branch."""
    import values

    def read(columns: str, version: str) -> dict[str, Any]:
        return values.rows(spark.sql(f"select {columns} from h.{name} {version}"))

    properties = dict(spark.sql(f"show tblproperties h.{name}").collect())
    columns = "*, _row_id" if properties["format-version"] == "3" else "*"
    found = {"": read(columns, "")}
    for row in spark.sql(f"select snapshot_id from h.{name}.snapshots").collect():
        found[str(row[0])] = read(columns, f"version as of {row[0]}")
    for row in spark.sql(f"select name from h.{name}.refs").collect():
        found[row[0]] = read(columns, f"version as of '{row[0]}'")
    return found


def number(metadata: str) -> int:
    """Return the version in the name of a metadata file, as in v3.metadata.json and 00003-....metadata.json."""
    return int(os.path.basename(metadata).lstrip("v").split(".")[0].split("-")[0])


def keep(name: str, rows: dict[str, Any], to: str) -> None:
    """Write a table as a zip file, without checksums and old metadata."""
    old = sorted(glob.glob(f"{WORK}/{name}/metadata/*.metadata.json"), key=number)[:-1]
    with zipfile.ZipFile(f"{to}/{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path in sorted(glob.glob(f"{WORK}/{name}/**/*", recursive=True)):
            if os.path.isfile(path) and path not in old:
                out.write(path, os.path.relpath(path, f"{WORK}/{name}"))
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()]
        out.writestr("rows.json", "{\n" + ",\n".join(lines) + "\n}\n")
    print(name, {k: len(v["rows"]) for k, v in rows.items()})


def by_spark(spark: Any, to: str, names: list[str]) -> None:
    for path in sorted(glob.glob(HERE + "/*.sql")):
        name = os.path.basename(path).removesuffix(".sql")
        if names and name not in names:
            continue
        with open(path) as f:
            text = "".join(line for line in f if not line.startswith("--"))
        for statement in text.split(";\n"):
            if statement.strip():
                spark.sql(statement)
        keep(name, spark_rows(spark, name), to)


def compiled(jars: str) -> tuple[str, str]:
    """Compile the Java writers, and return their class path and the path of their libraries."""
    import pyspark

    path = ":".join(glob.glob(jars + "/iceberg-spark-runtime-*.jar")) + ":" + os.path.dirname(pyspark.__file__) + "/jars/*"
    classes = tempfile.mkdtemp()
    subprocess.run(["javac", "-d", classes, "-cp", path, *glob.glob(HERE + "/*.java")], check=True)
    return classes, path


def by_java(spark: Any, jars: str, to: str) -> None:
    classes, path = compiled(jars)
    subprocess.run(["java", "-Xmx600m", "-cp", classes + ":" + path, "EqDeletes", WORK], check=True)
    for name in ["eq", "defaults"]:
        keep(name, spark_rows(spark, name), to)


def arrow_rows(scan: Any) -> dict[str, Any]:
    """Return the columns and rows of a scan of pyiceberg."""
    arrow = scan.to_arrow()
    return {"columns": arrow.column_names, "rows": sorted([list(row.values()) for row in arrow.to_pylist()], key=repr)}


def by_pyiceberg(to: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + WORK)
    catalog.create_namespace("n")
    data = pa.table({"id": pa.array(range(30), pa.int64()), "text": [f"text {i}" for i in range(30)]})
    table = catalog.create_table("n.py", data.schema, location="file://" + WORK + "/py")
    table.append(data)
    table.delete("id >= 10 and id < 15")
    table.overwrite(data.slice(0, 2), overwrite_filter="id < 5")
    os.makedirs(WORK + "/py/data", exist_ok=True)
    pq.write_table(data.slice(20, 4), WORK + "/py/data/plain.parquet")  # without field IDs: read by the name mapping
    table.add_files(["file://" + WORK + "/py/data/plain.parquet"])
    with table.update_schema() as change:
        change.rename_column("text", "body")
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "renamed").commit()

    found = {"": arrow_rows(table.scan()), "renamed": arrow_rows(table.scan().use_ref("renamed"))}
    for snapshot in table.snapshots():
        found[str(snapshot.snapshot_id)] = arrow_rows(table.scan(snapshot_id=snapshot.snapshot_id))
    keep("py", found, to)


def main() -> None:
    jars, to, *names = sys.argv[1:]
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    os.makedirs(to, exist_ok=True)
    if not names:
        by_pyiceberg(to)
    spark = session(jars)
    if not names:
        by_java(spark, jars, to)
    by_spark(spark, to, names)
    spark.stop()
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
