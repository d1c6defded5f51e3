"""The rows of storage that are not ratios to a rival: bytes and requests, time to the first batch, the cache, memory."""

import dataclasses
import os
import re
import shutil
import statistics
import tempfile

import merging
import process
import storage
import table

HEAD = ["| what | from | found | must |", "| --- | --- | --- | --- |"]
MIB = 1 << 20
LATENCY = "20ms"
PROCESSES = 8
IN_FLIGHT = 64
SMALL_PART = 1 << 20  # bytes of a request where many are to be in flight
MEMORY = 512 * MIB
WITHOUT_IMAGE = "unique_id,title,tokens,token_ids,label,price"
TEN = ",".join(f"c{k:03d}" for k in (3, 5, 6, 120, 131, 150, 400, 405, 750, 990))
GET = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclasses.dataclass(frozen=True)
class Check:
    """One line: measure(servers, rounds) gives the text of the result and whether it is enough."""

    name: str
    sets: tuple
    source: str
    must: str
    measure: callable

    def lines(self, place, rounds):
        found, met = self.measure(place, rounds)
        return [f"| {self.name} | {self.source} | {found}, {'met' if met else 'MISSED'} | {self.must} |"]

    def missing(self, why):
        return [f"| {self.name} | {self.source} | NOT MEASURED: {why} | {self.must} |"]


def checks():
    fetched = "S3, an empty cache, one shuffled epoch"
    return [
        Check("storage, bytes, shop", ("shop",), fetched, "<= 1.05x the projected chunks", lambda p, n: epoch_bytes(p, "shop", None)),
        Check("storage, bytes, shop without img_jpg", ("shop",), fetched, "<= 1.05x the projected chunks",
              lambda p, n: epoch_bytes(p, "shop", WITHOUT_IMAGE)),
        Check("storage, bytes, 10 of 1,000 columns", ("wide",), fetched,
              "<= 1.1x the time of the best merging at 20 ms and 60 MB/s; GETs <= merged runs + shards", ten_columns),
        Check("storage, first batch of 1,000 shards", ("shards",), "S3 with 20 ms of latency", "<= 5 s cold, <= 1 s with a warm index",
              lambda p, n: first_batch(p, 1_000, n, 5, 1)),
        Check("storage, first batch of 10,000 shards", ("shards",), "S3 with 20 ms of latency", "<= 20 s cold, with progress shown",
              many_shards),
        Check("storage, start of 10,000 shards with a plan", ("shards",), "S3, nothing kept on disk; against reading the footers",
              "<= 1/5 of the CPU time, <= 1/2 of the memory beyond that of one shard, no request", planned_start),
        Check("storage, plan of 10 million row groups", (), "no file: the order for 8,000 ranks", "<= 0.7 CPU s, <= 300 MB in all",
              planned_groups),
        Check("storage, a second run asks for nothing", ("tokens",), "S3, a cache that warm filled", "no GET", second_run),
        Check("storage, half a cache, 3 epochs", ("tokens",), "S3", "keep: bytes fetched again <= 1.03x the optimum", half_a_cache),
        Check(f"storage, {PROCESSES} processes, one cold cache", ("tokens",), "S3", "each byte fetched once", many_processes),
        Check(f"storage, memory, {IN_FLIGHT} requests in flight", ("ranges",), "S3 with 20 ms of latency, --memory 512MiB",
              "store: <= 64 MiB; stream: <= 1.1 x memory + 64 MiB", memory),
    ]  # fmt: skip


def cores():
    return os.sched_getaffinity(0)


class Requests:
    """What a server was asked for while shardfeed streamed: requests of data, by the spans that they asked for, and of footers apart.
    A request is of a footer when it asks for bytes behind the last column chunk."""

    def __init__(self, log, files):
        ends = {f.name: f.data for f in files}
        gets = [(GET.match(e.get("content_range", "")), e) for e in log if e["method"] == "GET" and e["status"] == 206]
        named = [(int(span[1]), int(span[2]) + 1, e) for span, e in gets if span]
        self.data = [(e["path"].rpartition("/")[2], lo, hi, e) for lo, hi, e in named if hi <= ends[e["path"].rpartition("/")[2]]]
        self.footers = [e for lo, hi, e in named if hi > ends[e["path"].rpartition("/")[2]]]
        self.whole = [e for e in log if e["method"] == "GET" and e["status"] == 200 and e["path"].endswith(".parquet")]
        if self.whole:
            raise process.Failed(f"a whole object was asked for: {self.whole[0]}")

    @property
    def data_bytes(self):
        return sum(e["bytes"] for *_, e in self.data)

    @property
    def footer_bytes(self):
        return sum(e["bytes"] for e in self.footers)

    @property
    def at_once(self):
        """The most requests of data that were under way at one time."""
        edges = sorted([(e["start"], 1) for *_, e in self.data] + [(e["start"] + e["seconds"], -1) for *_, e in self.data])
        most = now = 0
        for _, step in edges:
            now += step
            most = max(most, now)
        return most

    def __str__(self):
        return (
            f"{self.data_bytes / 1e6:,.1f} MB in {len(self.data)} GETs; "
            f"footers apart: {self.footer_bytes / 1e6:,.1f} MB in {len(self.footers)} GETs"
        )


