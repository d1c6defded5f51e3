"""Batches that are made with the one before them, since they had come with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_engine import FakeEngine

from shardfeed import errors
from shardfeed._columns._field import Field
from shardfeed._columns._layout import Layout
from shardfeed._columns._nulls import NullWatch
from shardfeed._columns._schema import Schema
from shardfeed._engine import _protocol as protocol
from shardfeed._engine._connection import Connection
from shardfeed._engine._raw_batch import RawBatch
from shardfeed._iterator import BatchIterator, Place
from shardfeed._waited import Waited

OPEN = {"dataset": "d", "opening": "o", "spec": {"addresses": ["s3://b/p"], "batch_size": 8}}


class Batches:
    """An iteration of an engine that a test drives."""

    def __init__(self, slots: int) -> None:
        self.engine = FakeEngine()
        self.connection = Connection(self.engine, OPEN, timeout=60)
        self.engine.join(slots=slots)
        self.connection.join(iteration="i")
        layout = Layout(Schema([Field("x", "fixed", "uint8", 1)]))
        self.given_back: list[Connection] = []
        place = Place({"epoch": 0, "position": 0})
        self.iterator = BatchIterator(self.connection, place, layout, NullWatch(layout.schema), self.given_back.append, Waited())

    def announce(self, *numbers: int) -> None:
        for seq in numbers:
            self.engine.batch(seq)

    @property
    def held(self) -> int:
        self.connection.settle()
        return len(self.connection.loans)

    @property
    def position(self) -> int:
        return self.iterator.place.position


@pytest.fixture
def batches() -> Iterator[Batches]:
    made = Batches(slots=8)
    yield made
    made.iterator.close()
    made.engine.close()


def number(raw: RawBatch) -> int:
    return int(np.ndarray(8, np.uint8, raw.bytes, 256)[0])


def test_they_count_in_their_turn(batches: Batches) -> None:
    """The state is that after the last batch that was handed out."""
    made: list[int] = []

    def make(raw: RawBatch) -> int:
        made.append(number(raw))
        return made[-1]

    batches.announce(*range(7))
    for n in range(7):
        raw, value = batches.iterator.make(make)
        assert (value, raw.step, batches.position) == (n, n, 8 * n), "it counts when it is handed out"
        batches.iterator.place.move(raw.after)
        assert batches.position == 8 * n + 8
        del raw
        assert made == list(range(5 if n < 5 else 7)), "little more than half of the ring is held ahead"
    assert batches.held == 0


def test_they_are_made_only_where_they_are_views(batches: Batches) -> None:
    batches.announce(0, 1, 2)
    batches.iterator.make(number, ahead=False)
    assert batches.held == 0
    batches.iterator.take()
    assert batches.held == 0


@pytest.mark.parametrize("slots", [2, 3, 4, 5, 8])
def test_none_is_copied_to_be_ahead(slots: int) -> None:
    batches = Batches(slots)
    batches.announce(*range(slots))
    assert [next(batches.iterator)._raw.ring is None for _ in range(slots)] == [False] * slots
    batches.iterator.close()
    batches.engine.close()


def test_no_more_batches_are_copied_for_them(batches: Batches) -> None:
    held = []
    for n in range(7):
        batches.announce(n)
        if n in (2, 5):
            held += [next(batches.iterator) for _ in range(3)]
    batches.engine.batch(7, slot=7)
    held.append(next(batches.iterator))
    held.append(next(batches.iterator))
    assert [batch._raw.ring is None for batch in held] == [False] * 6 + [True] * 2
    assert [batch["x"][0] for batch in held] == list(range(8))


def test_slots_go_back_while_batches_are_ahead(batches: Batches) -> None:
    """The engine hears of them as soon as without: it works while the trainer has batches."""
    batches.announce(0, 1, 2, 3)
    for _ in range(4):
        next(batches.iterator)
    assert [seq for _, _, seq in batches.engine.look()] == [0, 1, 2]


def test_close_gives_them_back(batches: Batches) -> None:
    batches.announce(0, 1, 2)
    kept = next(batches.iterator)
    batches.iterator.close()
    assert batches.held == 1 and kept["x"].tolist() == [0] * 8
    assert batches.given_back == [batches.connection]
    with pytest.raises(StopIteration):
        next(batches.iterator)


def test_an_error_comes_in_its_turn(batches: Batches) -> None:
    def make(raw: RawBatch) -> int:
        if raw.step == 1:
            raise MemoryError
        return raw.step

    batches.announce(0, 1, 2)
    assert batches.iterator.make(make)[1] == 0
    with pytest.raises(MemoryError):
        batches.iterator.make(make)
    assert batches.iterator.make(make)[1] == 2


def test_a_broken_frame_ends_the_iteration(batches: Batches) -> None:
    """The batches before it were not handed out, and the state says so."""
    batches.announce(0, 1)
    batches.engine.announce(9, 2, 2, 0, 0)
    with pytest.raises(errors.ProtocolError, match="generation 9"):
        next(batches.iterator)
    assert batches.position == 0 and batches.connection.closed
    for _ in range(2):  # and not the end, which a loop would take for that of the epoch
        with pytest.raises(errors.ProtocolError, match="generation 9"):
            next(batches.iterator)


@pytest.mark.parametrize("strikes", range(4))
def test_an_interrupt_loses_no_batch_unsaid(batches: Batches, strikes: int) -> None:
    """The iteration is over then, and the state is that after the last batch that was handed out."""

    def make(raw: RawBatch) -> int:
        if raw.step == strikes:
            raise KeyboardInterrupt
        return raw.step

    batches.announce(0, 1, 2, 3)
    batches.iterator._batch = make  # type: ignore[assignment, method-assign]
    with pytest.raises(KeyboardInterrupt):
        list(batches.iterator)
    assert batches.position == 0 and len(batches.iterator._ahead) == 0
    for _ in range(2):
        with pytest.raises(errors.ShardfeedError, match="KeyboardInterrupt ended this iteration: begin a new one"):
            next(batches.iterator)


def test_a_forked_child_gets_none(batches: Batches) -> None:
    """They are the parent's."""
    batches.announce(0, 1, 2)
    next(batches.iterator)
    pid = os.fork()
    if pid == 0:
        failed: Any = None
        try:
            next(batches.iterator)
        except BaseException as e:
            failed = e
        os._exit(0 if isinstance(failed, errors.ForkError) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [next(batches.iterator)["x"][0] for _ in range(2)] == [1, 2]


def test_the_end_comes_after_them(batches: Batches) -> None:
    batches.announce(0, 1)
    batches.engine.send(protocol.END, {"left": False, "state": {"epoch": 1, "position": 0}})
    assert [batch["x"][0] for batch in batches.iterator] == [0, 1]
    assert batches.iterator.place.epoch == 1
