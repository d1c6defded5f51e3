"""What must be reached, what is aimed at, and whether it was."""

import dataclasses
import statistics

import entries
from records import Records

SETS = ("shop", "tokens", "tabular")


@dataclasses.dataclass(frozen=True)
class Line:
    """One judged row: the figure as text, and its verdict against must and aim."""

    what: str
    found: str
    must: str
    aim: str
    verdict: str


def judged(records: Records):
    """Every row that there are records for."""
    return [
        line
        for part in (_speeds, _defaults, _people, _steady, _pandas, _step, _first, _mixing, _coverage, _handover, _stacked, _later)
        for line in part(records)
    ]


def _line(what, found, value, must, aim, unit="{:g}x", lower=False):
    """Judges a value; lower: less is better."""

    def reached(bound):
        return bound is not None and (value <= bound if lower else value >= bound)

    verdict = "aim met" if reached(aim) else "met" if reached(must) else "MISSED"
    return Line(what, found, unit.format(must), "" if aim is None else unit.format(aim), verdict)


def _ratio(records, what, data, rival, key, must, aim, part="speed", ours=entries.OURS):
    """A row for the ratio to a rival, of each round its own."""
    ratio = records.ratios(part, data, ours.name, rival, key)
    if ratio:
        low, middle, high = ratio
        yield _line(what, f"{middle:.2f}x ({low:.2f}-{high:.2f}) of {rival}", middle, must, aim)


def _speeds(records):
    touched, quiet = ((1.6, 2.7), (1.3, 1.8), (1.0, 1.6)), ((2.5, 3), (2.4, 3), (1.8, 2.5))
    noisy = (1.8, 3), (2.2, 3), (1.4, 2)
    for part, goals, more in (("speed", touched, ""), ("untouched", noisy if records.noisy else quiet, ", untouched")):
        goals = dict(zip(SETS, goals))
        for data in (*entries.SETS, *entries.AGAIN):
            what = f"all-in rows per CPU-second, {data.name}, of the hard rival{more}"
            yield from _ratio(records, what, data.name, entries.HARD.name, "rows_per_cpu_second", *goals[data.base], part)


def _defaults(records):
    """Ours with its default buffer and with the one of a tenth of the rows; against the rival the first epoch counts."""
    first, later = "rows_per_cpu_second", "later_rows_per_cpu_second"
    for data in (*entries.SETS, *entries.AGAIN):
        what = f"rows per CPU-second, {data.name}, untouched"
        for epochs, key, must in (("first epoch", first, 0.85), ("later epochs", later, 0.9)):
            text = f"{what}, {epochs}, the default buffer against a tenth of the rows"
            yield from _ratio(records, text, data.name, entries.OURS.name, key, must, None, "defaults", entries.OURS_DEFAULT)
        for ours in (entries.OURS_DEFAULT, entries.OURS):
            text = f"{what}, {ours.name}, of the hard rival"
            yield from _ratio(records, text, data.name, entries.HARD.name, first, 1, None, "defaults", ours)


def _people(records):
    key = "rows_per_cpu_second"
    for data, must in zip(SETS, (7, 5, 5)):
        present = [c.name for c in entries.PEOPLE if records.values("speed", data, c.name, key)]
        if present:
            best = max(present, key=lambda name: records.median("speed", data, name, key))
            what = f"all-in rows per CPU-second, {data}, of the best of what people run"
            yield from _ratio(records, what, data, best, key, must, None)
    yield from _ratio(records, "all-in rows per CPU-second, shop, of Petastorm", "shop", "petastorm:dl", key, 10, None)


def _steady(records):
    for data, must, aim in zip(SETS, (2.5, 2, 1.8), (4, 3, 3)):
        what = f"steady rows per second on all cores, {data}, of the hard rival"
        yield from _ratio(records, what, data, entries.HARD.name, "steady_rows_per_second", must, aim)


def _pandas(records):
    what = "all-in rows per CPU-second, shop, of pandas in memory"
    yield from _ratio(records, what, "shop", entries.PANDAS.name, "rows_per_cpu_second", 2, 3)


def _step(records):
    for data in SETS:
        ratio = records.ratios("step", data, entries.OURS.name, entries.MEMCPY.name, "step_seconds")
        if ratio:
            slower = ratio[1] - 1
            what = f"training step, {data}: slower than beside a one-core memcpy"
            yield _line(what, f"{slower:+.1%} ({ratio[0] - 1:+.1%} to {ratio[2] - 1:+.1%})", slower, 0.05, 0.02, "{:.0%}", lower=True)
        share = records.median("step", data, entries.OURS.name, "wait_share")
        if share is not None:
            what = f"training step, {data}: share of time that it waits for batches"
            yield _line(what, f"{share:.1%}", share, 0.05, 0.02, "{:.0%}", lower=True)


