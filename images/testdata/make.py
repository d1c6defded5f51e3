"""Makes corpus.zip and draws.json: images from real encoders, the pixels that Pillow and torchvision make of them, and drawn parameters.

python make.py DIRECTORY

It needs pillow, opencv-python-headless, pyvips[binary], simplejpeg, torch and torchvision. In the zip, NAME.jpg, .png or .webp is
decoded to want/NAME.png; resize/*.png and jitter/*.png are made of photo.png, and say how in their names.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pyvips
import simplejpeg
import torch
from PIL import Image, ImageCms
from streams import Stream, crop
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

out = zipfile.ZipFile(Path(sys.argv[1]) / "corpus.zip", "w", zipfile.ZIP_DEFLATED)


def add(name, data):
    out.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def png(pixels):
    f = io.BytesIO()
    Image.fromarray(pixels).save(f, "PNG", optimize=True)
    return f.getvalue()


def picture(w, h, seed=1):
    """Smooth areas, edges and saturated colors: where upsampling and clamping show."""
    y, x = np.mgrid[0:h, 0:w].astype(np.float64)
    rng = np.random.default_rng(seed)
    a = np.stack([128 + 127 * np.sin(x / (5 + 3 * c) + c) * np.cos(y / (7 - c) + seed) for c in range(3)], -1)
    a[h // 3 : h // 2 + 1, w // 4 : w // 2 + 1] = rng.integers(0, 256, 3)
    a[(x + 2 * y).astype(int) % 23 == 0] = [255, 0, 0]
    return a.clip(0, 255).astype(np.uint8)


def decoded(data):
    """The pixels as they are stored: Pillow's libjpeg-turbo and libwebp; CMYK by the formula of torchvision."""
    im = Image.open(io.BytesIO(data))
    if im.mode == "CMYK":
        a = 255 - np.asarray(im).astype(int)
        v = a[..., :3] * a[..., 3:] + 128
        return ((v + (v >> 8)) >> 8).astype(np.uint8)
    if im.mode.startswith("I;16"):
        return np.repeat((np.asarray(im) >> 8).astype(np.uint8)[..., None], 3, -1)
    return np.asarray(im.convert("RGB"))


def both(name, data, want=None):
    add(name, data)
    add(f"want/{name}.png", png(decoded(data) if want is None else want))


def pil(im, kind, **options):
    f = io.BytesIO()
    im.save(f, kind, **options)
    return f.getvalue()


def jpegs():
    for w, h in [(67, 45), (16, 16), (1, 1), (5, 3), (33, 2), (2, 33), (90, 70)]:
        im = Image.fromarray(picture(w, h))
        for s, name in enumerate(["444", "422", "420"]):
            for progressive in [False, True]:
                kind = "progressive" if progressive else "baseline"
                both(f"pil-{name}-{kind}-{w}x{h}.jpg", pil(im, "JPEG", quality=85, subsampling=s, progressive=progressive))
    im = Image.fromarray(picture(67, 45, 2))
    both("pil-restarts.jpg", pil(im, "JPEG", quality=90, subsampling=2, restart_marker_blocks=3))
    both("pil-restart-rows.jpg", pil(im, "JPEG", quality=90, subsampling=2, restart_marker_rows=1))
    both("pil-gray.jpg", pil(im.convert("L"), "JPEG", quality=90))
    both("pil-gray-progressive.jpg", pil(im.convert("L"), "JPEG", quality=90, progressive=True))
    both("pil-cmyk.jpg", pil(im.convert("CMYK"), "JPEG", quality=95))
    both("pil-cmyk-progressive.jpg", pil(im.convert("CMYK"), "JPEG", quality=95, progressive=True))
    both("pil-rgb.jpg", pil(im, "JPEG", quality=90, keep_rgb=True))
    for o in range(1, 9):
        exif = Image.Exif()
        exif[274] = o
        both(f"exif-{o}.jpg", pil(im, "JPEG", quality=90, exif=exif))
    bgr = picture(67, 45, 3)[..., ::-1]
    for name in ["411", "440"]:
        flag = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{name}")
        both(f"cv2-{name}.jpg", cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, flag])[1].tobytes())
    both("cv2-restart.jpg", cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_RST_INTERVAL, 2, cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes())
    # Flat blocks: every inverse DCT agrees on them, so that only the upsampling and the colors are left.
    flat = np.random.default_rng(9).integers(60, 200, (5, 6, 3)).astype(np.uint8).repeat(16, 0).repeat(16, 1)
    for s, name in enumerate(["444", "422", "420"]):
        both(f"flat-{name}.jpg", pil(Image.fromarray(flat), "JPEG", quality=100, subsampling=s))
    both("flat-440.jpg", cv2.imencode(".jpg", flat, [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440])[1].tobytes())
    both("large-progressive.jpg", pil(Image.new("RGB", (500, 400), (10, 200, 90)), "JPEG", progressive=True))
    v = pyvips.Image.new_from_array(picture(67, 45, 4))
    both("vips-trellis.jpg", v.jpegsave_buffer(Q=80, trellis_quant=True, overshoot_deringing=True, optimize_scans=True, interlace=True))
    both("vips-444.jpg", v.jpegsave_buffer(Q=95, subsample_mode="off"))


