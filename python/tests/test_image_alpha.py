"""Images with alpha: the fourth channel of channels=4."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from pictures import drawn, encoded, write
from PIL import Image as Pillow

from shardfeed import Image
from shardfeed.torch import DataLoader

pytestmark = pytest.mark.usefixtures("job")


def picture(seed: int) -> Pillow.Image:
    rgba = drawn(seed, 64, 48)
    rgba.putalpha(drawn(seed + 100, 64, 48).convert("L"))
    return rgba


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_every_channel_is_resized_alone(tmp_path: Path, layout) -> None:
    """As torchvision resizes tensors of four channels: Pillow resizes each channel as a gray picture."""
    pictures = [picture(i) for i in range(8)]
    data = write(tmp_path / "shards", [encoded(p, "PNG") for p in pictures])
    loader = DataLoader(data, batch_size=4, images={"img": Image((20, 31), channels=4, layout=layout)}, shuffle=False)
    got = np.concatenate([batch["img"].numpy() for batch in loader])
    if layout == "HWC":
        got = got.transpose(0, 3, 1, 2)
    assert got.shape == (8, 4, 20, 31)
    for image, p in zip(got, pictures):
        want = np.stack([np.asarray(c.resize((31, 20), Pillow.Resampling.BILINEAR)) for c in p.split()])
        assert np.abs(image.astype(int) - want).max() <= 1
        assert len(np.unique(image[3])) > 3


def test_files_without_alpha_are_opaque(tmp_path: Path) -> None:
    gray = io.BytesIO()
    drawn(1, 64, 48).convert("L").save(gray, "PNG")
    files = [encoded(drawn(0, 64, 48)), encoded(drawn(1, 64, 48), "PNG"), gray.getvalue(), encoded(drawn(2, 64, 48), "WEBP")]
    data = write(tmp_path / "shards", files)
    mean, std = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
    images = {"img": Image(16, channels=4, dtype="float32", mean=mean, std=std)}
    (batch,) = DataLoader(data, batch_size=4, images=images, shuffle=False)
    (plain,) = DataLoader(data, batch_size=4, images={"img": Image(16, dtype="float32", mean=mean, std=std)}, shuffle=False)
    assert batch["img"].shape == (4, 4, 16, 16) and (batch["img"][:, 3] == 1).all()
    assert (batch["img"][:, :3] == plain["img"]).all()
