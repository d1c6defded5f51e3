"""Epochs and states of a data set: which iteration comes next."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast

from . import _overridden, _sources, _state
from ._args import _checks
from ._derived import Derived
from ._engine import _now, _refresh
from ._engine._connected import opening
from ._engine._opening import EACH
from ._iterator import BatchIterator
from ._warn import ShardfeedWarning, warn
from .errors import OptionError, StateError


class Resumable(Derived):
    """A data set that knows where its training is."""

    _pending_state: tuple[dict[str, Any], str] | None  # a loaded one, and its serial
    _pending_epoch: tuple[int, str] | None
    _carried_records: list[dict[str, Any]]  # of the audit, in the loaded state
    _opening: str | None
    _follows: str  # the snapshot that refresh asks for

    def _forget(self) -> None:
        super()._forget()
        self._batches_of: Callable[[], BatchIterator | None] = lambda: None  # of the place, while it is used
        self._after: dict[str, Any] | None = None  # the state after the last iteration, however that ends
        self._starts = 0  # of epochs with a snapshot of their own

    def set_epoch(self, epoch: int) -> None:
        """Selects the epoch of the next iteration, as DistributedSampler.set_epoch does.

        A position that was just loaded has precedence, unless it is in an earlier epoch: then the
        next iteration is the whole epoch, in the order of the loaded state.

        When the loaded state was taken after the last batch of this epoch, the next iteration is
        empty, and the one after it is the next epoch.
        """
        epoch = _checks.epoch(epoch)
        serial = uuid.uuid4().hex
        self._pending_epoch = epoch, serial
        if self._pending_state is not None and epoch > self._next_of(self._pending_state[0])[0]:
            self._pending_state = {**self._pending_state[0], "epoch": epoch, "position": 0}, serial
        rank, _ = self._ranks()
        self._after_fork()
        with self._lock:
            self._control().set_epoch(rank=rank, epoch=epoch, serial=serial)

    def _nothing_left(self) -> bool:
        """Whether the next iteration is empty. If so, it counts as done."""
        if self._pending_state is None or self._pending_epoch is None:
            return False
        if not self._ends(self._pending_state[0], self._pending_epoch[0]):
            return False
        self._pending_epoch = None
        return True

    def _ends(self, state: Mapping[str, Any], epoch: int) -> bool:
        """Whether a state was taken after the last batch of an epoch."""
        following, begins = self._next_of(state)
        return begins and following == epoch + 1

    def _next_of(self, state: Mapping[str, Any]) -> tuple[int, bool]:
        """The epoch of the next batch after a state, and whether it is the first of the epoch."""
        epoch, position = int(state["epoch"]), int(state["position"])
        world_size = self.world_size
        if self._tail(world_size) == "carry" and int(state["rows"]) - position < self._spec["batch_size"] * world_size:
            return epoch + 1, True
        return epoch, position == 0

    def state_dict(self) -> dict[str, Any]:
        """The position of the training: after the last batch that was handed out.

        Plain JSON types, the same on every rank except ``audit``, what this rank got of the epoch.
        """
        _state.check(diagnosed=self._diagnosed)
        if self._pending_state is not None:
            return _state.pack(self._pending_state[0], self._carried_records)
        place = self._place if self._pending_epoch is None else None
        if place is not None and self._batches_of() is not None:
            return place.state()
        session = self._session(plan=place is None)
        if session.get("workers"):
            raise StateError(
                "the batches of this data set were handed out in torch workers, which this process cannot see: use "
                "shardfeed.torch.DataLoader, or torchdata's StatefulDataLoader, and take the state_dict of the loader"
            )
        return _state.pack(session["state"]) if place is None else place.state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue after the batch where the state was taken, on any
        number of ranks.
        """
        state = _state.unpack(state_dict)
        if _now.differs(self._spec, self._opened, state):
            self._reopen(now=state["now"])
        if self._spec["refresh"] and state.get("snapshot", "") not in ("", self._spec["snapshot"]):
            self._reopen(snapshot=state["snapshot"])
        for text in _overridden.messages(state, self._spec, self._opened):
            warn(f"shardfeed: {text}", ShardfeedWarning)
        self._carried_records = _state.records(state_dict)
        self._pending_state = state, uuid.uuid4().hex
        if self._pending_epoch is not None and not self._ends(state, self._pending_epoch[0]):
            self._pending_epoch = None

    def _reopen(self, opening: str | None = EACH, **changes: str) -> None:
        """Opens the data again, with filters at another instant or at another snapshot of a table."""
        self._after_fork()
        self._let_go(everything=True)
        before, spec = self._opened, self._spec
        self._opened, self._spec, self._inventory = {}, {**spec, **changes}, ""
        try:
            self._opened = self._open_by(opening)
        except BaseException:
            self._opened, self._spec = before, spec
            raise
        self._opened_again(before)

    # Snapshots of a table

    def _refresh(self) -> None:
        """Opens the latest snapshot if the next iteration starts an epoch."""
        if not self._spec["refresh"]:
            return
        pending, serial = self._pending_state or (None, "")
        start = self._session(**({} if pending is None else {"state": pending, "state_serial": serial}))["state"]
        if start["position"] > self._row_range()[0]:
            return
        share, epoch = self._share(), int(start["epoch"])
        self._starts += 1
        name = f"{opening(self._agree)} {self._number}"
        latest = _refresh.agreed(name, epoch, self._starts, share.job_rank, share.job_world_size, self._latest)
        if latest == self._spec["snapshot"]:
            return
        self._verdict = cast("dict[str, Any] | None", self._latest_audit(self._session(stats=True, audit_of=self._number).get("audit")))
        self._reopen(self._opening, snapshot=latest)
        fresh = self._session(state=None, state_serial="")["state"]
        state = {**fresh, "seed": start["seed"], "epoch": epoch, "position": 0}
        self._pending_state, self._pending_epoch, self._after = (state, uuid.uuid4().hex), None, None
        self._carried_records = []

    def _latest(self, start: str) -> str:
        """The snapshot that all ranks of this machine get for the start of an epoch."""
        return str(self._session(latest={"name": start, "snapshot": self._follows})["latest"])

    def _agreement(self) -> str:
        """Names the comparison of ranks: each snapshot has its own."""
        name = opening(self._agree)
        return f"{name} at {self._spec['snapshot']}" if self._spec["refresh"] else name

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Gives sources other weights, from the next ``iter()`` on.

        Sources that weights does not name keep theirs; 0 leaves one out. The next iteration
        continues after the last batch that was handed out: with the next epoch after
        a whole one. States hold the weights, so a resumed run has them. Call it on all ranks.
        """
        self.load_state_dict(self._reweighted(self.state_dict(), weights))

    def _reweighted(self, state_dict: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        """Returns the state with other weights from its position on."""
        names = [source["name"] for source in self._spec["sources"]]
        if not names:
            raise OptionError("set_weights changes the weights of sources, and this data set has none: see sources")
        return _state.pack(_sources.changed(_state.unpack(state_dict), _sources.weights(weights, names, "set_weights")))
