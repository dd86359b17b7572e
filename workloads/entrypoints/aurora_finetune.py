"""Fine-tunes Microsoft's Aurora weather model with LoRA.

Everything but the LoRA weights is frozen. The loss is the mean absolute error over the normalised
variables. For a lead time of more than 6 hours the model is rolled out, and the last step learns.

Reads, below RUN_STORAGE (the workload `stage` puts them there):

    models/microsoft/aurora/…/                the pretrained checkpoint
    aurora/data/era5/static/…/static.nc       lsm, z, slt
    aurora/data/era5/YYYYMMDDTHH/…/state.nc   the state at that time, UTC; a sample needs the state
                                              6 hours before its initial time, that of its initial
                                              time, and the truth, in the folder that is named by
                                              the time that the forecast is for

Writes checkpoints and metrics to RUN_OUTPUT and the adapter to aurora/adapters/finetune/.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import aurora_data, program
from raylib.params import knob
from raylib.run import Run, relative_path
from raylib.shared import Training


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Training):
    """The parameters of a fine-tuning."""

    PREFIX: ClassVar[str] = "AURORA_"

    model: str = knob(
        "pretrained",
        choices=("pretrained", "small", "tiny"),
        help="the model's size: pretrained has 1.3 billion parameters; tiny is for CPUs",
    )
    base: str = relative_path("models/microsoft/aurora", "the folder of the base checkpoint")
    data: str = relative_path("aurora/data/era5", "the folder of the states")
    lead_hours: int = knob(
        6, low=6, high=240, unit="hours, a multiple of 6", help="how far ahead the forecast is"
    )
    init_times: tuple[str, ...] = knob(
        (),
        pattern=r"\d{8}T\d{2}",
        help="initial times as YYYYMMDDTHH, UTC, each of which must have its truth; "
        "empty = all times that have a state 6 hours before and a truth",
    )
    max_steps: int = knob(
        100, low=1, high=1000000, unit="optimizer steps", help="how long to train"
    )
    lora_rank: int = knob(8, low=1, high=256, help="the rank of the LoRA matrices")
    lora_alpha: int = knob(8, low=1, high=1024, help="the LoRA scale is alpha / rank")
    learning_rate: float = knob(5e-5, low=1e-9, high=1.0, help="AdamW's learning rate")
    weight_decay: float = knob(0.01, low=0, high=1, help="AdamW's weight decay")
    warmup_steps: int = knob(
        0, low=0, high=1000000, unit="steps", help="steps in which the learning rate rises"
    )
    batch_size: int = knob(
        1, low=1, high=64, unit="samples", help="samples in one forward pass on one worker"
    )
    accumulate: int = knob(
        1, low=1, high=1024, unit="passes", help="forward passes in one optimizer step"
    )
    clip_norm: float = knob(
        1.0, low=0.001, high=1000, help="the norm that gradients are clipped to"
    )
    surface_weight: float = knob(
        0.25, low=0, high=100, help="the weight of surface variables beside atmospheric ones"
    )
    seed: int = knob(1337, low=0, high=2**31 - 1, help="seed of weights and of the samples' order")
    autocast: bool = knob(True, help="compute the backbone in bfloat16")
    activation_checkpointing: bool = knob(
        True, help="recompute activations instead of keeping them; needed on an 80 GB GPU"
    )

    def problems(self) -> list[str]:
        """Refuses a lead time between the model's steps, and days that no calendar has."""
        wrong = aurora_data.wrong_times("AURORA_INIT_TIMES", self.init_times)
        if self.lead_hours % 6:
            wrong.append(f"AURORA_LEAD_HOURS is {self.lead_hours}, but must be a multiple of 6")
        return wrong


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Trains, or goes on training, and returns the summary."""
    from raylib import aurora_train

    return aurora_train.train(settings, run)


PROGRAM = program.Program("aurora_finetune", __doc__ or "", Settings, work)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
