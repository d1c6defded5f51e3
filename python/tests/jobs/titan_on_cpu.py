"""Lets torchtitan's trainer run without an accelerator. Import it before the rest of torchtitan.

The trainer takes CUDA for its device where it finds none, and calls functions of the device's
module that torch.cpu lacks.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torchtitan.tools import utils


def nothing(*_: Any, **__: Any) -> None:
    pass


utils.device_type = "cpu"
utils.device_module = SimpleNamespace(
    set_device=nothing,
    synchronize=nothing,
    empty_cache=nothing,
    reset_peak_memory_stats=nothing,
    current_device=lambda: 0,
    device_count=lambda: 1,
    memory_stats=lambda *_: {},
    get_device_name=lambda *_: "CPU",
    get_device_properties=lambda *_: SimpleNamespace(name="CPU", total_memory=1 << 30),
    get_rng_state=torch.get_rng_state,
    set_rng_state=torch.set_rng_state,
)
