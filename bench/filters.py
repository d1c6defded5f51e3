"""Filters: what counting costs, what a tenth of the rows costs, and what replicas share."""

import json
import statistics
import subprocess
import tempfile

import process
import table
from check import BASE, HERE, Check, beside, by_duckdb, cores, environment, quartiles

TWO = "c00 >= 50 and c13 < 13"  # two numeric columns of tabular; half of a half of the rows


def checks(directory):
    def data(name):
        return directory / name

    tabular, tokens = data("tabular"), data("tokens")
    return [
        Check("filters, counting", ("tabular",), "tabular; CPU of DuckDB's count(*) over ours", 0.7, 1,
              lambda p, n: counting(tabular, n), at_most=False),
        Check("filters, counting, second writer", ("tabular",), "the same rows in another order, written by DuckDB", 0.7, 1,
              lambda p, n: counting(by_duckdb(directory, "tabular"), n), at_most=False),
        Check("filters, counting beside a busy core", ("tabular",), "tabular, while a process copies memory on the other core", 0.7, 1,
              lambda p, n: beside(lambda: counting(tabular, n)), at_most=False),
        Check("filters, second count", ("tokens",), "S3: bytes that it reads of shards, against the first", 0, 0,
              lambda p, n: second_count(p)),
        Check("filters, tenth at random, CPU", ("tabular",), "tabular, shuffled, against all rows", 0.75, 0.6,
              lambda p, n: epochs(tabular, "hash(id) % 10 = 0", 1024, 200_000, "cpu_seconds", n)),
        Check("filters, tenth at random, CPU, second writer", ("tabular",), "the same rows in another order, written by DuckDB", 0.75, 0.6,
              lambda p, n: epochs(by_duckdb(directory, "tabular"), "hash(id) % 10 = 0", 1024, 200_000, "cpu_seconds", n)),
        Check("filters, tenth at random, memory", ("tabular",), "tabular, a buffer of half the table: the stream's bound", 0.2, 0.2,
              lambda p, n: bounds(tabular, "hash(id) % 10 = 0", 1024, 1_000_000)),
        Check("filters, tenth at random of lists, CPU", ("tokens",), "tokens, shuffled, against all rows", 1, 0.6,
              lambda p, n: epochs(tokens, "hash(doc_id) % 10 = 0", 32, 20_000, "cpu_seconds", n)),
        Check("filters, tenth at random of lists, memory", ("tokens",), "tokens, a buffer of half the table: the stream's bound", 0.2, 0.2,
              lambda p, n: bounds(tokens, "hash(doc_id) % 10 = 0", 32, 100_000)),
        Check("filters, tenth at random, small buffer, memory", ("tokens",), "tokens, a buffer of a tenth: the stream's bound", 0.2, 0.2,
              lambda p, n: bounds(tokens, "hash(doc_id) % 10 = 0", 32, 20_000)),
        Check("filters, tenth side by side, CPU", ("tabular",), "tabular, shuffled, against all rows", 0.2, 0.12,
              lambda p, n: epochs(tabular, "id < 200000", 1024, 200_000, "cpu_seconds", n)),
        Check("filters, tenth side by side, bytes", ("tabular",), "tabular: bytes read", 0.2, 0.12,
              lambda p, n: epochs(tabular, "id < 200000", 1024, 200_000, "read_bytes", n)),
        Check("filters, stream against datasets", ("tabular",), "tabular, a tenth side by side: rows per CPU-s over Hugging Face datasets",
              8, 15, lambda p, n: against_datasets(tabular, n), at_most=False),
        Check("filters, eight replicas", ("tabular",), "tabular, 8 processes, replication=8, steps of 2 ms: the engine's CPU against one's",
              1.2, 1.05, lambda p, n: replicas(tabular, 1024, 200_000, 2, n)),
        Check("filters, eight replicas, lists", ("tokens",), "tokens, the same", 1.2, 1.05,
              lambda p, n: replicas(tokens, 32, 20_000, 2, n)),
        Check("filters, eight replicas without a step", ("tabular",), "tabular, the same, all waiting for each batch", 1.2, 1.05,
              lambda p, n: replicas(tabular, 1024, 200_000, 0, n)),
    ]  # fmt: skip


def count(data, where):
    return table.Contender("count", (str(table.BIN / "shardfeed"), "count", str(data), "--where", where, "--json"), whole=True)


def counted(data, where, cache, allowed=None, environment=None):
    """A count with a cache directory, and so an index, of its own."""
    return process.run(count(data, where), allowed or set(cores()[:1]), {"SHARDFEED_CACHE_DIR": str(cache), **(environment or {})})


