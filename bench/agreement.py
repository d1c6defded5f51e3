"""How long the ranks of a large job take to agree before the first batch."""

import json
import os
import subprocess
import tempfile

import check
import process
import table

WORLD = 1000
PROCESSES = 32  # that share the simulated ranks
CORES = 2


def checks():
    of = f"{WORLD:,} ranks on {WORLD // 8} nodes, threads of {PROCESSES} processes on {CORES} cores: the slowest rank"
    yield check.Check("agreement, ranks compare", (), of, 1, 0.5, lambda _, rounds: measure("ours", rounds), unit=" s")
    yield check.Check("agreement, and exchange seats", (), of, 1.5, 1, lambda _, rounds: measure("seats", rounds), unit=" s")


def measure(way, rounds):
    """Rounds in turn with the way that asks for one rank after another."""
    ours, each = [], []
    for _ in range(rounds):
        ours.append(run(way))
        each.append(run("each"))
    seconds = check.quartiles([r["seconds"] for r in each])
    store = check.quartiles([r["store_seconds"] for r in ours])[1]
    cpu = check.quartiles([r["cpu_seconds"] for r in ours])[1]
    more = f"CPU {cpu:.2f} s of all ranks and the store, {store:.2f} s of the store; one rank after another {seconds[1]:.2f} s"
    return check.quartiles([r["seconds"] for r in ours]), more


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
            env={**os.environ, **engine, "PYTHONPATH": sources, "SHARDFEED_GRACE": "0s"},
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    if done.returncode != 0:
        raise process.Failed(f"{way}: exit {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)
