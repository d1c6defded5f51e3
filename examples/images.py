"""Classify product images: a random crop, a flip, normalised, batches of 100, labels as numbers.

shardfeed vocab testdata/shop --column label --save labels.json
python examples/images.py testdata/shop --labels labels.json
"""

import argparse
import itertools
import json
import pathlib
import time

import torch
from shardfeed import Image
from shardfeed.torch import DataLoader

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("address")
parser.add_argument("--labels", required=True, help="a file of shardfeed vocab --save")
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--iterations", type=int, default=1000)
args = parser.parse_args()

torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"
loader = DataLoader(
    args.address,
    batch_size=100,
    columns=["img_jpg", "label"],
    images={"img_jpg": Image.imagenet_train(size=args.size)},
    vocabulary={"label": args.labels},
    seed=7,
    device=device,
)
classes = len(json.loads(pathlib.Path(args.labels).read_text()))
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 7, stride=4, padding=3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(64 * 4, classes),
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def batches():
    """Epoch after epoch, each in another order and with other crops."""
    for epoch in itertools.count():
        loader.set_epoch(epoch)
        yield from loader


waited, start = 0.0, time.perf_counter()
stream = batches()
for step in range(args.iterations):
    before = time.perf_counter()
    batch = next(stream)
    waited += time.perf_counter() - before
    loss = torch.nn.functional.cross_entropy(model(batch["img_jpg"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == args.iterations - 1:
        print(f"step {step}: loss {loss.item():.3f}")
took = time.perf_counter() - start
print(f"{100 * args.iterations / took:.0f} images a second; waited for batches {waited / took:.1%} of the time")
