"""One rank of a job: trainer.py SCENARIO ATTEMPT RANK WORLD DIRECTORY [STATE].

It checks the values of its rows and appends lines of JSON to DIRECTORY/ATTEMPT-RANK.jsonl: where it
starts, the rows of each batch, the places of saved states, and how it ends. Rank 0 saves the state
to DIRECTORY/state.json; frameworks save checkpoints to DIRECTORY/checkpoints.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import shardfeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from chaos import streams, values
from chaos.counted import Counted
from chaos.trace import Trace, place

ENGINE_GONE, WRONG = 75, 76  # exit codes


def save(state: dict[str, Any], path: Path, trace: Trace) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(state))
    part.replace(path)
    trace.note("saved", **place(state))


def open_stream(scenario: dict[str, Any], rank: int, world: int) -> Any:
    """The stream of a rank, which its group knows where it has one."""
    batch = scenario["rows"] // world if scenario["fixed"] else scenario["rows"]
    if scenario["group"]:
        import torch.distributed

        torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=100))
    stream = streams.make(scenario, *((None, None) if scenario["group"] else (rank, world)), os.environ["CHAOS_DATA"], batch)
    if scenario["stream"] == "stateful":
        from torchdata.stateful_dataloader import StatefulDataLoader

        stream = StatefulDataLoader(stream, batch_size=None, num_workers=2, multiprocessing_context="forkserver")
    return Counted(stream, batch * world) if scenario["stream"] in ("by number", "stateful") else stream


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
            trace.note("batch", rows=values.rows(scenario["stream"], batch))
            taken += 1
            if saves_to is not None and taken % scenario["save_every"] == 0 and not (isinstance(stream, Counted) and stream.ended()):
                save(stream.state_dict(), saves_to, trace)
            time.sleep(scenario["pause"])
        trace.note("end of epoch", **place(stream.state_dict()))
        if saves_to is not None:
            save(stream.state_dict(), saves_to, trace)
        time.sleep(scenario["between"])
    trace.note("done")


def monitor(stream: Any, trace: Trace) -> None:
    """Asks for statistics all the time, as a thread that shows them does. Engines may be gone."""
    while True:
        try:
            stream.stats()
        except shardfeed.errors.ShardfeedError:
            pass
        except Exception as error:
            trace.note("error", type=type(error).__name__, text=f"stats: {error}")
            return
        time.sleep(0.02)


def run(scenario: dict[str, Any], rank: int, world: int, directory: Path, trace: Trace, state: dict[str, Any] | None) -> int:
    """Reads by a loop of its own."""
    saves_to = directory / "state.json" if rank == 0 else None
    stream = open_stream(scenario, rank, world)
    if scenario["seed"] % 2 and hasattr(stream, "stats"):
        threading.Thread(target=monitor, args=(stream, trace), daemon=True).start()
    while True:
        if state is not None:
            stream.load_state_dict(state)
        try:
            train(stream, scenario, trace, saves_to)
        except shardfeed.errors.EngineGone as error:
            trace.note("engine gone", text=str(error)[-300:])
            if world > 1 or isinstance(stream, Counted):
                return ENGINE_GONE  # the ranks have taken different batches: all of them start again from one state
            state = stream.state_dict()  # alone, a rank goes on where it is
            continue
        return 0


def run_framework(scenario: dict[str, Any], world: int, directory: Path, trace: Trace, state: Path | None) -> int:
    """Reads by a framework, which has the rank from its environment."""
    if scenario["loop"] == "lightning":
        from chaos import lightning_loop as loop
    else:
        from chaos import trainer_loop as loop  # type: ignore[no-redef]
    batch = scenario["rows"] // world if scenario["fixed"] else scenario["rows"]
    stream = streams.make(scenario, None, None, os.environ["CHAOS_DATA"], batch)
    try:
        loop.run(stream, scenario, world, directory / "checkpoints", trace, state)
    except shardfeed.errors.EngineGone as error:
        trace.note("engine gone", text=str(error)[-300:])
        return ENGINE_GONE
    return 0


def main() -> int:
    faulthandler.register(signal.SIGUSR1)
    scenario = json.loads(Path(sys.argv[1]).read_text())
    attempt, rank, world = map(int, sys.argv[2:5])
    directory = Path(sys.argv[5])
    trace = Trace(directory / f"{attempt}-{rank}.jsonl")
    state = Path(sys.argv[6]) if len(sys.argv) > 6 else None
    try:
        if scenario["loop"] != "own":
            return run_framework(scenario, world, directory, trace, state)
        return run(scenario, rank, world, directory, trace, json.loads(state.read_text()) if state else None)
    except values.WrongValue as error:
        trace.note("wrong", text=str(error))
        return WRONG
    except Exception as error:
        trace.note("error", type=type(error).__name__, text=str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
