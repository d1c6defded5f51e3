"""One rank of a job: trainer.py SCENARIO ATTEMPT RANK WORLD DIRECTORY [STATE].

It checks the values of its rows and appends lines of JSON to DIRECTORY/ATTEMPT-RANK.jsonl: where it
starts, the rows of each batch, and how it ends. Rank 0 saves the state to DIRECTORY/state.json.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shardfeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from chaos import streams

ENGINE_GONE, WRONG = 75, 76  # exit codes


class Trace:
    """The lines of a rank. Each is written at once, so that a killed rank loses none."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def note(self, kind: str, **what: Any) -> None:
        self._file.write(json.dumps({"kind": kind, **what}).encode() + b"\n")


def save(state: dict[str, Any], path: Path) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(state))
    part.replace(path)


def place(state: dict[str, Any]) -> dict[str, int]:
    return {"epoch": state["shardfeed"]["epoch"], "position": state["shardfeed"]["position"]}


def passes(stream: Any, epochs: int) -> Iterator[Any]:
    """The passes that are left, each as an iterator."""
    while place(stream.state_dict())["epoch"] < epochs:
        yield iter(stream)


def train(stream: Any, scenario: dict[str, Any], trace: Trace, saves_to: Path | None) -> None:
    """Reads all epochs that are left."""
    trace.note("start", **place(stream.state_dict()))
    taken = 0
    for batches in passes(stream, scenario["epochs"]):
        for batch in batches:
            rows = streams.rows(scenario["stream"], batch)
            trace.note("batch", rows=rows)
            taken += 1
            if saves_to is not None and taken % scenario["save_every"] == 0:
                save(stream.state_dict(), saves_to)
            time.sleep(scenario["pause"])
        trace.note("end of epoch", **place(stream.state_dict()))
        if saves_to is not None:
            save(stream.state_dict(), saves_to)
        time.sleep(scenario["between"])
    trace.note("done")


def main() -> int:
    faulthandler.register(signal.SIGUSR1)
    scenario = json.loads(Path(sys.argv[1]).read_text())
    attempt, rank, world = map(int, sys.argv[2:5])
    directory = Path(sys.argv[5])
    trace = Trace(directory / f"{attempt}-{rank}.jsonl")
    state = json.loads(Path(sys.argv[6]).read_text()) if len(sys.argv) > 6 else None
    saves_to = directory / "state.json" if rank == 0 else None
    stream = streams.make(scenario, rank, world, os.environ["CHAOS_DATA"])
    while True:
        if state is not None:
            stream.load_state_dict(state)
        try:
            train(stream, scenario, trace, saves_to)
        except shardfeed.errors.EngineGone as error:
            trace.note("engine gone", text=str(error)[-300:])
            if world > 1:
                return ENGINE_GONE  # the ranks have taken different batches: all of them start again from one state
            state = stream.state_dict()  # alone, a rank goes on where it is
            continue
        except streams.WrongValue as error:
            trace.note("wrong", text=str(error))
            return WRONG
        except shardfeed.errors.ShardfeedError as error:
            trace.note("error", type=type(error).__name__, text=str(error))
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
