"""The rows of the table: what is run against what, and what it must reach."""

import dataclasses
import pathlib
import sys

import again
import gen

HERE = pathlib.Path(__file__).parent
BIN = HERE.parent / "bin"
PYARROW, POLARS, DUCKDB, ARROW_RS = "decode_pyarrow", "decode_polars", "decode_duckdb", "decode_arrow_rs"
TAKE, NUMBER = "shuffle_take", "number_pyarrow"


@dataclasses.dataclass(frozen=True)
class Contender:
    """A command that prints one JSON object. whole: its processor time includes all of the process, start-up too."""

    name: str
    command: tuple
    whole: bool = False


@dataclasses.dataclass(frozen=True)
class Row:
    """One comparison: rows per CPU-second of ours against the best of the rivals. cores is how many it may run on."""

    name: str
    data: str
    ours: Contender
    rivals: tuple
    must: float
    aim: float
    buffer: str = "-"
    cores: int = 1


def rival(script, data, *arguments):
    name = " ".join((script.partition("_")[2], *arguments))
    return Contender(name, (sys.executable, str(HERE / "rivals" / f"{script}.py"), str(data), *arguments))


def decode(data, mode="ours"):
    return Contender("decode" if mode == "ours" else mode, (str(BIN / "decode"), "--set", str(data), "--mode", mode))


def stream(data, *arguments, whole=False):
    return Contender("bench", (str(BIN / "shardfeed"), "bench", str(data), "--json", *arguments), whole)


def shuffled(data, batch, buffer, *arguments, **options):
    order = ("--batch-size", str(batch), "--shuffle", "--shuffle-buffer", str(buffer), "--seed", "1")
    return stream(data, *order, *arguments, **options)


def rows_per_cpu_second(directory):
    """The rows that are ratios of rows per CPU-second; directory holds the sets."""

    def data(name):
        return directory / name

    def decoded(title, name, rivals, must, aim):
        return Row(title, name, decode(data(name)), tuple(rival(r, data(name)) for r in rivals), must, aim)

    def streamed(name, batch, buffer, must, aim, writer=""):
        by = name + (gen.BY + writer if writer else "")
        ours, take = shuffled(data(by), batch, buffer), rival(TAKE, data(by), str(batch))
        title = f"shuffled stream, {name}" + (f" by {writer}" if writer else "")
        return Row(title, by, ours, (take,), must, aim, f"{buffer:,} rows")

    def brief(buffer):
        ours = shuffled(data("short"), 1024, buffer, whole=True)
        return Row(f"short rows, shuffled, {buffer:,} rows", "short", ours, (rival(PYARROW, data("short")),), 1.3, 1.8, f"{buffer:,} rows")

    def numbered(title, name, mode, must, aim):
        return Row(title, name, decode(data(name), "numbers"), (rival(NUMBER, data(name), mode),), must, aim)

    mixed = data("mixed")
    streams = ("shop", 100, 10_000, 1.8, 3), ("tokens", 32, 20_000, 1.4, 2), ("tabular", 1024, 200_000, 1.1, 1.8)
    return [
        decoded("decode, mixed", "mixed", (PYARROW,), 2.3, 3),
        Row("decode, mixed, of read + decompress", "mixed", decode(mixed), (decode(mixed, "ceiling"),), 0.65, 0.75),
        decoded("decode, tabular", "tabular", (POLARS, PYARROW), 0.85, 1.2),
        decoded("decode, tokens", "tokens", (PYARROW, ARROW_RS), 1.25, 1.5),
        decoded("decode, shop", "shop", (PYARROW, POLARS, DUCKDB), 1, 1.5),
        decoded("decode, shop uncompressed", "shop_plain", (PYARROW, POLARS, DUCKDB), 1, 1.5),
        *(streamed(*each) for each in streams),
        *(streamed(*each, writer) for each in streams for writer in again.WRITERS),
        brief(120_000),
        brief(20_000),
        numbered("256 random rows, one by one, shop", "shop", "one", 10, 30),
        numbered("256 random rows, one by one, tabular", "tabular", "one", 10, 30),
        numbered("256 random rows, slices joined, shop", "shop", "slices", 1.5, 3),
        numbered("256 random rows, take of lists, tokens", "tokens", "take", 1.5, 3),
        Row("whole process, in order", "mixed", stream(mixed, "--batch-size", "1024", whole=True), (rival(PYARROW, mixed),), 1.5, 2),
        Row(
            "whole process, shuffled",
            "mixed",
            shuffled(mixed, 1024, 131_072, whole=True),
            (rival(PYARROW, mixed),),
            1.2,
            1.5,
            "131,072 rows",
        ),
    ]


WRITERS = {
    "shop": "pyarrow, snappy, no page index, row groups of 2,500",
    "shop_plain": "pyarrow, uncompressed, no page index, row groups of 2,500",
    "tokens": "pyarrow, zstd, no page index, row groups of 2,500",
    "tabular": "pyarrow, snappy, no page index, row groups of 50,000",
    "mixed": "pyarrow, snappy, no page index, row groups of 32,768",
    "many": "pyarrow, snappy, no page index, 2,000 shards of 40 rows",
    "large": "pyarrow, snappy, no page index, row groups of 8 to 64 MB",
    "short": "pyarrow, snappy, no page index, row groups of 25,000",
}


def writer_of(name):
    base, _, writer = name.partition(gen.BY)
    return WRITERS[base] if not writer else f"{writer}, another seed, row groups as those of {base}"
