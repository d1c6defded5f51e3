"""The data of models.py in parquet: photographs, documents of tokens, numbers and categories."""

import concurrent.futures
import os
import pathlib
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from photos import photo

VOCABULARY = 50_257
NUMBERS, CATEGORIES = [f"d{i:02d}" for i in range(13)], [f"c{i:02d}" for i in range(26)]
CARDINALITIES = [10_000_000] * 5 + [1_000_000] * 4 + [100_000] * 5 + [10_000] * 5 + [1_000] * 4 + [100] * 3

# set -> size -> files, row groups of a file, rows of a row group
SIZES = {
    "photos": {"large": (48, 4, 250), "small": (2, 2, 16)},
    "tokens": {"large": (16, 8, 2_000), "small": (2, 2, 100)},
    "features": {"large": (32, 10, 65_536), "small": (2, 2, 512)},
}
DISTINCT = {"large": 1_500, "small": 2}  # photographs


def of(case):
    """The set that a case reads."""
    return {"gpt": "tokens", "dlrm": "features"}.get(case, "photos")


def directory(data, name, size):
    return data / f"{name}-{size}"


def jpegs(span):
    return [photo(number) for number in span]


def photos(r, rows, pool):
    numbers = r.integers(0, len(pool), rows)
    return {"jpeg": pa.array([pool[n] for n in numbers], pa.binary()), "label": numbers % 1000}


def tokens(r, rows, pool):
    """Documents of about 600 ids, log-normal, small ids more often."""
    lengths = np.maximum(1, r.lognormal(np.log(600) - 0.5, 1, rows)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ids = (VOCABULARY ** r.random(offsets[-1], np.float32) - 1).astype(np.int32)
    return {"token_ids": pa.ListArray.from_arrays(pa.array(offsets), pa.array(ids))}


def features(r, rows, pool):
    """Categories as hashed ids are: few are frequent, and they have no order."""
    columns = {name: r.standard_normal(rows, np.float32) for name in NUMBERS}
    for k, (name, most) in enumerate(zip(CATEGORIES, CARDINALITIES)):
        ranks = (np.float32(most) ** r.random(rows, np.float32) - 1).astype(np.int64)
        columns[name] = ((ranks * 2654435761 + k * 97) & 0x7FFFFFFF).astype(np.int32)
    columns["label"] = (r.random(rows, np.float32) < 0.25).astype(np.float32)
    return columns


COLUMNS = {"photos": photos, "tokens": tokens, "features": features}


def write(path, name, size, pool):
    _, groups, rows = SIZES[name][size]
    r = np.random.default_rng([ord(name[0]), int(path.stem)])
    table = pa.table(COLUMNS[name](r, groups * rows, pool))
    compression = "none" if name == "photos" else "snappy"
    pq.write_table(table, path, row_group_size=rows, compression=compression, use_dictionary=False)


def make(data, name, size):
    """Makes a set if it is not there."""
    done = directory(data, name, size)
    if done.exists():
        return
    part = done.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    cores = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(cores) as workers:
        spans = [range(first, DISTINCT[size], 8 * cores) for first in range(min(8 * cores, DISTINCT[size]))]
        pool = [jpeg for some in workers.map(jpegs, spans) for jpeg in some] if name == "photos" else []
    paths = [part / f"{k}.parquet" for k in range(SIZES[name][size][0])]
    with concurrent.futures.ThreadPoolExecutor(cores) as writers:
        for _ in writers.map(lambda path: write(path, name, size, pool), paths):
            pass
    part.rename(done)
