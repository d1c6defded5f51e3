"""Masks tokens as BERT does, with random numbers of each row: the same on any number of ranks. Its one argument is an address.

Give ``seeds=True`` to the data set, and map this function: ``dataset.map(lambda batch: mask_tokens(batch, 0.15))``.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import shardfeed

MASK, WORDS = 4, 32_000  # of the tokenizer: the token that hides another, and how many tokens there are


def mask_tokens(batch: Mapping[str, Any], p: float, column: str = "token_ids", padding: int = 0) -> dict[str, np.ndarray]:
    """Hides a part p of the tokens: 80 % become MASK, 10 % another token, 10 % stay. The labels of other tokens are -100."""
    tokens = np.asarray(batch[column])
    which, how, other = (uniform(np.asarray(batch["_seed"]), tokens.shape[1], stream) for stream in range(3))
    hidden = (which < p) & (tokens != padding)
    masked = np.where(hidden & (how < 0.8), MASK, tokens)
    masked = np.where(hidden & (how >= 0.9), (other * WORDS).astype(tokens.dtype), masked)
    return {"tokens": masked, "labels": np.where(hidden, tokens, -100)}


def uniform(seeds: np.ndarray, n: int, stream: int) -> np.ndarray:
    """Numbers in [0, 1), n for each row: one output of SplitMix64 for each row, stream and place."""
    with np.errstate(over="ignore"):
        places = np.arange(n, dtype=np.uint64) * np.uint64(3) + np.uint64(stream + 1)
        z = seeds.astype(np.uint64)[:, None] + np.uint64(0x9E3779B97F4A7C15) * places
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


if __name__ == "__main__":
    dataset = shardfeed.StreamingDataset(sys.argv[1], batch_size=64, columns=["token_ids"], pad={"token_ids": 0}, max_length=32, seeds=True)
    for batch in dataset.map(lambda batch: mask_tokens(batch, 0.15)):
        print(f"{int((batch['labels'] != -100).sum())} of {batch['tokens'].size} places are hidden")
