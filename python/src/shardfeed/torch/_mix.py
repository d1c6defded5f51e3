"""Mixup and cutmix of the images in a batch."""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import torch

from .._args._checks import Problems, got, is_number, is_whole, one_of
from .._documented import documented
from ..errors import OptionError, nearer
from ._layout import ROW_VALID

B = TypeVar("B", bound=MutableMapping[str, Any])

_ROWS = 32  # of uint8 that are mixed at once, as float32


@dataclass(frozen=True)
class Drawn:
    """What is drawn for a batch: lam is the share of a row's own image and label.

    box is the part that cutmix takes from the partner, as x1, y1, x2, y2. None is mixup.
    """

    lam: float
    box: tuple[int, int, int, int] | None = None


@documented
@dataclass(frozen=True, kw_only=True)
class Mix:
    """Mixes the images of a batch, and their labels with them, as MixUp and CutMix of
    ``torchvision.transforms.v2``. Use it as a random function of a loader::

        mix = shardfeed.torch.Mix("image", "label", mixup=0.2, cutmix=1.0, num_classes=1000)
        loader = shardfeed.torch.DataLoader(..., images=images).map(mix, random=True)

    What is drawn depends on the data set's seed, the epoch, the step and the rank, so that a run
    repeats it, and a resume on the same number of ranks. A row's partner is the row before it, as
    in torchvision; rows that do not count neither change nor are partners. Batches that are not
    mixed have soft labels too.

    Args:
        images (str): the column of images, [rows, ..., 3, height, width]. Floats are mixed as in
            torchvision; uint8 is mixed as float32 and rounded.
        labels (str): the column of labels: class numbers, which become float32 [rows,
            num_classes], or floats of that shape.
        mixup (float, default 0): the parameter of the Beta distribution of the images' shares. 0
            turns mixup off.
        cutmix (float, default 0): the same for the area of the image that stays; the rest is cut
            out of the partner. 0 turns cutmix off.
        num_classes (int, default None): the number of classes. Labels of floats have their own.
        prob (float, default 1): the probability that a batch is mixed.
        switch (float, default 0.5): the probability of cutmix, if both are on.
        layout ("CHW" or "HWC", default "CHW"): the order of the images' dimensions.
    """

    images: str = field(kw_only=False)
    labels: str = field(kw_only=False)
    mixup: float = 0.0
    cutmix: float = 0.0
    num_classes: int | None = None
    prob: float = 1.0
    switch: float = 0.5
    layout: Literal["CHW", "HWC"] = "CHW"

    def __post_init__(self) -> None:
        found = Problems()
        for name in ("images", "labels"):
            found.of(_name, name, getattr(self, name))
        for name, most in (("mixup", math.inf), ("cutmix", math.inf), ("prob", 1.0), ("switch", 1.0)):
            found.of(_number, name, getattr(self, name), most)
        found.of(_classes, self.num_classes)
        found.of(one_of, "layout", self.layout, "CHW", "HWC")
        if not found.found and not self.mixup and not self.cutmix:
            found.found.append("mixup or cutmix must be above 0")
        try:
            found.report("Mix: ")
        except OptionError as e:
            raise nearer(e)  # noqa: B904 - the same error

    def __call__(self, batch: B, generator: torch.Generator | None = None) -> B:
        """The batch with mixed images and labels, on their devices. Without a generator torch's own
        one draws.
        """
        images = batch[self.images]
        _check_images(self.images, images)
        valid = batch.get(ROW_VALID)
        return self.apply(batch, self.draw(images.shape, generator), valid)

    def draw(self, shape: Any, generator: torch.Generator | None = None) -> Drawn:
        """Draws for images of a shape."""
        random = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
        mixed, switched = random.random(2)  # always, so that the probabilities do not change the rest
        cuts = self.cutmix > 0 and (not self.mixup or switched < self.switch)
        alpha = self.cutmix if cuts else self.mixup
        lam = float(random.beta(alpha, alpha))
        if mixed >= self.prob:
            return Drawn(1.0)
        if not cuts:
            return Drawn(lam)
        height, width = shape[-3:-1] if self.layout == "HWC" else shape[-2:]
        x, y = int(random.integers(width)), int(random.integers(height))
        part = 0.5 * math.sqrt(1.0 - lam)
        wide, high = int(part * width), int(part * height)
        x1, y1, x2, y2 = max(x - wide, 0), max(y - high, 0), min(x + wide, width), min(y + high, height)
        return Drawn(1.0 - (x2 - x1) * (y2 - y1) / (width * height), (x1, y1, x2, y2))

    def apply(self, batch: B, drawn: Drawn, valid: torch.Tensor | None = None) -> B:
        """The batch mixed as drawn."""
        images, labels = batch[self.images], self._soft(batch[self.labels], valid)
        partner = _partners(len(images), valid)
        if drawn.box is not None:
            images = self._cut(images, drawn.box, partner)
        elif drawn.lam < 1:
            images = _blended(images, drawn.lam, partner)
        if drawn.lam < 1:
            labels = _blend(labels, labels[partner.to(labels.device)], drawn.lam)
        batch[self.images], batch[self.labels] = images, labels
        return batch

    def _soft(self, labels: Any, valid: torch.Tensor | None) -> torch.Tensor:
        """The labels as floats of each class, zeros of rows that do not count."""
        if not isinstance(labels, torch.Tensor) or labels.ndim != 1 + labels.is_floating_point():
            raise OptionError(
                f"Mix needs labels of class numbers, [rows], or floats [rows, classes]; column {self.labels!r} is {_shown(labels)}"
            )
        if labels.is_floating_point():
            return labels
        if self.num_classes is None:
            raise OptionError(f"Mix needs num_classes, because column {self.labels!r} has class numbers")
        labels = labels.long()
        if valid is not None:
            labels = labels.where(valid.to(labels.device), 0)
        if labels.device.type == "cpu" and len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < self.num_classes:
            raise OptionError(
                f"Mix needs labels from 0 to num_classes - 1, {self.num_classes - 1}, and column {self.labels!r} has "
                f"{int(labels.min())} to {int(labels.max())}"
            )
        soft = torch.zeros(len(labels), self.num_classes, device=labels.device).scatter_(1, labels[:, None], 1)
        return soft if valid is None else soft * valid.to(labels.device)[:, None]

    def _cut(self, images: torch.Tensor, box: tuple[int, int, int, int], partner: torch.Tensor) -> torch.Tensor:
        x1, y1, x2, y2 = box
        part = (..., slice(y1, y2), slice(x1, x2), slice(None)) if self.layout == "HWC" else (..., slice(y1, y2), slice(x1, x2))
        images = images.clone()
        images[part] = images[part][partner.to(images.device)]
        return images


