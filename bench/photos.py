"""Pictures as hard to decode as photographs: about 500 x 375, half a byte for each pixel."""

import functools
import io

import numpy as np
from PIL import Image, ImageDraw

SIDE = 1024
BASES = 8  # large pictures that photos are parts of
SIZES = [(500, 375)] * 5 + [(500, 333)] * 3 + [(375, 500)] * 2 + [(333, 500), (640, 480), (500, 500), (400, 300)]


def photo(number):
    """A JPEG of noise that falls with its frequency, smooth in parts, with lines and areas over it."""
    r = np.random.default_rng([375, number])
    w, h = SIZES[int(r.integers(len(SIZES)))]
    zoom = r.uniform(0.8, 1.5)
    wide, high = int(w * zoom), int(h * zoom)
    x, y = int(r.integers(SIDE - wide + 1)), int(r.integers(SIDE - high + 1))
    part = base(number % BASES)[y : y + high, x : x + wide].astype(np.float32)
    part[..., 0] = 128 + (part[..., 0] - 128) * r.uniform(0.6, 1.3)
    small = Image.fromarray(part.clip(0, 255).astype(np.uint8), "YCbCr").convert("RGB").resize((w, h), Image.Resampling.BICUBIC)
    draw(small, r)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=int(r.integers(85, 97)))
    return out.getvalue()


@functools.cache
def base(number):
    r = np.random.default_rng([1024, number])
    low, middle, high = noise(r, 1.9), noise(r, 1.15), noise(r, 0.75)
    rough = 1 / (1 + np.exp(-3 * noise(r, 1.8) - 1.8))  # 0 in smooth parts
    light = 128 + 118 * np.tanh((42 * low + rough * (176 * middle + 72 * high)) / 118)
    colors = [128 + 14 * noise(r, 1.8) + 3 * rough * noise(r, 1.1) for _ in range(2)]
    return np.stack([light, *colors], -1).clip(0, 255).astype(np.uint8)


def noise(r, falls):
    """Noise of mean 0 and deviation 1 whose amplitude is frequency to the power of -falls."""
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(SIDE), np.fft.rfftfreq(SIDE), indexing="ij"))
    f[0, 0] = 1
    a = np.fft.irfft2(np.fft.rfft2(r.standard_normal((SIDE, SIDE))) / f**falls, s=(SIDE, SIDE))
    return (a - a.mean()) / a.std()


def draw(image, r):
    """Things with edges."""
    w, h = image.size
    pen = ImageDraw.Draw(image)
    for _ in range(r.integers(2, 9)):
        color = tuple(int(v) for v in r.integers(0, 256, 3))
        x, y = int(r.integers(-20, w)), int(r.integers(-20, h))
        box = (x, y, x + int(r.integers(5, w // 3)), y + int(r.integers(5, h // 3)))
        shape = (pen.ellipse, pen.rectangle, pen.line)[int(r.integers(3))]
        shape(box, fill=color)
