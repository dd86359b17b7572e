"""Parameters that several programs have in common, declared once."""

from __future__ import annotations

import dataclasses

from raylib import leave
from raylib.params import Params, knob

SCRATCH = "/tmp/ray-on-aks"
# How long workers wait for one another, where no knob says otherwise.
COLLECTIVE_SECONDS = 1800


def no_room(prefix: str, max_tokens: int, max_model_len: int) -> list[str]:
    """Returns what is wrong if answers of that many tokens leave no room for a prompt."""
    if max_tokens < max_model_len:
        return []
    return [
        f"{prefix}MAX_TOKENS is {max_tokens}, which leaves no room for a prompt in "
        f"{prefix}MAX_MODEL_LEN, {max_model_len}"
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine(Params):
    """On what a program computes. None of it decides the result, but for the kind of device."""

    device: str = knob(
        "cuda",
        choices=("cuda", "cpu"),
        help="what to compute on; cpu is for small models, rehearsals and tests",
    )
    require_gpu_name: str = knob(
        "", result=False, help="refuse a GPU whose name lacks this, such as A100; empty = any"
    )
    threads: int = knob(
        0,
        low=0,
        high=1024,
        result=False,
        help="threads for PyTorch on a CPU; 1 makes results repeatable to the bit; 0 = its default",
    )
    scratch: str = knob(
        SCRATCH,
        result=False,
        pattern="/.+",
        help="a folder on the node's own disk for copies of models and unfinished checkpoints",
    )
    cluster_timeout_seconds: float = knob(
        900.0,
        low=1,
        high=86400,
        unit="seconds",
        result=False,
        help="how long to wait for the cluster's workers before giving up",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training(Machine):
    """What the training programs have in common."""

    checkpoint_steps: int = knob(
        10,
        low=1,
        high=1000000,
        unit="steps",
        result=False,
        help="how often a checkpoint is saved: at most this much work is repeated",
    )
    keep_checkpoints: int = knob(
        2, low=1, high=100, result=False, help="how many valid checkpoints are kept"
    )
    log_steps: int = knob(
        1, low=1, high=1000000, unit="steps", result=False, help="how often progress is logged"
    )
    max_failures: int = knob(
        2,
        low=0,
        high=100,
        result=False,
        help="how often the training goes on from its checkpoint after a worker was lost, "
        "before the whole attempt ends",
    )
    grace_seconds: float = knob(
        20.0,
        low=0,
        high=600,
        unit="seconds",
        result=False,
        help="how long a SIGTERM waits for a last checkpoint; a pod that has to go sends one and "
        f"waits {leave.SECONDS:g} s at most, or as long as its grace period, if that is shorter",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service(Machine):
    """What the serving programs have in common."""

    token: str = knob(
        required=True,
        secret=True,
        result=False,
        pattern=r"[!-~]{16,}",
        help="the bearer token that callers must show, at least 16 characters",
    )
    adapter: str = knob(
        "latest",
        pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*",
        help="the adapter: the run id that trained it, latest, or none for the base model",
    )
    replicas: int = knob(
        0,
        low=0,
        high=10000,
        result=False,
        help="how many replicas, each with a GPU of its own; 0 = as many as RUN_WORKERS says",
    )
    max_waiting: int = knob(
        32,
        low=0,
        high=10000,
        unit="requests",
        result=False,
        help="requests that may wait in a replica; more are answered with 503",
    )
    host: str = knob(
        "127.0.0.1", result=False, help="where to listen; a RayService has its own setting"
    )
    port: int = knob(
        8000, low=1, high=65535, result=False, help="its port; a RayService has its own setting"
    )
