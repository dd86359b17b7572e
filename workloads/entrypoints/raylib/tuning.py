"""The work of tune_gpt2: trials by Ray Tune, each with checkpoints of its own. Needs Ray."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import random
import shutil
from collections.abc import Mapping
from typing import Any

from raylib import adapters, checkpoints, cluster, files, identity, inputs, log
from raylib.errors import ResultError
from raylib.run import Run, attempt_id

TASK = "shakespeare"
ADAPTERS = "llm-pipeline/adapters"
BASE_BY = "stage (STAGE_ITEMS=gpt2)"
DATA_BY = "stage (STAGE_ITEMS=shakespeare)"
# The loss that a trial reports for one that is not finite, with which Ray Tune cannot compare.
DIVERGED = 1e30


@dataclasses.dataclass(frozen=True)
class Trial:
    """What is tried: a learning rate and a rank, under a number that stays."""

    number: int
    learning_rate: float
    rank: int

    @property
    def name(self) -> str:
        """The name of the trial's folder."""
        return f"trial-{self.number:04d}"


def plan(settings: Any) -> list[Trial]:
    """Returns the trials. They depend on the settings alone, so another attempt has the same."""
    chance = random.Random(settings.seed)
    low = math.log(settings.least_learning_rate)
    high = math.log(settings.greatest_learning_rate)
    return [
        Trial(n, math.exp(chance.uniform(low, high)), chance.choice(settings.lora_ranks))
        for n in range(settings.trials)
    ]


def search(settings: Any, run: Run) -> Mapping[str, Any]:
    """Searches, or goes on searching, and registers the best adapter."""
    attempt = attempt_id()
    known = identity.Identity(run.folder(), attempt, settings.deciding())
    if done := known.finished():
        return {"already": True, **done}
    # What has been brought since the run began is not for it.
    began = known.pinned() or {}
    path = run.path(settings.base)
    base = inputs.find(path, "the base model", BASE_BY, began.get("base", ""))
    data = inputs.find(run.path(settings.data), "the text", DATA_BY, began.get("data", ""))
    made_from = {"base": base.digest, "data": data.digest}
    known.pin(made_from)
    config = known.digest
    trials = plan(settings)
    try:
        _tune(settings, run, attempt, config, made_from, trials)
    finally:
        # Ray's own notes of this attempt; nothing reads them again.
        shutil.rmtree(run.folder() / "ray" / attempt, ignore_errors=True)
    summary = _best(settings, run, attempt, config, trials)
    known.finish(summary)
    return summary


def _tune(
    settings: Any,
    run: Run,
    attempt: str,
    config: str,
    made_from: Mapping[str, str],
    trials: list[Trial],
) -> None:
    cluster.connect()
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    gpu = settings.device == "cuda"
    cluster.wait_for({"GPU" if gpu else "CPU": 1}, settings.cluster_timeout_seconds)
    needs = {"cpu": settings.cpus_per_trial, **({"gpu": 1} if gpu else {})}

    def one(space: dict[str, Any]) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from raylib import tuning_loop

        log.bind(program="tune_gpt2", run=run.id)
        tuning_loop.train(settings, run, trials[space["trial"]], config, tune.report, made_from)

    tuner = tune.Tuner(
        tune.with_resources(one, needs),
        param_space={"trial": tune.grid_search([t.number for t in trials])},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            max_concurrent_trials=settings.concurrent or None,
            # All trials take the same, and a process that has its libraries takes the next one.
            reuse_actors=True,
            scheduler=ASHAScheduler(
                time_attr="rung",
                max_t=settings.rungs,
                grace_period=settings.grace_rungs,
                reduction_factor=settings.reduction,
            ),
            trial_name_creator=lambda t: trials[t.config["trial"]].name,
            trial_dirname_creator=lambda t: trials[t.config["trial"]].name,
        ),
        run_config=tune.RunConfig(
            name=attempt,
            storage_path=os.fspath(run.folder() / "ray"),
            failure_config=tune.FailureConfig(max_failures=settings.max_failures),
            callbacks=[_progress(len(trials), run)],
            verbose=0,
        ),
    )
    results = tuner.fit()
    if results.num_errors:
        first = results.errors[0]
        if own := cluster.own_error(first):
            raise own
        raise ResultError(f"{results.num_errors} of {len(trials)} trials failed: {first}")


def _progress(trials: int, run: Run) -> Any:
    """Returns a callback that says how many trials have ended, and the least loss so far."""
    from ray import tune

    class Ended(tune.Callback):
        """Sees each trial end."""

        def __init__(self) -> None:
            """Has seen none."""
            self.progress = log.Progress(trials, "trials", 1, run.id)
            self.ended, self.least = 0, math.inf

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            """Counts it."""
            self.ended += 1
            self.least = min(self.least, (trial.last_result or {}).get("loss", math.inf))
            self.progress.step(self.ended, 1, loss=min(self.least, DIVERGED))

    return Ended()


def store(run: Run, trial: Trial, config: str, keep: int) -> checkpoints.Store:
    """Returns the checkpoints of a trial."""
    folder = run.folder() / "trials" / trial.name
    return checkpoints.Store(folder, config, attempt_id(), keep)


def _best(
    settings: Any, run: Run, attempt: str, config: str, trials: list[Trial]
) -> dict[str, Any]:
    """Registers the adapter of the trial whose newest checkpoint has the least loss."""
    scores = []
    for trial in trials:
        found = store(run, trial, config, settings.keep_checkpoints).newest()
        if found is not None and math.isfinite(loss := float(found.about["losses"][-1])):
            scores.append((loss, trial, found))
    if not scores:
        raise ResultError("no trial has left a checkpoint with a finite loss")
    scores.sort(key=lambda s: (s[0], s[1].number))
    loss, trial, found = scores[0]
    folder = pathlib.Path(settings.scratch) / "best" / attempt
    folder.mkdir(parents=True)
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copyfile(found.path / name, folder / name)
    chosen = {"learning_rate": trial.learning_rate, "rank": trial.rank, "loss": loss}
    registry = adapters.Registry(run.path(ADAPTERS), TASK)
    about = {**chosen, "output": str(run.folder())}
    made = registry.put(folder, run.id, attempt, about)
    shutil.rmtree(folder, ignore_errors=True)
    table = [
        {**dataclasses.asdict(t), "loss": least, "rungs": len(c.about["losses"])}
        for least, t, c in scores
    ]
    files.write(run.folder() / f"scores.{attempt}.json", json.dumps(table, indent=1).encode())
    return {**chosen, "trial": trial.name, "trials": len(scores), "adapter": made.digest}
