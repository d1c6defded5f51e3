"""Ranks on a node each, with an engine each.

They compare their plans through the store of the process group.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from rank import RANK, Report, group, ids

import shardfeed.torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--seeds", type=int, nargs="+", help="of each rank")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--tokenizers", nargs="+", help="of each rank, of the column text")
    given = parser.parse_args()
    os.environ["SHARDFEED_JOB"] = f"{os.environ['REPORT']} {RANK}"
    report = Report()
    with group():
        options: dict[str, Any] = {"columns": ["id"], "seed": given.seeds[RANK], "num_workers": given.workers}
        if given.tokenizers:
            options |= {"columns": ["id", "text"], "tokenize": {"text": given.tokenizers[RANK]}, "pad": {"text": 0}}
        loader = shardfeed.torch.DataLoader(given.uri, batch_size=32, with_row_valid=True, **options)
        try:
            for step, batch in enumerate(loader):
                report("step", step=step, ids=ids(batch))
        except shardfeed.errors.ShardfeedError as error:
            report("error", error=type(error).__name__, text=str(error))


if __name__ == "__main__":
    main()
