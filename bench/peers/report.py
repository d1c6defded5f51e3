"""The tables, in Markdown."""

import datetime
import os
import pathlib
import platform
import statistics

import entries
import musts
from musts import described
from records import Records

COLUMNS = (
    "contender",
    "rows per CPU-s, all-in",
    "user + system s",
    "rows/s, steady",
    "rows per CPU-s, steady",
    "rows per CPU-s, untouched",
    "first batch, s",
    "row groups a batch",
    "PSS, GB (no mapped file)",
    "rows once",
    "conversion",
)

LATER_COLUMNS = (
    "contender, an epoch after the first",
    "rows per CPU-s, all-in",
    "rows per CPU-s, steady",
    "user + system s",
    "first batch, s",
    "MB per CPU-s",
    "conversion",
)


def lines(records: Records):
    out = [*heading(records), "", "| what | found | must | aim | |", "| --- | --- | --- | --- | --- |"]
    for line in musts.judged(records):
        out.append(f"| {line.what} | {line.found} | {line.must} | {line.aim} | {line.verdict} |")
    for data in (*entries.SETS, *entries.AGAIN):
        rows = [(c, records.all("speed", data.name, c.name)) for c in entries.ALL]
        if any(runs for _, runs in rows):
            out += headed(data, COLUMNS)
            out += [row(records, data, contender, runs) for contender, runs in rows if runs]
        if later := list(later_rows(records, data)):
            out += [*headed(data, LATER_COLUMNS), *later]
    if steps := list(step_rows(records)):
        out += ["", "| set | beside | step, ms | waits |", "| --- | --- | --- | --- |", *steps]
    if failed := {(r["part"], r["set"], r["contender"], r["error"]) for r in records.runs if "error" in r}:
        out += ["", "Runs that failed:", *(f"- {', '.join(each)}" for each in sorted(failed))]
    return out


def headed(data, columns):
    """The head of a set's table."""
    return ["", f"{data.name}: {described_set(data)}", "", f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]


def row(records, data, contender, runs):
    def median(key, part="speed"):
        return records.median(part, data.name, contender.name, key)

    untouched = records.values("untouched", data.name, contender.name, "rows_per_cpu_second")
    whole = "" if all(r["whole"] for r in runs) else ", capped"
    cells = (
        named(contender),
        described([r["rows_per_cpu_second"] for r in runs]) + whole,
        f"{median('user_seconds'):.2f} + {median('system_seconds'):.2f}",
        described([r["steady_rows_per_second"] for r in runs]),
        f"{median('steady_rows_per_cpu_second'):,.0f}",
        described(untouched),
        f"{median('first_seconds'):.2f}",
        *looked(records.one("look", data.name, contender.name)),
        converted(records.one("conversion", data.name, contender.name)),
    )
    return f"| {' | '.join(cells)} |"


def later_rows(records, data):
    for contender in entries.LATER:
        runs = records.all("later", data.name, contender.name)
        if not runs:
            continue

        def figures(key, runs=runs, factor=1.0):
            return described([r[key] * factor for r in runs if key in r])

        def median(key, runs=runs):
            values = [r[key] for r in runs if key in r]
            return f"{statistics.median(values):.2f}" if values else "-"

        whole = "" if all(r.get("whole", True) for r in runs) else ", capped"
        cells = (
            named(contender),
            figures("rows_per_cpu_second") + whole,
            figures("steady_rows_per_cpu_second"),
            f"{median('user_seconds')} + {median('system_seconds')}",
            median("first_seconds"),
            figures("bytes_per_cpu_second", factor=1e-6),
            converted(records.one("conversion", data.name, contender.name)),
        )
        yield f"| {' | '.join(cells)} |"


def named(contender):
    return contender.name + (f" ({contender.note})" if contender.note else "")


def looked(run):
    if run is None:
        return "-", "-", "-"
    once = "yes" if run["whole"] and run["rows"] == run["distinct"] else "no" if run["rows"] != run["distinct"] else "as far as it got"
    return f"{run['row_groups_per_batch']:.1f}", f"{run['pss_bytes'] / 1e9:.2f} ({run['own_bytes'] / 1e9:.2f})", once


def converted(run):
    return "none" if run is None else f"{run['seconds']:.0f} s, {run['cpu_seconds']:.0f} CPU-s, {run['bytes'] / 1e6:,.0f} MB"


def step_rows(records):
    for data in entries.SETS:
        for contender in entries.BESIDE:
            steps = records.median("step", data.name, contender.name, "step_seconds")
            if steps is not None:
                waits = records.median("step", data.name, contender.name, "wait_share")
                yield f"| {data.name} | {contender.name} | {steps * 1e3:.2f} | {waits:.1%} |"


def described_set(data):
    return (
        f"{data.rows:,} rows in {data.files} files of {data.file_groups} row groups without page index, batches of {data.batch}, "
        f"buffers of {data.buffer:,} rows"
    )


def heading(records):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    rounds = max((r["round"] + 1 for r in records.runs), default=0)
    return [
        f"# Peers, {datetime.date.today().isoformat()}",
        "",
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; {rounds} rounds in turn, files in the page cache{_noise(records)}. "
        f"{', '.join(versions())}.",
    ]


def _noise(records):
    """What the runs had beside them."""
    return "".join(sorted({f", {r['noise']}" for r in records.runs if "noise" in r}))


def versions():
    """What is pinned, of torch and of the contenders."""
    here = pathlib.Path(__file__).parent
    pins = {}
    for path in (here.parent.parent / entries.BASE, *sorted((here / "requirements").glob("*.txt"))):
        for line in path.read_text().splitlines():
            name, _, version = line.partition("==")
            if version:
                pins.setdefault(name.strip(), version)
    named = ("torch", "pyarrow", "numpy", "pandas", "datasets", "litdata", "ffcv", "mosaicml-streaming", "ray[data]", "petastorm")
    return [f"{name} {pins[name]}" for name in named if name in pins]


def _processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in text if line.startswith("model name")), platform.machine())