def requested(place, files, run, latency=None):
    """Runs run(environment) behind a proxy that counts; the Requests."""
    with place.logged(latency) as (environment, entries):
        run(environment)
        return Requests(entries(), files)


def epoch_bytes(place, name, columns):
    uri, files = place.put(name), merging.files(place.directory / name, columns and columns.split(","))
    asked = requested(place, files, lambda e: process.run(storage.epoch(uri, place.scratch(), columns=columns), cores(), e))
    needed = sum(f.needed for f in files)
    ratio = asked.data_bytes / needed
    return f"{ratio:.3f}x of {needed / 1e6:,.1f} MB: {asked}", ratio <= 1.05


def ten_columns(place, rounds):
    uri, files = place.put("wide"), merging.files(place.directory / "wide", TEN.split(","))
    asked = requested(place, files, lambda e: process.run(storage.epoch(uri, place.scratch(), columns=TEN), cores(), e))
    ratio = merging.cost([e["bytes"] for *_, e in asked.data]) / merging.best_of(files)
    gets, most = len(asked.data) + len(asked.footers), merging.requests(files) + len(files)
    return f"{ratio:.3f}x; {gets} GETs of {most}; {asked}", ratio <= 1.1 and gets <= most


def first_batch(place, shards, rounds, cold_limit, warm_limit=None):
    """Cold is without anything kept; warm has the index of footers, but the cache is as cold; again has both, as a run has on its second
    day."""
    uri = place.put("shards", f"shards-{shards}", shards)
    times = {"cold": [], "warm": [], "again": []}
    with place.delayed(LATENCY) as environment:

        def first(name, cache):
            contender = storage.epoch(uri, cache, name, "--limit", "256")
            times[name].append(process.run(contender, cores(), environment)["first_batch_seconds"])

        for _ in range(rounds):
            kept = place.scratch()  # goes away at the end: ext4 is slow to make files where thousands have just been deleted
            first("cold", kept / "cold")
            shutil.copytree(kept / "cold", kept / "warm", ignore=shutil.ignore_patterns("v1"))
            first("warm", kept / "warm")
            first("again", kept / "warm")
    cold, warm, again = (statistics.median(t) for t in times.values())
    met = cold <= cold_limit and (warm_limit is None or warm <= warm_limit)
    return f"{cold:.2f} s cold, {warm:.2f} s with a warm index, {again:.2f} s with a warm cache too", met


