"""Rows of data sets of the Hugging Face hub: eight ranks of a machine read three shuffled epochs.

The hub is the fake of python/tests/hub.py, which the hub's own client accepts, with the limits
of a free account and 20 ms before each answer. Ours has a cache, empty at first; Hugging Face datasets
streams each epoch, as its documentation shows and with its largest requests: the better one counts.
In another check the hub's own client downloads all files first, which datasets or pyarrow then read
from the disk: they are compared at the end of the first epoch, the download included.
"""

import contextlib
import functools
import itertools
import json
import os
import subprocess
import sys

import check
import process
import servers
from storage_limits import Check

LATENCY = 0.020  # seconds
RANKS, EPOCHS, BATCH = 8, 3, 32
BUFFER = 2_500  # rows of each rank: together a tenth of the set
RIVALS = ("datasets", "datasets-large")
DOWNLOADS = ("download-datasets", "download-pyarrow")
API = ("revision", "tree", "paths-info")


def checks():
    source = f"the hub's stand-in with {LATENCY * 1000:.0f} ms and its limits"
    return [Check("hub, requests of 8 ranks", ("tokens",), source, "as many as of one rank; none in later epochs", of_ranks)] + [
        Check(
            f"hub, {name} against datasets", (name,), f"{source}, 8 ranks, {EPOCHS} epochs", "requests <= 1/20, rows a second >= 5x",
            functools.partial(against_datasets, name),
        )
        for name in ("tokens", "small_groups")
    ] + [
        Check(
            "hub, tokens against downloads", ("tokens",), f"{source}, {RANKS} ranks", "rows a second at the end of the first epoch >= 1x",
            against_downloads,
        )
    ]  # fmt: skip


def of_ranks(place, rounds):
    one, eight = (race(place, "tokens", "shardfeed", ranks)["requests"] for ranks in (1, RANKS))
    found = f"{eight[0]:,} requests of {RANKS} ranks, {one[0]:,} of one; in later epochs {later(eight)}"
    return found, eight[0] <= one[0] and eight[-1] == eight[0]


def later(requests):
    return ", ".join(str(b - a) for a, b in itertools.pairwise(requests))


def against_datasets(name, place, rounds):
    ours, theirs = [], {rival: [] for rival in RIVALS}
    for _ in range(max(1, rounds // 3)):
        ours.append(race(place, name, "shardfeed", RANKS))
        for rival, runs in theirs.items():
            runs.append(race(place, name, rival, RANKS))
    fewest = min(runs[0]["requests"][-1] for runs in theirs.values())
    requests = ours[0]["requests"][-1] / fewest
    best = max(theirs, key=lambda rival: max(map(speed, theirs[rival])))
    low, middle, high = check.quartiles([speed(a) / speed(b) for a, b in zip(ours, theirs[best])])
    others = "; ".join(f"{rival} {described(runs)}" for rival, runs in theirs.items())
    found = f"requests 1/{1 / requests:.0f}; rows {middle:.1f}x ({low:.1f}-{high:.1f}) of {best}; ours {described(ours)}; {others}"
    return found, requests <= 1 / 20 and middle >= 5


def against_downloads(place, rounds):
    runs = {way: [] for way in ("shardfeed", *DOWNLOADS)}
    for _ in range(max(1, rounds // 3)):
        for way, done in runs.items():
            done.append(race(place, "tokens", way, RANKS))
    best = max(DOWNLOADS, key=lambda way: max(map(first_speed, runs[way])))
    low, middle, high = check.quartiles([first_speed(a) / first_speed(b) for a, b in zip(runs["shardfeed"], runs[best])])
    each = "; ".join(f"{way} {max(map(first_speed, done)):,.0f} rows/s, of {EPOCHS} epochs {described(done)}" for way, done in runs.items())
    return f"{middle:.2f}x ({low:.2f}-{high:.2f}) of {best}; {each}", middle >= 1


def first_speed(run):
    """Rows a second of the first epoch."""
    return run["rows"] / EPOCHS / run["ends"][0]


def speed(run):
    return run["rows"] / run["seconds"]


def described(runs):
    last = runs[-1]
    refused = f", {last['refused']:,} of them refused" if last["refused"] else ""
    return f"{max(map(speed, runs)):,.0f} rows/s, {last['requests'][-1]:,} requests{refused}"


def race(place, name, way, ranks):
    """The rows, the seconds, and the requests to the hub by the end of each epoch, refused or not.

    A rank has a file at least.
    """
    scratch = place.scratch()
    ranks = min(ranks, len(list((place.directory / name).glob("*.parquet"))))
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
            result, requests = {}, []
            for line in run.stdout:
                result = json.loads(line)
                if "epoch" in result:
                    counts = counted()
                    requests.append(sum(counts.get(kind, 0) for kind in (*API, "resolve", "refused")))
                    run.stdin.write("\n")
                    run.stdin.flush()
            if run.wait() != 0 or "rows" not in result:
                log.seek(0)
                raise process.Failed(f"{way} from the hub: {log.read()[-1000:]}")
    return result | {"requests": requests, "refused": counts.get("refused", 0)}


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
