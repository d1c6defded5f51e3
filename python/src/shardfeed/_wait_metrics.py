"""The wait of a training loop as metrics, for the loggers of trainers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._documented import documented
from .errors import ShardfeedError


@documented
class WaitMetrics:
    """Measures how much of a training loop's time is spent waiting for data, as metrics for a logger.

    ::

        waits = shardfeed.WaitMetrics(loader)
        for step, batch in enumerate(loader):
            ...
            if step % 50 == 0:
                wandb.log({"loss": loss, **waits()})

    Each call returns the metrics since the one before: ``data/wait_share``, the share of the loop's
    time in ``next``, from 0 to 1, and its parts, such as ``data/wait_share/storage``; see
    ``stats()["wait"]``. They are of this rank. Before the first batch the dict is empty.

    Args:
        data: loaders or data sets of this package that the loop reads, one after another in each
            step.
    """

    def __init__(self, *data: Any) -> None:
        self._data = data
        self._before: list[Mapping[str, Any]] = [{}] * len(data)
        self._causes: set[str] = set()  # that had a part once: loggers expect the same names each time

    def __call__(self) -> dict[str, float]:
        now = [_wait(data) for data in self._data]
        differences = [_difference(n, b) for n, b in zip(now, self._before, strict=True)]
        loop = max((d["of"] for d in differences), default=0.0)
        if loop <= 0:
            return {}
        self._before = now
        self._causes.update(name for d in differences for name in d if name not in ("seconds", "of"))
        names = {"data/wait_share": "seconds"} | {f"data/wait_share/{cause}": cause for cause in sorted(self._causes)}
        return {name: min(1.0, sum(d.get(of, 0.0) for d in differences) / loop) for name, of in names.items()}


def _wait(data: Any) -> Mapping[str, Any]:
    """The wait of a loop so far; {} if it is not known."""
    try:
        return data.stats().get("wait") or {}
    except ShardfeedError:  # of an engine that is gone: the loop itself raises it, or starts another
        return {}


def _difference(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, float]:
    """Returns the growth of a wait and of its parts. A restarted engine counts from 0."""
    if now.get("of", 0.0) < before.get("of", 0.0):
        before = {}
    found = {name: now.get(name, 0.0) - before.get(name, 0.0) for name in ("seconds", "of")}
    parts, earlier = now.get("parts") or {}, before.get("parts") or {}
    return found | {cause: max(0.0, seconds - earlier.get(cause, 0.0)) for cause, seconds in parts.items()}


def waiting(loaders: Any) -> Iterator[Any]:
    """The loaders and data sets of this package among what a trainer has: in dicts, lists, and the
    loaders of others.
    """
    if type(loaders).__module__.split(".")[0] == __package__ and hasattr(loaders, "stats"):
        yield loaders
    elif isinstance(loaders, Mapping):
        for loader in loaders.values():
            yield from waiting(loader)
    elif isinstance(loaders, (list, tuple)):
        for loader in loaders:
            yield from waiting(loader)
    elif (dataset := getattr(loaders, "dataset", None)) is not None:
        yield from waiting(dataset)
