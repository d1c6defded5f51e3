"""Trains a classifier of the shop's titles on any number of ranks. Kill it at any moment and start it again, on as many ranks as you like:
it goes on behind its last checkpoint, and at the end of each epoch it shows that each row came once.

    torchrun --nproc-per-node 2 examples/train.py s3://bucket/shop
"""

import argparse
import time
from pathlib import Path

import shardfeed.torch
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LABELS = [
    "가방>백팩",
    "가전>조명",
    "도서>소설",
    "식품>과일",
    "신발>운동화",
    "의류>원피스",
    "의류>청바지",
    "의류>티셔츠",
    "주방>냄비",
    "주방>머그컵",
]
TOKENS = 32_000


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.EmbeddingBag(TOKENS, 32, mode="mean", padding_idx=0)
        self.price = torch.nn.Linear(1, 32)
        self.out = torch.nn.Linear(32, len(LABELS))

    def forward(self, tokens: torch.Tensor, price: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.tokens(tokens) + self.price(price[:, None].float() / 10_000)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="where the shop lies")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16, help="rows of a batch, per rank")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of rest after a step, so that there is time to kill it")
    given = parser.parse_args()

    dist.init_process_group()
    device = torch.device("cuda", dist.get_node_local_rank()) if torch.cuda.is_available() else torch.device("cpu")
    loader = shardfeed.torch.DataLoader(
        given.uri,
        columns=["unique_id", "token_ids", "price", "label"],
        batch_size=given.batch_size,
        with_row_valid=True,
        pad={"token_ids": 0},
        max_length=32,
        null={"price": 0.0},
        vocabulary={"label": LABELS},
        device=device,
    )
    model = DistributedDataParallel(Classifier().to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    times = torch.zeros(loader.dataset.size, dtype=torch.int32, device=device)  # how often each row came in this epoch
    first = 0
    if given.checkpoint.exists():
        saved = torch.load(given.checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        first = saved["epoch"]
        times = saved["times"] if dist.get_rank() == 0 else times
        say(f"goes on in epoch {first}, behind row {int(saved['times'].sum())}, on {dist.get_world_size()} ranks")

    for epoch in range(first, given.epochs):
        loader.set_epoch(epoch)  # never overrides a position that was just loaded
        for step, batch in enumerate(loader):
            real = batch["_row_valid"]  # False for the padding of the last step
            losses = torch.nn.functional.cross_entropy(model(batch["token_ids"], batch["price"]), batch["label"], reduction="none")
            optimizer.zero_grad()
            (losses * real).sum().div(given.batch_size).backward()
            optimizer.step()

            numbers = torch.tensor([int(name[1:]) for name in batch["unique_id"].tolist()], device=device)[real]
            times.index_add_(0, numbers, torch.ones_like(numbers, dtype=torch.int32))
            if step % given.every == given.every - 1:
                save(given.checkpoint, model, optimizer, loader, epoch, times)
                say(f"epoch {epoch}: loss {losses.mean().item():.3f}")
            time.sleep(given.pause)
        total = over_ranks(times)
        say(f"epoch {epoch}: {int(total.sum())} rows, {int((total == 1).sum())} of {len(total)} exactly once")
        times.zero_()
        save(given.checkpoint, model, optimizer, loader, epoch + 1, times)
    dist.barrier()  # no rank leaves while another one still needs it
    dist.destroy_process_group()


def save(path: Path, model, optimizer, loader, epoch: int, times: torch.Tensor) -> None:
    """Writes a checkpoint that is there whole, or not at all. The loader's state is the same on all ranks, and fits any number of them."""
    total = over_ranks(times)
    if dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
        torch.save({**state, "epoch": epoch, "times": total}, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)


def over_ranks(times: torch.Tensor) -> torch.Tensor:
    total = times.clone()
    dist.all_reduce(total)
    return total


def say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    main()