def printing():
    """YCCK, which only TurboJPEG writes of these (and Photoshop), and files with ICC profiles, which nothing applies."""
    # No color is without black, so that pixels of all four planes count.
    inks = 255 - np.dstack([picture(67, 45, 10), picture(67, 45, 11)[..., 0] // 2])
    for name in ["444", "422", "420"]:
        both(f"turbo-ycck-{name}.jpg", simplejpeg.encode_jpeg(inks, 90, "CMYK", name))
    flat = np.random.default_rng(12).integers(60, 200, (5, 6, 4)).astype(np.uint8).repeat(16, 0).repeat(16, 1)
    both("ycck-flat.jpg", simplejpeg.encode_jpeg(flat, 100, "CMYK", "444"))
    im = Image.fromarray(picture(67, 45, 13))
    small = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    small[24:36] = bytes(12)  # when it was made
    large = bytes(small) + b"\xff\xd9\xff\xd8\xff\xc0" * 12_000  # of two segments, with markers in them that are none
    for name, profile in {"icc": bytes(small), "icc-large": large}.items():
        both(f"{name}.jpg", pil(im, "JPEG", quality=90, icc_profile=profile))
        both(f"{name}.png", pil(im, "PNG", icc_profile=profile))
        both(f"{name}.webp", pil(im, "WEBP", quality=80, icc_profile=profile))
    both("icc-progressive.jpg", pil(im, "JPEG", quality=90, progressive=True, icc_profile=large))
    both("icc-gray.jpg", pil(im.convert("L"), "JPEG", quality=90, icc_profile=bytes(small)))
    both("icc-cmyk.jpg", pil(im.convert("CMYK"), "JPEG", quality=95, icc_profile=large))
    ycck = simplejpeg.encode_jpeg(inks, 90, "CMYK", "444")
    both("icc-ycck.jpg", ycck[:2] + segments(large) + ycck[2:])


def segments(profile):
    """APP2 segments of an ICC profile."""
    parts = [profile[i : i + 65_519] for i in range(0, len(profile), 65_519)]
    heads = [b"ICC_PROFILE\0" + bytes([i + 1, len(parts)]) for i in range(len(parts))]
    return b"".join(b"\xff\xe2" + (2 + len(h) + len(p)).to_bytes(2, "big") + h + p for h, p in zip(heads, parts))


def others():
    a = picture(67, 45, 5)
    im = Image.fromarray(a)
    alpha = Image.fromarray(picture(67, 45, 6)[..., 0])
    rgba = im.copy()
    rgba.putalpha(alpha)
    gray = im.convert("L")
    la = gray.copy()
    la.putalpha(alpha)
    for name, i in {"rgb": im, "rgba": rgba, "l": gray, "la": la, "p": im.quantize(40), "p4": im.quantize(9), "1": im.convert("1")}.items():
        both(f"pil-{name}.png", pil(i, "PNG"))
    both("pil-p-alpha.png", pil(rgba.quantize(40), "PNG"), np.asarray(rgba.quantize(40).convert("RGBA"))[..., :3])
    wide = a.astype(np.uint16) * 251 + 77
    both("cv2-rgb16.png", cv2.imencode(".png", wide[..., ::-1])[1].tobytes(), (wide >> 8).astype(np.uint8))
    both("cv2-gray16.png", cv2.imencode(".png", wide[..., 0])[1].tobytes())
    both("vips-interlaced.png", pyvips.Image.new_from_array(a).pngsave_buffer(interlace=True))
    for w, h in [(67, 45), (16, 16), (1, 1), (2, 3), (5, 2)]:
        i = Image.fromarray(picture(w, h, 7))
        both(f"pil-lossy-{w}x{h}.webp", pil(i, "WEBP", quality=80))
        both(f"pil-lossless-{w}x{h}.webp", pil(i, "WEBP", lossless=True))
    both("pil-alpha.webp", pil(rgba, "WEBP", quality=80))
    both("pil-alpha-lossless.webp", pil(rgba, "WEBP", lossless=True, exact=True))


def resizes(a):
    im, t = Image.fromarray(a), torch.from_numpy(a).permute(2, 0, 1)
    whole = (0, 0, im.width, im.height)
    for box in [whole, (10, 5, 80, 60), (3, 4, 10, 9), (20, 0, 21, 70)]:
        for w, h in [(32, 32), (13, 80), (7, 5)]:
            for name, filter in [("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC)]:
                at = "-".join(map(str, (name, *box, w, h)))
                cut = im.crop(box)
                add(f"resize/pil-{at}.png", png(np.asarray(cut.resize((w, h), filter))))
                left, top, right, bottom = box
                got = F.resized_crop(t, top, left, bottom - top, right - left, [h, w], InterpolationMode(name), antialias=True)
                add(f"resize/torchvision-{at}.png", png(got.permute(1, 2, 0).contiguous().numpy()))


def jitters(a):
    t = torch.from_numpy(a).permute(2, 0, 1)
    steps = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    for order, factors in [
        ((0,), (0.6,)),
        ((0,), (1.7,)),
        ((1,), (0.4,)),
        ((1,), (1.6,)),
        ((2,), (0.3,)),
        ((2,), (1.8,)),
        ((3,), (0.3,)),
        ((3,), (-0.17,)),
        ((3, 1, 0, 2), (0.1, 0.7, 1.2, 1.4)),
    ]:
        got = t
        for step, f in zip(order, factors):
            got = steps[step](got, f)
        name = "_".join(f"{s}={f}" for s, f in zip(order, factors))
        add(f"jitter/{name}.png", png(got.permute(1, 2, 0).contiguous().numpy()))


def draws():
    all = []
    for width, height in [(500, 375), (224, 224), (1000, 22), (22, 1000), (3, 2)]:
        for scale, ratio in [((0.08, 1.0), (3 / 4, 4 / 3)), ((0.9, 1.0), (0.5, 2.0))]:
            for seed in [*range(20), 0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDEF]:
                flip = Stream(seed, 2).uniform(0, 1) < 0.5
                r = Stream(seed, 3)
                order = [0, 1, 2, 3]
                for i in (3, 2, 1):
                    k = r.below(i + 1)
                    order[i], order[k] = order[k], order[i]
                factor = [r.uniform(*s) for s in [(0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1)]]
                all.append(
                    {
                        "width": width,
                        "height": height,
                        "scale": scale,
                        "ratio": ratio,
                        "seed": str(seed),
                        "flip": flip,
                        "order": order,
                        "factor": factor,
                        "box": crop(Stream(seed, 1), width, height, scale, ratio),
                    }
                )
    (Path(sys.argv[1]) / "draws.json").write_text("[\n" + ",\n".join(json.dumps(d) for d in all) + "\n]\n")


photo = picture(90, 70, 8)
add("photo.png", png(photo))
jpegs()
printing()
others()
resizes(photo)
jitters(photo[:30, :40].copy())
draws()
out.close()
