"""Who takes part, and on what: contenders and sets."""

import dataclasses

BY = "_by_"  # between a set and its writer, as in gen.py
BASE = "python/requirements-test.txt"  # torch, pyarrow, numpy, pandas; the other environments extend it


@dataclasses.dataclass(frozen=True)
class Set:
    """A set of bench/gen.py: its column of row numbers, rows of a batch, files and their rows and row groups."""

    name: str
    id: str
    batch: int
    files: int
    file_rows: int
    file_groups: int
    row_bytes: int  # in memory, about
    mixing: dict = dataclasses.field(default_factory=dict)  # what ours is given in the row of mixing

    @property
    def base(self):
        """The name of the set that this one is by another writer, or its own."""
        return self.name.partition(BY)[0]

    @property
    def rows(self):
        return self.files * self.file_rows

    @property
    def group_rows(self):
        return self.file_rows // self.file_groups

    @property
    def buffer(self):
        """What every contender with such a knob may mix, unless it keeps its default: a tenth of the rows."""
        return self.rows // 10


SETS = (
    Set("shop", "unique_id", 100, 20, 5_000, 2, 15_400, {"buffer": 9_500, "memory": "282MiB", "lanes": 1, "unit_rows": 1_250}),
    Set("tokens", "doc_id", 32, 16, 12_500, 5, 5_100),
    Set("tabular", "id", 1024, 8, 250_000, 5, 320, {"buffer": 440_000, "memory": "185MiB", "lanes": 1}),
)


# The same by other writers, which --sets names.
AGAIN = tuple(
    dataclasses.replace(s, name=s.name + BY + writer, mixing={}) for s in SETS for writer in ("duckdb", "polars", "plain", "spark")
)


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way to deliver a set: a module of contenders/, and the environment that it runs in."""

    name: str
    module: str
    requirements: str = ""  # of its own, beside BASE
    workers: int = 0
    sets: tuple = ("shop", "tokens", "tabular")  # and what other writers make of them
    converts: bool = False
    note: str = ""
    default_buffer: bool = False  # its own, not a tenth of the rows


OURS = Contender("shardfeed", "ours")
OURS_DEFAULT = Contender("shardfeed:default", "ours", note="with its default buffer", default_buffer=True)
OURS_WORKERS = Contender("shardfeed:w2", "ours", workers=2, note="the same in two torch workers")
HARD = Contender("take_once", "take_once", note="four row groups mixed, one process")
PANDAS = Contender("pandas", "pandas_frame", sets=("shop",), note="in memory, its loading counted")
NEAR = (
    HARD,
    Contender("dl:rows-w0", "rows"),
    Contender("hf:arrow", "huggingface", "hf"),
    PANDAS,
)
PETASTORM = (
    Contender("petastorm:dl", "petastorm_reader", "petastorm", 2, ("shop", "tokens"), note="lists padded"),
    Contender("petastorm:batched", "petastorm_reader", "petastorm", 2, ("tabular",), note="without the three text columns"),
)
MOSAIC = Contender("mosaic-w2", "mosaic", "mosaic", 2, converts=True)
PEOPLE = (
    Contender("dl:rows-w2", "rows", workers=2),
    *PETASTORM,
    Contender("litdata:parquet-w2", "litdata_parquet", "litdata", 2),
    Contender("hf:torch-w2", "huggingface", "hf", 2, ("shop", "tokens")),
    Contender("ray", "ray_data", "ray"),
    MOSAIC,
)
ALL = (OURS, OURS_DEFAULT, OURS_WORKERS, *NEAR, *PEOPLE)

# An epoch after the first: the set was decoded or converted before.
KEPT = Contender("shardfeed:kept", "ours_kept", converts=True, note="kept decoded before")
COPY = Contender("copy", "alone", note="numpy copies memory, once")
CHUNKS = Contender("litdata:chunks-w2", "litdata_chunks", "litdata", 2, converts=True)
FFCV = Contender("ffcv-w2", "ffcv_beton", "ffcv", 2, converts=True, note="texts and lists padded")
CONVERTED = (CHUNKS, FFCV, MOSAIC)
LATER = (KEPT, HARD, COPY, *CONVERTED)

# Beside a training step, and for what a hand-over costs.
ALONE, MEMCPY, WORKER = Contender("alone", "alone"), Contender("memcpy", "memcpy"), Contender("torch worker", "worker")
BESIDE = (ALONE, MEMCPY, OURS, HARD, next(c for c in PEOPLE if c.name == "dl:rows-w2"))

NAMED = tuple(dict.fromkeys((*ALL, *LATER)))  # what --contenders can name
