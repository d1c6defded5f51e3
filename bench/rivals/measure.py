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


def run(name, stream):
    """Runs stream, which yields (rows, batches) as it goes, and prints one JSON object."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    rows = batches = 0
    first = None
    for r, b in stream:
        if first is None:
            first = time.perf_counter() - start
        rows += r
        batches += b
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "rival": name,
        "rows": rows,
        "batches": batches,
        "seconds": seconds,
        "user_seconds": after.ru_utime - before.ru_utime,
        "system_seconds": after.ru_stime - before.ru_stime,
        "first_batch_seconds": first,
        "peak_rss_bytes": after.ru_maxrss << 10,
    }
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # what the libraries do at exit is nobody's run


def touch(array):
    """Reads every byte of a numpy array, as fast as numpy can."""
    raw = np.ascontiguousarray(array).view(np.uint8)
    return int(raw.max()) if raw.size else 0
