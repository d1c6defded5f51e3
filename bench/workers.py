"""Python off the training thread: what an identity map in two workers costs."""

import check
import delivery
from delivery import CAP, entries, run

OURS = entries.Contender("shardfeed", "map_ours", workers=2)
TORCH = entries.Contender("torch's DataLoader", "map_torch", workers=2)
THREE = ("doc_id", "token_ids")  # three tensors


def checks(directory):
    for name, must, aim in (("shop", 5, 8), ("tokens", 5, 8)):
        source = f"{name}, identity map in 2 workers: rows/s over torch's DataLoader with 2 workers over our data set"
        yield from delivery.checks(
            directory, f"shaping, workers, {name}", delivery.set_of(name), source, must, aim, speed, at_most=False
        )  # fmt: skip
    source = "tokens, identity map in 2 workers: the trainer's CPU for a batch of 3 tensors"
    yield from delivery.checks(
        directory, "shaping, workers, handed over", delivery.set_of("tokens"), source, 100, 50, handed, unit=" us", digits=0
    )  # fmt: skip


def speed(case, rounds):
    """Rows a second from the first batch on: workers of both take seconds to import torch."""
    key = "steady_rows_per_second"
    ours, theirs = both(case, rounds, "epoch", "--cap", CAP, "--touch")
    more = f"{delivery.median(ours, key):,.0f} rows/s against {delivery.median(theirs, key):,.0f}"
    return delivery.ratios(ours, theirs, key), more


def handed(case, rounds):
    key = "trainer_seconds"
    ours, theirs = both(case, rounds, "handover", columns=THREE)
    return check.quartiles([1e6 * r[key] for r in ours]), f"torch's DataLoader {1e6 * delivery.median(theirs, key):,.0f} us"


def both(case, rounds, *arguments, **task):
    """Runs of our loader and of torch's, in turn."""
    return delivery.alternate(rounds, *(lambda c=c: run(case, c, *arguments, batch=case.data.batch, **task) for c in (OURS, TORCH)))
