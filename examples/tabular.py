"""Forty columns of numbers as one matrix, two categories as another. Its one argument is the directory of its table."""

import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shardfeed.torch
import torch

ROWS, NUMBERS, BUCKETS = 40_000, 40, 1_000


def make(directory: pathlib.Path) -> None:
    """A table whose target follows from a few of its columns."""
    random = np.random.default_rng(7)
    columns = {f"num_{i:02d}": random.normal(i, i + 1, ROWS).astype("f4" if i % 2 else "f8") for i in range(NUMBERS)}
    user = random.integers(0, 500, ROWS)
    columns["target"] = (columns["num_01"] - 1) / 2 - (columns["num_30"] - 30) / 31 + user % 2
    table = pa.table({**columns, "user": [f"user {n}" for n in user], "city": [f"city {n % 7}" for n in user]})
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, directory / "part.parquet", row_group_size=5_000)


directory = pathlib.Path(sys.argv[1])
make(directory)
numbers = pq.read_table(directory).select([f"num_{i:02d}" for i in range(NUMBERS)])
loader = shardfeed.torch.DataLoader(
    directory,
    batch_size=512,
    columns=["target"],
    stack={"x": ["num_*"], "ids": {"columns": ["user", "city"], "dtype": "int64"}},
    scale={name: (column.to_numpy().mean(), column.to_numpy().std()) for name, column in zip(numbers.column_names, numbers.columns)},
    hash={"user": BUCKETS, "city": BUCKETS},
    cast={"target": "float32"},
)
x = loader.schema["x"]
print(f"x: {len(x.features)} {x.dtype} columns, {x.features[0]} to {x.features[-1]}")

torch.manual_seed(7)
embedding = torch.nn.EmbeddingBag(BUCKETS, 8)
model = torch.nn.Sequential(torch.nn.Linear(NUMBERS + 8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam([*embedding.parameters(), *model.parameters()], lr=0.005)

for epoch in range(3):
    for batch in loader:
        guess = model(torch.cat([batch["x"], embedding(batch["ids"])], 1))[:, 0]
        loss = torch.nn.functional.mse_loss(guess, batch["target"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
