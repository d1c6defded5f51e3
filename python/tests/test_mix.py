"""Mixup and cutmix, held against torchvision's formulas, and torchvision itself where it is installed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pictures
import pytest
import torch

import shardfeed.torch
from shardfeed import Image, errors
from shardfeed.torch import Mix
from shardfeed.torch._mix import Drawn

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore::shardfeed.PaddingWarning")]
BOTH = Mix("img", "label", mixup=0.2, cutmix=1.0, num_classes=3)


def made(rows: int = 6, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    random = torch.Generator().manual_seed(7)
    images = torch.randint(0, 256, (rows, 3, 10, 8), generator=random, dtype=torch.uint8)
    return {"img": images if dtype == torch.uint8 else images.to(dtype) / 255, "label": torch.arange(rows) % 3}


@pytest.mark.parametrize("drawn", [Drawn(0.3), Drawn(1 - 12 / 80, (2, 5, 6, 8)), Drawn(1.0)], ids=str)
def test_results_are_torchvisions(drawn: Drawn) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    batch = made()
    images, labels = batch["img"].clone(), batch["label"].clone()
    mixed = BOTH.apply(batch, drawn)
    given = {"labels": labels, "batch_size": 6}
    if drawn.box is None:
        step, given = v2.MixUp(num_classes=3), {**given, "lam": drawn.lam}
    else:
        step, given = v2.CutMix(num_classes=3), {**given, "box": drawn.box, "lam_adjusted": drawn.lam}
    assert torch.equal(mixed["img"], step.transform(images, given))
    assert torch.equal(mixed["label"], step.transform(labels, given))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
def test_mixup(dtype: torch.dtype) -> None:
    batch = made(70, dtype)
    before, hot = batch["img"].clone(), torch.nn.functional.one_hot(batch["label"], 3).float()
    mixed = BOTH.apply(batch, Drawn(0.3))
    assert mixed["img"].dtype == dtype and mixed["label"].dtype == torch.float32
    want = before.float() * 0.3 + before.roll(1, 0).float() * 0.7
    assert (mixed["img"].float() - want).abs().max() <= {torch.uint8: 0.5001, torch.bfloat16: 0.01, torch.float32: 1e-6}[dtype]
    assert torch.allclose(mixed["label"], hot * 0.3 + hot.roll(1, 0) * 0.7)


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_cutmix(layout: str) -> None:
    batch = made(dtype=torch.uint8)
    batch["img"] = torch.stack([batch["img"], 255 - batch["img"]], 1)  # two views
    before = batch["img"].clone()
    if layout == "HWC":
        batch["img"] = batch["img"].movedim(2, -1).contiguous()
    mixed = Mix("img", "label", cutmix=1, num_classes=3, layout=layout).apply(batch, Drawn(0.85, (2, 5, 6, 8)))
    got = mixed["img"] if layout == "CHW" else mixed["img"].movedim(-1, 2)
    want = before.clone()
    want[..., 5:8, 2:6] = before.roll(1, 0)[..., 5:8, 2:6]
    assert torch.equal(got, want)


def test_rows_that_do_not_count() -> None:
    batch = made(dtype=torch.uint8)
    batch["_row_valid"] = torch.tensor([True, False, True, True, False, True])
    batch["label"][1] = -1
    before = batch["img"].clone()
    mixed = BOTH.apply(batch, Drawn(0.25), batch["_row_valid"])
    for row, partner in [(0, 5), (1, 1), (2, 0), (3, 2), (4, 4), (5, 3)]:
        want = (before[row].float() * 0.25 + before[partner].float() * 0.75).round()
        assert torch.equal(mixed["img"][row].float(), want)
    assert mixed["label"].sum(1).tolist() == [1, 0, 1, 1, 0, 1]
    assert mixed["label"][2].tolist() == [0.75, 0, 0.25]


def test_draws_have_their_distributions() -> None:
    random = torch.Generator().manual_seed(1)
    drawn = [Mix("a", "b", mixup=1, cutmix=1, prob=0.8, switch=0.25).draw((4, 3, 100, 60), random) for _ in range(2000)]
    still = sum(d == Drawn(1.0) for d in drawn)
    cut = [d for d in drawn if d.box]
    assert abs(still - 400) < 80 and abs(len(cut) - 400) < 80
    mean = sum(d.lam for d in drawn if not d.box and d.lam < 1) / (2000 - still - len(cut))
    assert abs(mean - 0.5) < 0.04
    for d in cut:
        x1, y1, x2, y2 = d.box
        assert 0 <= x1 <= x2 <= 60 and 0 <= y1 <= y2 <= 100 and d.lam == pytest.approx(1 - (x2 - x1) * (y2 - y1) / 6000)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures.write(tmp_path_factory.mktemp("pictures"), pictures.many(30, ("PNG",)), row_group=5)


def read(table: Path, state: Any = None, epochs: int = 1, **given: Any) -> Any:
    loader = shardfeed.torch.DataLoader(table, batch_size=4, images={"img": Image(16, crop="random_resized")}, **given)
    loader = loader.map(BOTH, random=True)
    if state is not None:
        loader.load_state_dict(state)
    batches, states = [], []
    for _ in range(epochs):
        for batch in loader:
            batches.append((batch["img"].numpy().tobytes(), batch["label"].numpy().tobytes()))
            states.append(loader.state_dict())
    loader.close()
    return batches, states


def test_runs_repeat_and_resume(table: Path) -> None:
    want, states = read(table, epochs=2, tail="drop")
    assert len(want) == len(set(want)) == 14
    assert read(table, epochs=2, tail="drop")[0] == want
    assert read(table, tail="drop", num_workers=2)[0] == want[:7]
    for after in (1, 5):
        assert read(table, states[after - 1], tail="drop")[0] == want[after:7]


def test_lost_rows_are_no_partners(table: Path) -> None:
    loader = shardfeed.torch.DataLoader(table, batch_size=8, images={"img": Image(16)}, with_row_valid=True, shuffle=False, tail="pad")
    plain = list(loader)
    mixed = list(loader.map(Mix("img", "label", cutmix=1, num_classes=3), random=True))
    valid = mixed[-1]["_row_valid"]
    assert not valid.all() and torch.equal(mixed[-1]["img"][~valid], plain[-1]["img"][~valid])
    assert (mixed[-1]["label"][~valid] == 0).all() and torch.allclose(mixed[-1]["label"][valid].sum(1), torch.ones(6))


def test_pickle_and_repr() -> None:
    assert pickle.loads(pickle.dumps(BOTH)) == BOTH


@pytest.mark.parametrize(
    "given, words",
    [
        ({}, "mixup or cutmix must be above 0"),
        ({"mixup": -1}, "mixup must be a number of at least 0, got -1"),
        ({"mixup": 1, "prob": 2}, "prob must be a number of at least 0 and at most 1, got 2"),
        ({"mixup": 1, "num_classes": 0}, "num_classes must be a whole number of at least 1, got 0"),
        ({"mixup": 1, "layout": "NCHW"}, "layout must be 'CHW' or 'HWC', got 'NCHW'"),
    ],
    ids=str,
)
def test_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.OptionError, match=words):
        Mix("img", "label", **given)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"img": torch.zeros(6, 3)}, "needs images, .* column 'img' is torch.float32 \\[6, 3\\]"),
        ({"label": torch.zeros(6)}, "needs labels of class numbers, .* column 'label' is torch.float32 \\[6\\]"),
        ({"label": torch.full((6,), 3)}, "needs labels from 0 to num_classes - 1, 2, and column 'label' has 3 to 3"),
    ],
    ids=["images", "labels", "classes"],
)
def test_batches_that_do_not_fit(change: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.OptionError, match=words):
        BOTH({**made(), **change})
    with pytest.raises(errors.OptionError, match="needs num_classes"):
        Mix("img", "label", mixup=1)(made())
