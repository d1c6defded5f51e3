#!/usr/bin/env python3
"""read_s3fs.py RANGES IN_FLIGHT cat_ranges|cat_file: ranges of S3 objects by s3fs, IN_FLIGHT of them at once.

cat_ranges is fsspec's function for this: it returns the ranges of an object together. cat_file drops each range when it is there and
starts the next at once, which is as quick as s3fs can be.
"""

import asyncio
import itertools
import sys

import fsspec.asyn
import s3fs

import measure


def by_cat_ranges(fs, ranges, in_flight):
    for _, group in itertools.groupby(ranges, key=lambda r: r[0]):
        paths, firsts, counts = zip(*group)
        ends = [first + count for first, count in zip(firsts, counts)]
        for data in fs.cat_ranges(list(paths), list(firsts), ends, batch_size=in_flight, on_error="raise"):
            yield len(data), 1


def by_cat_file(fs, ranges, in_flight):
    waiting = iter(ranges)

    async def worker():
        done = [0, 0]
        for path, first, count in waiting:
            done[0] += len(await fs._cat_file(path, start=first, end=first + count))
            done[1] += 1
        return done

    async def workers():
        return await asyncio.gather(*(worker() for _ in range(in_flight)))

    yield from fsspec.asyn.sync(fs.loop, workers)


ranges, in_flight, way = list(measure.ranges(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
fs = s3fs.S3FileSystem(use_listings_cache=False, config_kwargs={"max_pool_connections": max(10, in_flight)})
stream = {"cat_ranges": by_cat_ranges, "cat_file": by_cat_file}[way]
measure.run(f"s3fs {s3fs.__version__} {way}", stream(fs, ranges, in_flight), "bytes")
