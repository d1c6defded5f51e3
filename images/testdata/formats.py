"""Makes formats.zip: pictures that Pillow wrote, and the pixels that it reads of them.

python formats.py DIRECTORY

It needs pillow and numpy. NAME is decoded to want/NAME.png, as it is stored.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageSequence

out = zipfile.ZipFile(Path(sys.argv[1]) / "formats.zip", "w", zipfile.ZIP_DEFLATED)


def add(name, data):
    out.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def picture(w, h, seed=1):
    y, x = np.mgrid[0:h, 0:w].astype(np.float64)
    a = np.stack([128 + 127 * np.sin(x / (5 + 3 * c) + c) * np.cos(y / (7 - c) + seed) for c in range(3)], -1)
    a[h // 3 : h // 2 + 1, w // 4 : w // 2 + 1] = [255, 0, 40]
    return Image.fromarray(a.clip(0, 255).astype(np.uint8))


def decoded(data):
    im = next(ImageSequence.Iterator(Image.open(io.BytesIO(data))))
    if im.mode.startswith("I;16"):
        return np.repeat((np.asarray(im) >> 8).astype(np.uint8)[..., None], 3, -1)
    if im.mode in ("RGBA", "RGBX"):
        return np.asarray(im)[..., :3]
    return np.asarray(im.convert("RGB"))


def both(name, im, **options):
    f = io.BytesIO()
    im.save(f, name.rsplit(".")[-1].upper(), **options)
    add(name, f.getvalue())
    want = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(decoded(f.getvalue()))).save(want, "PNG", optimize=True)
    add(f"want/{name}.png", want.getvalue())


rgb = picture(67, 45)
gray, alpha = rgb.convert("L"), rgb.copy()
alpha.putalpha(Image.fromarray((np.indices((45, 67)).sum(0) * 5 % 256).astype(np.uint8)))
palette, bits = rgb.quantize(60), gray.convert("1")
wide = Image.fromarray(np.asarray(gray).astype(np.uint16) * 251 + 17)
moving = [picture(67, 45, seed) for seed in range(3)]

for name, im in {"rgb": rgb, "gray": gray, "palette": palette, "bits": bits}.items():
    both(f"{name}.gif", im)
    both(f"{name}.bmp", im)
both("alpha.bmp", alpha)
both("one.bmp", rgb.crop((0, 0, 1, 1)))
both("moving.gif", moving[0].quantize(40), save_all=True, append_images=[m.quantize(40) for m in moving[1:]])
both("interlaced.gif", palette, interlace=1)
both("transparent.gif", palette, transparency=3)
both("moving-lossy.webp", moving[0], save_all=True, append_images=moving[1:], quality=70)
both("moving-lossless.webp", alpha, save_all=True, append_images=[m.convert("RGBA") for m in moving[1:]], lossless=True)
for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits"):
    for name, im in {"rgb": rgb, "gray": gray, "palette": palette, "alpha": alpha, "wide": wide, "bits": bits}.items():
        both(f"{name}-{compression or 'raw'}.tiff", im, compression=compression)
fax = io.BytesIO()
bits.save(fax, "TIFF", compression="group4")
add("fax.tiff", fax.getvalue())
both("strips.tiff", rgb, compression="tiff_lzw", tiffinfo={278: 7})
for orientation in range(1, 9):
    turned, upright = io.BytesIO(), io.BytesIO()
    rgb.crop((9, 9, 32, 26)).save(turned, "TIFF", compression="tiff_lzw", tiffinfo={274: orientation})
    Image.fromarray(decoded(turned.getvalue())).save(upright, "PNG", optimize=True)  # Pillow turns TIFFs when it loads them
    add(f"turned-{orientation}.tiff", turned.getvalue())
    add(f"upright/turned-{orientation}.tiff.png", upright.getvalue())
both("predicted.tiff", rgb, compression="tiff_lzw", tiffinfo={317: 2})

# Frames that have a part of the picture: a larger screen of a GIF, and a larger canvas of a WebP.
part = io.BytesIO()
palette.crop((0, 0, 30, 20)).save(part, "GIF", transparency=2)
data = bytearray(part.getvalue())
data[6:10] = (67).to_bytes(2, "little") + (45).to_bytes(2, "little")
at = data.index(b"\x2c\x00\x00\x00\x00\x1e\x00\x14\x00")
data[at + 1 : at + 5] = (9).to_bytes(2, "little") + (11).to_bytes(2, "little")
still = io.BytesIO()
moving[0].save(still, "WEBP", save_all=True, append_images=moving[1:], lossless=True)
webp = bytearray(still.getvalue())
webp[24:30] = (89).to_bytes(3, "little") + (59).to_bytes(3, "little")
frame = webp.index(b"ANMF") + 8
webp[frame : frame + 6] = (5).to_bytes(3, "little") + (7).to_bytes(3, "little")
for name, changed in {"part.gif": bytes(data), "part.webp": bytes(webp)}.items():
    add(name, changed)
    want = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(decoded(changed))).save(want, "PNG", optimize=True)
    add(f"want/{name}.png", want.getvalue())
out.close()