def counting(data, rounds):
    """Processor time of the whole of our process; DuckDB's counts from opening the files on."""
    rival = table.rival("count_duckdb", data, TWO)
    each, ours, theirs = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
            a = counted(data, TWO, cache)
        b = process.run(rival, set(cores()[:1]))
        if a["rows"] != b["rows"]:
            raise process.Failed(f"{a['rows']} rows pass here and {b['rows']} in DuckDB")
        ours.append(a["cpu_seconds"])
        theirs.append(b["cpu_seconds"])
        each.append(b["cpu_seconds"] / a["cpu_seconds"])
    rows = a["all_rows"]
    return quartiles(each), f"{nanoseconds(ours, rows)} ns of CPU a row against {nanoseconds(theirs, rows)}"


def nanoseconds(times, rows):
    return f"{statistics.median(times) * 1e9 / rows:.0f}"


def second_count(place):
    uri = place.put("tokens")
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        read = []
        for _ in range(2):
            with place.logged() as (environment, entries):
                counted(uri, "len(token_ids) > 1000", cache, set(cores()), environment)
                read.append(sum(e["bytes"] for e in entries() if e["method"] == "GET" and e["path"].endswith(".parquet")))
    return [read[1] / read[0]] * 3, f"{read[0] / 1e6:,.1f} MB, then {read[1]:,} bytes"


def epochs(data, where, batch, buffer, figure, rounds):
    """An epoch of a tenth of the rows over one of all rows, each with a buffer of the same share.

    The counts are there: they were paid for once.
    """
    each, some, whole = [], [], []
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        environment = {"SHARDFEED_CACHE_DIR": cache}
        counted(data, where, cache)
        for _ in range(rounds):
            a = process.run(table.shuffled(data, batch, buffer // 10, "--where", where), set(cores()[:1]), environment)
            b = process.run(table.shuffled(data, batch, buffer), set(cores()[:1]), environment)
            each.append(a[figure] / b[figure])
            some.append(a[figure])
            whole.append(b[figure])
    return quartiles(each), f"{statistics.median(some):,.2f} against {statistics.median(whole):,.2f}, {a['rows']:,} of {b['rows']:,} rows"


def bounds(data, where, batch, buffer):
    """The ratio of memory bounds, by the plan: of a stream of the rows that pass, over all rows."""
    found = []
    for more in (("--shuffle-buffer", str(buffer // 10), "--where", where), ("--shuffle-buffer", str(buffer))):
        command = (str(table.BIN / "shardfeed"), "plan", str(data), "--shuffle", "--batch-size", str(batch), "--json", *more)
        found.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["bound_total_bytes"])
    return [found[0] / found[1]] * 3, f"{found[0] / 1e6:,.0f} MB against {found[1] / 1e6:,.0f} MB"


def against_datasets(data, rounds):
    python = f"{environment('bench/peers/requirements/hf.txt', environment(BASE))}/bin/python"
    command = (python, str(HERE / "rivals" / "filter_hf.py"), str(data), "id", "200000", "1024", "200000")
    rival = table.Contender("datasets", command)
    each, ours, theirs = [], [], []
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as cache:
        counted(data, "id < 200000", cache)
        for _ in range(rounds):
            a = process.run(table.shuffled(data, 1024, 200_000, "--where", "id < 200000"), set(cores()[:1]), {"SHARDFEED_CACHE_DIR": cache})
            b = process.run(rival, set(cores()[:1]))
            if a["rows"] != b["rows"]:
                raise process.Failed(f"{a['rows']} rows here and {b['rows']} from datasets")
            ours.append(a["rows"] / a["cpu_seconds"])
            theirs.append(b["rows"] / b["cpu_seconds"])
            each.append(ours[-1] / theirs[-1])
    return quartiles(each), f"{statistics.median(ours):,.0f} rows per CPU-s against {statistics.median(theirs):,.0f}"


def replicas(data, batch, buffer, step, rounds):
    """The engine's processor time for one epoch to eight replicas over that for one."""
    python = f"{environment(BASE)}/bin/python"
    paths = {"PYTHONPATH": str(HERE.parent / "python" / "src"), "SHARDFEED_BIN": str(table.BIN / "shardfeed")}
    each, one, eight = [], [], []
    for _ in range(rounds):
        for n, found in ((1, one), (8, eight)):
            with tempfile.TemporaryDirectory(prefix="shardfeed-bench-") as scratch:
                own = {"SHARDFEED_CACHE_DIR": scratch, "SHARDFEED_RUNTIME_DIR": f"{scratch}/run", "SHARDFEED_JOB": scratch}
                command = (python, str(HERE / "rivals" / "replicas.py"), *map(str, (data, batch, buffer, n, step)))
                result = process.run(table.Contender("replicas", command), set(cores()), paths | own)
            if not result["same"]:
                raise process.Failed("replicas got different numbers of rows")
            found.append(result)
        each.append(eight[-1]["cpu_seconds"] / one[-1]["cpu_seconds"])
    taken = statistics.median(r["trainer_seconds"] for r in eight) / 8
    return quartiles(each), f"{median(one):.2f} s for one, {median(eight):.2f} s for eight; each process takes {taken:.2f} s more"


def median(results):
    return statistics.median(r["cpu_seconds"] for r in results)
