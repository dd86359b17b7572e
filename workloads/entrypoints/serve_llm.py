"""Serves chat completions of a language model with a LoRA adapter, on Ray Serve.

    GET  /health                 the model, the adapter, the engine; open to all
    GET  /v1/models              what may be asked for as `model`
    POST /v1/chat/completions    as OpenAI's, with `Authorization: Bearer` and the token; greedy,
                                 not streamed

The RayService imports `serve_llm:app`. Without SERVE_TOKEN the import fails: nothing is served to
whoever comes.

Reads, below RUN_STORAGE:

    models/Qwen/Qwen2.5-7B-Instruct/    the base model; the workload `stage` puts it there
    llm-pipeline/adapters/viggo/        adapters; `llm-training` puts them there
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
from raylib.shared import Service, no_room


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Service):
    """The parameters of the service."""

    PREFIX: ClassVar[str] = "SERVE_"

    base: str = relative_path("models/Qwen/Qwen2.5-7B-Instruct", "the folder of the base model")
    adapters: str = relative_path("llm-pipeline/adapters", "the folder of adapters")
    task: str = knob("viggo", pattern=r"[a-z0-9-]+", help="what the adapter was trained for")
    engine: str = knob(
        "vllm", choices=("vllm", "transformers"), help="what generates; transformers runs on CPUs"
    )
    model_id: str = knob("", help="the name that callers ask for; empty = the base folder's name")
    max_tokens: int = knob(512, low=1, high=100000, unit="tokens", help="the longest answer")
    max_model_len: int = knob(
        4096, low=16, high=10**6, unit="tokens", help="the longest prompt and answer together"
    )
    precision: str = knob("bf16", choices=("bf16", "fp32"), help="what to compute in")
    gpu_memory_utilization: float = knob(
        0.9, low=0.05, high=0.99, result=False, help="vLLM's share of the GPU's memory"
    )
    batch_size: int = knob(16, low=1, high=1024, unit="requests", help="requests answered at once")

    def problems(self) -> list[str]:
        """Refuses answers that leave no room for a prompt."""
        return no_room(self.PREFIX, self.max_tokens, self.max_model_len)


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Serves until it is stopped, for use without a RayService."""
    from raylib import llm_serve

    return llm_serve.serve_until_stopped(settings, run)


PROGRAM = program.Program("serve_llm", __doc__ or "", Settings, work, needs_output=False)


def __getattr__(name: str) -> Any:
    """Makes `app` when Ray Serve asks for it, so that importing this needs no Ray."""
    if name != "app":
        raise AttributeError(name)
    settings, run = params.load(Settings, os.environ), params.load(Run, os.environ)
    from raylib import llm_serve

    return llm_serve.application(settings, run)


if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
