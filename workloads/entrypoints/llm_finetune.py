"""Fine-tunes a language model with LoRA, by LLaMA-Factory on the workers of a Ray cluster.

Ray Train starts one process a worker; each runs LLaMA-Factory's training in one process group.

Reads, below RUN_STORAGE (the workload `stage` puts them there):

    models/Qwen/Qwen2.5-7B-Instruct/    the base model as Hugging Face keeps it
    llm-pipeline/data/viggo/            dataset_info.json and the files that it names

Writes checkpoints and metrics to RUN_OUTPUT and the adapter to llm-pipeline/adapters/TASK/, where
TASK is LLM_TASK.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import program
from raylib.params import knob
from raylib.run import Run, relative_path
from raylib.shared import COLLECTIVE_SECONDS, Training


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Training):
    """The parameters of a fine-tuning."""

    PREFIX: ClassVar[str] = "LLM_"

    base: str = relative_path("models/Qwen/Qwen2.5-7B-Instruct", "the folder of the base model")
    data: str = relative_path("llm-pipeline/data/viggo", "the folder with dataset_info.json")
    dataset: str = knob("viggo", pattern=r"[A-Za-z0-9_.-]+", help="the entry in dataset_info.json")
    task: str = knob(
        "viggo", pattern=r"[a-z0-9-]+", help="what the adapter is for; readers ask for it by this"
    )
    template: str = knob("qwen", help="LLaMA-Factory's name of the chat template")
    cutoff_len: int = knob(2048, low=8, high=1000000, unit="tokens", help="longer rows are cut")
    max_samples: int = knob(0, low=0, high=10**9, unit="rows", help="rows to use; 0 = all")
    epochs: float = knob(3.0, low=0.001, high=1000, help="how often to go through the data")
    max_steps: int = knob(
        0, low=0, high=10**7, unit="optimizer steps", help="ends earlier than epochs; 0 = does not"
    )
    lora_rank: int = knob(8, low=1, high=512, help="the rank of the LoRA matrices")
    lora_alpha: int = knob(16, low=1, high=1024, help="the LoRA scale is alpha / rank")
    lora_dropout: float = knob(0.0, low=0, high=0.9, help="dropout before the LoRA matrices")
    lora_target: str = knob(
        "all", help="the modules that get LoRA matrices, with commas; all = every linear one"
    )
    learning_rate: float = knob(1e-4, low=1e-9, high=1.0, help="AdamW's learning rate")
    scheduler: str = knob(
        "cosine",
        choices=("cosine", "linear", "constant", "constant_with_warmup"),
        help="how the learning rate falls",
    )
    warmup_ratio: float = knob(
        0.1, low=0, high=0.9, help="the share of steps in which the learning rate rises"
    )
    batch_size: int = knob(1, low=1, high=1024, unit="rows", help="rows in one pass of a worker")
    accumulate: int = knob(8, low=1, high=4096, unit="passes", help="passes in an optimizer step")
    precision: str = knob("bf16", choices=("bf16", "fp32"), help="what to compute in")
    gradient_checkpointing: bool = knob(True, help="recompute activations instead of keeping them")
    seed: int = knob(42, low=0, high=2**31 - 1, help="seed of weights and of the rows' order")
    preprocessing_workers: int = knob(
        4, low=1, high=256, result=False, help="processes that turn rows into tokens"
    )
    collective_timeout_seconds: int = knob(
        COLLECTIVE_SECONDS,
        low=10,
        high=86400,
        unit="seconds",
        result=False,
        help="how long workers wait for one another before they take one for dead",
    )


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Trains, or goes on training, and returns the summary."""
    from raylib import llm_train

    return llm_train.train(settings, run)


PROGRAM = program.Program("llm_finetune", __doc__ or "", Settings, work)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
