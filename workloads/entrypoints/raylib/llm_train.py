"""The driver's part of llm_finetune: checks, identity, and the summary. Needs Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raylib import identity, inputs, llm_config, trainer
from raylib.errors import ResultError
from raylib.run import Run, attempt_id

ADAPTERS = "llm-pipeline/adapters"
BASE_BY = "stage (STAGE_ITEMS=qwen)"
DATA_BY = "stage (STAGE_ITEMS=viggo)"


def train(settings: Any, run: Run) -> Mapping[str, Any]:
    """Trains on the cluster from the last checkpoint on, registers the adapter, returns a summary.

    What is missing is found here, before GPUs are waited for.
    """
    attempt = attempt_id()
    # The number of workers decides how many rows are in a step.
    known = identity.Identity(
        run.folder(), attempt, {**settings.deciding(), "workers": run.workers}
    )
    if done := known.finished():
        return {"already": True, **done}
    # What has been brought since the run began is not for it.
    began = known.pinned() or {}
    path = run.path(settings.base)
    base = inputs.find(path, "the base model", BASE_BY, began.get("base", ""))
    data = inputs.find(run.path(settings.data), "the data", DATA_BY, began.get("data", ""))
    rows = llm_config.check_data(data.path, settings.dataset)
    made_from = {"base": base.digest, "data": data.digest}
    known.pin(made_from)
    config = {
        "program": "llm_finetune",
        "settings": settings,
        "run": run,
        "config": known.digest,
        "inputs": made_from,
    }
    said = trainer.fit(_loop, config, settings, run, attempt)
    if "summary" not in said:
        raise ResultError("the training ended without a result")
    summary: dict[str, Any] = {"rows": rows, **said["summary"]}
    known.finish(summary)
    return summary


def _loop(place: trainer.Place, config: Mapping[str, Any]) -> None:
    """Trains on one worker, which is where torch and LLaMA-Factory are needed."""
    from raylib import llm_loop

    c = config
    llm_loop.train(place, c["settings"], c["run"], c["config"], c["inputs"])
