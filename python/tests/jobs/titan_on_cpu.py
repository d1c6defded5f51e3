"""Lets torchtitan's trainer run without an accelerator. To be imported before anything else of torchtitan.

It takes CUDA for its device where it finds none, and asks the device's module for things that torch.cpu has not.
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
