"""The driver's part of aurora_finetune: checks, identity, and the summary. Needs Ray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raylib import aurora_data, identity, inputs, trainer
from raylib.errors import ResultError
from raylib.run import Run, attempt_id

TASK = "finetune"
ADAPTERS = "aurora/adapters"
BASE_BY = "stage (STAGE_ITEMS=aurora)"


def train(settings: Any, run: Run) -> Mapping[str, Any]:
    """Trains on the cluster from the last checkpoint on, registers the adapter, returns a summary.

    What is missing is found here, before a GPU is waited for.
    """
    attempt = attempt_id()
    deciding = {**settings.deciding(), "workers": run.workers}
    known = identity.Identity(run.folder(), attempt, deciding)
    if done := known.finished():
        return {"already": True, **done}
    # What has been brought since the run began is not for it.
    began = known.pinned() or {}
    path = run.path(settings.base)
    base = inputs.find(path, "the base model", BASE_BY, began.get("base", ""))
    states = aurora_data.States(
        run.path(settings.data), began.get("states"), began.get("static", "")
    )
    samples = states.samples(settings.lead_hours, settings.init_times)
    used = sorted({t for s in samples for t in (s.before, s.init, s.truth)})
    made_from = {
        "base": base.digest,
        "static": states.static().digest,
        "states": {aurora_data.name(t): states.state(t, "pinned").digest for t in used},
    }
    known.pin(made_from)
    config = {
        "program": "aurora_finetune",
        "settings": settings,
        "run": run,
        "config": known.digest,
        "inputs": made_from,
    }
    said = trainer.fit(_loop, config, settings, run, attempt)
    if "summary" not in said:
        raise ResultError("the training ended without a result")
    summary: dict[str, Any] = said["summary"]
    known.finish(summary)
    return summary


def _loop(place: trainer.Place, config: Mapping[str, Any]) -> None:
    """Trains on one worker, which is where torch and aurora are needed."""
    from raylib import aurora_loop

    c = config
    aurora_loop.Training(place, c["settings"], c["run"], c["config"], c["inputs"]).run()
