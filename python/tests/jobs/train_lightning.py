"""A training with Lightning: DDP, and checkpoints within an epoch that hold the loader."""

from __future__ import annotations

import with_lightning
from rank import Model, Report, Trained, arguments, loss, newest, steps_of

import shardfeed.torch


def main() -> None:
    given = arguments()
    report = Report()
    loader = shardfeed.torch.DataLoader(
        given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, with_row_valid=True
    )
    last = newest(given.checkpoint)
    module = with_lightning.Module(Model(), loss, Trained(report, steps_of(last) if last else 0, given.pause))
    with_lightning.fit(module, loader, given, last, epochs=1)
    report("done", stats=loader.stats())


if __name__ == "__main__":
    main()
