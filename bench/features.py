"""Feature matrices: forty columns as one."""

import functools
import statistics

import check
import delivery
from delivery import CAP, entries, run

COLUMNS = ("id", *(f"c{i:02d}" for i in range(39)))  # the 40 numbers of tabular
MATRIX = {"id": "x", "columns": COLUMNS, "matrix": True}


def checks(directory):
    tabular = delivery.set_of("tabular")
    what = "tabular, its 40 numbers as one float32 matrix"

    def line(name, source, must, aim, measure, **options):
        return delivery.checks(directory, f"shaping, stack, {name}", tabular, f"{what}: {source}", must, aim, measure, **options)

    yield from line("steady", "rows/s on two cores over take_once", 2.5, 4,
                    lambda c, n: ratio(c, n, "steady_rows_per_second", "rows/s"), at_most=False)  # fmt: skip
    yield from line("all-in", "rows per CPU-s over take_once", 1.6, 2.5,
                    lambda c, n: ratio(c, n, "rows_per_cpu_second", "rows per CPU-s"), at_most=False)  # fmt: skip
    yield from line("waiting", "share of time that a training step of 4 ms waits", 2, 1, waiting, unit=" %")


def ratio(case, rounds, key, unit):
    ours, theirs = epochs(case, rounds)
    more = f"{delivery.median(ours, key):,.0f} {unit} against {delivery.median(theirs, key):,.0f}"
    return delivery.ratios(ours, theirs, key), more


@functools.cache  # one epoch has both figures
def epochs(case, rounds):
    def epoch(contender):
        return run(case, contender, "epoch", "--cap", CAP, "--touch", batch=case.data.batch, **MATRIX)

    return delivery.alternate(rounds, lambda: epoch(entries.OURS), lambda: epoch(entries.HARD))


def waiting(case, rounds):
    runs = [run(case, entries.OURS, "step", batch=case.data.batch, **MATRIX) for _ in range(rounds)]
    steps = statistics.median(r["step_seconds"] for r in runs)
    return check.quartiles([100 * r["wait_share"] for r in runs]), f"steps of {steps * 1e3:.1f} ms"
