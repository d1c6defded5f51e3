"""Trains with torchft: replica groups come and go, and each step has the same number of rows.

    torchft_lighthouse --min_replicas 1 --join_timeout_ms 1000 --bind 127.0.0.1:29510
    python examples/torchft_groups.py table --group 0 --lighthouse http://127.0.0.1:29510

Start it with --group 1, --group 2 and so on in other processes, kill some, and start them again.
"""

import argparse
import json
import time
from datetime import timedelta
from pathlib import Path

import shardfeed.torch
import torch
from torch.distributed import TCPStore
from torchft import Manager, ProcessGroupGloo


class Feed:
    """The rows of the next step, divided over the groups that take part in it.

    The position is the same in all groups. It moves when a step is committed; a step that is not
    is read again, by the groups that are there then.
    """

    def __init__(self, uri: str, global_batch_size: int, **options):
        self.uri, self.rows, self.options = uri, global_batch_size, options
        self.position = None  # after the last committed step
        self.place = self.batches = None

    def next(self, rank: int, groups: int):
        if self.rows % groups:
            raise ValueError(f"the global batch of {self.rows} rows must divide over {groups} groups")
        if self.batches is None or self.place != (rank, groups):
            self.place = rank, groups
            self.loader = shardfeed.torch.DataLoader(
                self.uri, batch_size=self.rows // groups, rank=rank, world_size=groups, tail="carry", **self.options
            )
            if self.position is not None:
                self.loader.load_state_dict(self.position)
            else:
                self.position = self.loader.state_dict()
            self.batches = iter(self.loader)
        if (batch := next(self.batches, None)) is None:  # the next epoch
            self.batches = iter(self.loader)
            batch = next(self.batches)
        return batch

    def commit(self) -> None:
        self.position = self.loader.state_dict()

    def rewind(self) -> None:
        self.batches = None

    def load_state_dict(self, state: dict) -> None:
        self.position, self.batches = state["position"], None

    def state_dict(self) -> dict:
        return {"position": self.position}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="a table with the columns id, x and label")
    parser.add_argument("--group", type=int, required=True)
    parser.add_argument("--lighthouse", required=True)
    parser.add_argument("--global-batch-size", type=int, default=120, help="rows of a step, over all groups")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of rest after a step")
    parser.add_argument("--report", type=Path, help="a file that gets a line of JSON for each step")
    given = parser.parse_args()

    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)
    feed = Feed(given.uri, given.global_batch_size, columns=["id", "x", "label"], seed=7)

    def load(state: dict) -> None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        feed.load_state_dict(state["feed"])

    def save() -> dict:
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "feed": feed.state_dict()}

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=20)),
        load_state_dict=load,
        state_dict=save,
        min_replica_size=1,
        use_async_quorum=False,  # who takes part is known before the rows are read
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=store.port,
        lighthouse_addr=given.lighthouse,
        replica_id=f"group{given.group}",
        hostname="127.0.0.1",
    )
    while manager.current_step() < given.steps:
        manager.start_quorum()  # a group that came back has the model and the position of the others then
        rank, groups, step = manager.participating_rank(), manager.num_participants(), manager.current_step()
        if rank is None:
            raise SystemExit("this group takes no part: it needs use_async_quorum=False")
        batch = feed.next(rank, groups)
        say(given.report, step=step, rank=rank, groups=groups, ids=batch["id"].tolist())
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(batch["x"][:, None]).squeeze(1), batch["label"].float()).backward()
        for parameter in model.parameters():
            manager.allreduce(parameter.grad).wait()  # the mean over the groups that take part
        if committed := manager.should_commit():
            optimizer.step()
            feed.commit()
        else:
            feed.rewind()
        say(given.report, step=step, committed=committed)
        time.sleep(given.pause)
    manager.shutdown()


def say(report: Path | None, **line) -> None:
    if report:
        with report.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
