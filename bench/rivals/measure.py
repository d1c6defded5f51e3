"""What every rival shares: the files of a set, and how its run is measured and printed.

Imports are not counted, and everything from opening the files on is: the same as `shardfeed bench --json` counts for itself.
"""

import json
import os
import pathlib
import resource
import sys
import time

import numpy as np


def files(directory):
    return [str(f) for f in sorted(pathlib.Path(directory).glob("*.parquet"))]


def ranges(path):
    """The ranges of a file that has in each line an address, the first byte and the number of bytes, with tabs between."""
    for line in pathlib.Path(path).read_text().splitlines():
        address, first, count = line.split("\t")
        yield address, int(first), int(count)


def whole(ranges):
    """The addresses of the objects that hold the ranges: each as often as the ranges pass over it."""
    last = None
    for address, first, _ in ranges:
        if last is None or address != last[0] or first < last[1]:
            yield address
        last = address, first


def run(name, stream, counted="rows", children=False):
    """Runs stream, which yields (rows, batches) as it goes, or (bytes, ranges), and prints one JSON object.

    Counts the processor time of this process, or of the ones that it waited for.
    """
    who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    before, start = resource.getrusage(who), time.perf_counter()
    total = batches = 0
    first = None
    for n, b in stream:
        if first is None:
            first = time.perf_counter() - start
        total += n
        batches += b
    seconds, after = time.perf_counter() - start, resource.getrusage(who)
    result = {
        "rival": name,
        counted: total,
        "batches": batches,
        "seconds": seconds,
        "user_seconds": after.ru_utime - before.ru_utime,
        "system_seconds": after.ru_stime - before.ru_stime,
        "first_batch_seconds": first,
        "peak_rss_bytes": after.ru_maxrss << 10,
    }
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the exit code of libraries is not part of a run


def touch(array):
    """Reads every byte of a numpy array, as fast as numpy can."""
    raw = np.ascontiguousarray(array).view(np.uint8)
    return int(raw.max()) if raw.size else 0