def _first(records):
    for data in SETS:
        first = records.median("speed", data, entries.OURS.name, "first_seconds")
        if first is not None:
            touch = 2 * (records.median("fresh", data, entries.ALONE.name, "seconds") or 0)  # of the shuffle buffer's memory
            what = f"first batch from construction, {data}; twice the first touch of its buffer allowed"
            yield _line(what, f"{first:.2f} s", first, round(0.5 + touch, 2), round(0.3 + touch, 2), "{:g} s", lower=True)


def _mixing(records):
    for data, groups, limit in (("shop", 15, 0.9), ("tabular", 20, 0.8)):
        run = records.one("mixing", data, entries.OURS.name)
        if run:
            mixed, memory = run["row_groups_per_batch"], run["pss_bytes"] / 1e9
            reached = mixed >= groups
            verdict = "aim met" if reached and memory <= limit / 2 else "met" if reached and memory <= limit else "MISSED"
            found = f"{mixed:.1f} row groups a batch at {memory:.2f} GB, of it {run['own_bytes'] / 1e9:.2f} GB no mapped file"
            must = f">= {groups} at <= {limit:g} GB"
            yield Line(f"memory of all processes for the mixing, {data}", found, must, f"{limit / 2:g} GB", verdict)


def _coverage(records):
    for data in SETS:
        runs = records.all("coverage", data)
        if runs:
            once = [r for r in runs if r.get("whole") and r["rows"] == r["distinct"]]
            orders = {r["order"] for r in runs if "order" in r}
            good = len(once) == len(runs) and len(orders) == 1
            found = f"{len(once)} of {len(runs)} runs every row once; {len(orders)} order{'s' * (len(orders) != 1)} of one rank"
            must = "every row once, one order"
            yield Line(f"coverage, {data}: 0, 2, 4 workers, 1 to 8 ranks, a second process", found, must, "", "met" if good else "MISSED")


def _handover(records):
    for data, what in (("tokens", "3 tensors"), ("shop", "1.5 MB of bytes")):
        own = records.median("handover", data, entries.OURS.name, "trainer_seconds")
        if own is not None:
            worker = [records.median("handover", data, entries.WORKER.name, k) for k in ("trainer_seconds", "all_seconds")]
            beside = f"; torch worker {worker[0] * 1e6:,.0f}, with the worker's {worker[1] * 1e6:,.0f}" if None not in worker else ""
            found = f"{own * 1e6:,.0f} us{beside}"
            yield _line(f"trainer CPU for a batch of {what}", found, own * 1e6, 35, 20, "{:g} us", lower=True)


def _stacked(records):
    what = "40 columns as one float32 matrix, of the hard rival"
    for key, unit, must, aim in (
        ("steady_rows_per_second", "steady rows per second on all cores", 2.5, 4),
        ("rows_per_cpu_second", "all-in rows per CPU-second", 2, 3),
    ):
        yield from _ratio(records, f"{unit}, {what}", "tabular", entries.HARD.name, key, must, aim, "stacked")
    share = records.median("stacked step", "tabular", entries.OURS.name, "wait_share")
    if share is not None:
        yield _line(
            "training step, 40 columns as one matrix: share of time that it waits for batches",
            f"{share:.1%}",
            share,
            0.02,
            0.01,
            "{:.0%}",
            lower=True,
        )


def _later(records):
    """An epoch after the first. FFCV compiles before its first batch: one row leaves it out."""
    key, goals = "rows_per_cpu_second", dict(zip(SETS, ((3, 4), (6, 8), (3, 5))))
    for data in (*entries.SETS, *entries.AGAIN):
        yield from _kept(records, data, "rows", entries.HARD, *goals[data.base], key)
        yield from _kept(records, data, "decoded bytes", entries.COPY, 0.35, 0.7, "bytes_per_cpu_second")
        for rival in entries.CONVERTED:
            yield from _kept(records, data, "rows", rival, 3, None, key)
        yield from _kept(records, data, "rows", entries.FFCV, 3, None, key, "steady_rows_per_cpu_second", " from its first batch on")


def _kept(records, data, figure, rival, must, aim, key, rival_key=None, more=""):
    what = f"{figure} per CPU-second, {data.name}, an epoch after the first, of {rival.name}{more}"
    ratio = records.ratios("later", data.name, entries.KEPT.name, rival.name, key, rival_key)
    if ratio:
        low, middle, high = ratio
        yield _line(what, f"{middle:.2f}x ({low:.2f}-{high:.2f})", middle, must, aim)
    elif error := records.error(("conversion", "size", "later"), data.name, (entries.KEPT.name, rival.name)):
        yield Line(what, f"NOT MEASURED: {error}", f"{must:g}x", "" if aim is None else f"{aim:g}x", "MISSED")


def described(values):
    """A median with quartiles."""
    if len(values) < 2:
        return f"{values[0]:,.0f}" if values else "-"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:,.0f} ({low:,.0f}-{high:,.0f})"
