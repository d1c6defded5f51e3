"""The rows that ranks noted, held against the order that one undisturbed rank reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from chaos import streams, tables
from chaos.attempt import Attempt
from chaos.scenario import Scenario

Line = dict[str, Any]


TOGETHER = 64  # rows of a batch of the undisturbed run


def order(scenario: Scenario, data: str) -> tuple[Line, list[list[int]]]:
    """The state in which the job starts, and the rows of each epoch as one rank reads them."""
    given = scenario.as_dict()
    plain = {**given, "stream": "map" if scenario.stream in ("threads", "workers") else scenario.stream}
    started = streams.make(plain, 0, scenario.world(0), data, cache=False).state_dict()
    carried = scenario.tail == "carry"
    alone = streams.make({**plain, "batch_size": TOGETHER, "tail": "carry" if carried else "short"}, 0, 1, data, cache=False)
    alone.load_state_dict(started)
    epochs: list[list[int]] = []
    for _ in range(scenario.epochs + 2 * carried):  # the job's last pass may end in the next epoch
        epochs.append([row for batch in alone for row in streams.rows(plain["stream"], batch)])
    if carried:
        rows, size = [row for epoch in epochs for row in epoch], alone.size
        epochs = [rows[size * k : size * (k + 1)] for k in range(scenario.epochs + 2)]
    return started, epochs


def expected(scenario: Scenario) -> set[int] | None:
    """The rows of an epoch where each comes once."""
    if scenario.stream in ("packed", "mixed"):
        return None
    ids = np.arange(tables.ROWS["pictures" if scenario.stream == "images" else "rows"])
    return set(ids[ids % 7 != 3].tolist() if scenario.stream == "filtered" else ids.tolist())


def check_order(scenario: Scenario, epochs: list[list[int]]) -> Iterator[str]:
    """Each epoch has each row once."""
    wanted = expected(scenario)
    for number, rows in enumerate(epochs[: scenario.epochs]):
        if wanted is not None and (len(rows) != len(wanted) or set(rows) != wanted):
            yield f"epoch {number} of the undisturbed run has {len(rows)} rows, {len(set(rows))} different ones, of {len(wanted)}"


def check(attempt: Attempt, epochs: list[list[int]]) -> Iterator[str]:
    """Each step has the rows that are next, and each rank has its own in their order."""
    for pieces in zip_runs(attempt):
        yield from _check_run(attempt, pieces, epochs)


def zip_runs(attempt: Attempt) -> list[list[list[Line]]]:
    """The lines of the ranks, cut where a rank starts from a state."""
    runs: list[list[list[Line]]] = []
    for rank in range(attempt.world):
        cut: list[list[Line]] = []
        for line in attempt.lines(rank):
            if line["kind"] == "start":
                cut.append([])
            cut[-1].append(line)
        for k, lines in enumerate(cut):
            if k == len(runs):
                runs.append([[] for _ in range(attempt.world)])
            runs[k][rank] = lines
    return runs


def _check_run(attempt: Attempt, run: list[list[Line]], epochs: list[list[int]]) -> Iterator[str]:
    starts = [lines[0] for lines in run if lines]
    epoch, position = starts[0]["epoch"], starts[0]["position"]
    if any((s["epoch"], s["position"]) != (epoch, position) for s in starts):
        yield f"the ranks start at different places: {starts}"
        return
    carried = attempt.scenario.tail == "carry"
    sequence = [row for rows in epochs[epoch:] for row in rows] if carried else _rows(epochs, epoch)
    place = position
    for batches in _steps(run):
        if batches == "end of epoch":
            if not carried:
                yield from _check_end(attempt, sequence, place, epoch)
                epoch, place = epoch + 1, 0
                sequence = _rows(epochs, epoch)
            continue
        wanted = sequence[place : place + attempt.scenario.batch_size * attempt.world]
        yield from _check_step(attempt, batches, wanted, f"attempt {attempt.number}, epoch {epoch}, row {place}")
        place += len(wanted)


def _rows(epochs: list[list[int]], epoch: int) -> list[int]:
    """The rows of an epoch; none after the last."""
    return epochs[epoch] if epoch < len(epochs) else []


def _steps(run: list[list[Line]]) -> Iterator[Any]:
    """The rows of each step by rank, None for a rank that ended before, and "end of epoch"."""
    lines = [[line for line in rank if line["kind"] in ("batch", "end of epoch")] for rank in run]
    for k in range(max(map(len, lines), default=0)):
        at = [rank[k] if k < len(rank) else None for rank in lines]
        kinds = {line["kind"] for line in at if line is not None}
        if len(kinds) > 1:
            yield [[-1] if line is not None and line["kind"] == "batch" else None for line in at]
            return
        yield "end of epoch" if kinds == {"end of epoch"} else [None if line is None else line["rows"] for line in at]


def _check_step(attempt: Attempt, batches: list[list[int] | None], wanted: list[int], where: str) -> Iterator[str]:
    places: dict[int, list[int]] = {}
    for k, row in enumerate(wanted):
        places.setdefault(row, []).append(k)
    found = [row for rows in batches if rows is not None for row in rows]
    surplus = Counter(found) - Counter(wanted)
    if surplus:
        yield f"{where}: rows that are not next: {list(surplus)[:8]}"
    elif None not in batches and len(found) != len(wanted):
        yield f"{where}: {len(found)} rows of {len(wanted)}"
    for rank, rows in enumerate(batches):
        own = [places[row][0] for row in rows or [] if len(places.get(row, ())) == 1]
        if own != sorted(own):
            yield f"{where}: rank {rank} has its rows in another order"


def _check_end(attempt: Attempt, rows: list[int], place: int, epoch: int) -> Iterator[str]:
    together = attempt.scenario.batch_size * attempt.world
    left = len(rows) - place
    if left and not (attempt.scenario.tail == "drop" and left < together):
        yield f"attempt {attempt.number}: epoch {epoch} ends at row {place} of {len(rows)}"
