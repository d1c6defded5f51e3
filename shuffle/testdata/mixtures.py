"""Mixtures with weights that change, written from the specification in doc.go: mixtures.jsonl is what it prints.

One JSON object per line: {"rows": [of each source], "weights": [[from, [..]], ..], "seed": s, "lanes": L, "seeds": [of each source],
"counts": [[x, [of each source among the first x samples]], ..], "at": [[x, source, pass, lane row], ..]}.

Lines with "global_batch" are of batching "per_source": "counts" has x at whole steps, and "steps" is [[step, source,
its number among those of the source], ..]. "tokens" are those of the rows of each source, where weights are in tokens.
"""

import json
import math
from fractions import Fraction

from reference import Random
from shares import counts, levels, whole

WHOLE = 2**20


def before(x, slot, lanes):
    """The samples of the lane at a slot before sample x."""
    return len(range(slot, x, lanes))


class Mixture:
    def __init__(self, rows, weights, seed, lanes):
        self.rows, self.lanes = rows, lanes
        self.parts = [(start, [levels(whole(w), slot, lanes, seed) for slot in range(lanes)]) for start, w in weights]

    def lane(self, slot, n):
        """How many of the first n samples of a lane each source has."""
        total = [0] * len(self.rows)
        for i, (start, shares) in enumerate(self.parts):
            lo = before(start, slot, self.lanes)
            hi = before(self.parts[i + 1][0], slot, self.lanes) if i + 1 < len(self.parts) else n
            if lo < n:
                total = [a + b for a, b in zip(total, counts(shares[slot], min(hi, n) - lo, len(self.rows)), strict=True)]
        return total

    def counts(self, x):
        return [sum(c) for c in zip(*(self.lane(slot, before(x, slot, self.lanes)) for slot in range(self.lanes)), strict=True)]

    def at(self, x):
        """The source of a sample, the pass over it, and the row of that pass's lane."""
        slot, n = x % self.lanes, x // self.lanes
        a, b = self.lane(slot, n), self.lane(slot, n + 1)
        (d,) = (d for d in range(len(a)) if a[d] != b[d])
        e = (a[d] * self.lanes + slot) // self.rows[d]
        return d, e, a[d] - before(e * self.rows[d], slot, self.lanes)


class PerSource:
    """Steps of one source each: the share of one lane over steps."""

    def __init__(self, rows, tokens, weights, seed, batch):
        self.items = len(rows)
        shares = [whole(of_samples(w, rows, tokens)) for _, w in weights]
        self.parts = [(-(-start // batch), levels(w, 0, 1, seed)) for (start, _), w in zip(weights, shares, strict=True)]

    def counts(self, step):
        total = [0] * self.items
        for i, (start, share) in enumerate(self.parts):
            end = self.parts[i + 1][0] if i + 1 < len(self.parts) else step
            if start < step:
                total = [a + b for a, b in zip(total, counts(share, min(end, step) - start, self.items), strict=True)]
        return total

    def at(self, step):
        a, b = self.counts(step), self.counts(step + 1)
        (d,) = (d for d in range(len(a)) if a[d] != b[d])
        return d, a[d]


def of_samples(weights, rows, tokens):
    """Weights of samples in whole numbers, of weights of tokens."""
    if not tokens:
        return weights
    exact = [Fraction(repr(w)) * n / t for w, n, t in zip(weights, rows, tokens, strict=True)]
    return [int(x * math.lcm(*(y.denominator for y in exact))) for x in exact]


def per_source():
    for seed, batch, rows, tokens, weights in (
        (0, 1, [5], [], [[0, [1]]]),
        (7, 4, [10, 3], [], [[0, [7, 3]]]),
        (7, 6, [100, 17, 1], [], [[0, [0.5, 0.3, 0.2]], [40, [1, 0, 1]], [42, [0, 5, 1]], [95, [0, 5, 1]]]),
        (5, 8, [1000, 500, 20], [1_000_000, 20_001, 3], [[0, [4, 3.5, 0.001]], [1000, [1, 1, 1]]]),
    ):
        m = PerSource(rows, tokens, weights, seed, batch)
        places = [0, 1, 2, 6, 7, 8, 15, 16, 17, 999, 125, 126, 2**40 + 5]
        line = {"rows": rows, "tokens": tokens, "weights": weights, "seed": seed, "global_batch": batch}
        line["counts"] = [[k * batch, [batch * n for n in m.counts(k)]] for k in places]
        print(json.dumps(line | {"steps": [[k, *m.at(k)] for k in [*range(60), *places]]}))


def main():
    for seed, lanes, rows, weights in (
        (0, 1, [5], [[0, [1]]]),
        (7, 4, [10, 3], [[0, [7, 3]]]),
        (7, 6, [100, 17, 1], [[0, [0.5, 0.3, 0.2]], [40, [1, 0, 1]], [95, [0, 5, 1]]]),
        (2**64 - 1, 64, [1000, 500, 20, 3000], [[0, [4, 3, 2, 1]], [1000, [1, 1, 1, 1]]]),
        (3, 3, [40] * 20, [[0, [1 / (i + 1) for i in range(20)]]]),
    ):
        m = Mixture(rows, weights, seed, lanes)
        places = [0, 1, 39, 40, 41, 94, 95, 999, 1000, 1001, 50000, 2**40 + 5]
        line = {"rows": rows, "weights": weights, "seed": seed, "lanes": lanes}
        line["seeds"] = [Random("source", seed, d).next() for d in range(len(rows))]
        line["counts"] = [[x, m.counts(x)] for x in places]
        print(json.dumps(line | {"at": [[x, *m.at(x)] for x in [*range(130), *places]]}))
    per_source()


if __name__ == "__main__":
    main()
