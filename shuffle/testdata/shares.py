"""The counts of ratios, written from the specification in doc.go, to hold the Go code against: shares.jsonl is what it prints.

One JSON object per line: {"weights": [..], "whole": [integer weights], "seed": s, "lanes": L, "slot": slot,
"counts": [[n, [of each item]], ..], "first": [the items of the first samples]}. "lanes" 0 is one lane at phase 0.
"""

import json
from fractions import Fraction
from itertools import pairwise

from reference import Random

WHOLE = 2**20


def whole(weights):
    """Floors, at least 1, the rest to the largest remainders, or off the largest weights."""
    exact = [Fraction(repr(x)) for x in weights]
    exact = [x * WHOLE / sum(exact) for x in exact]
    out = [max(1, x.numerator // x.denominator) if x else 0 for x in exact]
    left = WHOLE - sum(out)
    for i in sorted(range(len(out)), key=lambda i: out[i] - exact[i])[: max(0, left)]:
        out[i] += 1
    for _ in range(-left):
        out[out.index(max(out))] -= 1
    return out


def levels(weights, slot, lanes, seed):
    """(item, weight, rest, phase) by falling weight."""
    out, rest = [], WHOLE
    for j, d in enumerate(d for d in sorted(range(len(weights)), key=lambda d: -weights[d]) if weights[d]):
        phase = rest * Random("mix", seed, j).shuffle(list(range(lanes)))[slot] // lanes if lanes else 0
        out.append((d, weights[d], rest, phase))
        rest -= weights[d]
    return out


def counts(levels, n, items):
    out = [0] * items
    for d, weight, rest, phase in levels:
        deeper = (n * (rest - weight) + phase) // rest
        out[d], n = n - deeper, deeper
    return out


def main():
    settings = [[1], [1, 1], [7, 2, 1], [0.7, 0.2, 0.1], [50, 30, 15, 4, 1], [3, 0, 1], [1e-9, 1, 1e-9, 2], [1 / 3] * 3, [1, 2] * 40]
    settings += [[round(1 / (i + 1), 6) for i in range(20)], [1e-12] * 100 + [1e300], [0.1, 0.9], [1e-300, 1]]
    for weights in settings:
        w = whole(weights)
        for seed, lanes, slot in ((0, 0, 0), (0, 1, 0), (7, 3, 2), (2**64 - 1, 64, 17), (7, 48, 47)):
            v = levels(w, slot, lanes, seed)
            at = [counts(v, n, len(w)) for n in range(65)]
            first = [next(d for d in range(len(w)) if a[d] != b[d]) for a, b in pairwise(at)]
            places = [1, 5, 1000, WHOLE - 1, WHOLE, 3 * WHOLE + 12345, 10**12 + 7, 2**62]
            line = {"weights": weights, "whole": w, "seed": seed, "lanes": lanes, "slot": slot}
            print(json.dumps(line | {"counts": [[n, counts(v, n, len(w))] for n in places], "first": first}))


if __name__ == "__main__":
    main()
