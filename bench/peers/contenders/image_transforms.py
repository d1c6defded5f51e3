"""Decode, RandomResizedCrop(224), a flip, and with float32 ImageNet's mean and deviation."""

import contextlib
import io
from itertools import pairwise

import torch

with contextlib.suppress(ImportError):  # what an environment has, so that forked workers have it
    from PIL import Image
    from torchvision.io import decode_jpeg
    from torchvision.transforms import v2
with contextlib.suppress(ImportError):
    import albumentations as a
    import cv2
    from albumentations.pytorch import ToTensorV2

SIZE, MEAN, STD = 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def transform(task):
    """A function of a tensor of bytes, by the task's way."""
    ways = {"torchvision": _torchvision, "PIL": _pil, "albumentations": _albumentations, "bytes": _bytes}
    return ways[task.way](task.pixels == "float32")


def mapped(task):
    """A function of a batch of ours, for workers."""
    if task.way == "kornia":
        return _kornia(task.pixels == "float32")
    change = transform(task)

    def batch(batch):
        images = batch["img_jpg"]
        values, ends = images.values, images.offsets.tolist()
        return {"img_jpg": torch.stack([change(values[a:b]) for a, b in pairwise(ends)]), "id": batch["id"]}

    return batch


def _bytes(_):
    return lambda data: data


def _torchvision(floats):
    torch.set_num_threads(1)
    change = _compose(floats)
    return lambda data: change(decode_jpeg(data))


def _pil(floats):
    torch.set_num_threads(1)
    change = _compose(floats, v2.PILToTensor())
    return lambda data: change(Image.open(io.BytesIO(data.numpy().tobytes())).convert("RGB"))


def _compose(floats, *tensor):
    last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)] if floats else []
    return v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), *tensor, *last])


def _albumentations(floats):
    cv2.setNumThreads(1)
    last = [a.Normalize(MEAN, STD)] if floats else []
    change = a.Compose([a.RandomResizedCrop(size=(SIZE, SIZE)), a.HorizontalFlip(p=0.5), *last, ToTensorV2()])
    return lambda data: change(image=cv2.imdecode(data.numpy(), cv2.IMREAD_COLOR_RGB))["image"]


def _kornia(floats):
    """A function of a batch of images that are decoded; kornia draws for each of them."""
    import kornia.augmentation as k

    torch.set_num_threads(1)
    last = [k.Normalize(torch.tensor(MEAN), torch.tensor(STD))] if floats else []
    change = torch.nn.Sequential(k.RandomResizedCrop((SIZE, SIZE)), k.RandomHorizontalFlip(), *last)

    def batch(batch):
        pixels = change(batch["img_jpg"].float() / 255)
        return {"img_jpg": pixels if floats else (255 * pixels).round().to(torch.uint8), "id": batch["id"]}

    return batch
