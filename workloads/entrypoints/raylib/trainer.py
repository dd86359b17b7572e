"""Runs a training loop on the cluster's workers by Ray Train, in a way that survives interruption.

Ray Train starts the workers, their process group, and starts them again when one is lost. What is
saved and where to go on from is the loop's own matter (`raylib.checkpoints`): the driver dies with
the cluster when the job is preempted, and only the mount remains.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from raylib import cluster, log
from raylib.errors import Interrupted, ProgramError, ResultError
from raylib.run import Run
from raylib.shared import COLLECTIVE_SECONDS, Training


class Board:
    """What driver and workers tell each other: an actor that takes no CPU."""

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self._stopping = False
        self._failure: ProgramError | None = None
        self._said: dict[str, Any] = {}

    def stop(self) -> None:
        """Asks the workers to save and end."""
        self._stopping = True

    def stopping(self) -> bool:
        """Tells whether the workers have been asked to end."""
        return self._stopping

    def fail(self, why: ProgramError) -> None:
        """Keeps the first failure that trying again will not cure."""
        self._failure = self._failure or why

    def failure(self) -> ProgramError | None:
        """Returns that failure."""
        return self._failure

    def say(self, **facts: Any) -> None:
        """Keeps facts for the driver."""
        self._said.update(facts)

    def said(self) -> dict[str, Any]:
        """Returns all facts."""
        return self._said


@dataclasses.dataclass(frozen=True)
class Place:
    """What a worker's loop is given: the board, and who it is among the workers."""

    board: Any
    rank: int
    world: int

    def stopping(self) -> bool:
        """Tells whether this worker has been asked to end; workers may learn it at other times."""
        import ray

        return bool(ray.get(self.board.stopping.remote(), timeout=30))

    def say(self, **facts: Any) -> None:
        """Tells the driver, and waits until it is told."""
        import ray

        ray.get(self.board.say.remote(**facts), timeout=30)


def agree(place: Place, value: str) -> str:
    """Returns the first worker's value on all workers."""
    if place.world == 1:
        return value
    import torch.distributed as dist

    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def gather(place: Place, value: Any) -> list[Any]:
    """Returns the values of all workers on the first one, in order of rank."""
    if place.world == 1:
        return [value]
    import torch.distributed as dist

    box = [None] * place.world if place.rank == 0 else None
    dist.gather_object(value, box, dst=0)
    return box or []


def together(place: Place, here: bool) -> bool:
    """Tells whether any worker says so, the same answer on all."""
    if place.world == 1:
        return here
    import torch
    import torch.distributed as dist

    where = "cuda" if dist.get_backend() == "nccl" else "cpu"
    flag = torch.tensor([float(here)], device=where)
    dist.all_reduce(flag)
    return bool(flag.item() > 0)


def _worker(config: dict[str, Any]) -> None:
    """Runs the loop on one worker. A failure that will come again is told, not tried again."""
    import ray
    import ray.train

    board, loop = config["board"], config["loop"]
    if ray.get(board.failure.remote()) is not None:
        return
    context = ray.train.get_context()
    log.bind(**config["bound"], rank=context.get_world_rank())
    try:
        loop(Place(board, context.get_world_rank(), context.get_world_size()), config["config"])
    except Interrupted:
        ray.get(board.say.remote(interrupted=True))
    except ProgramError as e:
        ray.get(board.fail.remote(e))
        raise


def fit(
    loop: Callable[[Place, Mapping[str, Any]], None],
    config: Mapping[str, Any],
    settings: Training,
    run: Run,
    attempt: str,
) -> dict[str, Any]:
    """Runs `loop(place, config)` on each worker and returns what the workers said.

    Raises the ProgramError of a worker; Interrupted if the run was asked to stop; ResultError if
    workers were lost more often than `max_failures`.
    """
    cluster.connect()
    import ray

    kind = "GPU" if settings.device == "cuda" else "CPU"
    cluster.wait_for({kind: run.workers}, settings.cluster_timeout_seconds)
    board = ray.remote(num_cpus=0)(Board).remote()
    place = run.folder() / "ray"
    try:
        with _asked_to_stop(board, settings.grace_seconds):
            _fit(loop, config, settings, run, attempt, board)
    finally:
        failure, said = ray.get(board.failure.remote()), ray.get(board.said.remote())
        # Ray's own notes of this attempt; nothing reads them again.
        shutil.rmtree(place / attempt, ignore_errors=True)
        if failure is not None:
            raise failure
    if said.get("interrupted"):
        raise Interrupted("the run was asked to stop; the next attempt goes on from here")
    return dict(said)


def _fit(
    loop: Callable[[Place, Mapping[str, Any]], None],
    config: Mapping[str, Any],
    settings: Training,
    run: Run,
    attempt: str,
    board: Any,
) -> None:
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.torch import TorchConfig, TorchTrainer

    # Ray's own limit of a minute is short for nodes that load their libraries for the first time.
    patience = str(settings.cluster_timeout_seconds)
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", patience)
    gpu = settings.device == "cuda"
    trainer = TorchTrainer(
        _worker,
        train_loop_config={
            "loop": loop,
            "config": dict(config),
            "board": board,
            "bound": {"program": config.get("program", ""), "run": run.id},
        },
        torch_config=TorchConfig(
            backend="nccl" if gpu else "gloo",
            timeout_s=getattr(settings, "collective_timeout_seconds", COLLECTIVE_SECONDS),
        ),
        scaling_config=ScalingConfig(
            num_workers=run.workers,
            use_gpu=gpu,
            resources_per_worker={"GPU": 1} if gpu else {"CPU": 1},
            placement_strategy="SPREAD",
        ),
        run_config=RunConfig(
            name=attempt,
            storage_path=os.fspath(run.folder() / "ray"),
            failure_config=FailureConfig(max_failures=settings.max_failures),
        ),
    )
    try:
        trainer.fit()
    except TrainingFailedError as e:
        raise ResultError(f"the training failed {settings.max_failures + 1} times: {e}") from e


@contextmanager
def _asked_to_stop(board: Any, grace: float) -> Iterator[None]:
    """While it lasts, SIGTERM asks the workers to save, and ends the program after the grace."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(signum: int, frame: Any) -> None:
        board.stop.remote()
        log.event("asked_to_stop", grace_seconds=grace)
        timer = threading.Timer(grace, os._exit, args=(Interrupted.code,))
        timer.daemon = True
        timer.start()

    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
