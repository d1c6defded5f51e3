#!/usr/bin/env python3
"""decode_arrow_rs.py DIR: every row to Arrow by arrow-rs (through arro3), one thread."""

import importlib.metadata
import sys

import arro3.io

import measure


def batches(directory):
    for path in measure.files(directory):
        for batch in arro3.io.read_parquet(path, batch_size=8192):
            yield batch.num_rows, 1


measure.run("arrow-rs by arro3 " + importlib.metadata.version("arro3-io"), batches(sys.argv[1]))
