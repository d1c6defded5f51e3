"""Seats: which ranks read which lanes, so that nodes read again what their caches hold."""

from __future__ import annotations

import base64
import contextlib
import logging
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._args import _storage
from ..._engine import _launcher
from ..._engine._replicas import Share
from ...errors import OptionError, ProtocolError
from ._meeting import SEATS, Given, Meeting

log = logging.getLogger("shardfeed")

Ask = Callable[..., Mapping[str, Any]]  # asks the session of this rank for more


class Seats:
    """The seats of a data set, from its first iteration to the end of the process.

    The rows of a step, their order and states are the same with any seats.
    """

    def __init__(self, found: Mapping[str, Any] | None = None) -> None:
        found = found or {}
        packed = found.get("seats")
        self._places = None if packed is None else _unpacked(packed)
        self.figures: dict[str, int] | None = found.get("figures")

    def of(self, state: Mapping[str, Any] | None) -> list[int] | None:
        """The seats of an iteration that starts with a state.

        A state with other lanes ends them, on all ranks alike.
        """
        lanes = None if state is None else (state.get("params") or {}).get("lanes")
        if self._places is not None and state is not None and lanes != len(self._places):
            self._places = self.figures = None
        return self._places


def useful(spec: Mapping[str, Any], share: Share) -> bool:
    """Whether seats may save reads: several nodes cache the shuffled rows of one remote data set.

    Single rows and batches by length have steps that are too short for seats.
    """
    if not spec["shuffle"] or spec["no_cache"] or spec["sources"] or spec["bucket"] is not None:
        return False
    if spec["addresses"] and not any(map(_storage.on_server, spec["addresses"])):
        return False
    return 2 <= share.job_world_size != _launcher.local_world_size()


def exchange(meeting: Meeting, node: str, share: Share, ask: Ask | None) -> Seats:
    """The seats that suit what the nodes hold, the same on each rank.

    If any rank has no ask, there are no seats.
    """
    if ask is None:
        meeting.give(SEATS, {"order": None})
        if meeting.rank == 0:
            meeting.conclude(SEATS, {})
        return Seats()
    session = ask(held=meeting.leads(node))
    own = {"order": _order(session["state"]), "node": node, "data_rank": share.rank, "held": session.get("held")}
    found = meeting.gather(SEATS, own, lambda there: _seated(there, share, ask))
    if meeting.rank == 0 and found.get("figures"):
        log.info("seats: the ranks of %(nodes)d nodes read %(read)d of the %(held)d lanes that their caches hold, of %(lanes)d",
                 found["figures"])  # fmt: skip
    return Seats(found)


def _seated(there: Given, share: Share, ask: Ask) -> dict[str, Any]:
    """Returns seats and their figures; empty if they are not needed, or impossible."""
    orders = {has["order"] for has in there.values()}
    if len(there) < share.job_world_size or None in orders or len(orders) > 1:
        return {}  # orders that differ are an error of the next part
    nodes = _nodes(there)
    places = [rank for node in nodes for rank in node["ranks"]]
    if len(nodes) < 2 or len(set(places)) < len(places) or not any(node["held"] for node in nodes):
        return {}  # a data rank on two nodes has replicas there
    with contextlib.suppress(OptionError, ProtocolError):  # such as more ranks than an order has lanes
        if seats := ask(nodes=nodes).get("seats"):
            return {"seats": _packed(seats), "figures": _figures(seats, nodes, share.world_size)}
    return {}


def _packed(seats: list[int]) -> str:
    """Seats as each rank reads them from the store, where a large job has many thousands."""
    return base64.b64encode(zlib.compress(np.array(seats, "<i4").tobytes(), 1)).decode()


def _unpacked(packed: str) -> list[int]:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), "<i4").tolist()


def _order(state: Mapping[str, Any]) -> str | None:
    """What has to be the same for lanes to be the same; None without lanes."""
    lanes = (state.get("params") or {}).get("lanes")
    return None if lanes is None else f"{lanes} {state['seed']} {state['manifest']} {state['units']}"


def _nodes(there: Given) -> list[dict[str, Any]]:
    """The nodes, as Ask has them, in the order of their ranks."""
    nodes: dict[str, dict[str, Any]] = {}
    for _, has in sorted(there.items()):
        node = nodes.setdefault(has["node"], {"ranks": [], "held": None})
        if has["data_rank"] not in node["ranks"]:
            node["ranks"].append(has["data_rank"])
        node["held"] = node["held"] or has.get("held")
    return list(nodes.values())


def _figures(seats: list[int], nodes: list[dict[str, Any]], world_size: int) -> dict[str, int]:
    """Counts the lanes, the held ones, and the ones read by a node that holds them."""
    lanes, held, read = len(seats), set(), set()
    for node in nodes:
        bits = base64.b64decode(node["held"] or "")
        own = {lane for lane in range(8 * len(bits)) if bits[lane // 8] >> (lane % 8) & 1}
        ranks = set(node["ranks"])
        held |= own
        read |= {lane for lane in own if ranks & set(_readers(seats[lane], lanes, world_size))}
    return {"nodes": len(nodes), "lanes": lanes, "held": len(held), "read": len(read)}


def _readers(place: int, lanes: int, world_size: int) -> range:
    """The ranks that read the lane at a place."""
    return range(place * world_size // lanes, ((place + 1) * world_size - 1) // lanes + 1)
