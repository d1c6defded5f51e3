"""Rows that are checked on their own, and what their measurements share."""

import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys

import duckdb

import servers

HEAD = ["| what | from | found (quartiles) | must | aim |", "| --- | --- | --- | --- | --- |"]
HERE = pathlib.Path(__file__).parent
BASE = "python/requirements-test.txt"  # torch, pyarrow, numpy; other environments extend it

# set -> what DuckDB orders its rows by, rows of a row group, codec
REWRITTEN = {
    "tabular": ("hash(id + 7)", 122_880, "snappy"),
    "tokens": ("hash(doc_id + 7)", 4_096, "zstd"),
    "documents": ("hash(doc_id + 7)", 4_096, "zstd"),
    "texts": ("hash(id + 7)", 1_024, "zstd"),
    "shop": ("hash(unique_id)", 4_096, "snappy"),
    "sources": ("hash(id + 7)", 2_048, "snappy"),
    "products": ("hash(id + 7)", 4_096, "snappy"),
    "photos": ("hash(id + 7)", 2_048, "snappy"),
    "scenes": ("hash(id + 7)", 2_048, "snappy"),
}


@dataclasses.dataclass(frozen=True)
class Check:
    """One row: measure(place, rounds) gives the quartiles of a figure, and a text beside it."""

    name: str
    sets: tuple
    source: str
    must: float | None  # None: the figure is only said
    aim: float | None
    measure: callable
    at_most: bool = True  # the figure must be no more than must; else no less
    unit: str = "x"
    digits: int = 2  # behind the point

    def lines(self, place, rounds):
        (low, middle, high), more = self.measure(place, rounds)
        found = f"{self.figure(middle)} ({self.plain(low)}-{self.plain(high)}){self.verdict(middle)}"
        compare = "" if self.must is None else "<= " if self.at_most else ">= "
        return [f"| {self.name} | {self.source} | {found}; {more} | {compare}{self.bound(self.must)} | {self.bound(self.aim)} |"]

    def verdict(self, value):
        if self.must is None:
            return ""

        def reached(bound):
            return bound is not None and (value <= bound if self.at_most else value >= bound)

        return ", aim met" if reached(self.aim) else ", must met" if reached(self.must) else ", MISSED"

    def missing(self, why):
        return [f"| {self.name} | {self.source} | NOT MEASURED: {why} | {self.bound(self.must)} | {self.bound(self.aim)} |"]

    def plain(self, value):
        return f"{value:.{self.digits}f}"

    def figure(self, value):
        return self.plain(value) + self.unit

    def bound(self, value):
        return "-" if value is None else f"{value:g}{self.unit}"


def cores():
    return sorted(os.sched_getaffinity(0))


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def by_duckdb(directory, name):
    """A set in another order, as DuckDB writes it: in one file, unless its files are sources."""
    order, group, codec = REWRITTEN[name]
    target = directory / f"{name}_duckdb"
    if not target.exists():
        unfinished = directory / f"{name}_duckdb.unfinished"
        subprocess.run(["rm", "-rf", str(unfinished)], check=True)
        unfinished.mkdir()
        files = sorted((directory / name).glob("*.parquet")) if name == "sources" else [directory / name / "*.parquet"]
        for number, path in enumerate(files):
            rows = duckdb.connect().sql(f"select * from read_parquet('{path}') order by {order}")
            rows.write_parquet(str(unfinished / f"part-{number:05d}.parquet"), row_group_size=group, compression=codec)
        unfinished.rename(target)
    warm(target)
    return target


def warm(directory):
    """Brings the files into the page cache."""
    for path in directory.glob("*.parquet"):
        with path.open("rb") as f:
            while f.read(1 << 24):
                pass


def beside(measure):
    """What measure returns, while a process copies memory on the other core."""
    noise = subprocess.Popen(
        [sys.executable, "-c", "a = bytearray(64 << 20)\nwhile True: a[:] = bytes(a)"],
        preexec_fn=lambda: os.sched_setaffinity(0, set(cores()[1:2] or cores())),
    )
    try:
        return measure()
    finally:
        noise.kill()
        noise.wait()


def environment(*arguments):
    """A virtual environment with the packages of a file, over another one."""
    venv = subprocess.run([HERE.parent / "tools" / "venv", *arguments], cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
    if venv.returncode != 0:
        raise servers.Missing(f"the packages of {arguments[0]} could not be installed")
    return venv.stdout.strip()
