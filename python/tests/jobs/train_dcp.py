"""A training loop with torch.distributed.checkpoint: each rank writes its part, and the loader's
state once.
"""

from __future__ import annotations

import torch
import torch.distributed.checkpoint as dcp
from rank import Model, Report, Trained, arguments, group, loss, newest, save, steps_of
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.nn.parallel import DistributedDataParallel

import shardfeed.torch


def main() -> None:
    given = arguments()
    report = Report()
    with group():
        loader = shardfeed.torch.DataLoader(
            given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, with_row_valid=True
        )
        model = DistributedDataParallel(Model())
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        last = newest(given.checkpoint)
        if last is not None:
            state = {"model": get_model_state_dict(model), "loader": loader}
            dcp.load(state, checkpoint_id=last)
            set_model_state_dict(model, state["model"])
        train = Trained(report, steps_of(last) if last else 0, given.pause)
        for batch in loader:
            optimizer.zero_grad()
            loss(model, batch).backward()
            optimizer.step()
            train(batch)
            if train.step % given.every == 0:
                state = {"model": get_model_state_dict(model), "loader": loader}
                save(given.checkpoint, train.step, lambda path, state=state: dcp.save(state, checkpoint_id=path))
        report("done", stats=loader.stats())


if __name__ == "__main__":
    main()
