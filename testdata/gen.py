#!/usr/bin/env python3
"""Writes testdata/shop: a small shop's catalogue as eight parquet shards, each by the writer named in SHARDS.

    gen.py [OUT]        OUT is testdata/shop by default (make testdata)

Every value follows from the row's number alone, so the same versions of the writers make the same files.
"""

import io
import itertools
import pathlib
import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

# Rows of each row group of each shard, and who writes it with which settings.
SHARDS = [
    ((96, 96, 60), "pyarrow", {"compression": "snappy", "write_page_index": True, "data_page_size": 4096}),
    ((120, 120), "pyarrow", {"compression": "zstd", "data_page_version": "2.0"}),
    ((80, 80, 80, 24), "pyarrow", {"compression": "none", "use_dictionary": ["label"], "write_page_checksum": True}),
    (
        (100, 100, 40),
        "pyarrow",
        {
            "compression": "gzip",
            "use_dictionary": False,
            "column_encoding": {
                "unique_id": "DELTA_BYTE_ARRAY",
                "title": "DELTA_LENGTH_BYTE_ARRAY",
                "img_jpg": "PLAIN",
                "label": "PLAIN",
                "token_ids.list.element": "DELTA_BINARY_PACKED",
                "price": "BYTE_STREAM_SPLIT",
            },
        },
    ),
    ((90, 90, 90), "duckdb", {"compression": "snappy"}),
    ((128, 100), "duckdb", {"compression": "zstd"}),
    ((84, 84, 84), "polars", {"compression": "zstd"}),
    ((70, 70, 70, 70), "polars", {"compression": "snappy"}),
]

# Categories as "department>kind", the shape of the picture, and the words of the titles in both
# languages.
LABELS = [
    ("의류>티셔츠", "shirt", ("면 티셔츠", "cotton tee")),
    ("의류>청바지", "trousers", ("슬림 청바지", "slim jeans")),
    ("의류>원피스", "dress", ("린넨 원피스", "linen dress")),
    ("신발>운동화", "shoe", ("경량 운동화", "light trainers")),
    ("가방>백팩", "bag", ("방수 백팩", "waterproof backpack")),
    ("주방>머그컵", "mug", ("도자기 머그컵", "stoneware mug")),
    ("주방>냄비", "pot", ("스테인리스 냄비", "steel pot")),
    ("도서>소설", "book", ("장편 소설", "a novel")),
    ("식품>과일", "fruit", ("제철 과일", "seasonal fruit")),
    ("가전>조명", "lamp", ("침대 조명", "bedside lamp")),
]
COLOURS = [
    ("빨강", "red", (198, 52, 58)),
    ("파랑", "blue", (46, 92, 178)),
    ("초록", "green", (60, 140, 84)),
    ("노랑", "yellow", (226, 190, 60)),
    ("회색", "grey", (128, 132, 138)),
    ("검정", "black", (40, 42, 48)),
]
SIZES = ["S", "M", "L", "XL", "free"]

# Outlines on a 48 x 48 picture; each kind is drawn from boxes and ellipses (x0, y0, x1, y1).
OUTLINES = {
    "shirt": [("rectangle", (15, 12, 33, 40)), ("rectangle", (7, 12, 41, 20))],
    "trousers": [("rectangle", (15, 8, 33, 16)), ("rectangle", (15, 16, 22, 42)), ("rectangle", (26, 16, 33, 42))],
    "dress": [("rectangle", (18, 8, 30, 22)), ("ellipse", (9, 18, 39, 46))],
    "shoe": [("rectangle", (8, 16, 20, 34)), ("ellipse", (8, 22, 42, 38))],
    "bag": [("rectangle", (12, 14, 36, 42)), ("ellipse", (18, 6, 30, 20))],
    "mug": [("rectangle", (10, 14, 32, 40)), ("ellipse", (28, 18, 42, 34))],
    "pot": [("rectangle", (8, 20, 40, 38)), ("rectangle", (2, 22, 46, 26))],
    "book": [("rectangle", (12, 8, 36, 42)), ("rectangle", (12, 8, 16, 42))],
    "fruit": [("ellipse", (9, 12, 39, 42)), ("rectangle", (22, 5, 26, 14))],
    "lamp": [("ellipse", (11, 6, 37, 26)), ("rectangle", (22, 26, 26, 42))],
}

