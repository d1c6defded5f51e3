"""The steps of a run over all its ranks, for tests that resume it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shardfeed import StreamingDataset


class Run:
    """A run of several ranks, each of which open makes by batch_size, rank and world_size."""

    def __init__(self, open: Callable[..., StreamingDataset[Any]], items: Callable[[Any], list[Any]], global_batch: int) -> None:
        self.open, self.items, self.global_batch = open, items, global_batch

    def steps(self, world_size: int, state: Any = None, stop: int = 0) -> tuple[list[Any], Any]:
        """The items of each step over all ranks, sorted, and the state after stop steps, or all."""
        steps: list[Any] = []
        for rank in range(world_size):
            dataset = self.open(batch_size=self.global_batch // world_size, rank=rank, world_size=world_size)
            if state is not None:
                dataset.load_state_dict(state)
            for n, batch in enumerate(dataset):
                if n == len(steps):
                    steps.append([])
                steps[n] += self.items(batch)
                if n + 1 == stop:
                    break
            after = dataset.state_dict()
        return [sorted(s) for s in steps], after

    def resumes(self, stops: Callable[[int], Iterable[int]] = lambda steps: range(1, steps)) -> int:
        """Resumes on three ranks what two began, after some of the steps; returns their number."""
        whole, _ = self.steps(2)
        for stop in stops(len(whole)):
            first, state = self.steps(2, stop=stop)
            rest, _ = self.steps(3, state)
            assert first + rest == whole
        return len(whole)
