#!/usr/bin/env python3
"""read_azure.py RANGES IN_FLIGHT: the blobs that hold the ranges, whole, by Azure's own library with max_concurrency.

Each download is of one blob in parts, IN_FLIGHT of them at once, into a file in memory.
"""

import os
import sys
import tempfile

from azure.storage.blob import BlobServiceClient

import measure

PART = 16 << 20  # bytes, as in our store


def downloads(ranges, in_flight):
    service = BlobServiceClient.from_connection_string(
        os.environ["AZURE_STORAGE_CONNECTION_STRING"], max_single_get_size=PART, max_chunk_get_size=PART
    )
    with tempfile.TemporaryDirectory(dir="/dev/shm") as root:
        for path in measure.whole(ranges):
            container, _, name = path.removeprefix("az://").partition("/")
            with open(os.path.join(root, "blob"), "wb") as file:
                service.get_blob_client(container, name).download_blob(max_concurrency=in_flight).readinto(file)
            yield os.path.getsize(file.name), 1


measure.run("azure-storage-blob max_concurrency", downloads(list(measure.ranges(sys.argv[1])), int(sys.argv[2])), "bytes")
