"""The shortest training: a price from tokens, by one process. Its one argument is an address, as in testdata/shop or s3://bucket/shop."""

import sys

import shardfeed.torch
import torch

loader = shardfeed.torch.DataLoader(
    sys.argv[1], batch_size=64, columns=["token_ids", "price"], pad={"token_ids": 0}, max_length=32, null={"price": 0.0}
)
model = torch.nn.Sequential(torch.nn.EmbeddingBag(32_000, 16, padding_idx=0), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    for batch in loader:
        loss = torch.nn.functional.mse_loss(model(batch["token_ids"])[:, 0], batch["price"].float() / 10_000)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
