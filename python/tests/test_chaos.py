"""The driver of jobs under faults: one short job, and traces that are wrong in every way."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from chaos import job, stores, tables, verify
from chaos.attempt import Attempt, Limits
from chaos.scenario import IN_FRAMEWORKS, OF_DISKS, STREAMS, Fault, Means, Scenario, draw

START = {"kind": "start", "epoch": 0, "position": 0}
END = {"kind": "end of epoch"}
EPOCHS = [[7, 3, 5, 1, 2, 6, 4, 0]]


def scenario(*faults: Fault, worlds: tuple[int, ...] = (2, 1), tail: str = "pad", rows: int = 2, epochs: int = 1, **given: Any) -> Scenario:
    timing = {"pause": 0.005, "between": 0.0, "save_every": 5}
    kinds = {"stream": "plain", "store": "local", "tail": tail}
    return Scenario(
        1,
        worlds=worlds,
        rows=rows,
        fixed=False,
        seed=7,
        epochs=epochs,
        decoded=True,
        small_disk=False,
        faults=(faults,),
        **{**timing, **kinds, **given},  # type: ignore[arg-type]
    )


def batch(*rows: int) -> dict[str, object]:
    return {"kind": "batch", "rows": list(rows)}


def saved(epoch: int, position: int) -> dict[str, object]:
    return {"kind": "saved", "epoch": epoch, "position": position}


# A rank that is killed may be some steps behind rank 0, whose state counts for both: these rows are not noted.
MOST_ROWS = tables.ROWS["rows"] * 0.9

RIGHT = [[START, batch(7, 5), batch(2, 6), END], [START, batch(3, 1), batch(4, 0), END]]


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        (RIGHT, ""),
        ([[START, batch(7, 5)], [START, batch(3, 1), batch(4, 0)]], ""),  # a rank that was killed
        ([[START, batch(7, 5), batch(2, 7), END], RIGHT[1]], "not next: [7]"),
        ([[START, batch(7, 5), batch(2), END], RIGHT[1]], "3 rows of 4"),
        ([[START, batch(5, 7), batch(2, 6), END], RIGHT[1]], "another order"),
        ([[START, batch(7, 5), END], [START, batch(3, 1), END]], "ends at row 4 of 8"),
        ([[START, batch(7, 5), END], RIGHT[1]], "not next"),
        ([[{**START, "position": 4}, batch(7, 5)], RIGHT[1]], "different places"),
        ([[START, batch(7, 5), saved(0, 4), batch(2, 6), saved(0, 8), END, saved(1, 0)], RIGHT[1]], ""),
        ([[START, batch(7, 5), batch(2, 6), saved(1, 0), END], RIGHT[1]], ""),  # the end of an epoch is the beginning of the next
        ([[START, batch(7, 5), saved(0, 2), batch(2, 6), END], RIGHT[1]], "a state of row 4 of epoch 0 has row 2 of epoch 0"),
        ([[START, batch(7, 5), batch(2, 6), END, saved(0, 4)], RIGHT[1]], "a state of row 0 of epoch 1 has row 4 of epoch 0"),
        ([[{"kind": "error", "type": "EngineGone", "text": ""}], []], ""),  # a rank that could not start
    ],
)
def test_traces_are_held_against_the_order(tmp_path: Path, traces: list[list[dict[str, object]]], words: str) -> None:
    attempt = Attempt(scenario(), 0, tmp_path, stores.Local(tmp_path), {}, [], None)
    for rank, lines in enumerate(traces):
        attempt.trace(rank).write_text("".join(json.dumps(line) + "\n" for line in lines))
    complaints = list(verify.check(attempt, EPOCHS))
    assert (words in complaints[0]) if words else not complaints, complaints


def test_an_order_that_lacks_a_row_is_noticed() -> None:
    rows = list(range(tables.ROWS["rows"]))
    assert not list(verify.check_order(scenario(), [rows]))
    assert list(verify.check_order(scenario(), [rows[:-1]]))
    assert list(verify.check_order(scenario(), [[*rows[:-1], 0]]))


def test_numbers_draw_the_same_jobs() -> None:
    assert draw(17) == draw(17)
    jobs = [draw(number) for number in range(400)]
    assert {each.stream for each in jobs} == set(STREAMS)
    assert {each.stream for each in jobs if each.loop != "own"} == set(IN_FRAMEWORKS)
    for each in jobs:
        assert all(world * each.batch(world) == each.rows for world in each.worlds) or not each.fixed
        assert each.node(0, 4) == 0 and each.node(3, 4) == each.nodes - 1


def test_a_job_under_faults(runtime: Path, tmp_path: Path) -> None:
    tables.make(tmp_path / "data")
    faults = (Fault("stop engine", 0.0, 1), Fault("kill rank and engine", 0.1, 2))
    local = tmp_path / "data"
    verdict = job.run(scenario(*faults, rows=32), stores.Local(local), local, runtime.parent / f"chaos-{os.getpid()}")
    assert not verdict.complaints
    assert verdict.attempts == 2 and verdict.faults[:2] == ["stop engine", "kill rank and engine"] and verdict.rows >= MOST_ROWS


def test_a_job_of_two_nodes_under_lightning(runtime: Path, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    local = tmp_path / "data"
    tables.make(local)
    given = scenario(Fault("kill node", 0.1, 2), rows=64, loop="lightning", nodes=2, worlds=(2, 2))
    verdict = job.run(given, stores.Local(local), local, runtime.parent / f"chaos-nodes-{os.getpid()}", Limits(stall=300))
    assert not verdict.complaints
    assert verdict.attempts == 2 and verdict.faults[0] == "kill node" and verdict.rows >= MOST_ROWS


def test_a_job_is_given_up_when_the_time_is_up(runtime: Path, tmp_path: Path) -> None:
    local = tmp_path / "data"
    tables.make(local)
    directory = runtime.parent / f"chaos-late-{os.getpid()}"
    verdict = job.run(scenario(epochs=2), stores.Local(local), local, directory, Limits(time.monotonic()))
    assert verdict.unfinished and not verdict.complaints and verdict.attempts == 1


def test_without_disks_none_is_filled() -> None:
    jobs = [draw(number, Means(disks=False)) for number in range(200)]
    assert not any(each.small_disk for each in jobs)
    assert not any(fault.kind in OF_DISKS for each in jobs for faults in each.faults for fault in faults)