def many_shards(place, rounds):
    """The time to the first batch of ten times as many, fewer rounds of it; and what a terminal shows meanwhile."""
    found, met = first_batch(place, 10_000, max(1, rounds // 3), 20)
    uri = place.put("shards", "shards-10000", 10_000)
    with place.delayed(LATENCY) as environment, tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        screen = process.on_a_terminal(storage.epoch(uri, cache, "first", "--limit", "256"), environment)
    shown = b"footers" in screen
    return f"{found}, progress {'shown' if shown else 'not shown'}", met and shown


def opened(uri, cache, *arguments):
    """Opens a set and plans its memory, without reading rows."""
    command = (str(table.BIN / "shardfeed"), "plan", str(uri), "--json", "--cache-dir", str(cache), *arguments)
    return table.Contender("plan", command, whole=True)


def planned_start(place, rounds):
    """The whole process: a start that lists the shards and reads their footers, and one that has both from a plan."""
    uri, plan = place.put("shards", "shards-10000", 10_000), place.scratch() / "run.plan"
    process.run(opened(uri, place.scratch(), "--save", str(plan)), cores())
    ways = {"cold": (), "planned": ("--plan", str(plan))}
    runs = {name: [] for name in ways}
    for _ in range(rounds):
        for name, options in ways.items():
            runs[name].append(process.run(opened(uri, place.scratch(), *options), cores()))
    with place.logged() as (environment, entries):
        process.run(opened(uri, place.scratch(), *ways["planned"]), cores(), environment)
        asked = len(entries())
    one = process.run(opened(min((place.directory / "shards").glob("*.parquet")), place.scratch()), cores())["peak_rss_bytes"]
    cpu, rss = ([statistics.median(r[key] for r in runs[name]) for name in ways] for key in ("cpu_seconds", "peak_rss_bytes"))
    more = [n - one for n in rss]
    found = (
        f"{cpu[1]:.2f} CPU s of {cpu[0]:.2f}; {rss[1] / MIB:.0f} MiB of {rss[0] / MIB:.0f}, "
        f"of which {one / MIB:.0f} are those of one shard; {asked} requests"
    )
    return found, cpu[1] <= cpu[0] / 5 and more[1] <= more[0] / 2 and asked == 0


def planned_groups(place, rounds):
    """The units, the plan and a lane, without files."""
    runs = [process.run(table.Contender("plan", (str(table.BIN / "plan"),)), cores()) for _ in range(rounds)]
    cpu = statistics.median(r["cpu_seconds"] for r in runs)
    last = runs[-1]
    found = f"{cpu:.2f} CPU s, {last['heap_bytes'] / 1e6:.0f} MB, of which {last['plan_bytes'] / 1e6:.0f} are not the manifest's"
    return found, cpu <= 0.7 and last["heap_bytes"] <= 300e6


def second_run(place, rounds):
    """After warm nothing may be asked for. After a plain epoch, bytes that the disk was too slow to keep are fetched again, and counted."""
    uri, files, gets = place.put("tokens"), merging.files(place.directory / "tokens"), []
    for first in (storage.warm, storage.epoch):
        cache = place.scratch()
        process.run(first(uri, cache), cores())
        asked = requested(place, files, lambda e, c=cache: process.run(storage.epoch(uri, c), cores(), e))
        gets.append((len(asked.data) + len(asked.footers), asked.data_bytes / sum(f.needed for f in files)))
    return f"{gets[0][0]} GETs; after an epoch instead {gets[1][0]} GETs of {gets[1][1]:.1%} of the bytes", gets[0][0] == 0


def half_a_cache(place, rounds):
    uri, files, epochs = place.put("tokens"), merging.files(place.directory / "tokens"), 3
    data = sum(f.needed for f in files)
    limit = data // 2
    again = {}
    for policy in ("keep", "lru"):
        options = ("--cache-limit", str(limit), "--cache-policy", policy)
        contender = storage.epoch(uri, place.scratch(), policy, *options, epochs=epochs)
        asked = requested(place, files, lambda e, c=contender: process.run(c, cores(), e))
        again[policy] = (asked.data_bytes - data) / ((epochs - 1) * (data - limit))
    found = f"keep {again['keep']:.3f}x, lru {again['lru']:.3f}x of the {(epochs - 1) * (data - limit) / 1e6:,.1f} MB that must be"
    return found, again["keep"] <= 1.03


def many_processes(place, rounds):
    uri, files, cache = place.put("tokens"), merging.files(place.directory / "tokens"), place.scratch()

    def run(environment):
        """Each order has two processes, so that some want the same bytes at the same time and some do not."""
        contenders = [storage.epoch(uri, cache, f"process {i}", "--epoch", str(i // 2), "--memory", "512MiB") for i in range(PROCESSES)]
        started = [(c, process.start(c, cores(), environment)) for c in contenders]
        for contender, p in started:
            process.finish(contender, p)

    asked, needed = requested(place, files, run), sum(f.needed for f in files)
    twice = bytes_asked_twice(asked)
    return f"{asked.data_bytes / needed:.3f}x of the projected chunks, {twice:,} bytes more than once; {asked}", twice == 0


def bytes_asked_twice(asked):
    twice, reached = 0, {}
    for name, lo, hi, _ in sorted(asked.data, key=lambda r: r[:3]):
        twice += max(0, min(hi, reached.get(name, 0)) - lo)
        reached[name] = max(hi, reached.get(name, 0))
    return twice


def memory(place, rounds):
    """Of the store: the peak of a process that reads through it, less the memory that it reads into, over the peak of a process that
    reads one range. Of a stream: its peak, with small parts, so that its memory lets many requests be in flight."""
    uri, files = place.put("ranges"), merging.files(place.directory / "ranges")
    path = storage.ranges(place, "ranges", uri)
    many, one = (process.run(storage.remote("s3", p, n), cores()) for p, n in ((path, IN_FLIGHT), (storage.one_range(place, path), 1)))
    store = sum(sign * (r["peak_rss_bytes"] - r["buffer_bytes"]) for sign, r in ((1, many), (-1, one)))
    stream = {}

    def run(environment):
        reading = ("--storage-option", f"max_concurrency={IN_FLIGHT}", "--storage-option", f"default_block_size={SMALL_PART}", "--no-cache")
        contender = storage.epoch(uri, place.scratch(), "stream", "--memory", str(MEMORY), "--batch-size", "64", *reading)
        stream.update(process.run(contender, cores(), environment))

    asked = requested(place, files, run, LATENCY)
    rss = stream["peak_rss_bytes"]
    met = store <= 64 * MIB and rss <= 1.1 * MEMORY + 64 * MIB and asked.at_once >= IN_FLIGHT
    return f"store {store / MIB:.0f} MiB; stream {rss / MIB:.0f} MiB with {asked.at_once} requests in flight", met