def _partners(rows: int, valid: torch.Tensor | None) -> torch.Tensor:
    """The partner of each row: the row before it, of rows that count."""
    partner = torch.arange(rows)
    if valid is None:
        return partner.roll(1)
    counts = valid.cpu().nonzero()[:, 0]
    partner[counts] = counts.roll(1)
    return partner


def _blend(own: torch.Tensor, other: torch.Tensor, lam: float) -> torch.Tensor:
    """torchvision's formula. other is changed."""
    return other.mul_(1.0 - lam).add_(own.mul(lam))


def _blended(images: torch.Tensor, lam: float, partner: torch.Tensor) -> torch.Tensor:
    partner = partner.to(images.device)
    if images.is_floating_point():
        return _blend(images, images[partner], lam)
    mixed = torch.empty_like(images)
    for lo in range(0, len(images), _ROWS):
        own, other = images[lo : lo + _ROWS].float(), images[partner[lo : lo + _ROWS]].float()
        mixed[lo : lo + _ROWS] = _blend(own, other, lam).round_()
    return mixed


def _check_images(name: str, images: Any) -> None:
    if not isinstance(images, torch.Tensor) or images.ndim < 4 or not (images.is_floating_point() or images.dtype == torch.uint8):
        raise OptionError(f"Mix needs images, [rows, 3, height, width] of uint8 or floats; column {name!r} is {_shown(images)}")


def _shown(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


def _name(name: str, column: Any) -> None:
    if not isinstance(column, str) or not column:
        raise OptionError(f"{name} must be the name of a column, {got(column)}")


def _number(name: str, value: Any, most: float) -> None:
    if not is_number(value) or not 0 <= value <= most or math.isinf(value):
        raise OptionError(f"{name} must be a number of at least 0{'' if math.isinf(most) else f' and at most {most:g}'}, {got(value)}")


def _classes(classes: Any) -> None:
    if classes is not None and (not is_whole(classes) or classes < 1):
        raise OptionError(f"num_classes must be a whole number of at least 1, {got(classes)}")
