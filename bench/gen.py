#!/usr/bin/env python3
"""gen.py [--out DIR] [--scale 1.0] [SET...]: makes the data sets of the benchmarks, written by pyarrow without page index.

    shop        20 files x 5,000 rows, 2 row groups, snappy: unique_id, img_jpg (JPEG 224 x 224, about 15 kB), title, tokens (text),
                token_ids list<int32> of 16 to 64, label (of 1,000), price; dictionary only for the label
    shop_plain  the same values without compression, half the files
    tokens      16 files x 12,500 documents, 5 row groups, zstd: doc_id, token_ids list<int32> of 512 to 2,048 (small ids more often)
    tabular     8 files x 250,000 rows, 5 row groups, snappy, sorted by label: 40 numbers (id and 13 int64, 16 float, 10 double, every
                fourth with 5 % nulls) and 3 dictionary strings
    tall        40 files as in tabular (for an epoch of some 10 s)
    mixed       8 files x 163,840 rows, 5 row groups, pyarrow's defaults (snappy, dictionaries if they fit): id, title, category,
                token_ids list<int32> of 16 to 64, embedding list<float> of 128, and numbers with nulls; about 1 GB in memory
    many        2,000 files x 40 rows: id, label (for the time to the first batch)
    large       20 files of row groups of 8 to 64 MB, 5 GB in all: id, blob, token_ids (for the memory limit)
    ranges      4 files as in large, 1 GB in all (for reading from servers)
    wide        4 files x 24,000 rows, 3 row groups: 1,000 columns of numbers, 32 to 64 kB to a chunk
    shards      10,000 files as in many
    documents   8 files x 5,000 documents, one row group, zstd, lengths log-normal: doc_id,
                token_ids list<int32> (median 1,000, sigma 1.5), prompt_ids list<int32>
                (median 300, sigma 1, at most 4,096)
    sources     64 files x 25,000 rows as in tabular, 10 row groups (for mixtures)
    products    8 files x 1,000 rows, 2 row groups: id, img_jpg (the pictures of shop), label
    photos      8 files x 400 rows, 2 row groups: id, img_jpg (JPEG of about 500 x 375, half a byte
                a pixel: photos.py), label
    scenes      4 files x 240 photos, 2 row groups: id, image, mask (PNG of 21 classes), boxes and
                labels (1 to 14)
    short       8 files x 150,000 rows, 6 row groups, pyarrow's defaults: id, title, query,
                token_ids list<int32> of 8 to 40, and numbers with nulls; about 370 bytes a row
    texts       6 files x 1,500 documents, 3 row groups, zstd: id, text (English and code of
                tokenize/testdata/texts.py, 1,500 to 9,000 characters)
    few_large   8 files as in tokens; many_small 200 files x 250 documents, one row group (for
                requests to the hub, as the next)
    small_groups  20 files x 5,000 documents as in tokens, 50 row groups

SET_by_WRITER is SET with other random numbers, as another writer writes it: duckdb, polars or
spark, or plain, which is pyarrow without dictionaries and without nulls.

Deterministic for a version of pyarrow. --scale shrinks the number of files. A set that is complete for this scale is not made again.
"""

import argparse
import concurrent.futures
import io
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from photos import photo
from PIL import Image

import again

LABELS = [f"분류{i // 100}>중분류{i // 10 % 10}>소분류{i % 10}" for i in range(1000)]
VOCABULARY = 50_257
PICTURES = {"shop": 1000, "shop_plain": 1000, "products": 1000, "photos": 400, "scenes": 400}  # distinct ones; each is used many times

