"""Checks that a Ray cluster works.

Every worker node answers for itself, tasks are spread, an actor keeps state, and the result is
right. It needs no GPU and no data, and is what one runs first on a new stack. It prints one JSON
line and exits with 0, or with the code of the check that did not hold:

    2  a parameter is missing or wrong
    3  not all worker nodes came up in time
    4  a node did not answer, or another one answered for it
    5  the computed result is wrong

Parameters are environment variables: RUN_WORKERS (number of worker nodes), SMOKE_TASKS (number of
tasks, default 32) and SMOKE_TIMEOUT_SECONDS (how long to wait for nodes and for answers, default
300).
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


class SmokeError(Exception):
    """A check that did not hold; `code` is the exit code that tells which."""

    def __init__(self, code: int, message: str) -> None:
        """Keeps the code beside the message."""
        super().__init__(message)
        self.code = code


EXIT_PARAMETER = 2
EXIT_NODES = 3
EXIT_PLACEMENT = 4
EXIT_RESULT = 5


@dataclasses.dataclass(frozen=True)
class Settings:
    """The parameters of one run."""

    workers: int
    tasks: int = 32
    timeout: float = 300.0

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Reads the parameters, refusing what is missing or not positive."""
        return cls(
            workers=int(_positive(env, "RUN_WORKERS", None, int)),
            tasks=int(_positive(env, "SMOKE_TASKS", cls.tasks, int)),
            timeout=_positive(env, "SMOKE_TIMEOUT_SECONDS", cls.timeout, float),
        )


def _positive(
    env: Mapping[str, str], name: str, default: float | None, parse: Callable[[str], float]
) -> float:
    text = env.get(name)
    if text is None:
        if default is None:
            raise SmokeError(EXIT_PARAMETER, f"{name} is not set")
        return default
    try:
        value = parse(text)
    except ValueError:
        raise SmokeError(EXIT_PARAMETER, f"{name} is {text!r}, which is no number") from None
    if not value > 0:
        raise SmokeError(EXIT_PARAMETER, f"{name} is {text}, but must be more than 0")
    return value


def worker_nodes(nodes: list[dict[str, Any]]) -> list[str]:
    """Returns the ids of the nodes that take tasks; the head has no CPUs to give."""
    return sorted(
        n["NodeID"] for n in nodes if n["Alive"] and n.get("Resources", {}).get("CPU", 0) > 0
    )


def wait_for_workers(
    settings: Settings,
    list_nodes: Callable[[], list[dict[str, Any]]],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Waits until the expected number of worker nodes is there and returns their ids."""
    deadline = clock() + settings.timeout
    while True:
        found = worker_nodes(list_nodes())
        if len(found) >= settings.workers:
            return found
        if clock() >= deadline:
            raise SmokeError(
                EXIT_NODES,
                f"{len(found)} of {settings.workers} worker nodes after {settings.timeout:.0f} s",
            )
        sleep(1.0)


def check_placement(answers: Mapping[str, str]) -> None:
    """Checks that each node was answered for by itself."""
    wrong = {asked: by for asked, by in answers.items() if asked != by}
    if wrong:
        raise SmokeError(EXIT_PLACEMENT, f"tasks ran on other nodes than asked for: {wrong}")


def expected_total(tasks: int) -> int:
    """Returns the sum of the squares below `tasks`, in closed form."""
    return (tasks - 1) * tasks * (2 * tasks - 1) // 6


def check_total(tasks: int, total: int) -> None:
    """Checks what the actor has added up."""
    if total != expected_total(tasks):
        raise SmokeError(
            EXIT_RESULT,
            f"the squares below {tasks} add up to {total}, expected {expected_total(tasks)}",
        )


def run(settings: Settings) -> dict[str, Any]:
    """Runs all checks on the cluster that ray is connected to and returns the summary."""
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
    nodes = wait_for_workers(settings, ray.nodes)
    try:
        asked = [
            here.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=n, soft=False)
            ).remote()
            for n in nodes
        ]
        answers = ray.get(asked, timeout=settings.timeout)
        check_placement(dict(zip(nodes, answers, strict=True)))

        squares = ray.get(
            [square.remote(i) for i in range(settings.tasks)], timeout=settings.timeout
        )
        accumulator = Sum.remote()
        totals = ray.get(
            [accumulator.add.remote(value) for value, _ in squares], timeout=settings.timeout
        )
    except GetTimeoutError:
        raise SmokeError(
            EXIT_PLACEMENT, f"a task did not answer within {settings.timeout:.0f} s"
        ) from None
    check_total(settings.tasks, totals[-1])
    return {
        "check": "smoke",
        "ok": True,
        "nodes": len(nodes),
        "tasks": settings.tasks,
        "nodes_used": len({node for _, node in squares}),
        "total": totals[-1],
        "seconds": round(time.monotonic() - start, 1),
    }


def main(env: Mapping[str, str] = os.environ) -> int:
    """Connects to the cluster, runs the checks, prints the outcome and returns the exit code."""
    try:
        settings = Settings.from_env(env)
        import ray

        ray.init()
        print(json.dumps(run(settings)), flush=True)
    except SmokeError as e:
        print(json.dumps({"check": "smoke", "ok": False, "code": e.code}), flush=True)
        print(f"smoke: {e}", file=sys.stderr, flush=True)
        return e.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
