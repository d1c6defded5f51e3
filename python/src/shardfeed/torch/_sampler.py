"""The sampler of a loader, by which trainers set its epoch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Protocol


class SetsEpoch(Protocol):
    """A loader."""

    def set_epoch(self, epoch: int) -> None: ...


class EpochSampler:
    """Sets the epoch of a loader for trainers that look for ``loader.sampler.set_epoch``.

    Lightning calls it before each epoch. All else goes to the loader's own sampler, if it has one.
    """

    def __init__(self, loader: SetsEpoch, sampler: Any = None) -> None:
        self._loader = loader
        self._sampler = sampler

    def set_epoch(self, epoch: int) -> None:
        _load_states(sys._getframe(1))
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._own())

    def __len__(self) -> int:
        return len(self._own())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._sampler, name)

    def _own(self) -> Any:
        if self._sampler is None:
            raise TypeError("the engine decides the order of this loader, which has no row numbers: iterate over the loader")
        return self._sampler


def _load_states(frame: FrameType | None) -> None:
    """Loads the states of a checkpoint that Lightning read and did not hand to its loaders.

    It hands them only to loaders that it makes after it has read them, and only within an epoch. A
    module that asks for ``trainer.estimated_stepping_batches`` has the loaders made before. After
    an epoch a state still has the order and the weights of sources.
    """
    loop = _fit_loop(frame)
    states = getattr(loop, "_combined_loader_states_to_load", None)
    if states:
        loop._combined_loader._load_state_dicts(states)
        loop._combined_loader_states_to_load = []


def _fit_loop(frame: FrameType | None) -> Any:
    """The loop of Lightning that starts an epoch of training, two frames above; None elsewhere."""
    for _ in range(2):
        if frame is None:
            return None
        loop: Any = frame.f_locals.get("self")
        if frame.f_code.co_name == "on_advance_start" and type(loop).__name__ == "_FitLoop":
            return loop
        frame = frame.f_back
    return None
