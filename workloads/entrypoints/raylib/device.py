"""Choosing what to compute on. Needs torch."""

from __future__ import annotations

from typing import Any

import torch

from raylib.errors import ClusterError


def choose(settings: Any) -> torch.device:
    """Returns the device and sets the number of threads.

    Raises ClusterError where there is no GPU, or one of another kind than asked for.
    """
    if settings.threads:
        torch.set_num_threads(settings.threads)
    if settings.device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ClusterError("there is no GPU on this worker that PyTorch can use")
    name = torch.cuda.get_device_name(0)
    if settings.require_gpu_name and settings.require_gpu_name not in name:
        raise ClusterError(f"the GPU is {name!r}, but {settings.require_gpu_name!r} is required")
    return torch.device("cuda", torch.cuda.current_device())
