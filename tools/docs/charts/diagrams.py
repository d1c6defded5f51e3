"""Drawings of how it works: the way of the data, how an epoch is dealt, what a shuffle buffer mixes, what memory is for."""

from __future__ import annotations

import json
from pathlib import Path

from canvas import WIDTH, Canvas

ORDERS = json.loads(Path(__file__).with_name("orders.json").read_text())
ROWS = 2026


def flow() -> str:
    c = Canvas("Data flows from stores through a machine's cache and engine into a ring in shared memory, which the ranks read")
    c.named(60, 6, 360, 40, "")
    c.text(240, 23, "S3 · Google · Azure · HDFS · Hugging Face · web", "title", "middle")
    c.text(240, 39, "parquet, Delta, Iceberg, Hive", "small quiet", "middle")
    c.arrow(240, 46, 240, 78)
    c.text(248, 66, "chunks of the columns in use, each once", "small quiet")
    c.box(8, 80, 464, 302)
    c.text(20, 99, "one machine", "small quiet")
    c.named(60, 106, 360, 36, "")
    c.text(240, 121, "cache on the local disk", "title", "middle")
    c.text(240, 136, "encoded chunks and decoded row groups, for all jobs", "small quiet", "middle")
    c.arrow(240, 142, 240, 166)
    c.box(24, 168, 432, 92, "inner")
    c.text(36, 186, "engine: one process for all ranks, one memory limit", "title")
    for i, (step, detail) in enumerate((("fetch", "ahead"), ("decode", "tokenize"), ("shuffle", "buffer"), ("collate", "pad, images"))):
        x = 38 + i * 104
        c.named(x, 198, 90, 48, "")
        c.text(x + 45, 218, step, "title", "middle")
        c.text(x + 45, 235, detail, "small quiet", "middle")
        if i:
            c.arrow(x - 13, 222, x - 1, 222)
    c.arrow(240, 260, 240, 284)
    c.named(60, 286, 360, 30, "ring: batches in shared memory, no copy")
    for i in range(4):
        x = 66 + i * 90
        c.arrow(x + 39, 316, x + 39, 340)
        c.named(x, 342, 78, 28, f"rank {i}", "a", "on title")
    return c.svg(390)


def deal() -> str:
    c = Canvas("Two ranks get the rows of an epoch; after two steps the job stops, and three ranks get the next rows of the order")
    dealt = ORDERS["dealt"]
    colors = "abc"
    c.text(8, 18, "Order of the epoch, from the seed: rows of the table", "title")
    c.text(8, 35, "each step takes the next six", "small quiet")
    y = 48
    for step, ranks in enumerate(dealt):
        if step == 2:
            c.text(8, y + 16, "state_dict(): seed 7, epoch 0, position 12", "title")
            c.text(8, y + 32, "stopped on 2 ranks, resumed on 3: no row twice, none left out", "small quiet")
            y += 44
        c.text(8, y + 22, f"step {step}", "quiet")
        x = 64.0
        for rank, rows in enumerate(ranks):
            width = 62 * len(rows) + 6
            for i, row in enumerate(rows):
                c.named(x + i * 62, y, 58, 26, f"{row}", colors[rank], "on")
            c.text(x + (width - 10) / 2, y + 42, f"rank {rank}", "small quiet", "middle")
            x += width + 6
        y += 54
    return c.svg(y + 2)


def buffers() -> str:
    c = Canvas("The row of the table at each place of an epoch: clusters with a small buffer, bands with a larger one, else a cloud")
    panel, left = 130, 24
    c.text(8, 16, "Row of the table (down) at each place of the epoch (across)", "title")
    for i, (buffer, rows) in enumerate(ORDERS["buffers"].items()):
        x = left + i * (panel + 20)
        c.box(x, 44, panel, panel)
        words = "all 2,026 rows" if buffer == str(ROWS) else f"buffer of {buffer} rows"
        c.text(x, 37, words, "small")
        c.dots([(x + 2 + at * (panel - 4) / ROWS, 46 + row * (panel - 4) / ROWS) for at, row in enumerate(rows) if at % 3 == 0])
        c.text(x, 190, f"deff {ORDERS['deff'][buffer]:.2g}", "title")
    c.text(8, 210, "deff: variance of the mean of 64 sorted rows, divided by a perfect shuffle's", "small quiet")
    return c.svg(220)


# Purposes of memory as /metrics names them, their share in the picture, and what they hold.
PURPOSES = (
    ("fetch", 10, "encoded bytes on their way from stores"),
    ("decode", 14, "row groups that are being decoded"),
    ("shuffle", 40, "the shuffle buffer, the largest part: shuffle_buffer"),
    ("batch", 14, "batches that are being made"),
    ("ring", 16, "finished batches, shared with the trainer: slots"),
    ("store, scratch", 6, "bytes for the cache, footers, image decoders"),
)


def memory() -> str:
    c = Canvas("The memory of a stream by purpose: fetch, decode, shuffle, batch, ring and the rest together are within the limit")
    c.text(8, 18, "memory: one limit, reserved before the first read", "title")
    x, y = 8.0, 84
    for i, (name, share, holds) in enumerate(PURPOSES):
        width = 464 * share / 100
        c.box(x, 28, width - 2, 34, "abcdef"[i])
        x += width
        c.box(10, y - 11, 13, 13, "abcdef"[i])
        c.text(32, y, name, "title")
        c.text(140, y, holds, "small")
        y += 22
    c.text(8, y + 4, "Sizes are an example; shardfeed plan shows yours, top and /metrics what is in use.", "small quiet")
    return c.svg(y + 14)


assert sum(share for _, share, _ in PURPOSES) == 100 and WIDTH == 480

DRAWINGS = {"flow.svg": flow, "deal.svg": deal, "buffers.svg": buffers, "memory.svg": memory}
