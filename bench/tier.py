"""What the first epoch pays for keeping decoded columns."""

import functools
import os
import statistics
import tempfile

import check
import process
import servers
import table

NAME = "tier, epoch 1"
LIMIT = "100GiB"
BATCH = 1024
COPIES = 8  # of the set, so that an epoch lasts long enough for some work at half a percent of the processors
MB = 1e6


def checks(directory):
    for name, more in (("tall", ""), ("tall_by_polars", ", second writer")):
        where = f"`{name}` {COPIES} times, an empty cache, {len(check.cores())} cores"
        source = f"{where}: wall time with --decoded-limit {LIMIT} over that without"
        run = functools.partial(measured, directory / name)
        yield check.Check(f"{NAME}{more}", (name,), source, 1.03, None, run)


def measured(data, _, rounds):
    return measure(data, rounds)


def measure(data, rounds):
    """Runs in turn. The disk has nothing left to write when one starts; its cache ends with it."""
    runs = {"with": [], "without": []}
    options = {"with": ("--decoded-limit", LIMIT), "without": ()}
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-", dir=data.parent) as long:
        for path in data.glob("*.parquet"):
            for copy in range(COPIES):  # other names of the same bytes, which are once in the page cache
                os.link(path, f"{long}/{copy}-{path.name}")
        for number in range(rounds):
            for name in sorted(runs, reverse=number % 2):
                runs[name].append(epoch(data.parent, long, *options[name]))

    def median(name, key):
        return statistics.median(r[key] for r in runs[name])

    wrote = statistics.median(r["cache"]["decoded_filled_bytes"] for r in runs["with"])
    if not wrote:
        raise servers.Missing("nothing was kept decoded")
    more = (
        f"{median('with', 'seconds'):.2f} s with, {median('without', 'seconds'):.2f} s without; "
        f"{median('with', 'cpu_seconds'):.2f} and {median('without', 'cpu_seconds'):.2f} CPU s; "
        f"{wrote / MB:,.0f} MB written of {median('with', 'decoded_bytes') / MB:,.0f} MB decoded"
    )
    return check.quartiles([a["seconds"] / b["seconds"] for a, b in zip(runs["with"], runs["without"])]), more


def epoch(place, data, *options):
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-", dir=place) as cache:
        os.sync()
        reading = ("--batch-size", str(BATCH), "--shuffle", "--seed", "1", "--cache-dir", cache)
        return process.run(table.stream(data, *reading, *options), set(check.cores()))
