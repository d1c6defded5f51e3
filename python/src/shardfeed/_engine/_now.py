"""The instant that filters take ``today()`` and ``now()`` from, which all ranks of a run share.

Ranks on one machine get it from their engine: it is when the first of them opened the data set.
Ranks of several machines agree on it in the process group's store, if there is one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from . import _launcher

_CLOCK = re.compile(r"\b(today|now)\s*\(", re.IGNORECASE)


def agreed(spec: dict[str, Any], name: str, rank: int, world_size: int) -> dict[str, Any]:
    """The spec with the instant of the first rank that comes to the store. It is as it was where
    there is no store, or no filter that may depend on the time.
    """
    if spec["plan"] or not any(_CLOCK.search(filters) for filters in _filters(spec)):
        return spec
    group = _launcher.from_process_group()
    if world_size == 1 or group is None or group[:2] != (rank, world_size):
        return spec
    from ..torch._ranks._store import of_group

    if (store := of_group(world_size)) is None:
        return spec
    opening = store.add(f"shardfeed/{name}/{rank}/clocks", 1)
    return {**spec, "now": store.compare_set(f"shardfeed/{name}/now {opening}", "", _present()).decode()}


def _present() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def opened(spec: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with the instant of the data set that was opened, for an engine that takes the place
    of this one. A plan has its own.
    """
    now = answer.get("now")
    return spec if not now or spec["plan"] or spec["now"] == now else {**spec, "now": now}


def differs(spec: Mapping[str, Any], answer: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether filters were evaluated at another instant when a state was taken."""
    return bool(answer.get("now") and state.get("now") and answer["now"] != state["now"] and not spec["plan"])


def _filters(spec: Mapping[str, Any]) -> list[str]:
    return [spec["filters"] or "", *(source["filters"] or "" for source in spec["sources"])]
