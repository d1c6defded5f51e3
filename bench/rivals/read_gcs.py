#!/usr/bin/env python3
"""read_gcs.py RANGES IN_FLIGHT: the objects that hold the ranges, whole, by the transfer manager of Google's own library.

Each download is of one object in parts, IN_FLIGHT of them at once, into a file in memory.
"""

import os
import sys
import tempfile

from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager

import measure

PART = 16 << 20  # bytes, as in our store


def downloads(ranges, in_flight):
    client = storage.Client(credentials=AnonymousCredentials(), project="bench")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as root:
        for path in measure.whole(ranges):
            bucket, _, name = path.removeprefix("gs://").partition("/")
            blob, file = client.bucket(bucket).get_blob(name), os.path.join(root, "object")
            transfer_manager.download_chunks_concurrently(
                blob, file, chunk_size=PART, max_workers=in_flight, worker_type=transfer_manager.THREAD
            )
            yield os.path.getsize(file), 1


measure.run("google-cloud-storage transfer_manager", downloads(list(measure.ranges(sys.argv[1])), int(sys.argv[2])), "bytes")
