#!/usr/bin/env python3
"""hdfs_cat.py RANGES JAVA...: the files of the ranges by `hdfs dfs -cat`, which JAVA... is with its class path; the JVM's start counts."""

import subprocess
import sys

import measure


def stream(ranges, java):
    files = dict.fromkeys(address for address, _, _ in ranges)
    subprocess.run([*java, "org.apache.hadoop.fs.FsShell", "-cat", *files], stdout=subprocess.DEVNULL, check=True)
    yield sum(count for _, _, count in ranges), len(files)


measure.run("hdfs dfs -cat", stream(list(measure.ranges(sys.argv[1])), sys.argv[2:]), "bytes", children=True)
