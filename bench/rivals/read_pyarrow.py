#!/usr/bin/env python3
"""read_pyarrow.py RANGES IN_FLIGHT: ranges of S3 objects by pyarrow.fs.S3FileSystem, IN_FLIGHT threads that read the next range each.

It is the quickest way that it has: reading row groups by ParquetFile with pre_buffer sends the same requests and decodes besides.
"""

import os
import sys
import threading

import pyarrow as pa
from pyarrow import fs

import measure


def stream(ranges, in_flight):
    scheme, _, host = os.environ["AWS_ENDPOINT_URL"].partition("://")
    s3 = fs.S3FileSystem(endpoint_override=host, scheme=scheme)
    files = {address: s3.open_input_file(address.removeprefix("s3://")) for address in dict.fromkeys(r[0] for r in ranges)}
    waiting, lock, done = iter(ranges), threading.Lock(), []

    def worker():
        while True:
            with lock:
                address, first, count = next(waiting, (None, 0, 0))
            if address is None:
                return
            done.append(len(files[address].read_at(count, first)))

    threads = [threading.Thread(target=worker) for _ in range(in_flight)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if len(done) != len(ranges):
        raise RuntimeError("a thread failed")
    yield sum(done), len(done)


measure.run("pyarrow " + pa.__version__, stream(list(measure.ranges(sys.argv[1])), int(sys.argv[2])), "bytes")
