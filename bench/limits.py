"""Mixing, memory, two cores, time to the first batch: what the table has that is not a ratio."""

import os
import statistics
import tempfile

import process
import table

HEAD = ["| what | written by | shuffle buffer | found | must |", "| --- | --- | --- | --- | --- |"]
MIB = 1 << 20


class Check:
    """One line: measure() gives the text of the result and whether it is enough."""

    def __init__(self, name, data, buffer, must, measure):
        self.name, self.data, self.buffer, self.must, self.measure = name, data, buffer, must, measure

    def line(self, rounds):
        found, met = self.measure(rounds)
        return f"| {self.name} | {table.writer_of(self.data)} | {self.buffer} | {found}, {'met' if met else 'MISSED'} | {self.must} |"


def checks(directory):
    cores = sorted(os.sched_getaffinity(0))
    shop, tabular = directory / "shop", directory / "tabular"
    memory = 512 * MIB
    return [
        Check("mixing for its memory, shop", "shop", "22,000 rows, --memory 550MiB", ">= 15 row groups a batch at <= 0.7 GB",
              lambda n: mixing(table.shuffled(shop, 100, 22_000, "--memory", "550MiB"), cores, 15, 0.7e9)),
        Check("mixing for its memory, tabular", "tabular", "550,000 rows, --memory 480MiB", ">= 20 row groups a batch at <= 0.6 GB",
              lambda n: mixing(table.shuffled(tabular, 1024, 550_000, "--memory", "480MiB"), cores, 20, 0.6e9)),
        Check("two cores", "tabular", "200,000 rows", ">= 0.85 of two runs of one core at once",
              lambda n: two_cores(table.shuffled(tabular, 1024, 200_000), cores, n)),
        Check("first batch, cold and warm index", "many", "default", "<= 2 s and <= 0.3 s",
              lambda n: first_batch(directory / "many", cores, n)),
        Check("peak memory, --memory 512MiB", "large", "default", "<= 1.1 x memory + 64 MiB",
              lambda n: peak(directory / "large", cores, memory)),
    ]  # fmt: skip


def mixing(contender, cores, groups, limit):
    result = process.run(contender, set(cores))
    mixed, rss = result["row_groups_per_batch"], result["peak_rss_bytes"]
    return f"{mixed:.1f} row groups a batch at {rss / 1e9:.2f} GB", mixed >= groups and rss <= limit


def two_cores(contender, cores, rounds):
    """The rate on two cores against the sum of two runs that have a core each at the same time."""
    if len(cores) < 2:
        return "one core here", False
    each = []
    for _ in range(rounds):
        both = process.run(contender, set(cores[:2]))
        pair = [process.start(contender, {core}) for core in cores[:2]]
        alone = [process.finish(contender, p) for p in pair]
        each.append(both["rows"] / both["seconds"] / sum(r["rows"] / r["seconds"] for r in alone))
    return f"{statistics.median(each):.2f}", statistics.median(each) >= 0.85


def first_batch(data, cores, rounds):
    contender = table.stream(data, "--batch-size", "256", "--shuffle", "--limit", "256")
    cold, warm = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
            for times in (cold, warm):
                result = process.run(contender, set(cores), {"SHARDFEED_CACHE_DIR": cache})
                times.append(result["first_batch_seconds"])
    found = statistics.median(cold), statistics.median(warm)
    return f"{found[0]:.2f} s cold, {found[1]:.2f} s warm", found[0] <= 2 and found[1] <= 0.3


def peak(data, cores, memory):
    result = process.run(table.stream(data, "--batch-size", "64", "--shuffle", "--memory", str(memory)), set(cores))
    rss = result["peak_rss_bytes"]
    return f"{rss / MIB:.0f} MiB", rss <= 1.1 * memory + 64 * MIB
