"""The rows of storage: who reads from which server against whom, and what must be reached."""

import dataclasses
import os
import statistics
import sys

import clouds

import merging
import process
import servers
import table

HEAD = [
    "| what | from | ours, MB/s (CPU s per GB) | rivals, MB/s (CPU s per GB) | ratio (quartiles) | must |",
    "| --- | --- | --- | --- | --- | --- |",
]
IN_FLIGHT = 8  # ranges at once, from S3
STREAMS = 4  # ranges at once, from HDFS
PASSES = 2  # over the ranges, so that a run takes about a second
EPOCHS = 5  # of a warm cache, so that opening a set hardly counts


@dataclasses.dataclass(frozen=True)
class Against:
    """Rivals that answer the same must: the quickest of them counts."""

    title: str
    rivals: tuple
    must: float


@dataclasses.dataclass(frozen=True)
class Race:
    """Ours against rivals, in turn. contenders(servers) gives ours and the Againsts; the figure is bytes per second of wall time."""

    name: str
    sets: tuple
    source: str
    contenders: callable

    def lines(self, place, rounds):
        ours, against = self.contenders(place)
        everybody = [ours, *(r for a in against for r in a.rivals)]
        runs = {c.name: [] for c in everybody}
        cores = os.sched_getaffinity(0)
        for _ in range(rounds):
            for c in everybody:
                runs[c.name].append(process.run(c, cores))
        return [self.line(runs, ours, a) for a in against]

    def missing(self, why):
        return [f"| {self.name} | {self.source} | NOT MEASURED: {why} | | | |"]

    def line(self, runs, ours, against):
        """The best rival of a group decides, ours is measured against it in each round."""
        best = max((r.name for r in against.rivals), key=lambda name: statistics.median(speeds(runs[name])))
        low, middle, high = quartiles(speeds(runs[ours.name]), speeds(runs[best]))
        others = "; ".join(f"{r.name} {described(runs[r.name])}" for r in against.rivals)
        verdict = "met" if middle >= against.must else "MISSED"
        return (
            f"| {self.name}, of {against.title} | {self.source} | {described(runs[ours.name])} | {others} | "
            f"{middle:.2f}x ({low:.2f}-{high:.2f}) of {best}, {verdict} | {against.must:g}x |"
        )


def size(result):
    """The bytes of a run: as read, or of the batches' columns."""
    return result.get("bytes") or result["decoded_bytes"]


def speeds(results):
    return [size(r) / r["seconds"] for r in results]


def quartiles(ours, theirs):
    each = [a / b for a, b in zip(ours, theirs)]
    return statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3


def described(results):
    cpu = statistics.median(r["cpu_seconds"] / (size(r) / 1e9) for r in results)
    return f"{statistics.median(speeds(results)) / 1e6:,.0f} ({cpu:.2f})"


def races():
    return [
        Race("storage, S3 ranges", ("ranges",), f"S3, {IN_FLIGHT} ranges of 8 to 16 MiB in flight", s3_ranges),
        Race("storage, Google ranges", ("ranges",), f"fake-gcs-server, {IN_FLIGHT} ranges of 8 to 16 MiB in flight", gcs_ranges),
        Race("storage, Azure ranges", ("ranges",), f"Azurite, {IN_FLIGHT} ranges of 8 to 16 MiB in flight", azure_ranges),
        Race("storage, HDFS ranges", ("ranges",), f"HDFS, {STREAMS} ranges of 8 to 16 MiB in flight", hdfs_ranges),
        *(
            Race(f"storage, epoch 2, {name}", (name,), f"the cache, {EPOCHS} shuffled epochs", cached(name))
            for name in ("shop", "mixed", "tokens")
        ),
    ]


def ranges(place, name, base):
    """A file of the ranges of a set at a server: its row groups, long ones cut into even parts; all of them PASSES times."""
    path = place.scratch() / "ranges"
    with path.open("w") as out:
        for f in merging.files(place.directory / name) * PASSES:
            for group in f.groups:
                for first, end in merging.parts((group[0][0], group[-1][1])):
                    print(f"{base}/{f.name}", first, end - first, sep="\t", file=out)
    return str(path)


def one_range(place, path):
    """A file with only the first range."""
    one = place.scratch() / "range"
    with open(path) as f:
        one.write_text(f.readline())
    return str(one)


def remote(way, path, in_flight):
    return table.Contender(way, (str(servers.REMOTE), "read", "--way", way, "--ranges", path, "--in-flight", str(in_flight)))


def s3_ranges(place):
    path = ranges(place, "ranges", place.put("ranges"))
    n = str(IN_FLIGHT)
    return remote("s3", path, IN_FLIGHT), [
        Against("a raw loop of GETs", (remote("sdk", path, IN_FLIGHT),), 0.95),
        Against("s3fs", (rival("read_s3fs", path, n, "cat_ranges"), rival("read_s3fs", path, n, "cat_file")), 1.5),
        Against("pyarrow.fs", (rival("read_pyarrow", path, n),), 1.2),
    ]


def gcs_ranges(place):
    path = ranges(place, "ranges", clouds.gcs(place, "ranges"))
    sdk = rival("read_gcs", path, str(IN_FLIGHT))
    return remote("gs", path, IN_FLIGHT), [Against("Google's transfer manager", (sdk,), 0.9)]


def azure_ranges(place):
    path = ranges(place, "ranges", clouds.azurite(place, "ranges"))
    sdk = rival("read_azure", path, str(IN_FLIGHT))
    return remote("az", path, IN_FLIGHT), [Against("Azure's library", (sdk,), 0.9)]


def rival(script, path, *arguments):
    name = " ".join((script.partition("_")[2], *arguments[1:]))
    return table.Contender(name, (sys.executable, str(servers.HERE / "rivals" / f"{script}.py"), path, *arguments))


def hdfs_ranges(place):
    path = ranges(place, "ranges", place.hdfs("ranges"))
    source = str(servers.HERE / "rivals" / "HdfsRead.java")
    java = table.Contender("java", (*place.java(), source, path, str(STREAMS)))
    cat = table.Contender("dfs -cat", (sys.executable, str(servers.HERE / "rivals" / "hdfs_cat.py"), path, *place.java()))
    return remote("hdfs", path, STREAMS), [
        Against("the library, unverified", (remote("library", path, STREAMS),), 0.97),
        Against("the JVM client", (java, cat), 1.0),
    ]


def epoch(uri, cache, name="cache", *arguments, epochs=1, columns=None):
    """A shuffled stream of a set; cache is the directory of the cache and of the index."""
    options = ["--shuffle", "--seed", "1", "--epochs", str(epochs), "--cache-dir", str(cache), *arguments]
    if columns:
        options += ["--columns", columns]
    return table.Contender(name, (str(table.BIN / "shardfeed"), "bench", str(uri), "--json", *options))


def warm(uri, cache):
    """Fills the cache with a set."""
    return table.Contender("warm", (str(table.BIN / "shardfeed"), "warm", uri, "--json", "--cache-dir", str(cache)), whole=True)


def cached(name):
    """Epochs of a set on S3 that the cache holds against the same epochs of the local files."""

    def contenders(place):
        uri, cache = place.put(name), place.scratch()
        ours = epoch(uri, cache, epochs=EPOCHS)
        process.run(warm(uri, cache), os.sched_getaffinity(0))
        local = epoch(place.directory / name, cache, "local", epochs=EPOCHS)
        return ours, [Against("local files", (local,), 0.95)]

    return contenders
