"""Searches the learning rate and LoRA rank of a causal language model, by Ray Tune.

Trials that do badly are stopped early by ASHA. Each trial keeps its checkpoints on the mount, so a
search that was interrupted goes on: finished trials are not repeated, unfinished ones continue.

Reads, below RUN_STORAGE (the workload `stage` puts them there):

    models/openai-community/gpt2/          the base model
    llm-pipeline/data/shakespeare/         text.txt; its last tenth is held out

Writes each trial's checkpoints and the scores to RUN_OUTPUT and the best adapter to
llm-pipeline/adapters/shakespeare/.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import program
from raylib.params import knob
from raylib.run import Run, relative_path
from raylib.shared import Machine


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Machine):
    """The parameters of a search."""

    PREFIX: ClassVar[str] = "GPT2_"

    device: str = knob("cpu", choices=("cuda", "cpu"), help="what to compute on")
    base: str = relative_path("models/openai-community/gpt2", "the folder of the base model")
    data: str = relative_path("llm-pipeline/data/shakespeare", "the folder of the text")
    trials: int = knob(8, low=1, high=1000, help="how many settings are tried")
    concurrent: int = knob(
        0, low=0, high=1000, result=False, help="trials at once; 0 = as many as fit"
    )
    keep_checkpoints: int = knob(
        2, low=1, high=100, result=False, help="how many valid checkpoints each trial keeps"
    )
    max_failures: int = knob(
        2, low=0, high=100, result=False, help="how often a trial goes on after it was lost"
    )
    cpus_per_trial: float = knob(
        1.0, low=0.1, high=1000, unit="CPUs", result=False, help="what a trial takes of its node"
    )
    least_learning_rate: float = knob(1e-5, low=1e-9, high=1, help="the lower end of the search")
    greatest_learning_rate: float = knob(1e-3, low=1e-9, high=1, help="the upper end of the search")
    lora_ranks: tuple[int, ...] = knob((4, 8, 16), low=1, high=512, help="the ranks to choose from")
    rungs: int = knob(
        8, low=1, high=1000, unit="reports", help="how often a trial that is not stopped reports"
    )
    grace_rungs: int = knob(
        2, low=1, high=1000, unit="reports", help="what every trial may finish before it is judged"
    )
    reduction: int = knob(2, low=2, high=10, help="ASHA keeps one of so many trials at each level")
    steps_per_rung: int = knob(
        20, low=1, high=100000, unit="optimizer steps", help="steps between two reports"
    )
    block_size: int = knob(128, low=8, high=4096, unit="tokens", help="the length of a sample")
    batch_size: int = knob(8, low=1, high=1024, unit="samples", help="samples in a step")
    seed: int = knob(7, low=0, high=2**31 - 1, help="seed of the search and of each trial")

    def problems(self) -> list[str]:
        """Refuses empty ranges."""
        wrong = []
        if self.least_learning_rate > self.greatest_learning_rate:
            wrong.append("GPT2_LEAST_LEARNING_RATE is greater than GPT2_GREATEST_LEARNING_RATE")
        if not self.lora_ranks:
            wrong.append("GPT2_LORA_RANKS is empty; name at least one rank")
        if self.grace_rungs > self.rungs:
            wrong.append("GPT2_GRACE_RUNGS is greater than GPT2_RUNGS")
        return wrong


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Searches, or goes on searching, and returns the best."""
    from raylib import tuning

    return tuning.search(settings, run)


PROGRAM = program.Program("tune_gpt2", __doc__ or "", Settings, work)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
