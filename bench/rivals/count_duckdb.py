#!/usr/bin/env python3
"""count_duckdb.py DIR WHERE: how many rows pass a filter, by DuckDB, one thread."""

import sys

import duckdb

import measure


def rows(directory, where):
    con = duckdb.connect(config={"threads": 1})
    yield con.sql(f"select count(*) from read_parquet(?) where {where}", params=[measure.files(directory)]).fetchall()[0][0], 1


measure.run("duckdb " + duckdb.__version__, rows(*sys.argv[1:3]))
