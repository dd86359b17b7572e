"""Checks that a Ray cluster works.

Every worker node answers for itself, tasks are spread, an actor keeps state, and the result is
right. It needs no GPU and no data, and is what one runs first on a new stack.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from raylib import cluster, program
from raylib.errors import ClusterError, ResultError
from raylib.params import Params, knob
from raylib.run import Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Params):
    """The parameters of one run; how many nodes there must be is RUN_WORKERS."""

    PREFIX: ClassVar[str] = "SMOKE_"

    tasks: int = knob(32, low=1, high=100000, help="how many tasks are spread over the nodes")
    timeout_seconds: float = knob(
        300.0, low=0.1, high=86400, unit="seconds", help="how long to wait for nodes and answers"
    )


def worker_nodes(nodes: list[dict[str, Any]]) -> list[str]:
    """Returns the ids of the nodes that take tasks; the head has no CPUs to give."""
    return sorted(
        n["NodeID"] for n in nodes if n["Alive"] and n.get("Resources", {}).get("CPU", 0) > 0
    )


def wait_for_workers(
    workers: int,
    timeout: float,
    list_nodes: Callable[[], list[dict[str, Any]]],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Waits until the expected number of worker nodes is there and returns their ids."""
    deadline = clock() + timeout
    while True:
        found = worker_nodes(list_nodes())
        if len(found) >= workers:
            return found
        if clock() >= deadline:
            raise ClusterError(f"{len(found)} of {workers} worker nodes after {timeout:.0f} s")
        sleep(1.0)


def check_placement(answers: Mapping[str, str]) -> None:
    """Checks that each node was answered for by itself."""
    wrong = {asked: by for asked, by in answers.items() if asked != by}
    if wrong:
        raise ResultError(f"tasks ran on other nodes than asked for: {wrong}")


def expected_total(tasks: int) -> int:
    """Returns the sum of the squares below `tasks`, in closed form."""
    return (tasks - 1) * tasks * (2 * tasks - 1) // 6


def check_total(tasks: int, total: int) -> None:
    """Checks what the actor has added up."""
    if total != expected_total(tasks):
        raise ResultError(
            f"the squares below {tasks} add up to {total}, expected {expected_total(tasks)}"
        )


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Runs all checks on the cluster and returns the summary."""
    cluster.connect()
    import ray
    from ray.exceptions import GetTimeoutError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote(num_cpus=1)
    def here() -> str:
        return ray.get_runtime_context().get_node_id()

    @ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
    def square(i: int) -> tuple[int, str]:
        return i * i, ray.get_runtime_context().get_node_id()

    @ray.remote(num_cpus=0)
    class Sum:
        def __init__(self) -> None:
            self.total = 0

        def add(self, value: int) -> int:
            self.total += value
            return self.total

    start = time.monotonic()
    timeout = settings.timeout_seconds
    nodes = wait_for_workers(run.workers, timeout, ray.nodes)
    try:
        asked = [
            here.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=n, soft=False)
            ).remote()
            for n in nodes
        ]
        answers = ray.get(asked, timeout=timeout)
        check_placement(dict(zip(nodes, answers, strict=True)))

        squares = ray.get([square.remote(i) for i in range(settings.tasks)], timeout=timeout)
        accumulator = Sum.remote()
        totals = ray.get([accumulator.add.remote(value) for value, _ in squares], timeout=timeout)
    except GetTimeoutError:
        raise ClusterError(f"a task did not answer within {timeout:.0f} s") from None
    check_total(settings.tasks, totals[-1])
    return {
        "nodes": len(nodes),
        "tasks": settings.tasks,
        "nodes_used": len({node for _, node in squares}),
        "total": totals[-1],
        "seconds": round(time.monotonic() - start, 1),
    }


PROGRAM = program.Program("smoke", __doc__ or "", Settings, work, needs_output=False)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
