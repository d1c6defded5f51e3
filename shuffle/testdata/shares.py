"""The counts of ratios, written from the specification in doc.go, to hold the Go code against: shares.jsonl is what it prints.

One JSON object per line: {"weights": [..], "whole": [integer weights], "counts": [[n, [of each item among the first n]], ..]}.
"""

import json
from fractions import Fraction

WHOLE = 2**20


def whole(weights):
    """Floors, at least 1, the rest to the largest remainders, or off the largest weights."""
    exact = [Fraction(repr(x)) if isinstance(x, float) else Fraction(x) for x in weights]
    exact = [x * WHOLE / sum(exact) for x in exact]
    out = [max(1, x.numerator // x.denominator) if x else 0 for x in exact]
    left = WHOLE - sum(out)
    for i in sorted(range(len(out)), key=lambda i: out[i] - exact[i])[: max(0, left)]:
        out[i] += 1
    for _ in range(-left):
        out[out.index(max(out))] -= 1
    return out


def counts(weights, n):
    """How many of the first n each item has, by falling weight."""
    out, rest = [0] * len(weights), sum(weights)
    for d in sorted(range(len(weights)), key=lambda d: -weights[d]):
        if weights[d]:
            deeper = n * (rest - weights[d]) // rest
            out[d], n, rest = n - deeper, deeper, rest - weights[d]
    return out


def main():
    settings = [[1], [1, 1], [7, 2, 1], [0.7, 0.2, 0.1], [50, 30, 15, 4, 1], [3, 0, 1], [1e-9, 1, 1e-9, 2], [1 / 3] * 3, [1, 2] * 40]
    settings += [[round(1 / (i + 1), 6) for i in range(20)], [1e-12] * 100 + [1e300], [0.1, 0.9], [1e-300, 1]]
    for weights in settings:
        w = whole(weights)
        places = [*range(20), 1000, WHOLE - 1, WHOLE, 3 * WHOLE + 12345, 10**12 + 7, 2**62]
        print(json.dumps({"weights": weights, "whole": w, "counts": [[n, counts(w, n)] for n in places]}))


if __name__ == "__main__":
    main()
