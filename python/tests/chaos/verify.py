"""The rows that ranks noted, held against the order that one undisturbed rank reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from chaos import streams, tables, values
from chaos.attempt import Attempt
from chaos.scenario import Scenario

Line = dict[str, Any]


BEFORE = -1  # in the place of a row that a window leaves out
TOGETHER = 64  # rows of a batch of the undisturbed run


def order(scenario: Scenario, data: str) -> tuple[Line, list[list[int]]]:
    """The state in which the job starts, and the rows of each epoch as one rank reads them."""
    plain = {**scenario.as_dict(), "loop": "own"}
    world = scenario.world(0)
    started = streams.make(plain, 0, world, data, scenario.batch(world), cache=False).state_dict()
    if scenario.stream == "by number":
        batches = streams.make(plain, 0, 1, data, TOGETHER, cache=False)
        return {"shardfeed": {"epoch": 0, "position": 0}}, [_read(plain, batches) for _ in range(scenario.epochs)]
    carried = scenario.tail == "carry"
    together = scenario.rows if scenario.fixed else 1 if scenario.stream == "bucketed" else TOGETHER
    alone = streams.make({**plain, "tail": "carry" if carried else "short"}, 0, 1, data, together, cache=False)
    alone.load_state_dict(started)
    # the job's last pass may end in the next epoch
    epochs = [_read(plain, alone) for _ in range(scenario.epochs + 2 * carried)]
    if scenario.stream == "window":
        epochs = [[BEFORE] * streams.WINDOW[0] * together + rows for rows in epochs]
    if carried:
        rows, size = [row for epoch in epochs for row in epoch], alone.size
        epochs = [rows[size * k : size * (k + 1)] for k in range(scenario.epochs + 2)]
    return started, epochs


def _read(scenario: Line, batches: Any) -> list[int]:
    return [row for batch in batches for row in values.rows(scenario["stream"], batch)]


def check_order(scenario: Scenario, epochs: list[list[int]]) -> Iterator[str]:
    """Each epoch has the rows that it should have."""
    for number, rows in enumerate(epochs[: scenario.epochs]):
        least, most = expected(scenario.stream)
        counts = Counter(rows)
        wrong = [row for row in counts.keys() | most.keys() if not least.get(row, 0) <= counts[row] <= most.get(row, 0)]
        if wrong and most:
            yield f"epoch {number} of the undisturbed run has {len(rows)} rows, and not these as often as it should: {wrong[:8]}"


def expected(stream: str) -> tuple[dict[int, int], dict[int, int]]:
    """How often each row of an epoch comes, at least and at most; empty where unknown."""
    if stream in ("packed", "bucketed", "passes", "window", "part", *streams.MIXED):
        return {}, {}
    ids = np.arange(tables.ROWS["pictures" if stream == "images" else "rows"])
    times = np.ones(len(ids))
    if stream == "filtered":
        times = (ids % 7 != 3) * times
    if stream == "dated":
        times = (ids % tables.DAYS < streams.DAYS) * times
    if stream == "weighted":
        times = tables.share_of(ids)
    return dict(enumerate(np.floor(times).astype(int).tolist())), dict(enumerate(np.ceil(times).astype(int).tolist()))


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
            if cut:  # else the rank could not start
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
    place = max(position, _first(sequence))
    together = attempt.scenario.batch(attempt.world) * attempt.world
    for batches in _steps(run):
        if isinstance(batches, dict):
            yield from _check_saved(attempt, batches, epoch, place, epochs)
            continue
        if batches == "end of epoch":
            if not carried:
                yield from _check_end(attempt, sequence, place, epoch)
                epoch += 1
                sequence = _rows(epochs, epoch)
                place = _first(sequence)
            continue
        wanted = sequence[place : place + together]
        yield from _check_step(attempt, batches, wanted, f"attempt {attempt.number}, epoch {epoch}, row {place}")
        place += len(wanted)


def _first(rows: list[int]) -> int:
    """The place of the first row of an epoch."""
    return rows.count(BEFORE)


def _rows(epochs: list[list[int]], epoch: int) -> list[int]:
    """The rows of an epoch; none after the last."""
    return epochs[epoch] if epoch < len(epochs) else []


def _steps(run: list[list[Line]]) -> Iterator[Any]:
    """Rows of each step by rank (None for a rank that ended), "end of epoch", saved states."""
    lines = [[line for line in rank if line["kind"] in ("batch", "end of epoch")] for rank in run]
    saved = _saved(run)
    for k in range(max(map(len, lines), default=0)):
        at = [rank[k] if k < len(rank) else None for rank in lines]
        kinds = {line["kind"] for line in at if line is not None}
        if len(kinds) > 1:
            yield [[-1] if line is not None and line["kind"] == "batch" else None for line in at]
            return
        yield "end of epoch" if kinds == {"end of epoch"} else [None if line is None else line["rows"] for line in at]
        yield from saved.get(k + 1, ())


def _saved(run: list[list[Line]]) -> dict[int, list[Line]]:
    """The lines of saved states by the number of steps and ends of epochs before them."""
    found: dict[int, list[Line]] = {}
    for rank in run:
        before = 0
        for line in rank:
            before += line["kind"] in ("batch", "end of epoch")
            if line["kind"] == "saved":
                found.setdefault(before, []).append(line)
    return found


def _check_saved(attempt: Attempt, saved: Line, epoch: int, place: int, epochs: list[list[int]]) -> Iterator[str]:
    """A state has the place after the rows that were taken."""
    found = saved["epoch"], saved["position"]
    if attempt.scenario.tail == "carry":
        size = len(epochs[0])
        right = saved["epoch"] * size + saved["position"] == epoch * size + place
    else:
        right = _settled(attempt, *found, epochs) == _settled(attempt, epoch, place, epochs)
    if not right:
        yield f"attempt {attempt.number}: a state of row {place} of epoch {epoch} has row {found[1]} of epoch {found[0]}"


def _settled(attempt: Attempt, epoch: int, place: int, epochs: list[list[int]]) -> tuple[int, int]:
    """A place, where the end of an epoch is the beginning of the next."""
    rows = _rows(epochs, epoch)
    rest = attempt.scenario.batch(attempt.world) * attempt.world - 1 if attempt.scenario.tail == "drop" else 0
    if rows and place >= len(rows) - rest:
        epoch, place = epoch + 1, 0
    return epoch, max(place, _first(_rows(epochs, epoch)))


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
    together = attempt.scenario.batch(attempt.world) * attempt.world
    left = len(rows) - place
    if left and not (attempt.scenario.tail == "drop" and left < together):
        yield f"attempt {attempt.number}: epoch {epoch} ends at row {place} of {len(rows)}"
