"""A rank that only reads, without torch.

It prints "ready", waits for a line, and prints a line of JSON for each step and for the error that
ends it.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import shardfeed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--replication", type=int, default=1)
    parser.add_argument("--tokenizer", help="of the column text")
    parser.add_argument("--states", action="store_true", help="print the state after each step")
    parser.add_argument("--state", type=json.loads, help="continue from it")
    given = parser.parse_args()
    more: dict[str, Any] = {"columns": ["id"]}
    if given.tokenizer:
        more = {"columns": ["id", "text"], "tokenize": {"text": given.tokenizer}}
    try:
        dataset = shardfeed.StreamingDataset(given.uri, batch_size=given.batch_size, seed=given.seed, replication=given.replication, **more)
        if given.state is not None:
            dataset.load_state_dict(given.state)
        say(ready=True)
        input()
        for batch in dataset:
            if given.replication > 1 and (batch["id"].flags.writeable or not batch.copy()["id"].flags.writeable):
                raise SystemExit("a batch of replicas must be read-only, and its copy not")
            state = {"state": dataset.state_dict()} if given.states else {}
            say(step=batch.step, ids=batch["id"][batch.row_valid].tolist(), **state)
            time.sleep(given.pause)
    except shardfeed.errors.ShardfeedError as error:
        say(error=type(error).__name__, text=str(error))
        raise SystemExit(3) from None


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
