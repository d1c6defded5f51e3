"""Mixtures: how exactly weights are kept, and what many sources cost."""

import statistics
import tempfile

import check
import delivery
import process
import table
from check import BASE, HERE, environment
from delivery import entries, place, run

SOURCES = entries.Set("sources", "id", 1024, 64, 25_000, 10, 320)
OURS = entries.Contender("shardfeed", "mix_ours")
MEMORY = "512MiB"
SAMPLES, WINDOW = 100_000, 10_000


def checks(directory):
    yield from delivery.checks(
        directory,
        "shaping, mixture, shares",
        SOURCES,
        f"2 to 20 sources, 8 and 64 lanes: largest error of a source's share of any {WINDOW:,} samples",
        0.2,
        0.15,
        shares,
        busy=False,
        unit=" %",
    )
    source = f"tabular in 64 files: rows per CPU-s as 64 sources over those as one, {MEMORY} of memory"
    yield from delivery.checks(directory, "shaping, mixture, 64 sources", SOURCES, source, 0.9, 0.95, many, at_most=False)


def shares(case, rounds):
    """The worst of all numbers of sources and lanes; each round has weights of its own."""
    each, theirs = [], []
    for number in range(rounds):
        seed = str(case.seed * 1000 + number)
        with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as scratch:
            each.append(worst("shares_ours", environment(BASE), place.surroundings(scratch), str(case.directory), seed))
            base = environment(BASE)
            theirs.append(worst("shares_hf", environment("bench/peers/requirements/hf.txt", base), place.surroundings(scratch), seed))
    more = f"median {statistics.median(each):.2f} %; Hugging Face's interleave_datasets {min(theirs):.1f} to {max(theirs):.1f} %"
    return [max(each)] * 3, more


def worst(program, venv, variables, *arguments):
    command = (f"{venv}/bin/python", str(HERE / "rivals" / f"{program}.py"), str(SAMPLES), str(WINDOW), *arguments)
    return process.run(table.Contender(program, command, whole=True), set(check.cores()), variables)["percent"]


def many(case, rounds):
    """All-in rows per CPU-second; the sources weigh the same and have equally many rows."""
    key, files = "rows_per_cpu_second", len(case.files())
    task = {"batch": case.data.batch, "memory": MEMORY}
    mixed, one = delivery.alternate(
        rounds,
        lambda: run(case, OURS, "epoch", "--touch", sources=files, **task),
        lambda: run(case, OURS, "epoch", "--touch", sources=0, **task),
    )
    more = f"{files} sources: {delivery.median(mixed, key):,.0f} rows per CPU-s against {delivery.median(one, key):,.0f}"
    return delivery.ratios(mixed, one, key), more
