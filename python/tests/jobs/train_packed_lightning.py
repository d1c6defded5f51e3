"""A training with Lightning on a packed stream: DDP, and checkpoints that hold the loader."""

from __future__ import annotations

import packed
import with_lightning
from rank import Report, arguments, newest, steps_of

import shardfeed.torch
import shardfeed.torch.huggingface


def main() -> None:
    given = arguments()
    report = Report()
    loader = shardfeed.torch.DataLoader(shardfeed.torch.huggingface.packed(given.uri, **packed.stream_arguments(given)))
    last = newest(given.checkpoint)
    blocks = packed.Blocks(report, steps_of(last) if last else 0, given.pause)
    module = with_lightning.Module(packed.model(), lambda model, batch: model(**batch).loss, lambda batch: blocks(batch["input_ids"]))
    with_lightning.fit(module, loader, given, last, epochs=2)
    report("done")


if __name__ == "__main__":
    main()
