#!/usr/bin/env python3
"""decode_polars.py DIR: every row by polars' streaming scan, one thread."""

import os
import sys

os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

import measure


def frames(directory):
    for frame in pl.scan_parquet(measure.files(directory)).collect_batches(chunk_size=8192, maintain_order=False):
        yield len(frame), 1


measure.run("polars " + pl.__version__, frames(sys.argv[1]))
