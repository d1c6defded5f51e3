"""Tables with deleted rows: what an epoch costs, against the same rows rewritten by the same writer."""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import process
import servers
import table
from check import HERE, Check, cores, environment, quartiles

TABLES = {  # what deletes -> the table, and the one with the rows that are left
    "deletion vectors": ("delta+{}/delta", "delta+{}/delta_rewritten"),
    "position deletes": ("iceberg+{}/db/positions", "iceberg+{}/db/rewritten"),
    "equality deletes": ("iceberg+{}/db/equality", "iceberg+{}/db/rewritten"),
}
EPOCHS = 10


def checks(directory):
    def pair(what):
        return [name.format(written(directory / "tabular")) for name in TABLES[what]]

    def row(what, figure, must, aim):
        unit = {"cpu_seconds": "CPU", "read_bytes": "bytes"}[figure]
        source = f"tabular by Spark, a tenth deleted at random; {EPOCHS} epochs, shuffled, against the rows rewritten"
        return Check(f"tables, {what}, {unit}", ("tabular",), source, must, aim, lambda p, n: epochs(*pair(what), figure, n))

    return [row(what, *figure) for what in TABLES for figure in (("cpu_seconds", 1.05, 1), ("read_bytes", 1.12, 1.1))]


def written(data):
    """The directory of the tables of a set, which Spark writes once."""
    target = data.with_name(f"{data.name}_deleted")
    if target.exists():
        return target
    unfinished = data.with_name(f"{data.name}_deleted.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    python = f"{environment('tools/tables/requirements.txt')}/bin/python"
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as jars:
        copy = ("mvn", "-B", "-ntp", "-q", "-f", str(HERE.parent / "tools/tables/pom.xml"), "dependency:copy-dependencies")
        for command in (
            (*copy, f"-DoutputDirectory={jars}"),
            (python, str(HERE / "rivals/write_deleted.py"), jars, str(data), str(unfinished)),
        ):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError as e:
                raise servers.Missing(f"Spark's tables need {e.filename}") from e
            if done.returncode != 0:
                print(done.stderr[-2000:], file=sys.stderr)
                raise servers.Missing("Spark did not write the tables")
    unfinished.rename(target)
    return target


def again(data):
    """Reads the files of a table into the page cache anew: their place in memory changes processor time by 5 %."""
    for path in pathlib.Path(data.partition("+")[2]).rglob("*.parquet"):
        with path.open("rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while f.read(1 << 20):
                pass


def epochs(deleted, rewritten, figure, rounds):
    """The figure of the table, divided by the rewritten one's. Both were opened before: deleted rows are known."""
    each, ours, theirs = [], [], []
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        environment = {"SHARDFEED_CACHE_DIR": cache}
        run = lambda data: process.run(table.shuffled(data, 1024, 100_000, "--epochs", str(EPOCHS)), set(cores()[:1]), environment)  # noqa: E731
        run(deleted)
        run(rewritten)
        for _ in range(rounds):
            for data in (deleted, rewritten):
                again(data)
            a, b = run(deleted), run(rewritten)
            if a["rows"] != b["rows"]:
                raise process.Failed(f"{a['rows']} rows of {deleted} and {b['rows']} of {rewritten}")
            each.append(a[figure] / b[figure])
            ours.append(a[figure])
            theirs.append(b[figure])
    return quartiles(each), f"{statistics.median(ours):,.2f} against {statistics.median(theirs):,.2f}, {a['rows']:,} rows"
