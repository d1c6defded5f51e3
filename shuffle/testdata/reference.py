"""lane-tick/3 written from the specification in doc.go, as plainly as possible, to hold the Go code against.

stdin: one JSON object per line: {"shards": [[rows per group], ...], "unit_rows": u, "buffer": R, "world": W, "max_world": M, "lanes": L or 0,
"start": .., "spread": H, "assign": .., "tail": .., "seed": s, "epoch": e, "samples": [of each unit] or null without a rule,
"numbered": of the rule}
stdout: one line per object: L, A, D and the order's hash.
"""

import hashlib
import json
import sys

MASK = 2**64 - 1


class Random:
    def __init__(self, dom, seed, *ids):
        text = b"shardfeed/plan/v1/" + dom.encode() + b"".join(x.to_bytes(8, "little") for x in (seed, *ids))
        key = hashlib.sha256(text).digest()
        self.state = int.from_bytes(key[:8], "little") << 64 | int.from_bytes(key[8:16], "little")

    def next(self):
        step, inc = 0x2360ED051FC65DA44385DF649FCCF645, 0x5851F42D4C957F2D14057B7EF767814F
        self.state = (self.state * step + inc) % 2**128
        h, lo = self.state >> 64, self.state & MASK
        h ^= h >> 32
        h = h * 0xDA942042E4DD58B5 & MASK
        h ^= h >> 48
        return h * (lo | 1) & MASK

    def below(self, n):
        while True:
            x = self.next() * n
            if x & MASK >= 2**64 % n:
                return x >> 64

    def shuffle(self, a):
        for i in range(len(a) - 1, 0, -1):
            j = self.below(i + 1)
            a[i], a[j] = a[j], a[i]
        return a