# set -> files, rows of a file, row groups of a file, options of the writer
SETS = {
    "shop": (20, 5_000, 2, {"compression": "snappy", "use_dictionary": ["label"]}),
    "shop_plain": (10, 5_000, 2, {"compression": "none", "use_dictionary": ["label"]}),
    "tokens": (16, 12_500, 5, {"compression": "zstd"}),
    "tabular": (8, 250_000, 5, {"compression": "snappy"}),
    "tall": (40, 250_000, 5, {"compression": "snappy"}),
    "mixed": (8, 163_840, 5, {"compression": "snappy"}),
    "many": (2_000, 40, 1, {"compression": "snappy"}),
    "large": (20, 0, 0, {"compression": "snappy"}),
    "ranges": (4, 0, 0, {"compression": "snappy"}),
    "wide": (4, 24_000, 3, {"compression": "snappy", "use_dictionary": False}),
    "shards": (10_000, 40, 1, {"compression": "snappy"}),
    "documents": (8, 5_000, 1, {"compression": "zstd"}),
    "sources": (64, 25_000, 10, {"compression": "snappy"}),
    "products": (8, 1_000, 2, {"compression": "snappy", "use_dictionary": ["label"]}),
    "photos": (8, 400, 2, {"compression": "snappy", "use_dictionary": ["label"]}),
    "scenes": (4, 240, 2, {"compression": "none"}),
    "short": (8, 150_000, 6, {"compression": "snappy"}),
    "texts": (6, 1_500, 3, {"compression": "zstd"}),
    "few_large": (8, 12_500, 5, {"compression": "zstd"}),
    "many_small": (200, 250, 1, {"compression": "zstd"}),
    "small_groups": (20, 5_000, 50, {"compression": "zstd"}),
}
BY = "_by_"  # between a set and its writer, one of again.WRITERS


def words():
    """Words of the texts: Korean syllables and English."""
    r = np.random.default_rng(7)
    syllables = [chr(0xAC00 + int(x)) for x in r.integers(0, 11_172, 400)]
    korean = ["".join(r.choice(syllables, 2 + i % 3)) for i in range(300)]
    english = [f"{a}{b}" for a in ("cotton", "linen", "denim", "wool", "slim", "light", "mini", "new") for b in range(25)]
    return np.array(korean + english, dtype=object)


WORDS = words()


def picture(number):
    """A JPEG of smooth noise, 224 x 224: as large as a small photograph, and as hard to compress again."""
    r = np.random.default_rng([224, number])
    smooth = Image.fromarray(r.integers(0, 256, (28, 28, 3), dtype=np.uint8)).resize((224, 224), Image.Resampling.BICUBIC)
    grain = np.asarray(smooth, dtype=np.int16) + r.integers(-6, 7, (224, 224, 1), dtype=np.int16)
    out = io.BytesIO()
    Image.fromarray(grain.clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=int(r.integers(80, 88)))
    return out.getvalue()


