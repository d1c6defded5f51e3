"""Steps of an image: what reaches the engine, what it refuses, and what the images look like."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from pictures import drawn, encoded, write

from shardfeed import Boxes, Image, augment
from shardfeed.errors import OptionError
from shardfeed.torch import DataLoader

pytestmark = pytest.mark.usefixtures("job")

ROOT = Path(__file__).resolve().parents[2]
STEPS = [
    augment.RandAugment(),
    augment.AutoAugment(),
    augment.TrivialAugmentWide(),
    augment.ColorJitter(0.4, hue=0.1, contrast=0.1, saturation=0.2),
    augment.GaussianBlur(23),
    augment.RandomGrayscale(),
    augment.RandomSolarize(128),
    augment.RandomErasing(),
]


def test_members_are_those_of_the_engine() -> None:
    text = "".join((ROOT / "images/augment" / name).read_text() for name in ("auto.go", "random.go"))
    for step in STEPS:
        struct = text[text.index(f"type {type(step).__name__} struct") :].split("\n}\n")[0]
        spec = step.spec()
        name = re.sub("(?<!^)(?=[A-Z])", "_", type(step).__name__).lower()
        assert spec.pop("step") == name
        assert set(spec) == set(re.findall(r'json:"(\w+)', struct)) == {f.name for f in dataclasses.fields(step)}, step
    assert {type(step).__name__ for step in STEPS} | {"Step"} == set(augment.__all__)


def test_told() -> None:
    assert augment.GaussianBlur((3, 5), 1.5, p=0.5).spec() == {
        "step": "gaussian_blur",
        "kernel_size": [3, 5],
        "sigma": [1.5, 1.5],
        "p": 0.5,
    }
    assert augment.ColorJitter((0.5, 2), p=0.8).spec() == {"step": "color_jitter", "brightness": [0.5, 2.0], "p": 0.8}
    assert augment.RandomErasing(0.25, value=(124, 116, 104)).spec()["value"] == [124, 116, 104]
    assert repr(augment.RandAugment(3, fill=7)) == "RandAugment(fill=7, num_ops=3)" and repr(Boxes("img")) == "Boxes(of='img')"
    assert hash(Image(augment=tuple(STEPS))) == hash(Image(augment=tuple(STEPS)))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: augment.RandAugment(0), "^RandAugment: num_ops must be at least 1, got 0$"),
        (lambda: augment.RandAugment(2, 31), "magnitude must be at most 30, got 31"),
        (lambda: augment.RandAugment(2, 9, num_magnitude_bins=5), "magnitude must be at most 4, got 9"),
        (lambda: augment.RandAugment(17, 0, fill=256), r"(?s)3 arguments are wrong:.*num_ops must be .*magnitude must be .*fill must be"),
        (lambda: augment.RandAugment(interpolation="bicubic"), "interpolation must be 'nearest' or 'bilinear', got 'bicubic'"),
        (lambda: augment.AutoAugment("cifar10"), "policy must be 'imagenet', got 'cifar10'"),
        (lambda: augment.TrivialAugmentWide(1), "num_magnitude_bins must be at least 2, got 1"),
        (lambda: augment.ColorJitter(), "one of brightness, contrast, saturation and hue must change something"),
        (lambda: augment.ColorJitter(hue=0.7), "hue of color_jitter must be a number from 0 to 0.5, got 0.7"),
        (lambda: augment.GaussianBlur(4), r"kernel_size must be an odd number from 1 to 255, or a pair \(width, height\), got 4"),
        (
            lambda: augment.GaussianBlur(3, (2, 1)),
            r"sigma must be two numbers above 0 and .*, got \(2, 1\)",
        ),
        (lambda: augment.RandomGrayscale(0), "p must be a number above 0 and at most 1, got 0"),
        (lambda: augment.RandomSolarize(256), "threshold must be a number from 0 to 255, got 256"),
        (lambda: augment.RandomErasing(scale=(0, 1)), "scale must be two numbers above 0 and at most 1"),
        (lambda: Image(augment=augment.RandAugment()), r"augment must be a list of steps, as in \[shardfeed.augment.RandAugment"),
        (lambda: Image(augment=[augment.RandomGrayscale()] * 9), "augment must have at most 8 steps, got 9"),
        (lambda: Image(augment=[augment.RandomGrayscale()], channels=1), "augment needs channels=3"),
        (lambda: Image(augment=[augment.AutoAugment()], geometry=True), r"AutoAugment\(.*\) moves pixels, which geometry does not follow"),
        (lambda: Image(augment=[augment.RandAugment()], like="x"), r"RandAugment\(.*\) moves pixels, which like does not follow"),
    ],
)
def test_refused(make, words) -> None:
    with pytest.raises(OptionError, match=words):
        make()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = [encoded(drawn(i, 64, 48), "PNG") for i in range(16)]
    return write(tmp_path_factory.mktemp("augment") / "shards", files)


def images(shards: Path, *steps: augment.Step, epochs: int = 1, **more) -> np.ndarray:
    """The images of all rows by their ids."""
    loader = DataLoader(shards, batch_size=4, images={"img": Image((48, 64), augment=steps, **more)}, seed=3)
    batches = [batch for _ in range(epochs) for batch in loader]
    rows = {(n, int(i)): image for n, batch in enumerate(batches) for i, image in zip(batch["id"], batch["img"].numpy())}
    return np.stack([rows[key] for key in sorted(rows, key=lambda key: (key[0] // 4, key[1]))])


def test_steps_in_their_order(shards: Path) -> None:
    plain = images(shards)
    inverted = np.where(plain >= 128, 255 - plain, plain)
    solarize, gray = augment.RandomSolarize(128, p=1), augment.RandomGrayscale(1.0)
    assert np.array_equal(images(shards, solarize), inverted)
    both = images(shards, solarize, gray)
    assert np.array_equal(both[:, 0], both[:, 1]) and np.array_equal(both[:, 0], both[:, 2])
    weighted = inverted[:, 0] * 0.2989 + inverted[:, 1] * 0.587 + inverted[:, 2] * 0.114
    assert np.abs(both[:, 0] - np.floor(weighted)).max() <= 1
    assert not np.array_equal(both, images(shards, gray, solarize))


def test_a_step_does_not_change_the_draws_of_another(shards: Path) -> None:
    erase = augment.RandomErasing(0.5, value=255)
    erased = (images(shards, erase) != images(shards)).any(axis=(1, 2, 3))
    after = (images(shards, augment.RandomGrayscale(0.5), erase) != images(shards, augment.RandomGrayscale(0.5))).any(axis=(1, 2, 3))
    assert 0 < erased.sum() < 16 and np.array_equal(erased, after)


def test_epochs_differ_and_repeat(shards: Path) -> None:
    two = images(shards, *STEPS[:3], epochs=2)
    assert len(two) == 32 and np.array_equal(two, images(shards, *STEPS[:3], epochs=2))
    assert not np.array_equal(two[:16], two[16:])


def test_the_engine_refuses_boxes_and_masks_of_moved_pictures(shards: Path) -> None:
    moved = Image(augment=[augment.RandAugment()])
    with pytest.raises(OptionError, match=r"it is of \"img\": its augment steps shear, move and turn it, which other columns and boxes"):
        next(iter(DataLoader(shards, batch_size=4, images={"img": moved}, boxes={"label": Boxes(of="img")})))
    with pytest.raises(OptionError, match=r"gaussian_blur: kernel_size must be odd, .* less than twice the image's side 8, got 17"):
        next(iter(DataLoader(shards, batch_size=4, images={"img": Image(8, augment=[augment.GaussianBlur(17)])})))
