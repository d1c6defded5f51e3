#!/usr/bin/env python3
"""decode_duckdb.py DIR: every row to Arrow by DuckDB, one thread."""

import sys

import duckdb
import pyarrow  # noqa: F401  imported here so that its import is not counted

import measure


def batches(directory):
    con = duckdb.connect(config={"threads": 1})
    for batch in con.sql("select * from read_parquet(?)", params=[measure.files(directory)]).to_arrow_reader(8192):
        yield len(batch), 1


measure.run("duckdb " + duckdb.__version__, batches(sys.argv[1]))
