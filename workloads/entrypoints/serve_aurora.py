"""Serves forecasts of Aurora with a fine-tuned adapter, on Ray Serve.

    GET  /aurora    health: the model, the adapter, the device; open to all
    POST /aurora    {"init_time": "YYYYMMDDTHH", "lead_hours": 6}, with `Authorization: Bearer` and
                    the token; answers for each variable its shape, mean, least and greatest value

The RayService imports `serve_aurora:app`. Without SERVE_TOKEN the import fails: nothing is served
to whoever comes.

Reads, below RUN_STORAGE:

    models/microsoft/aurora/     the pretrained checkpoint; the workload `stage` puts it there
    aurora/data/era5/            states, as for aurora_finetune; `stage` puts them there
    aurora/adapters/finetune/    adapters; `aurora-finetune` puts them there
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import params, program
from raylib.params import knob
from raylib.run import Run, relative_path
from raylib.shared import Service


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Service):
    """The parameters of the service."""

    PREFIX: ClassVar[str] = "SERVE_"

    model: str = knob(
        "pretrained",
        choices=("pretrained", "small", "tiny"),
        help="the model's size, the same as the adapter was trained for",
    )
    base: str = relative_path("models/microsoft/aurora", "the folder of the base checkpoint")
    data: str = relative_path("aurora/data/era5", "the folder of the states")
    adapters: str = relative_path("aurora/adapters", "the folder of adapters")
    max_lead_hours: int = knob(
        240, low=6, high=240, unit="hours", help="the longest forecast that is answered"
    )
    autocast: bool = knob(True, help="compute the backbone in bfloat16")


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Serves until it is stopped, for use without a RayService."""
    from raylib import aurora_serve

    return aurora_serve.serve_until_stopped(settings, run)


PROGRAM = program.Program("serve_aurora", __doc__ or "", Settings, work, needs_output=False)


def __getattr__(name: str) -> Any:
    """Makes `app` when Ray Serve asks for it, so that importing this needs no Ray."""
    if name != "app":
        raise AttributeError(name)
    settings, run = params.load(Settings, os.environ), params.load(Run, os.environ)
    from raylib import aurora_serve

    return aurora_serve.application(settings, run)


if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
