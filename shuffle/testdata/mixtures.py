"""Mixtures with weights that change, written from the specification in doc.go: mixtures.jsonl is what it prints.

One JSON object per line: {"rows": [of each source], "weights": [[from, [..]], ..], "counts_in_epoch": [..] or [], "seed": s,
"lanes": L, "seeds": [of each source], "first": [the source of each of the first samples], "counts": [[x, [of each source among
the first x samples]], ..]}.

Lines with "global_batch" are of batching "per_source": "first" is of steps, and "counts" has x at whole steps. "tokens" are those
of the rows of each source, where weights are in tokens.
"""

import json
import math
from fractions import Fraction

from reference import Random
from shares import whole


def largest_quotient(a, b):
    most = 0
    while a:
        most, a, b = max(most, b // a), b % a, a
    return most


def step(total, lanes, seed):
    """The candidate whose continued fractions have the smallest largest quotient."""
    strides = [s for s in range(1, lanes + 1) if lanes % s == 0]
    r, best = Random("mix", seed, total), None
    for _ in range(64):
        c = r.below(total)
        while math.gcd(c, total) != 1:
            c = (c + 1) % total
        most = max(largest_quotient(c * s % total, total) for s in strides)
        if best is None or most < best[0]:
            best = (most, c)
    return best[1]


class Mixture:
    """The shares of numbers: samples, or steps."""

    def __init__(self, shares, lanes, seed):
        self.items = len(shares[0][1])
        self.parts = [(start, w, step(sum(w), lanes, seed)) for start, w in shares]

    def of(self, x):
        start, weights, g = next(p for p in reversed(self.parts) if p[0] <= x)
        place = (x - start) * g % sum(weights)
        for d, w in enumerate(weights):
            if place < w:
                return d
            place -= w
        raise AssertionError

    def counts(self, x):
        """Of the first x numbers, in whole rounds and the rest one by one."""
        out = [0] * self.items
        for i, (start, weights, _) in enumerate(self.parts):
            end = min(x, self.parts[i + 1][0]) if i + 1 < len(self.parts) else x
            rounds, rest = divmod(max(0, end - start), sum(weights))
            for d, w in enumerate(weights):
                out[d] += rounds * w
            for y in range(rest):
                out[self.of(start + y)] += 1
        return out


def of_samples(weights, rows, tokens):
    """Weights of samples in whole numbers, of weights of tokens."""
    if not tokens:
        return weights
    exact = [Fraction(repr(w)) * n / t for w, n, t in zip(weights, rows, tokens, strict=True)]
    return [int(x * math.lcm(*(y.denominator for y in exact))) for x in exact]


def main():
    tokens = [1_000_000, 20_001, 3]
    for seed, lanes, batch, rows, toks, weights, counts in (
        (0, 1, 0, [5], [], [[0, [1]]], []),
        (7, 4, 0, [10, 3], [], [[0, [7, 3]]], []),
        (7, 4, 0, [10, 3], [], [[0, [7, 3]]], [70, 30]),
        (7, 6, 0, [100, 17, 1], [], [[0, [0.5, 0.3, 0.2]], [40, [1, 0, 1]], [95, [0, 5, 1]]], []),
        (2**64 - 1, 64, 0, [1000, 500, 20, 3000], [], [[0, [4, 3, 2, 1]], [1000, [1, 1, 1, 1]]], [2000, 500, 20, 3000]),
        (3, 3, 0, [40] * 20, [], [[0, [1 / (i + 1) for i in range(20)]]], []),
        (0, 1, 1, [5], [], [[0, [1]]], []),
        (7, 1, 4, [10, 3], [], [[0, [7, 3]]], [12, 4]),
        (7, 1, 6, [100, 17, 1], [], [[0, [0.5, 0.3, 0.2]], [40, [1, 0, 1]], [42, [0, 5, 1]], [95, [0, 5, 1]]], []),
        (5, 1, 8, [1000, 500, 20], tokens, [[0, [4, 3.5, 0.001]], [1000, [1, 1, 1]]], []),
    ):
        g = max(1, batch)
        shares = [[-(-start // g), whole(of_samples(w, rows, toks))] for start, w in weights]
        if counts:
            shares[0][1] = [n // g for n in counts]
        m = Mixture(shares, lanes, seed)
        far = m.parts[-1][0] + 2**20 * sum(m.parts[-1][1]) + 5
        places = [0, 1, 39, 40, 41, 94, 95, 999, 1000, 1001, 50000, far]
        line = {"rows": rows, "weights": weights, "counts_in_epoch": counts, "seed": seed, "lanes": lanes}
        line["seeds"] = [Random("source", seed, d).next() for d in range(len(rows))]
        line["first"] = [m.of(x) for x in range(200)]
        line["counts"] = [[x * g, [n * g for n in m.counts(x)]] for x in places]
        if batch:
            line |= {"global_batch": batch, "tokens": toks}
        print(json.dumps(line))


if __name__ == "__main__":
    main()
