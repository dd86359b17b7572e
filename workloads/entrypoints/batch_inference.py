"""Answers a file of prompts with a language model and a LoRA adapter, and scores the answers.

The rows are cut into shards in a fixed way; a shard is done when its marker is there, which is
written last, so another attempt goes on with the shards that are left. Results of one run id are
of one model, one adapter and one set of rows.

Reads, below RUN_STORAGE:

    models/Qwen/Qwen2.5-7B-Instruct/         the base model; `stage` puts it there
    llm-pipeline/data/viggo/                 in it BATCH_ROWS: rows with `messages`, the last
                                             one the expected answer; `stage` puts it there
    llm-pipeline/adapters/viggo/             adapters; `llm-training` puts them there

Writes to RUN_OUTPUT: shards/, and in the end predictions.ATTEMPT.jsonl and metrics.ATTEMPT.json,
which the run's _SUCCESS file names. It fails if rows are missing, too many rows have errors, or the
adapter turns out not to be applied.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import program
from raylib.params import knob
from raylib.run import Run, relative_path
from raylib.shared import Machine, no_room


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Machine):
    """The parameters of a batch."""

    PREFIX: ClassVar[str] = "BATCH_"

    base: str = relative_path("models/Qwen/Qwen2.5-7B-Instruct", "the folder of the base model")
    data: str = relative_path("llm-pipeline/data/viggo", "the folder of the data")
    rows: str = knob("test.jsonl", pattern=r"[A-Za-z0-9_.-]+", help="the file of rows in it")
    adapters: str = relative_path("llm-pipeline/adapters", "the folder of adapters")
    task: str = knob("viggo", pattern=r"[a-z0-9-]+", help="what the adapter was trained for")
    adapter: str = knob(
        "latest",
        pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*",
        help="the adapter: the run id that trained it, latest, or none for the base model",
    )
    engine: str = knob(
        "vllm", choices=("vllm", "transformers"), help="what generates; transformers runs on CPUs"
    )
    max_rows: int = knob(0, low=0, high=10**9, unit="rows", help="rows to answer; 0 = all")
    shard_rows: int = knob(
        64, low=1, high=10**6, unit="rows", help="rows of a shard: at most this much is repeated"
    )
    batch_size: int = knob(16, low=1, high=4096, unit="rows", result=False, help="rows at once")
    max_tokens: int = knob(250, low=1, high=100000, unit="tokens", help="the longest answer")
    max_model_len: int = knob(
        4096, low=16, high=10**6, unit="tokens", help="the longest prompt and answer together"
    )
    precision: str = knob("bf16", choices=("bf16", "fp32"), help="what to compute in")
    gpu_memory_utilization: float = knob(
        0.9, low=0.05, high=0.99, result=False, help="vLLM's share of the GPU's memory"
    )
    max_error_rate: float = knob(
        0.0, low=0, high=1, help="the share of rows that may end with an error"
    )
    max_failures: int = knob(
        2, low=0, high=100, result=False, help="how often a lost worker is started again"
    )
    canary_rows: int = knob(
        8,
        low=0,
        high=1000,
        unit="rows",
        result=False,
        help="prompts on which the adapter must change something; 0 = do not check",
    )

    def problems(self) -> list[str]:
        """Refuses answers that leave no room for a prompt."""
        return no_room(self.PREFIX, self.max_tokens, self.max_model_len)


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Answers what is left of the rows and returns the scores."""
    from raylib import batch

    return batch.answer(settings, run)


PROGRAM = program.Program("batch_inference", __doc__ or "", Settings, work)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
