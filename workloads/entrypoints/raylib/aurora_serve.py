"""The replica of serve_aurora. Needs Ray Serve; torch and aurora on the replica."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from raylib import adapters, aurora_data, aurora_train, inputs, log, sealed, serving
from raylib.errors import InputError
from raylib.run import Run

PREFIX = "/aurora"


class Forecaster(serving.Endpoints):
    """Holds the model with its adapter and forecasts from states on the mount."""

    def __init__(self, settings: Any, run: Run, base: str = "") -> None:
        """Loads the model, that of the digest `base` if one is given.

        Raises InputError if something is missing or does not fit.
        """
        super().__init__(settings.token)
        import torch

        from raylib import aurora_model, device

        log.bind(program="serve_aurora", run=run.id)
        self._settings = settings
        self._device = device.choose(settings)
        self._states = aurora_data.States(run.path(settings.data))
        scratch = pathlib.Path(settings.scratch)
        model, adapter = parts(settings, run, base)
        self._model = aurora_model.build(settings.model, settings.autocast)
        folder = inputs.local(model, scratch)
        aurora_model.load_base(self._model, folder / aurora_model.CHECKPOINTS[settings.model])
        self._adapter = self._load_adapter(adapter, scratch)
        self._model.eval().to(self._device)
        cuda = self._device.type == "cuda"
        self._where = torch.cuda.get_device_name(0) if cuda else "cpu"
        self._gate = serving.Gate(settings.max_waiting)
        self._open = {("GET", "/"): self._health}
        self._closed = {("POST", "/"): self._forecast}
        log.event("ready", device=self._where, adapter=self._adapter)

    def _load_adapter(
        self, found: adapters.Adapter | None, scratch: pathlib.Path
    ) -> dict[str, Any]:
        import safetensors.torch

        from raylib import aurora_model

        if found is None:
            return {"run": None, "digest": None}
        folder, about = inputs.local(found.sealed, scratch), found.about
        aurora_model.add_lora(self._model, about["rank"], about["alpha"], seed=0)
        weights = safetensors.torch.load_file(folder / "aurora_lora.safetensors")
        aurora_model.set_lora(self._model, weights)
        return {"run": found.run, "digest": found.digest, "lead_hours": about["lead_hours"]}

    async def _health(self, request: Request) -> dict[str, Any]:
        return {
            "status": "ok",
            "model": self._settings.model,
            "device": self._where,
            "adapter": self._adapter,
        }

    async def _forecast(self, request: Request) -> dict[str, Any]:
        body = await serving.body_of(request)
        if extra := sorted(set(body) - {"init_time", "lead_hours"}):
            raise serving.Refused(400, f"unknown: {', '.join(extra)}")
        hours = body.get("lead_hours", 6)
        most = self._settings.max_lead_hours
        if type(hours) is not int or hours % 6 or not 6 <= hours <= most:
            raise serving.Refused(400, f"lead_hours must be a multiple of 6, from 6 to {most}")
        try:
            init = aurora_data.parse_time(str(body.get("init_time", "")))
            sample = aurora_data.Sample(init, datetime.timedelta(hours=hours))
            self._states.check(sample, truth=False)
        except aurora_data.TimeError as e:
            raise serving.Refused(400, str(e)) from None
        except InputError as e:
            raise serving.Refused(404, str(e)) from None
        result: dict[str, Any] = await self._gate.run(lambda: self._compute(init, hours))
        return result

    def _compute(self, init: datetime.datetime, hours: int) -> dict[str, Any]:
        import torch

        from raylib import aurora_model

        began = time.monotonic()
        with torch.inference_mode():
            start = aurora_model.batch(self._states, [init]).to(self._device)
            *_, last = aurora_model.forecast(self._model, start, hours // 6)
        variables = aurora_model.statistics(last)
        seconds = time.monotonic() - began
        log.event("forecast", init=aurora_data.name(init), lead_hours=hours, seconds=seconds)
        return {
            "init_time": aurora_data.name(init),
            "valid_time": aurora_data.name(last.metadata.time[0]),
            "lead_hours": hours,
            "adapter": self._adapter,
            "variables": variables,
            "seconds": round(seconds, 3),
        }


def parts(settings: Any, run: Run, base: str = "") -> tuple[sealed.Sealed, adapters.Adapter | None]:
    """Returns the base checkpoint and the adapter, or None for the base model alone.

    Raises InputError if one is missing, or the adapter was trained on another base.
    """
    s = settings
    model = inputs.find(run.path(s.base), "the base model", aurora_train.BASE_BY, base)
    if s.adapter == adapters.NONE:
        return model, None
    registry = adapters.Registry(run.path(s.adapters), aurora_train.TASK)
    found = registry.find(s.adapter, "aurora-finetune")
    theirs = (found.about.get("base"), found.about.get("model"))
    if theirs != (model.digest, s.model):
        raise InputError(
            f"{found.path} was trained on another base than {s.base} ({s.model}): {theirs}"
        )
    return model, found


def application(settings: Any, run: Run) -> Any:
    """Returns the application that Ray Serve runs. Raises InputError if something is missing.

    What is the latest adapter is decided here, once: a replica that starts later has the same.
    """
    base, found = parts(settings, run)
    if found is not None:
        settings = dataclasses.replace(settings, adapter=found.digest)
    return serving.deployment(Forecaster, "aurora", settings, run).bind(settings, run, base.digest)


def serve_until_stopped(settings: Any, run: Run) -> Mapping[str, Any]:
    """Serves below /aurora until it is stopped."""
    return serving.run_until_stopped(application(settings, run), PREFIX, settings, run)
