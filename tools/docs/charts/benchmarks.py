"""Charts of the benchmarks, from the tables of docs/benchmarks/, which make bench prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from bars import Bar, Panel, draw, short

ROOT = Path(__file__).parents[3]
METHOD = "How it was measured"

# What a reader knows the contenders of bench/peers by.
NAMES = {
    "shardfeed": "shardfeed",
    "take_once": "pyarrow by hand",
    "dl:rows-w0": "torch DataLoader",
    "dl:rows-w2": "torch, 2 workers",
    "hf:arrow": "HF datasets, arrow",
    "hf:torch-w2": "HF datasets, 2 workers",
    "petastorm:dl": "Petastorm",
    "petastorm:batched": "Petastorm, batched",
    "litdata:parquet-w2": "LitData, 2 workers",
    "ray": "Ray Data",
    "mosaic-w2": "MosaicML, 2 workers",
}
RIVALS = {
    "sdk": "AWS SDK, GETs",
    "s3fs cat_file": "s3fs",
    "pyarrow": "pyarrow",
    "library": "the Go library",
    "java": "JVM client",
    "dfs -cat": "hdfs dfs -cat",
    "polars": "Polars",
    "duckdb": "DuckDB",
    "arrow_rs": "arrow-rs",
}
IMAGES = {
    "fastparquet, torch's DataLoader, albumentations": "fastparquet, torch",
    "torch's DataLoader with torchvision": "torch DataLoader",
    "DALI on the CPU": "DALI, CPU",
}


def cells(page: str, section: str, nth: int = 0) -> list[list[str]]:
    """The cells of a table of a section of a page, by line, with the heads first."""
    text = (ROOT / "docs/benchmarks" / f"{page}.md").read_text()
    _, found, rest = text.partition(f"\n## {section}\n")
    tables = re.findall(r"(?:^\|.*\n)+", rest.split("\n## ")[0], re.M)
    if not found or len(tables) <= nth:
        sys.exit(f"charts: docs/benchmarks/{page}.md has no table {nth + 1} in a section {section!r}")
    rows = [row for row in tables[nth].splitlines() if not set(row) <= set("|- ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def rows(page: str, section: str, nth: int = 0) -> dict[str, list[str]]:
    """The rows below the heads, by their first cell."""
    return {row[0]: row for row in cells(page, section, nth)[1:]}


def number(cell: str) -> float:
    """The first number of a cell, as in "2,159 (0.36)" or "134 million"."""
    found = re.search(r"(\d[\d,]*(?:\.\d+)?)( million)?", cell)
    if not found:
        sys.exit(f"charts: no number in {cell!r}")
    return float(found[1].replace(",", "")) * (1e6 if found[2] else 1)


def foot(page: str) -> list[str]:
    """Machine, date and command of the chart of a page: the first row of its method."""
    machine, date, command = cells(page, METHOD)[1][:3]
    return [f"{machine} · {date}", command.strip("`")]


def _bar(name: str, value: float, unit: str = "") -> Bar:
    return Bar(name, value, short(value) + unit, name == "shardfeed")


def _streams() -> dict[str, list[Bar]]:
    """The loaders of each set, the fastest first."""
    found = {}
    for section in ("shop", "tokens", "tabular"):
        table = cells("loaders", section)
        at = table[0].index("rows per CPU-s, all-in")
        names = {row[0].split(" (")[0]: number(row[at]) for row in table[1:]}
        bars = [_bar(NAMES[name], value) for name, value in names.items() if name in NAMES]
        found[section] = sorted(bars, key=lambda bar: -bar.value)
    return found


def loaders() -> str:
    words = {"shop": "Images, texts and lists", "tokens": "Lists of tokens", "tabular": "43 columns of numbers"}
    panels = [Panel(f"{words[name]}, rows per CPU-second", bars) for name, bars in _streams().items()]
    return draw("Rows per CPU-second of ten loaders, on three data sets; shardfeed delivers the most on each", panels, foot("loaders"))


def _rivals(cell: str) -> list[tuple[str, float]]:
    """The rivals of a cell such as "sdk 1,958 (0.35); s3fs cat_ranges 581 (1.61)"."""
    return [(RIVALS.get(name, name), number(value)) for name, value in re.findall(r"([a-z_][\w -]*?) ([\d,]+) \(", cell)]


def engine() -> str:
    found = rows("engine", "Throughput")
    panels = []
    for row, words in {
        "decode, mixed": "Decoding mixed columns",
        "decode, tabular": "Decoding 43 columns of numbers",
        "decode, tokens": "Decoding lists of tokens",
        "decode, shop": "Decoding images, texts and lists",
    }.items():
        heads = cells("engine", "Throughput")[0]
        ours, theirs = (found[row][heads.index(head)] for head in ("ours", "rivals"))
        bars = [_bar("shardfeed", number(ours)), *(_bar(*rival) for rival in _rivals(theirs))]
        panels.append(Panel(f"{words}, rows per CPU-second", sorted(bars, key=lambda bar: -bar.value)))
    return draw("Rows per CPU-second that shardfeed, pyarrow, Polars, DuckDB and arrow-rs decode", panels, foot("engine"))


def storage() -> str:
    found = rows("storage", "Throughput")
    panels = []
    for words, names in {
        "S3, MB/s": ["S3 ranges, against a raw loop of GETs", "S3 ranges, against s3fs", "S3 ranges, against pyarrow.fs"],
        "HDFS, MB/s": ["HDFS ranges, against the Go library alone, which verifies nothing", "HDFS ranges, against the JVM client"],
    }.items():
        rivals = {name: value for row in names for name, value in _rivals(found[row][3]) if name != "s3fs cat_ranges"}
        bars = [_bar("shardfeed", number(found[names[0]][2])), *(_bar(*rival) for rival in rivals.items())]
        panels.append(Panel(words, sorted(bars, key=lambda bar: -bar.value)))
    return draw("MB/s that shardfeed and other clients read from S3 and HDFS", panels, foot("storage"))


def filters() -> str:
    counts = rows("filters", "Counting")["counting, two numeric columns"][2]
    ours, theirs = re.search(r"(\d+) ns of CPU a row against (\d+)", counts).groups()
    panels = [
        Panel("Counting by a filter, ns of CPU per row: less is better", [_bar("shardfeed", float(ours)), _bar("DuckDB", float(theirs))])
    ]
    for row, words in {
        "one dict for each row, shop (15 kB images)": "256 random rows of images, rows per CPU-second",
        "one dict for each row, tabular (43 columns)": "256 random rows of 43 columns, rows per CPU-second",
        "`take` of token lists, tokens": "256 random lists of tokens, rows per CPU-second",
    }.items():
        cell = rows("filters", "Rows by number")[row]
        panels.append(Panel(words, [_bar("shardfeed", number(cell[1])), _bar("pyarrow", number(cell[2]))]))
    return draw("Costs of counting, and rows per CPU-second at random, of shardfeed, DuckDB and pyarrow", panels, foot("filters"))


def shaping() -> str:
    packing, matrices, workers = (rows("shaping", section) for section in ("Packing", "Feature matrices", "Python in workers"))
    ratios = {
        "Packing: TRL": packing["TRL's `pack_dataset`, bfd, over Hugging Face datasets, streamed"][3],
        "Packing: Grain": packing["Grain's best-fit packer over pyarrow"][3],
        "Packing: numpy, best fit": packing["numpy on take_once, best fit"][3],
        "Packing: numpy, joined": packing["numpy on take_once, joined and cut"][3],
        "Matrices: numpy": matrices["rows per CPU-second, all in"][1],
        "Workers: torch, shop": workers["shop, rows a second"][1],
        "Workers: torch, tokens": workers["tokens, rows a second"][1],
    }
    bars = [Bar(name, number(cell), f"{number(cell):.3g}x", ours=True) for name, cell in ratios.items()]
    panel = Panel("shardfeed's speed, as a multiple of the other way's", bars, (1, 2, 4, 8, 16))
    return draw("How many times as fast as other ways shardfeed packs, stacks and runs Python in workers", [panel], foot("shaping"))


def text() -> str:
    bars = []
    for name, row in rows("text", "Speed").items():
        values = [number(cell) for cell in row[1:5]]
        bars.append(Bar(name.split(" (")[0], max(values), f"{min(values):.2g}-{max(values):.2g}x", True, min(values)))
    panel = Panel("Speed of tokenizing, as a multiple of tokenizers'", bars, (1, 2, 4, 8, 16, 32))
    return draw("How many times as fast as the library tokenizers shardfeed tokenizes, by vocabulary, on four texts", [panel], foot("text"))


def images() -> str:
    panels = []
    for nth, words in enumerate(("Images of 15 kB", "Photographs of 94 kB")):
        heads, *others = cells("images", "From parquet to torch", nth)
        bars = [_bar("shardfeed", number(heads[0].partition("ours")[2]))]
        for row in others:
            name = IMAGES.get(row[0]) or row[0].removesuffix(" in torch's workers over our rows").partition(" with ")[0]
            bars.append(_bar(name, number(row[1])))
        panels.append(Panel(f"{words}, ms of CPU per image: less is better", sorted(bars, key=lambda bar: bar.value)))
    return draw(
        "Milliseconds of processor time per image, from parquet to a uint8 tensor, of shardfeed and other ways", panels, foot("images")
    )


def ray() -> str:
    found = rows("scale-out", "A loop of Ray Train")
    sets = {
        "shop": "Images, texts and lists",
        "shop, another seed, order and writer (DuckDB)": "The same, written by DuckDB",
        "tabular": "43 columns of numbers",
        "tabular, another seed, order and writer (DuckDB)": "The same, written by DuckDB",
    }
    panels = [
        Panel(f"{words}, rows per CPU-second", [_bar("shardfeed", number(found[name][1])), _bar("Ray Data", number(found[name][2]))])
        for name, words in sets.items()
    ]
    return draw("Rows per CPU-second of a loop of Ray Train, with shardfeed and with Ray Data", panels, foot("scale-out"))


def gpu() -> str:
    found = rows("gpu", "A training step")
    names = {"shardfeed": "shardfeed", "torch's DataLoader": "torch DataLoader"}
    panels = [
        Panel("Training steps per second", [_bar(names[name], number(row[1])) for name, row in found.items()]),
        Panel("Idle time of the GPU: less is better", [_bar(names[name], number(row[2]), " %") for name, row in found.items()]),
    ]
    return draw("Training steps per second and idle time of an H100, with shardfeed and with torch's DataLoader", panels, foot("gpu"))


def summary() -> str:
    """The ratios of each area: from the least to the most, over sets and rivals."""
    decode = rows("engine", "Throughput")
    ratio = cells("engine", "Throughput")[0].index("ratio (quartiles)")
    streams = [f"{bars[0].value / bars[1].value:.2f}x" for bars in _streams().values()]
    later = rows("loaders", "An epoch after the first")
    found = {
        "Training streams": streams,
        "Later epochs": [row[1] for row in later.values()],
        "Decoding": [decode[f"decode, {name}"][ratio] for name in ("mixed", "tabular", "tokens", "shop")],
        "S3, AWS's SDK": [rows("storage", "Throughput")["S3 ranges, against a raw loop of GETs"][4]],
        "Counting by a filter": [rows("filters", "Counting")["counting, two numeric columns"][2]],
        "Random rows": [row[3] for row in rows("filters", "Rows by number").values()],
        "Packing tokens": [row[3] for row in rows("shaping", "Packing").values()],
        "Tokenizing": [cell for row in rows("text", "Speed").values() for cell in row[1:5]],
        "Images": [row[2] for nth in (0, 1) for row in rows("images", "From parquet to torch", nth).values()],
        "Ray Train": [row[3] for row in rows("scale-out", "A loop of Ray Train").values()],
    }
    bars = []
    for name, row in found.items():
        values = sorted(map(number, row))
        shown = f"{values[0]:.2f}x" if len(values) == 1 else f"{short(values[0])}-{short(values[-1])}x"
        start = values[0] if len(values) > 1 else 0.0
        bars.append(Bar(name, values[-1], shown, True, start))
    panel = Panel("shardfeed's speed per CPU, as a multiple of other ways'", bars, (1, 2, 4, 8, 16, 32, 64, 128))
    return draw(
        "How many times as fast as other ways shardfeed is, by area",
        [panel],
        ["two cores of AMD EPYC or Intel Xeon · 2026-11-21 to 29", "make bench, make bench-peers"],
    )


CHARTS = {
    "loaders.svg": loaders,
    "engine.svg": engine,
    "storage.svg": storage,
    "filters.svg": filters,
    "shaping.svg": shaping,
    "text.svg": text,
    "images.svg": images,
    "ray.svg": ray,
    "gpu.svg": gpu,
    "summary.svg": summary,
}
