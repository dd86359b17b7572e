"""Connecting to the Ray cluster and waiting for what a run needs of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from raylib import log
from raylib.errors import ClusterError, ProgramError


def connect() -> None:
    """Connects to the cluster that RAY_ADDRESS or this node names, once."""
    import ray

    # A Ray that is started here gives its environment to its workers, which have to find this
    # package too; the pods of a cluster have the path already.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])
    if not ray.is_initialized():
        ray.init()


def get(reference: Any) -> Any:
    """Waits for the result of a task. A ProgramError that it ended with is raised as what it is."""
    import ray
    from ray.exceptions import RayTaskError

    try:
        return ray.get(reference)
    except RayTaskError as e:
        raise own_error(e) or e from None


def own_error(e: BaseException | None) -> ProgramError | None:
    """Returns the ProgramError that an error from a worker comes from, or None.

    What Ray raises is of the class of its cause too, but its text is a traceback.
    """
    found = None
    while e is not None:
        found = e if isinstance(e, ProgramError) else found
        e = getattr(e, "cause", None) or e.__cause__
    return found


def wait_for(
    needs: Mapping[str, float],
    timeout: float,
    has: Callable[[], Mapping[str, float]] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Waits until the cluster has so many CPUs and GPUs in all.

    Raises ClusterError after `timeout` seconds: a run that asks for more than there is would wait
    for ever, without a word.
    """
    if has is None:
        import ray

        has = ray.cluster_resources
    deadline = clock() + timeout
    while True:
        there = has()
        short = {k: (there.get(k, 0), v) for k, v in needs.items() if there.get(k, 0) < v}
        if not short:
            return
        if clock() >= deadline:
            said = ", ".join(f"{have:g} of {want:g} {k}" for k, (have, want) in short.items())
            raise ClusterError(f"the cluster has {said} after {timeout:.0f} s")
        log.event("waiting_for_cluster", lacks={k: w - h for k, (h, w) in short.items()})
        sleep(5.0)
