#!/usr/bin/env python3
"""run.py [--rounds 9] [--only TEXT] [--noisy] [--smoke]: the table of speeds, in Markdown.

Contenders are run in turn, A B C A B C, each in a process of its own pinned to its cores, with the
files in the page cache. A ratio is taken in each round; the table has the median and the quartiles.
Rows per CPU-second count user and system time; the ratio by user time is beside it,
because kernel time depends on the machine's memory. The rows of storage (--only storage) start real
servers and compare bytes per second of wall time on all cores.
--noisy runs all of it beside processes that copy memory at the lowest priority (noise.py).
--smoke runs every row once on very small sets, to see that all of it works; figures mean nothing.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import platform
import statistics
import sys
import tempfile

import again
import agreement
import check
import deleted
import filters
import gen
import hubs
import images
import limits
import noise
import process
import ray_train
import scenes
import servers
import shaping
import storage
import storage_limits
import table
import tier
import tokenizing


def main():
    args = arguments()
    directory = gen.default_directory() / ("smoke" if args.smoke else "")
    scale = 0.02 if args.smoke else 1.0
    rows = [r for r in table.rows_per_cpu_second(directory) if args.only in r.name]
    checks = [c for c in limits.checks(directory) if args.only in c.name]
    races = [r for r in storage.races() if args.only in r.name]
    chosen = [c for c in filters.checks(directory) if args.only in c.name]
    modules = (shaping, tokenizing, images, scenes, ray_train, agreement, tier, deleted)
    shaped = [c for module in modules for c in module.checks(directory) if args.only in c.name]
    remote = [c for module in (storage_limits, hubs) for c in module.checks() if args.only in c.name]
    sets = [r.data for r in rows] + [c.data for c in checks] + [name for r in races + remote + chosen + shaped for name in r.sets]
    absent = {}
    for name in dict.fromkeys(sets):
        try:
            check.warm(gen.make(name, directory, scale, os.cpu_count()))
        except again.NoWriter as e:
            absent[name] = e
    lines = heading(args.rounds, args.noisy)
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="shardfeed-bench-"))
        if args.noisy:
            stack.enter_context(noise.on(check.cores()))
        os.environ["SHARDFEED_CACHE_DIR"] = cache
        show(*lines)
        lines += part(rows, SPEED_HEAD, lambda row: [not_made(row, absent[row.data]) if row.data in absent else compare(row, args.rounds)])
        lines += part(checks, limits.HEAD, lambda check: [check.line(args.rounds)])
        with servers.Servers(directory) as place:
            lines += part(races, storage.HEAD, lambda race: served(race, place, args.rounds))
            lines += part(chosen, check.HEAD, lambda row: served(row, place, args.rounds))
            lines += part(shaped, check.HEAD, lambda row: served(row, place, args.rounds))
            lines += part(remote, storage_limits.HEAD, lambda check: served(check, place, args.rounds))
    if not args.smoke:
        save(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--noisy", action="store_true", help="beside processes that copy memory at the lowest priority")
    parser.add_argument("--smoke", action="store_true", help="each row once, on very small sets")
    args = parser.parse_args()
    args.rounds = 1 if args.smoke else args.rounds
    return args


def part(rows, head, measure):
    """The lines of one table, or nothing when no row of it is wanted."""
    lines = show("", *head) if rows else []
    for row in rows:
        lines += show(*measure(row))
    return lines


def served(row, place, rounds):
    """The lines of a row of storage; a server that can't be had leaves a row with the reason."""
    try:
        return row.lines(place, rounds)
    except servers.Missing as e:
        return row.missing(e)


def show(*lines):
    for line in lines:
        print(line, flush=True)
    return list(lines)


COLUMNS = [
    "what",
    "written by",
    "shuffle buffer",
    "ours, rows per CPU-s",
    "rivals, rows per CPU-s",
    "ratio (quartiles)",
    "by user time",
    "must",
    "aim",
]
SPEED_HEAD = [f"| {' | '.join(COLUMNS)} |", "| --- " * len(COLUMNS) + "|"]


def compare(row, rounds):
    """One line of the table: every contender in turn, rounds times."""
    contenders = (row.ours, *row.rivals)
    cores = set(sorted(os.sched_getaffinity(0))[: row.cores])
    runs = {c.name: [] for c in contenders}
    for _ in range(rounds):
        for contender in contenders:
            result = process.run(contender, cores)
            if result["rows"] == 0:
                raise process.Failed(f"{contender.name}: no rows of {row.data}")
            runs[contender.name].append(result)
    ours, rivals = runs.pop(row.ours.name), runs
    best = max(rivals, key=lambda name: statistics.median(speeds(rivals[name])))
    ratio = ratios(speeds(ours), speeds(rivals[best]))
    by_user = ratios(speeds(ours, "user_seconds"), speeds(rivals[best], "user_seconds"))
    others = "; ".join(f"{name} {described(results)}" for name, results in rivals.items())
    verdict = "aim met" if ratio[1] >= row.aim else "must met" if ratio[1] >= row.must else "MISSED"
    return (
        f"| {row.name} | {table.writer_of(row.data)} | {row.buffer} | {described(ours)} | {others} | "
        f"{ratio[1]:.2f}x ({ratio[0]:.2f}-{ratio[2]:.2f}) of {best}, {verdict} | {by_user[1]:.2f}x | {row.must:g}x | {row.aim:g}x |"
    )


def not_made(row, why):
    """The line of a row whose data cannot be made here."""
    return f"| {row.name} | {table.writer_of(row.data)} | {row.buffer} | NOT MEASURED: {why} | - | - | - | {row.must:g}x | {row.aim:g}x |"


def speeds(results, time="cpu_seconds"):
    return [r["rows"] / max(r[time], 1e-9) for r in results]


def ratios(ours, theirs):
    """Quartiles of the rounds' ratios."""
    each = [a / b for a, b in zip(ours, theirs)]
    return statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3


def described(results):
    median = {key: statistics.median(r[key] for r in results) for key in ("user_seconds", "system_seconds")}
    return f"{statistics.median(speeds(results)):,.0f} ({median['user_seconds']:.2f} s user, {median['system_seconds']:.2f} s system)"


def heading(rounds, noisy):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return [
        f"# Speeds, {datetime.date.today().isoformat()}",
        "",
        f"{processor()}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, {platform.system()} {platform.release()}; "
        f"{rounds} rounds in turn, one core each where nothing else is said, files in the page cache{f', {noise.TEXT}' if noisy else ''}.",
    ]


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def save(lines):
    results = pathlib.Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    path = results / f"{datetime.datetime.now():%Y-%m-%d-%H%M}.md"
    path.write_text("\n".join(lines) + "\n")
    print(f"\nwritten to {path}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except process.Failed as e:
        sys.exit(f"bench: {e}")
