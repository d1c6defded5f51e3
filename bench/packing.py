"""Packing: what blocks of tokens cost, and how full they are."""

import numpy as np
import pyarrow.parquet as pq

import delivery
import process
import rules
from delivery import CAP, entries, run

SIZE = 8192  # tokens of a block
BLOCKS = 8  # of a batch
KEY = "rows_per_cpu_second"  # rows are tokens here

OURS, HARD = entries.Contender("shardfeed", "pack_ours"), entries.Contender("numpy on take_once", "pack_take")
TRL, GRAIN = entries.Contender("TRL", "pack_trl", "trl"), entries.Contender("Grain", "pack_grain", "grain")
DOCUMENTS = entries.Set("documents", "doc_id", BLOCKS, 8, 5_000, 1, 14_000)


def checks(directory):
    tokens = delivery.set_of("tokens")

    def line(name, rival, strategy, must, aim):
        source = f"tokens in blocks of {SIZE:,}: tokens per CPU-s to torch tensors, over {rival.name}"
        return delivery.checks(
            directory, f"shaping, packing, {name}", tokens, source, must, aim, lambda c, n: against(c, n, rival, strategy), at_most=False
        )

    yield from line("TRL", TRL, "bfd", 10, 20)
    yield from line("Grain", GRAIN, "bfd", 5, 10)
    yield from line("best fit of numpy", HARD, "bfd", 1.5, 2.5)
    yield from line("wrapped by numpy", HARD, "wrapped", 1.5, 2.5)
    source = f"documents of log-normal lengths in blocks of {SIZE:,}: tokens of documents in a block"
    yield from delivery.checks(
        directory,
        "shaping, packing, utilisation",
        DOCUMENTS,
        source,
        99.8,
        99.9,
        lambda c, n: utilisation(c),
        busy=False,
        at_most=False,
        unit=" %",
    )


def against(case, rounds, rival, strategy):
    """All-in tokens per CPU-second by one strategy. Every token must come out of ours."""
    total = tokens(case)
    task = {"batch": BLOCKS, "tokens": SIZE, "strategy": strategy, "rows": total}
    ours, theirs = delivery.alternate(
        rounds,
        lambda: run(case, OURS, "epoch", "--touch", buffer=blocks(total), **task),
        lambda: run(case, rival, "epoch", "--touch", "--cap", CAP, **task),
    )
    if found := {r["rows"] for r in ours} - {total}:
        raise process.Failed(f"{found} of {total:,} tokens came out packed")
    capped = "" if theirs[-1]["whole"] else ", which was capped"
    more = f"{delivery.median(ours, KEY):,.0f} tokens per CPU-s against {delivery.median(theirs, KEY):,.0f}{capped}"
    return delivery.ratios(ours, theirs, KEY), more


def blocks(total):
    """A tenth of them, for the shuffle buffer."""
    return max(1, total // SIZE // 10)


def tokens(case):
    """Tokens by the footers: no list is empty or null here."""
    columns = (group.column(1) for file in case.files() for group in map(file.metadata.row_group, range(file.num_row_groups)))
    return sum(column.num_values for column in columns)


def lengths(case, column):
    read = pq.read_table(case.directory, columns=[column]).column(column)
    return np.concatenate([np.diff(chunk.offsets.to_numpy()) for chunk in read.chunks])


def utilisation(case):
    """Percent of the tokens in blocks that are of documents, and what is lost."""
    total = tokens(case)
    task = {"batch": BLOCKS, "tokens": SIZE, "rows": total}
    ours = run(case, OURS, "fill", strategy="bfd_split", buffer=blocks(total), **task)
    grain = run(case, GRAIN, "fill", **task)
    if ours["tokens"] != total or ours["state_grows"]:
        raise process.Failed(f"{ours['tokens']:,} of {total:,} tokens came out packed, the state grew by {ours['state_grows']} bytes")
    kept, taken = rules.next_fit(lengths(case, "token_ids"), SIZE)
    found = 100 * ours["tokens"] / ours["cells"]
    more = (
        f"0 of {total:,} tokens lost, 0 bytes of state; "
        f"Grain {100 * grain['tokens'] / grain['cells']:.1f} %, torchtune's rule {100 * kept / (taken * SIZE):.1f} %, "
        f"{total - kept:,} tokens lost"
    )
    return [found] * 3, more
