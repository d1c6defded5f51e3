"""The engine's streams of random numbers, and what torchvision draws with them."""

import math

MASK = (1 << 64) - 1


def mix(s):
    s = (s + 0x9E3779B97F4A7C15) & MASK
    s = ((s ^ s >> 30) * 0xBF58476D1CE4E5B9) & MASK
    s = ((s ^ s >> 27) * 0x94D049BB133111EB) & MASK
    return s ^ s >> 31


class Stream:
    def __init__(self, seed, number):
        self.state = mix((seed + number) & MASK)

    def next(self):
        v = mix(self.state)
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return v

    def uniform(self, a, b):
        return a + (b - a) * ((self.next() >> 11) / 2**53)

    def below(self, n):
        return self.next() * n >> 64


def crop(r, width, height, scale, ratio):
    """RandomResizedCrop.make_params with the numbers of a stream."""
    area = height * width
    for _ in range(10):
        target = area * r.uniform(*scale)
        aspect = math.exp(r.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            i = r.below(height - h + 1)
            return [r.below(width - w + 1), i, w, h]
    in_ratio = width / height
    w, h = width, height
    if in_ratio < min(ratio):
        h = round(w / min(ratio))
    elif in_ratio > max(ratio):
        w = round(h * max(ratio))
    return [(width - w) // 2, (height - h) // 2, w, h]
