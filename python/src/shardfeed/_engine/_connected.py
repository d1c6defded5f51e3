"""What connects a data set to the engine: its connections, and which rank asks."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from .. import _manifest
from .._warn import place
from . import _launcher, _now, _opening, _rank, _replicas
from ._connection import Connection
from ._process import Engine

_made: Counter[str] = Counter()  # number of data sets by the line that made them


class Connected:
    """The connections of a data set.

    One is for requests outside of iterations, and keeps the data set open in the engine. Each
    iteration has another one, which stays for the next.
    """

    _spec: dict[str, Any]
    _rank_given: tuple[int | None, int | None]
    _replication: int
    _mesh: Any
    _timeout: float | None
    _id: str
    _job: str
    _agree: str
    _number: int
    _inventory: str  # the file of another node's; empty where this node opened for itself
    _handed_on: Any = None  # rank 0's Opening, while the store of the process group holds bytes of it

    def _forget(self) -> None:
        """Starts without connections."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._connection: Connection | None = None  # for requests outside of iterations
        self._idle: deque[Connection] = deque()  # of an iteration that has ended, with its ring

    def _after_fork(self) -> None:
        """Leaves the connections to the process that made them."""
        if self._pid != os.getpid():
            self._forget()

    def _ranks(self) -> tuple[int, int]:
        """The data rank, and how many there are."""
        share = self._share()
        return share.rank, share.world_size

    def _check_ranks(self) -> None:
        """Refuses to read when it is not clear which rank this is."""
        if self._mesh is None:
            _rank.check(*self._rank_given)

    def _share(self) -> _replicas.Share:
        if self._mesh is not None:
            return _replicas.of_mesh(self._mesh)
        return _replicas.of_ranks(*_rank.resolve(*self._rank_given), self._replication)

    def _session(self, **what: Any) -> dict[str, Any]:
        share = self._share()
        self._after_fork()
        with self._lock:
            connection = self._control()
            what = {**self._asked(connection), **what}
            return connection.ask(rank=share.rank, world_size=share.world_size, **share.of_join(), **what)

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, as JSON types.

        Save it beside the checkpoint, or with ``json.dump``: the argument ``manifest`` takes it, or
        the file, and reads the same shards when others were added to the data.
        """
        return _manifest.of_session(self._session(manifest=True))

    def _asked(self, connection: Connection) -> dict[str, Any]:
        """The members of Ask with the session's position, for an engine that does not know it."""
        return {}

    def _control(self) -> Connection:
        """The connection for requests outside of iterations.

        It keeps the data set open in the engine.
        """
        if self._connection is None or not self._connection.usable:
            self._connection = self._connect()
        return self._connection

    def _take(self) -> Connection:
        """A connection for an iteration: the idle one, or a new one."""
        self._after_fork()
        try:
            connection = self._idle.pop()
        except IndexError:
            return self._connect()
        return connection if connection.usable else self._connect()

    def _give_back(self, connection: Connection) -> None:
        if not self._idle and connection.usable:
            self._idle.append(connection)
        else:
            connection.close()

    def _open(self, how: str | None) -> dict[str, Any]:
        """Opens the data set for the first time, and returns what the engine says of it.

        Rank 0 may do so for all nodes: "first", see torch/_ranks/_opening.py. The process group must exist
        by now; with a later one each node opens for itself.
        """
        share = self._share()
        self._spec = _now.agreed(self._spec, opening(self._agree), share.job_rank, share.job_world_size)
        return self._open_by(how)

    def _open_by(self, how: str | None) -> dict[str, Any]:
        """Opens the data set, also after the first time."""
        share = self._share()
        store = _opening.store(how, self._spec, share.job_rank, share.job_world_size)
        pause = _opening.pause(self._spec)
        if store is None:
            time.sleep(pause)
            with self._lock:
                return self._control().opened
        from ..torch._ranks._opening import Opening

        first = Opening(store, self._agree, share.job_rank, share.job_world_size, Engine(self._job), self._timeout, pause)
        self._connection = first.connect(self._connect_by)
        self._handed_on = first if first.parts else None
        return self._connection.opened

    def _connect_by(
        self, inventory: str, told: Callable[[], object] | None = None, counting: Mapping[str, Any] | None = None
    ) -> Connection:
        self._inventory = inventory
        return self._connect(told, counting)

    def _connect(self, told: Callable[[], object] | None = None, counting: Mapping[str, Any] | None = None) -> Connection:
        share, name = self._share(), self._id
        if share.replicas > 1:  # replicas share the data set object too
            name = f"{self._job} {opening(self._agree)} {self._number}, rank {share.rank}"
        what = {"dataset": name, "opening": opening(self._agree), "spec": self._spec, "inventory": self._inventory, **(counting or {})}
        return Connection(Engine(self._job), what, timeout=self._timeout, before=getattr(self, "_opened", None), told=told)

    def _keep_open(self) -> None:
        """Keeps the data set open in the engine, which counts its epochs while a process does."""
        self._after_fork()
        with self._lock:
            self._control()

    def _let_go(self, *, everything: bool) -> None:
        """Closes the idle connections; with everything also the one that keeps the data set open."""
        while self._idle:
            self._idle.pop().close()
        if not everything:
            return
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def agreement() -> str:
    """A name for a data set that is the same on all ranks, since they run one program: the line
    that made it, and its count.
    """
    line = place()
    _made[line] += 1
    return f"{line}#{_made[line]}"


def opening(agreement: str) -> str:
    """The name of an agreement on this machine, so that restarted ranks do not meet what earlier
    ones left with its engine.
    """
    return " ".join(filter(None, [agreement, _launcher.attempt()]))
