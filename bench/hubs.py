"""Data sets of the Hugging Face hub: eight ranks of a machine train on three shuffled epochs.

The hub is the fake of python/tests/hub.py, which the hub's own client accepts, with the limits
of a free account and 20 ms before each answer. Ours has a cache, empty at first. Among the rivals,
Hugging Face datasets streams each epoch, as its documentation shows and with its largest requests,
or the hub's own client downloads all files first, for datasets or for pyarrow.
"""

import contextlib
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys

import check
import process
import servers
from storage_limits import Check

LATENCY = 0.020  # seconds
RANKS, EPOCHS, BATCH = 8, 3, 32
BUFFER = 2_500  # rows of each rank: together a fifth of few_large
STREAMED = ("datasets", "datasets-large")
DOWNLOADED = ("download-datasets", "download-pyarrow")
API = ("revision", "tree", "paths-info")
SETS = ("few_large", "small_groups", "many_small")


def checks():
    source = f"the hub's stand-in with {LATENCY * 1000:.0f} ms and its limits"
    return [
        Check("hub, requests of 8 ranks", ("few_large",), source, "as many as of one rank; none in later epochs", of_ranks),
        *(
            Check(
                f"hub, {name}, against {rival}", (name,), f"{source}, {RANKS} ranks",
                f"rows a second >= {rows}x, requests <= {requests:g}", functools.partial(against, name, rivals, rows, requests),
            )
            for name in SETS for rival, rivals, rows, requests in (("streams", STREAMED, 5, 1 / 20), ("downloads", DOWNLOADED, 1, 2))
        ),
    ]  # fmt: skip


def of_ranks(place, rounds):
    one, eight = (race(place, "few_large", "shardfeed", ranks)["requests"] for ranks in (1, RANKS))
    later = ", ".join(str(b - a) for a, b in itertools.pairwise(eight))
    found = f"{eight[0]:,} requests of {RANKS} ranks, {one[0]:,} of one; in later epochs {later}"
    return found, eight[0] <= one[0] and eight[-1] == eight[0]


def against(name, rivals, rows, most, place, rounds):
    """Ratios to the best rival, after the first epoch and after all, for which the goal is."""
    runs = {way: [] for way in ("shardfeed", *rivals)}
    for _ in range(max(1, rounds // 3)):
        for way, done in runs.items():
            done.append(race(place, name, way, RANKS))
    ours = runs.pop("shardfeed")
    found = []
    for epochs in (1, EPOCHS):
        best = min(runs, key=lambda way: min(run["seconds"][epochs - 1] for run in runs[way]))
        ratios = [b["seconds"][epochs - 1] / a["seconds"][epochs - 1] for a, b in zip(ours, runs[best])]
        low, middle, high = check.quartiles(ratios)
        requests = ours[0]["requests"][epochs - 1] / min(run["requests"][epochs - 1] for done in runs.values() for run in done)
        found.append(
            f"after epoch {epochs}: {middle:.2f}x ({low:.2f}-{high:.2f}) the rows of {best}, {requests:.3f} of the fewest requests"
        )
        met = middle >= rows and requests <= most
    return "; ".join(found + [f"{way}: {described(done)}" for way, done in (("ours", ours), *runs.items())]), met


def described(runs):
    """The quickest run: when the first batch came to all ranks, and what the first epoch and all took."""
    best = min(runs, key=lambda run: run["seconds"][-1])
    each = [f"{best['seconds'][e]:.1f} s, {best['cpu'][e]:.1f} CPU s, {best['requests'][e]:,} requests" for e in (0, -1)]
    refused = f", {best['refused']:,} of them refused" if best["refused"] else ""
    return f"first batch {best['first_seconds']:.1f} s; {each[0]}; {each[1]}{refused}"


def race(place, name, way, ranks):
    """The rows; and the seconds, the processor seconds and the requests to the hub at the end of each epoch."""
    scratch = place.scratch()
    ranks = min(ranks, len(list((place.directory / name).glob("*.parquet"))))  # a rank has a file at least
    python = f"{environment()}/bin/python"
    with hub(place.directory / name, scratch) as (url, counted):
        own = {
            "HF_ENDPOINT": url,
            "HF_HOME": f"{scratch}/hf",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "SHARDFEED_BIN": str(check.HERE.parent / "bin" / "shardfeed"),
            "SHARDFEED_CACHE_DIR": f"{scratch}/cache",
            "SHARDFEED_RUNTIME_DIR": f"{scratch}/run",
            "SHARDFEED_JOB": str(scratch),
            "PYTHONPATH": str(check.HERE.parent / "python" / "src"),
        }
        address = "hf://datasets/org/data" if way == "shardfeed" else "org/data"
        command = [python, check.HERE / "rivals" / "hub_ranks.py", way, address, ranks, EPOCHS, BATCH, BUFFER * RANKS // ranks]
        with (scratch / "log").open("w+") as log:
            run = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | own
            )
            result = {"seconds": [], "cpu": [], "requests": [], "refused": 0}
            for line in run.stdout:
                said = json.loads(line)
                if "start" in said:
                    imports = cpu_seconds(scratch)
                elif "epoch" in said:
                    counts = counted()
                    result["refused"] = counts.get("refused", 0)
                    result["seconds"].append(said["seconds"])
                    result["cpu"].append(cpu_seconds(scratch) - imports)
                    result["requests"].append(sum(counts.get(kind, 0) for kind in (*API, "resolve", "refused")))
                    run.stdin.write("\n")
                    run.stdin.flush()
                else:
                    result |= said
            if run.wait() != 0 or "rows" not in result:
                log.seek(0)
                raise process.Failed(f"{way} from the hub: {log.read()[-1000:]}")
    return result


def cpu_seconds(scratch):
    """Of the living processes of a run, the engine among them, and of their children that ended."""
    mark, ticks = f"SHARDFEED_JOB={scratch}".encode(), 0
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended, or is another user's
            if mark in (directory / "environ").read_bytes().split(b"\0"):
                ticks += sum(map(int, (directory / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@functools.cache
def environment():
    return check.environment("bench/peers/requirements/hf.txt", check.environment(check.BASE))


@contextlib.contextmanager
def hub(files, scratch):
    """The fake hub with files: its address, and a function that returns its requests by kind."""
    data = scratch / "set" / "data"
    data.mkdir(parents=True)
    for path in sorted(files.glob("*.parquet")):
        (data / path.name).symlink_to(path.absolute())
    command = [sys.executable, check.HERE.parent / "python" / "tests" / "hub.py", scratch / "set", str(LATENCY)]
    serving = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def counted():
        serving.stdin.write("\n")
        serving.stdin.flush()
        return json.loads(serving.stdout.readline())

    try:
        yield serving.stdout.readline().strip(), counted
    finally:
        servers.end(serving)