def ceil(a, b):
    return -(-a // b)


def units_of(case):
    """(shard, group, lo, lo + samples) without a page index and without bytes; units without samples are in no lane."""
    out, group = [], 0
    for shard, groups in enumerate(case["shards"]):
        for rows in groups:
            if rows > 0:
                p = ceil(rows, case["unit_rows"]) if case["unit_rows"] else 1
                edges = [0] + [rows * c // p for c in range(1, p)] + [rows]
                out += [(shard, group, lo, hi) for lo, hi in zip(edges, edges[1:])]
            group += 1
    if case["samples"] is None:
        return out
    return [(shard, group, lo, lo + n) for (shard, group, lo, _), n in zip(out, case["samples"], strict=True) if n > 0]


def sampled_shards(case):
    """Shards without samples do not matter; under a numbered rule, those with rows before the last samples do."""
    having = {shard for shard, _, _, _ in units_of(case)}
    rows = [sum(groups) for groups in case["shards"]]
    return [s for s in range(len(rows)) if s in having or (case["numbered"] and rows[s] and having and s < max(having))]


def group_ids(case):
    """The numbers of the groups of sampled shards, by their numbers among all."""
    shards, ids, group = sampled_shards(case), {}, 0
    for shard, groups in enumerate(case["shards"]):
        for _ in groups:
            if shard in shards:
                ids[group] = len(ids)
            group += 1
    return ids


def parameters(case, units):
    sizes = [hi - lo for _, _, lo, hi in units]
    n, N, umax, R, W = len(sizes), sum(sizes), max(sizes, default=0), case["buffer"], case["world"]
    L = case["lanes"]
    if not L:
        L = W
        while L % 2 == 0:
            L //= 2
        while n and 2 * L <= 64 and 2 * L <= n // 8 and 2 * L <= R // (4 * umax):
            L *= 2
        while L < max(W, case["max_world"]):
            L *= 2
    U = min(umax, ceil(N, L))
    mean = min(max(1, N // n), ceil(N, L)) if n else 1
    A = max(1, mean // 8)
    top = max(1, min(3 * (N // L + 1) // A + 3, 65535))
    fitting = [d for d in range(1, top + 1) if ceil(A * d, 3) + 2 * A + U <= R // L]
    return L, A, max(fitting, default=1), mean, N


def line_lane(i, L):
    radices, rest, p = [], L, 3
    while rest % 2 == 0:
        rest //= 2
    twos = L // rest
    while rest > 1:
        if rest % p == 0:
            radices.append(p)
            rest //= p
        else:
            p += 2
    while twos > 1:
        radices.append(2)
        twos //= 2
    line, place = 0, L
    for f in radices:
        place //= f
        line += i % f * place
        i //= f
    return line


def lane(case, spans, line, L, A, D, mean):
    seed, epoch = case["seed"], case["epoch"]
    r = Random("order", seed, epoch, line)
    if case["spread"]:
        shards = r.shuffle(list(dict.fromkeys(s[0] for s in spans)))
        keys = [shards.index(s[0]) * 2**32 + r.below(case["spread"] * 2**32) for s in spans]
    else:
        keys = [r.next() for _ in spans]
    spans = [s for _, s in sorted(zip(keys, spans), key=lambda ks: (ks[0], ks[1][1], ks[1][2]))]
    n = [hi - lo for _, _, lo, hi in spans]
    cum = [sum(n[:j]) for j in range(len(n))]
    S, m, life = max(1, A * D // 3), 1, [D] * len(n)
    if case["start"] == "filled":
        while m < len(n) and cum[m] + n[m] <= case["buffer"] // L:
            m += 1
        for j in range(m):
            life[j] = min(d for d in range(1, D + 1) if d**3 * 2 * S >= D**3 * min(2 * cum[j] + n[j], 2 * S))
    else:
        S = 0
    tau = [0 if j < m else (max(0, cum[j] - S) + mean * line // L) // A for j in range(len(n))]
    if not n:
        return
    Ea = tau[-1]
    E = Ea + 1 + ceil(D, 3)

    def C(j, k):
        if k < tau[j]:
            return 0
        if k >= E - 1:
            return n[j]
        if k <= Ea or tau[j] + life[j] - 1 <= Ea:
            x = k - tau[j] + 1
            return n[j] if x >= life[j] else n[j] - n[j] * (life[j] - x) ** 2 // life[j] ** 2
        c = C(j, Ea)
        return c + (n[j] - c) * (k - Ea) // (E - 1 - Ea)

    ids = group_ids(case)
    orders = [iter(Random("rows", seed, epoch, ids[g], lo).shuffle(list(range(hi - lo)))) for _, g, lo, hi in spans]
    for k in range(E):
        tick = []
        for j in range(len(spans)):
            tick += [j] * (C(j, k) - C(j, k - 1))
        for j in Random("tick", seed, epoch, line, k).shuffle(tick):
            _, g, lo, _ = spans[j]
            yield g, lo + next(orders[j])


def order(case):
    units = units_of(case)
    L, A, D, mean, N = parameters(case, units)
    o = case["epoch"] * N % L if case["tail"] == "carry" else 0
    rows = [0] * L
    for p in range(N):
        rows[(o + p) % L] += 1
    shards = sampled_shards(case)
    Random("assign", case["seed"], 0 if case["assign"] == "sticky" else case["epoch"]).shuffle(shards)
    line = [[s, g, lo, hi] for shard in shards for s, g, lo, hi in units if s == shard]
    slot_of = {line_lane(i, L): i for i in range(L)}
    lanes = {}
    for l in range(L):
        left, spans = rows[slot_of[l]], []
        while left:
            s, g, lo, hi = line[0]
            take = min(left, hi - lo)
            spans.append((s, g, lo, lo + take))
            line[0][2] += take
            left -= take
            if line[0][2] == hi:
                line.pop(0)
        lanes[slot_of[l]] = lane(case, spans, l, L, A, D, mean)
    h = hashlib.sha256()
    for p in range(N):
        g, row = next(lanes[(o + p) % L])
        h.update(g.to_bytes(8, "little") + row.to_bytes(8, "little"))
    return L, A, D, h.hexdigest()[:32]


if __name__ == "__main__":
    for text in sys.stdin:
        print(*order(json.loads(text)))
