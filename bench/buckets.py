"""Buckets: how much of padded batches is tokens."""

import numpy as np

import delivery
import process
import rules
from delivery import entries, run
from packing import DOCUMENTS, lengths

BUDGET = 16_384  # tokens of a batch
OURS = entries.Contender("shardfeed", "bucket_ours")


def checks(directory):
    source = f"documents, prompts of log-normal lengths, {BUDGET:,} tokens a batch: tokens that are not padding"
    yield from delivery.checks(
        directory, "shaping, buckets", DOCUMENTS, source, 97, 98, lambda c, n: filled(c), busy=False, at_most=False, unit=" %"
    )


def filled(case):
    all_lengths = lengths(case, "prompt_ids")
    total = int(all_lengths.sum())
    ours = run(case, OURS, "fill", tokens=BUDGET, buffer=max(1, total // BUDGET // 10))
    if ours["tokens"] != total:
        raise process.Failed(f"{ours['tokens']:,} of {total:,} tokens came out in buckets")
    shuffled = np.random.default_rng(case.seed).permutation(all_lengths)
    theirs = 100 * total / rules.buckets(shuffled, BUDGET)
    return [100 * total / ours["cells"]] * 3, f"{ours['batches']:,} batches; tf.data's rule with 16 buckets {theirs:.1f} %"
