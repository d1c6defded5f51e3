"""Runs contenders of peers/ for rows of this table, on sets of any writer."""

import contextlib
import dataclasses
import os
import pathlib
import statistics
import sys

import pyarrow.parquet as pq

import check
import process
import servers

sys.path.append(str(check.HERE / "peers"))

import entries
import place

CORES = 2
CAP = 10  # seconds after the first batch when a slow contender is stopped


@dataclasses.dataclass(frozen=True)
class Case:
    """A set as one writer wrote it, the seed, and whether a process takes the other core."""

    data: entries.Set = dataclasses.field(hash=False)
    directory: pathlib.Path
    seed: int = 1
    busy: bool = False

    def files(self):
        return [pq.ParquetFile(path) for path in sorted(self.directory.glob("*.parquet"))]

    def rows(self):
        return sum(file.metadata.num_rows for file in self.files())


def checks(directory, name, data, source, must, aim, measure, busy=True, **options):
    """A row for each writer, and one beside a busy core. measure gets a case and the rounds."""

    def line(more, of, found):
        return check.Check(f"{name}{more}", (data.name,), of, must, aim, found, **options)

    plain = Case(data, directory / data.name)
    yield line("", source, lambda _, n: measure(plain, n))
    again = f"{source}; the same rows in another order, written by DuckDB, another seed"
    yield line(", second writer", again, lambda _, n: measure(Case(data, check.by_duckdb(directory, data.name), 2), n))
    if busy:
        beside = f"{source}; while a process copies memory on the other core"
        taken = dataclasses.replace(plain, busy=True)
        yield line(" beside a busy core", beside, lambda _, n: check.beside(lambda: measure(taken, n)))


def run(case, contender, mode, *arguments, timeout=place.TIMEOUT, **task):
    """The figures of one run, in a cage of its own, on two cores."""
    runs = place.Place()
    try:
        runs.python(contender)
    except place.Failed as e:
        raise servers.Missing(str(e)) from e
    rows = case.rows()
    whole = {"directory": str(case.directory), "rows": rows, "buffer": max(1, rows // 10), "seed": case.seed} | task
    try:
        with _on(check.cores()[:CORES]):
            return runs.run(contender, case.data, mode, *arguments, task=whole, timeout=timeout)
    except place.Failed as e:
        raise process.Failed(f"{contender.name} on {case.directory.name}: {e}") from e


@contextlib.contextmanager
def _on(cores):
    """Processes that start meanwhile run on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def alternate(rounds, *runs):
    """What each of the runs gives, in turn."""
    found = tuple([] for _ in runs)
    for _ in range(rounds):
        for results, each in zip(found, runs):
            results.append(each())
    return found


def ratios(ours, theirs, key):
    """The quartiles of the ratios of rounds."""
    return check.quartiles([a[key] / b[key] for a, b in zip(ours, theirs)])


def median(results, key):
    return statistics.median(r[key] for r in results)


def set_of(name):
    return next(s for s in entries.SETS if s.name == name)