SCHEMA = pa.schema(
    [
        ("unique_id", pa.string()),
        ("img_jpg", pa.binary()),
        ("title", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("label", pa.string()),
        ("price", pa.float64()),
    ]
)


def picture(rng, kind, colour):
    """A small JPEG of the product on a light ground, with noise so that no two are alike."""
    ground = rng.integers(215, 246, 3)
    image = Image.new("RGB", (48, 48), tuple(int(x) for x in ground))
    draw = ImageDraw.Draw(image)
    shade = rng.integers(-12, 13, 3)
    fill = tuple(int(x) for x in np.clip(np.array(colour) + shade, 0, 255))
    dx, dy = (int(x) for x in rng.integers(-3, 4, 2))
    for form, (x0, y0, x1, y1) in OUTLINES[kind]:
        getattr(draw, form)((x0 + dx, y0 + dy, x1 + dx, y1 + dy), fill=fill)
    noisy = np.asarray(image, dtype=np.int16) + rng.integers(-3, 4, (48, 48, 1), dtype=np.int16)
    out = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=int(rng.integers(60, 80)))
    return out.getvalue()


def product(number):
    """The row with this number; rows differ in every column, and about one price in ten is unknown."""
    rng = np.random.default_rng([2026, number])
    label, kind, (korean, english) = LABELS[int(rng.integers(len(LABELS)))]
    korean_colour, english_colour, rgb = COLOURS[int(rng.integers(len(COLOURS)))]
    size = SIZES[int(rng.integers(len(SIZES)))]
    vocabulary = 32_000
    tokens = (vocabulary ** rng.random(int(rng.integers(4, 40))) - 1).astype(np.int32)
    price = None if rng.random() < 0.1 else float(np.round(np.exp(rng.normal(9.6, 0.8)), -2))
    return {
        "unique_id": f"N{number:011d}",
        "img_jpg": picture(rng, kind, rgb),
        "title": f"{korean_colour} {korean} {size} / {english_colour} {english}",
        "token_ids": tokens.tolist(),
        "label": label,
        "price": price,
    }


def write_pyarrow(table, groups, path, options):
    with pq.ParquetWriter(path, table.schema, store_schema=False, **options) as out:
        start = 0
        for rows in groups:
            out.write_table(table.slice(start, rows), row_group_size=rows)
            start += rows


def write_duckdb(table, groups, path, options):
    # DuckDB closes a row group at the end of an input chunk, so the chunks are cut where the groups
    # shall end.
    starts = np.cumsum((0, *groups))
    batches = [table.slice(a, b - a).combine_chunks().to_batches()[0] for a, b in itertools.pairwise(starts)]
    con = duckdb.connect(config={"threads": 1})
    con.register("product", pa.RecordBatchReader.from_batches(table.schema, batches))
    con.execute(f"copy (select * from product) to '{path}' (format parquet, row_group_size {min(groups)}, codec {options['compression']})")


def write_polars(table, groups, path, options):
    pl.from_arrow(table).write_parquet(path, row_group_size=groups[0], statistics=True, **options)


WRITERS = {"pyarrow": write_pyarrow, "duckdb": write_duckdb, "polars": write_polars}


def check(path, table, groups):
    """Reads the shard back: the writer must have made the row groups asked for and kept every value."""
    file = pq.ParquetFile(path)
    got = tuple(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))
    if got != groups:
        raise SystemExit(f"{path}: row groups {got}, want {groups}")
    if file.read().cast(SCHEMA) != table:
        raise SystemExit(f"{path}: values changed on the way")


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "shop"
    out.mkdir(parents=True, exist_ok=True)
    number = 0
    for shard, (groups, writer, options) in enumerate(SHARDS):
        rows = sum(groups)
        table = pa.Table.from_pylist([product(number + i) for i in range(rows)], schema=SCHEMA)
        number += rows
        path = out / f"part-{shard:05d}.parquet"
        WRITERS[writer](table, groups, path, options)
        check(path, table, groups)
        print(f"{path.name}  {writer:8}{options['compression']!s:8}{rows:5} rows {path.stat().st_size:8,} bytes")


if __name__ == "__main__":
    main()
