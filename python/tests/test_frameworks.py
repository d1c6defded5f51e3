"""The recipes of docs/tensorflow-mlx.md: make test-jax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: make test-jax")
mx = pytest.importorskip("mlx.core", reason="MLX is not installed: make test-jax")

from servers import ROOT  # noqa: E402

import shardfeed  # noqa: E402

ROWS = 4000
STEPS = ROWS // 256
PAGE = (ROOT / "docs" / "tensorflow-mlx.md").read_text()


def recipes(shards: Path) -> list[str]:
    """The blocks of the page, with data of this machine."""
    blocks = re.findall(r"```py\n(.*?)```", PAGE, re.S)
    assert [block.count("s3://bucket/clicks") for block in blocks] == [1, 0, 1]
    return [block.replace("s3://bucket/clicks", str(shards)) for block in blocks]


def run(block: str, names: dict[str, Any]) -> None:
    exec(compile(block, "tensorflow-mlx.md", "exec"), names)


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    """The names of a program. TensorFlow keeps generators for ever, and what they use."""
    found: dict[str, Any] = {}
    yield found
    found.clear()


def test_the_recipes_of_tensorflow(runtime: Path, shards: Path, names: dict[str, Any]) -> None:
    plain, piped, _ = recipes(shards)
    run(plain, names)
    first = float(names["loss"])
    assert names["step"].experimental_get_tracing_count() == 1
    assert names["dataset"].state_dict() == names["state"]
    assert all(names["weights"].numpy() != 0)
    run(piped, names)
    assert float(names["loss"]) != first
    assert names["batch"]["x"].shape == (256,)
    assert names["step"].experimental_get_tracing_count() == 1


def test_a_pass_over_a_pipeline_is_an_epoch(runtime: Path, shards: Path, names: dict[str, Any]) -> None:
    names |= {"tf": tf, "step": lambda x, label: x}
    names["dataset"] = shardfeed.StreamingDataset(shards, batch_size=256, columns=["x", "label"], seed=7, drop_last=True)
    run(recipes(shards)[1], names)
    second = [float(x) for batch in names["pipeline"] for x in batch["x"]]
    again = shardfeed.StreamingDataset(shards, batch_size=256, columns=["x", "label"], seed=7, drop_last=True)
    epochs = [[float(x) for batch in again for x in batch["x"]] for _ in range(2)]
    assert second == epochs[1] != epochs[0]
    assert len(set(second)) == STEPS * 256


def values(shards: Path) -> Iterator[Any]:
    return iter(shardfeed.StreamingDataset(shards, batch_size=32, columns=["x"], seed=3))


@pytest.mark.parametrize(
    "make",
    [tf.convert_to_tensor, lambda array: tf.experimental.dlpack.from_dlpack(array.__dlpack__()), mx.array],
    ids=["convert_to_tensor", "dlpack", "mlx"],
)
def test_tensors_stay_as_they_are(runtime: Path, shards: Path, make: Any) -> None:
    """Over 100 further batches."""
    batches, kept = values(shards), []
    for _ in range(20):
        kept.append(make(next(batches)["x"]))
    assert len(list(batches)) == 105
    for tensor, batch in zip(kept, values(shards)):
        assert np.array(tensor).tolist() == batch["x"].tolist()


def test_strings_and_lists_in_tensorflow(runtime: Path, shards: Path) -> None:
    dataset = shardfeed.StreamingDataset(shards, batch_size=256, columns=["text", "tokens"], shuffle=False)
    batch = next(iter(dataset))
    assert tf.constant(batch["text"].to_numpy())[3] == b"row 3"
    tokens = batch["tokens"]
    ragged = tf.RaggedTensor.from_row_splits(tokens.values, tokens.offsets)
    assert ragged.to_list() == [list(range(i, i + i % 5)) for i in range(256)]


def test_the_recipe_of_mlx(runtime: Path, shards: Path, names: dict[str, Any]) -> None:
    run(recipes(shards)[2], names)
    assert all(np.array(names["weights"]) != 0)
    assert np.isfinite(float(names["loss"]))


def test_64_bits_in_mlx(runtime: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [2**40 + 5], "y": [1 / 3]}), tmp_path / "part-0.parquet")
    batch = next(iter(shardfeed.StreamingDataset(tmp_path, batch_size=1)))
    assert mx.array(batch["y"]).dtype == mx.float32
    assert mx.array(batch["id"]).tolist() == [2**40 + 5]
