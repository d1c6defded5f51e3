"""How long the ranks of a large job take to agree before the first batch."""

import json
import os
import statistics
import subprocess
import tempfile

import check
import process
import table

WORLD = 1000
PROCESSES = 32  # that share the simulated ranks
CORES = 2


def checks(directory):
    of = f"{WORLD:,} ranks on {WORLD // 8} nodes, whose carriers are threads of {PROCESSES} processes on {CORES} cores: the slowest one"
    yield check.Check("agreement, ranks compare", (), of, 1, 0.5, lambda _, rounds: measure("ours", rounds), unit=" s")
    yield check.Check("agreement, and exchange seats", (), of, 1.5, 1, lambda _, rounds: measure("seats", rounds), unit=" s")


def measure(way, rounds):
    """Rounds in turn with all ranks on these cores, and with one rank after another."""
    runs = {name: [] for name in (way, "all", "each")}
    for _ in range(rounds):
        for name, results in runs.items():
            results.append(run(name))

    def median(name, key):
        return statistics.median(r[key] for r in runs[name])

    more = f"CPU of the store {median(way, 'store_seconds'):.2f} s; " + "; ".join(
        f"{what} {median(name, 'seconds'):.2f} s, of the store {median(name, 'store_seconds'):.2f} s"
        for name, what in (("all", "all ranks and an engine on these cores"), ("each", "one rank after another"))
    )
    return check.quartiles([r["seconds"] for r in runs[way]]), more


def run(way):
    python = f"{check.environment(check.BASE)}/bin/python"
    sources = str(check.HERE.parent / "python" / "src")
    cores = check.cores()[:CORES]
    with tempfile.TemporaryDirectory() as scratch:
        engine = {"SHARDFEED_BIN": str(table.BIN / "shardfeed"), "SHARDFEED_RUNTIME_DIR": scratch, "SHARDFEED_JOB": way}
        done = subprocess.run(
            [python, str(check.HERE / "ranks" / "meet.py"), way, str(WORLD), str(PROCESSES)],
            capture_output=True,
            text=True,
            env={**os.environ, **engine, "PYTHONPATH": sources, "SHARDFEED_GRACE": "1s"},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    if done.returncode != 0:
        raise process.Failed(f"{way}: exit {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)
