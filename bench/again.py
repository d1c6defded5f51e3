"""Writers of sets beside pyarrow: the same kinds of rows, of another seed."""

import os
import subprocess
import tempfile

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

SPARK = """
import os, pathlib, shutil, sys
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.sql import SparkSession
source, target, codec, block, scratch = sys.argv[1:]
options = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": scratch, "spark.log.level": "OFF"}
builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "4g")
for key, value in options.items():
    builder = builder.config(key, value)
frame = builder.getOrCreate().read.parquet(source).coalesce(1)
frame.write.option("compression", codec).option("parquet.block.size", block).parquet(scratch + "/out")
[part] = pathlib.Path(scratch, "out").glob("*.parquet")
shutil.move(part, target)
"""


class NoWriter(Exception):
    """A writer that cannot be had here, such as Spark without Java."""


def write(writer, rows, path, group, compression):
    """Writes an Arrow table with about group rows in a row group."""
    WRITERS[writer](rows, path, group, compression)


def by_duckdb(rows, path, group, compression):
    with duckdb.connect(config={"threads": 1}) as db:
        db.from_arrow(rows).write_parquet(str(path), row_group_size=group, compression=compression)


def by_polars(rows, path, group, compression):
    decoded = pa.table([_decoded(c.combine_chunks()) for c in rows.columns], rows.column_names)  # else readers get its categories
    polars.from_arrow(decoded).write_parquet(path, row_group_size=group, compression=compression)


def plainly(rows, path, group, compression):
    """pyarrow without dictionaries, of columns that cannot be null: their nulls become zeros."""
    columns = [_decoded(c.combine_chunks()) for c in rows.columns]
    filled = [c.fill_null(0) if c.null_count else c for c in columns]
    schema = pa.schema([pa.field(name, c.type, nullable=False) for name, c in zip(rows.column_names, filled)])
    pq.write_table(
        pa.table(filled, schema=schema), path, row_group_size=group, compression=compression, use_dictionary=False, store_schema=False
    )


def by_spark(rows, path, group, compression):
    """Spark cuts row groups by their bytes, before compression."""
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-spark-") as scratch:
        source = f"{scratch}/rows.parquet"
        decoded = pa.table([_decoded(c.combine_chunks()) for c in rows.columns], rows.column_names)
        pq.write_table(decoded, source, store_schema=False)
        block = decoded.nbytes * group // len(rows)
        command = [_spark_python(), "-c", SPARK, source, str(path), compression, str(block), scratch]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            reason = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
            raise NoWriter(f"Spark did not write {path.name}: {reason}")


WRITERS = {"duckdb": by_duckdb, "polars": by_polars, "plain": plainly, "spark": by_spark}


def _decoded(column):
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _spark_python():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    venv = subprocess.run([f"{root}/tools/venv", "testdata/requirements.txt"], cwd=root, stdout=subprocess.PIPE, text=True)
    if venv.returncode != 0:
        raise NoWriter("the packages of Spark could not be installed")
    return f"{venv.stdout.strip()}/bin/python"
