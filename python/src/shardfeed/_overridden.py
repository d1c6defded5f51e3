"""Options that a state brings with it, where a data set was given others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Differing = tuple[str, Any, Any]  # name, value of the state, value given


def messages(state: Mapping[str, Any], spec: Mapping[str, Any], opened: Mapping[str, Any]) -> Iterator[str]:
    """Describes the options that differ from the state's. Options that were not given never differ."""
    for name, saved, here in _options(state, spec, opened):
        yield f"the state was taken with {name}={saved}, which wins over {name}={here} here"
    kept = _rows_of_epochs(state, spec, opened)
    if kept is not None:
        stop = spec["stop"] or "first"
        yield f"the state was taken with epochs of {state['rows']} rows, which win over stop={stop} with epochs of {kept} here"
    tail = state["params"]["tail"] if "params" in state else state.get("tail")
    if tail and spec["tail"] and tail != spec["tail"] and "carry" not in (tail, spec["tail"]):
        yield f"the state was taken with tail={tail}, and tail={spec['tail']} here wins: epochs end differently"


def _options(state: Mapping[str, Any], spec: Mapping[str, Any], opened: Mapping[str, Any]) -> Iterator[Differing]:
    """Returns the options of a spec that differ from the state's, which win."""
    if state["shuffle"] != spec["shuffle"]:
        yield "shuffle", state["shuffle"], spec["shuffle"]
    if state["seed"] != spec["seed"]:
        yield "seed", state["seed"], spec["seed"]
    if not state["shuffle"]:
        return
    yield from _of_plan(state, spec, opened)
    if state.get("sources"):
        yield from _of_epoch(state, spec)
    if _same_sources(state, spec):
        yield from _of_mixture(state, spec)


def _same_sources(state: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    return bool(state.get("sources")) and len(state["sources"]) == len(spec["sources"])


def _same_samples(state: Mapping[str, Any], opened: Mapping[str, Any]) -> bool:
    """Reports whether the data has as many rows as the state's; if not, the state is refused."""
    sources = state.get("sources")
    then = [source.get("rows") for source in sources] if sources else [state["rows"]]
    return bool(then == opened["samples"])


def _rows_of_epochs(state: Mapping[str, Any], spec: Mapping[str, Any], opened: Mapping[str, Any]) -> int | None:
    """The rows of an epoch here, where stop makes others than the state has."""
    if not _same_sources(state, spec) or not _same_samples(state, opened):
        return None
    if spec["epoch_size"] or any(True for _ in _of_mixture(state, spec)) or any(s["repeat"] or s["choose"] for s in spec["sources"]):
        return None
    here = int(opened["rows"])
    rounded = len(state["sources"]) * state["global_batch"] if state["batching"] == "per_source" else 0  # to whole steps
    return None if abs(here - state["rows"]) <= rounded else here


def _of_plan(state: Mapping[str, Any], spec: Mapping[str, Any], opened: Mapping[str, Any]) -> Iterator[Differing]:
    """Parameters of the plan, or of the plans of all sources."""
    plans = [state["params"]] if "params" in state else [source.get("params", {}) for source in state.get("sources", ())]
    if not plans:
        return
    buffer = sum(plan.get("buffer", 0) for plan in plans)
    given = int(spec["shuffle_buffer"]) if spec["shuffle_buffer"].isdigit() else opened["buffer"] if _same_samples(state, opened) else 0
    if given and not _same_buffer(given, buffer, state):
        yield "shuffle_buffer", buffer, spec["shuffle_buffer"]
    for name in ("lanes", "unit_rows", "start"):
        saved = state.get(name, plans[0].get(name))
        if spec[name] and saved != spec[name]:
            yield name, saved, spec[name]


def _same_buffer(given: int, buffer: int, state: Mapping[str, Any]) -> bool:
    """Sources round their parts of the buffer down, and take no more than their samples."""
    sources = state.get("sources")
    if not sources:
        return given == buffer
    return abs(given - buffer) <= len(sources) or given > buffer == sum(source.get("rows", 0) for source in sources)


def _of_epoch(state: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Differing]:
    size = spec["epoch_size"]
    whole = state["global_batch"] if state["batching"] == "per_source" else 1
    if size and -(-size // whole) * whole != state["rows"]:
        yield "epoch_size", state["rows"], size


def _of_mixture(state: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Differing]:
    unit = state.get("weights_in", "samples")
    if spec["weights_in"] and spec["weights_in"] != unit:
        yield "weights_in", unit, spec["weights_in"]
    names = [source["name"] for source in spec["sources"]]
    planned = [change for change in state["weights"] if len(change) == 2]  # set_weights made the others
    here = _weights(state, spec)
    if planned and planned[0][0] == 0 and planned != here:
        yield "weights", _shown(planned, names), _shown(here, names)


def _shown(changes: list[list[Any]], names: list[str]) -> Any:
    named = [(at, dict(zip(names, of, strict=False))) for at, of in changes]
    return named[0][1] if len(named) == 1 else named


def _weights(state: Mapping[str, Any], spec: Mapping[str, Any]) -> list[list[Any]]:
    """The weights of a spec as a state has them."""
    first = []
    counted = any(source["repeat"] or source["choose"] for source in spec["sources"])
    for source, saved in zip(spec["sources"], state["sources"], strict=True):
        count = source["choose"] or int((source["repeat"] or 1) * saved.get("rows", 0) + 0.5)
        first.append(count if counted else source["weight"])
    changes: list[list[Any]] = [[0, first]]
    for change in spec["curriculum"]:
        of = zip(spec["sources"], changes[-1][1], strict=True)
        changes.append([change["from"], [change["weights"].get(source["name"], weight) for source, weight in of]])
    return changes
