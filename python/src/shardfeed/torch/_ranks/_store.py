"""The store of the process group, and how ranks read it and wait for it.

No call waits within the store, which serves one thread of a process at a time and ignores signals.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch.distributed as dist

_SHORTEST, _LONGEST = 0.002, 0.1  # seconds between two looks of a few clients at the store
_RARELY = 1.0  # and of very many
_LOOKS = 5000  # of all clients together in a second, about
_SHOWN = 8  # ranks that an error names
_SILENCE = 15.0  # seconds after which a wait for ranks is logged

log = logging.getLogger("shardfeed")

T = TypeVar("T")

ALONE = "a data set that some ranks read alone, as for a validation on rank 0, needs DataLoader(..., rank=0, world_size=1) there"

_jitter = random.Random()  # the program's own random numbers stay what they are


def of_group(world_size: int) -> Any:
    """The store of the process group that the ranks belong to, or None."""
    if world_size == 1 or not dist.is_available() or not dist.is_initialized() or dist.get_world_size() < world_size:
        return None
    return getattr(dist.distributed_c10d, "_get_default_store", _none)()


def _none() -> None:
    return None


def overwrites(store: Any) -> bool:
    """Whether a new value takes the space of the old one: a FileStore has all values in a file."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    return not isinstance(store, dist.FileStore)


def present(store: Any, keys: Sequence[str]) -> dict[str, bytes]:
    """The values of those keys that are there. When all are, it takes two round trips."""
    if not store.check(list(keys)):
        return {key: store.get(key) for key in keys if store.check([key])}
    if _takes_several(store):
        return dict(zip(keys, store.multi_get(list(keys))))
    return {key: store.get(key) for key in keys}


def put(store: Any, values: Mapping[str, str]) -> None:
    """Writes values, in one round trip where the store can."""
    if len(values) > 1 and _takes_several(store):
        store.multi_set(list(values), list(values.values()))
        return
    for key, value in values.items():
        store.set(key, value)


def _takes_several(store: Any) -> bool:
    """Whether the store takes several keys at once."""
    has = getattr(store, "has_extended_api", None)
    return has is not None and bool(has())


def wait(there: Callable[[], T | None], timeout: float | None, clients: int = 1, look: Callable[[], None] | None = None) -> T | None:
    """Waits until something is there and returns it; None at the timeout. clients wait at once.

    It can be interrupted at any time. look is called from time to time, and may raise.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    for pause in _pauses(clients):
        if (found := there()) is not None:
            return found
        if look is not None:
            look()
        if deadline is not None:
            if time.monotonic() > deadline:
                return None
            pause = min(pause, max(_SHORTEST, deadline - time.monotonic()))
        time.sleep(pause)
    return None


class Overdue:
    """Logs once what a wait waits for, when it takes long."""

    def __init__(self, what: Callable[[], str]) -> None:
        """what returns the text, or an empty one to wait on in silence."""
        self._what: Callable[[], str] | None = what
        self._begun = time.monotonic()

    def look(self) -> None:
        if self._what is None or (waited := time.monotonic() - self._begun) < _SILENCE:
            return
        if text := self._what():
            log.warning("after %.0f s %s", waited, text)
        self._what = None


def _pauses(clients: int) -> Iterator[float]:
    """Yields the seconds between two looks of a client: more looks would slow the store down."""
    longest = min(_RARELY, max(_LONGEST, clients / _LOOKS))
    pause = min(longest, max(_SHORTEST, clients / (4 * _LOOKS)))  # most waits are short
    while True:
        yield pause * _jitter.uniform(0.5, 1.0)
        pause = min(2 * pause, longest)


def ranks_in_words(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_SHOWN])) + (f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"
