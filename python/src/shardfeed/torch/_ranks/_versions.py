"""Versions of shardfeed on the ranks of a job.

Ranks compare these before anything else, by keys and texts that stay as they are in every version:
"shardfeed/version/<rank>" is a rank's version, and "shardfeed/versions" what rank 0 says when they
differ. What ranks write besides may have another form in another version, and then one of them
waits for what never comes. So a rank that waits looks here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..._version import __version__
from ...errors import RankMismatchError
from ._store import present, ranks_in_words

_DIFFER = "shardfeed/versions"
_EVERY = 1.0  # seconds between two looks
_LATER = 10.0  # seconds in which the version of each rank has come, once two differ


def of(welcome: Mapping[str, Any]) -> str:
    """The version of this package and of its engine, which are one in a wheel."""
    build = str(welcome["build"])
    return build if build.split(" ")[0] == __version__ else f"{__version__} with the engine {build}"


class Versions:
    """What a rank that waits knows of the others' versions."""

    def __init__(self, store: Any, rank: int, world_size: int, version: str = __version__) -> None:
        self._store, self._rank = store, rank
        self._unknown = [f"shardfeed/version/{r}" for r in range(world_size)]
        self._ranks: dict[str, list[int]] = {}
        self._next = time.monotonic() + _EVERY
        self.own = {self._unknown[rank]: version}  # what this rank writes before it waits

    def look(self) -> None:
        """Raises RankMismatchError where versions differ. It asks the store once a second."""
        if time.monotonic() < self._next:
            return
        if self._rank == 0:
            self._compare()
        elif self._store.check([_DIFFER]):
            raise mismatch(self._store.get(_DIFFER).decode())
        self._next = time.monotonic() + _EVERY

    def _compare(self) -> None:
        self._read()
        until = time.monotonic() + _LATER
        while len(self._ranks) > 1 and self._unknown and time.monotonic() < until:
            time.sleep(0.1)
            self._read()
        if found := differences(self._ranks):
            self._store.set(_DIFFER, found)
            raise mismatch(found)

    def _read(self) -> None:
        found = present(self._store, self._unknown)
        for key, version in found.items():
            self._ranks.setdefault(version.decode(), []).append(int(key.rpartition("/")[2]))
        self._unknown = [key for key in self._unknown if key not in found]


def differences(ranks: Mapping[str, list[int]]) -> str:
    """Lists the ranks by their version; empty if all have the same."""
    return ", ".join(f"{version} on {ranks_in_words(sorted(of))}" for version, of in sorted(ranks.items())) if len(ranks) > 1 else ""


def mismatch(found: str) -> RankMismatchError:
    """The error for versions that differ."""
    error = RankMismatchError(f"the ranks run different versions of shardfeed: {found}: install one version on all nodes")
    error.details = (f"version: {found}",)
    return error