def token_lists(r, lengths, vocabulary):
    """Lists of ids, small ones more often, as the frequencies of words are."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array((vocabulary ** r.random(offsets[-1]) - 1).astype(np.int32)))


def texts(r, rows, low, high):
    """Texts of low to high words."""
    counts = r.integers(low, high, rows)
    picked = WORDS[(len(WORDS) ** r.random(int(counts.sum()))).astype(np.int64) - 1]
    ends = np.cumsum(counts)
    return [" ".join(picked[e - n : e]) for n, e in zip(counts, ends)]


def some_null(r, values, share=0.05):
    return pa.array(values, mask=r.random(len(values)) < share)


def shop(r, file, rows, files, pictures):
    return {
        "unique_id": pa.array([f"N{file * rows + i:011d}" for i in range(rows)]),
        "img_jpg": pa.array([pictures[j] for j in r.integers(0, len(pictures), rows)], pa.binary()),
        "title": texts(r, rows, 3, 9),
        "tokens": texts(r, rows, 16, 65),
        "token_ids": token_lists(r, r.integers(16, 65, rows), 32_000),
        "label": pa.array([LABELS[j] for j in r.integers(0, 1000, rows)]),
        "price": np.round(np.exp(r.normal(10, 1, rows))),
    }


def products(r, file, rows, files, pictures):
    return {
        "id": np.arange(file * rows, (file + 1) * rows),
        "img_jpg": pa.array([pictures[j] for j in r.integers(0, len(pictures), rows)], pa.binary()),
        "label": pa.array([LABELS[j] for j in r.integers(0, 1000, rows)]),
    }


def scenes(r, file, rows, files, pictures):
    each = [scene(r, pictures[j]) for j in r.integers(0, len(pictures), rows)]
    ids = np.arange(file * rows, (file + 1) * rows)
    return {"id": ids} | {name: pa.array([row[name] for row in each]) for name in each[0]}


def scene(r, jpeg):
    """A photograph with a mask of areas of 40 pixels, and boxes."""
    w, h = Image.open(io.BytesIO(jpeg)).size
    classes = Image.fromarray(r.integers(0, 21, (h // 40 + 1, w // 40 + 1), np.uint8))
    mask = io.BytesIO()
    classes.resize((w, h), Image.Resampling.NEAREST).save(mask, "PNG")
    k = int(r.integers(1, 15))
    x, y = r.uniform(0, w - 20, k), r.uniform(0, h - 20, k)
    boxes = np.stack([x, y, x + r.uniform(5, 200, k), y + r.uniform(5, 200, k)], 1).clip(0, [w, h, w, h])
    return {"image": jpeg, "mask": mask.getvalue(), "boxes": boxes.tolist(), "labels": r.integers(0, 80, k).tolist()}


def tokens(r, file, rows, files, pictures):
    return {
        "doc_id": np.arange(file * rows, (file + 1) * rows),
        "token_ids": token_lists(r, r.integers(512, 2049, rows), VOCABULARY),
    }


def documents(r, file, rows, files, pictures):
    return {
        "doc_id": np.arange(file * rows, (file + 1) * rows),
        "token_ids": token_lists(r, log_normal(r, rows, 1_000, 1.5, 200_000), VOCABULARY),
        "prompt_ids": token_lists(r, log_normal(r, rows, 300, 1.0, 4_096), VOCABULARY),
    }


def log_normal(r, rows, median, sigma, longest):
    """Lengths of documents, as they are in most corpora."""
    return np.exp(r.normal(np.log(median), sigma, rows)).clip(1, longest).astype(np.int32)


def tabular(r, file, rows, files, pictures):
    ids = file * rows + np.arange(rows)
    columns = {"id": pa.array(ids)}
    for k in range(39):
        if k < 13:
            values = r.integers(0, 10 ** (k % 7 + 2), rows)
        elif k < 29:
            values = r.normal(k, 3, rows).astype(np.float32)
        else:
            values = np.round(r.exponential(50, rows), 2)
        columns[f"c{k:02d}"] = some_null(r, values) if k % 4 == 3 else pa.array(values)
    columns["label"] = categories(ids * 1000 // (rows * files), LABELS)
    columns["city"] = categories(r.integers(0, 200, rows), [f"city-{i:03d}" for i in range(200)])
    columns["device"] = categories(r.integers(0, 20, rows), [f"device {i}" for i in range(20)])
    return columns


def categories(codes, names):
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))


def mixed(r, file, rows, files, pictures):
    embedding = pa.array((r.standard_normal(rows * 128) * 0.1).astype(np.float32))
    return {
        "id": np.arange(file * rows, (file + 1) * rows),
        "title": texts(r, rows, 3, 9),
        "category": pa.array([LABELS[j] for j in (1000 * r.random(rows) * r.random(rows)).astype(int)]),
        "label": some_null(r, r.integers(0, 100, rows).astype(np.int32)),
        "price": some_null(r, np.round(np.exp(r.normal(3, 1.5, rows)), 2), 0.1),
        "clicks": some_null(r, r.integers(0, 1_000_000, rows)),
        "token_ids": token_lists(r, r.integers(16, 65, rows), VOCABULARY),
        "embedding": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * 128), embedding),
    }


def short(r, file, rows, files, pictures):
    return {
        "id": np.arange(file * rows, (file + 1) * rows),
        "title": texts(r, rows, 8, 24),
        "query": texts(r, rows, 4, 15),
        "token_ids": token_lists(r, r.integers(8, 41, rows), 32_000),
        "label": r.integers(0, 100, rows).astype(np.int32),
        "price": some_null(r, np.round(np.exp(r.normal(3, 1.5, rows)), 2), 0.1),
        "clicks": some_null(r, r.integers(0, 1_000_000, rows)),
    }


def documents_of_texts(r, file, rows, files, pictures):
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "tokenize" / "testdata"))
    import texts  # its documents need packages of Debian

    found = texts.documents("english", 30_000_000) + texts.documents("code", 30_000_000)
    return {"id": np.arange(file * rows, (file + 1) * rows), "text": [found[i] for i in r.permutation(len(found))[:rows]]}


def many(r, file, rows, files, pictures):
    return {"id": np.arange(file * rows, (file + 1) * rows), "label": pa.array([LABELS[(file * 7 + i) % 1000] for i in range(rows)])}


def wide(r, file, rows, files, pictures):
    kinds = (np.float64, np.float32, np.int64, np.float32)
    return {f"c{k:03d}": (r.standard_normal(rows) * 1e6).astype(kinds[k % 4]) for k in range(1000)}


def write_large(path, file):
    """Row groups of 8, 16, 32 and 64 MB in turn, 256 MB in a file."""
    r = np.random.default_rng([5, file])
    width = 2048
    with pq.ParquetWriter(
        path, pa.schema([("id", pa.int64()), ("blob", pa.binary()), ("token_ids", pa.list_(pa.int32()))]), compression="snappy"
    ) as out:
        number = 0
        for megabytes in (8, 16, 32, 64, 64, 32, 16, 8, 16):
            rows = megabytes * 1_000_000 // (width + 400)
            blobs = pa.Array.from_buffers(
                pa.binary(), rows, [None, pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * width), pa.py_buffer(r.bytes(rows * width))]
            )
            ids = pa.array(file * 1_000_000 + number + np.arange(rows))
            out.write_table(pa.table([ids, blobs, token_lists(r, np.full(rows, 100), VOCABULARY)], schema=out.schema), row_group_size=rows)
            number += rows


# set -> its rows, and the first number of its random seed, before the writer's name
MAKERS = {
    "shop": (shop, 1),
    "shop_plain": (shop, 1),
    "tokens": (tokens, 2),
    "tabular": (tabular, 3),
    "tall": (tabular, 3),
    "mixed": (mixed, 4),
    "many": (many, 0),
    "wide": (wide, 6),
    "shards": (many, 0),
    "documents": (documents, 7),
    "sources": (tabular, 3),
    "products": (products, 8),
    "photos": (products, 8),
    "scenes": (scenes, 12),
    "short": (short, 9),
    "texts": (documents_of_texts, 10),
    "few_large": (tokens, 12),
    "many_small": (tokens, 13),
    "small_groups": (tokens, 11),
}


def write(name, file, files, directory, pictures):
    base, _, writer = name.partition(BY)
    _, rows, groups, options = SETS[base]
    path = directory / f"part-{file:05d}.parquet"
    if base not in MAKERS:
        write_large(path, file)
        return
    make, number = MAKERS[base]
    r = np.random.default_rng([number, file, *writer.encode()])
    table = pa.table(make(r, file, rows, files, pictures))
    if writer:
        again.write(writer, table, path, rows // groups, options["compression"])
    else:
        pq.write_table(table, path, row_group_size=rows // groups, store_schema=False, **options)


def make(name, out, scale, processes):
    """Makes one set unless it is there: it is written beside its place and renamed when complete."""
    base = name.partition(BY)[0]
    target, files = out / name, max(2, round(SETS[base][0] * scale))
    stamp = target / "_complete.json"
    if stamp.exists() and json.loads(stamp.read_text()) == {"files": files}:
        return target
    print(f"bench: making {name}, {files} files", file=sys.stderr)
    shutil.rmtree(target, ignore_errors=True)
    unfinished = out / f"{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        draw = photo if base in ("photos", "scenes") else picture
        pictures = list(pool.map(draw, range(PICTURES.get(base, 0)), chunksize=50))
        jobs = [pool.submit(write, name, file, files, unfinished, pictures) for file in range(files)]
        for job in jobs:
            job.result()
    (unfinished / stamp.name).write_text(json.dumps({"files": files}))
    unfinished.rename(target)
    return target


def default_directory():
    return pathlib.Path(os.environ.get("SHARDFEED_BENCH_DATA") or pathlib.Path(__file__).parent / "data")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[], metavar="SET", help=f"of {', '.join(SETS)}; all when none is named")
    parser.add_argument("--out", type=pathlib.Path, default=default_directory())
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    for name in args.sets or SETS:
        make(name, args.out, args.scale, args.processes)


if __name__ == "__main__":
    main()
