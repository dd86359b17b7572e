"""vLLM as the engine. Needs vLLM and a GPU; nothing else imports this."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import Any

from raylib.engines import Answer, Conversation, rank_of
from raylib.errors import InputError, ResultError

# vLLM compiles its kernels for these ranks.
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)


class VLLM:
    """vLLM in this process, with one adapter."""

    def __init__(self, settings: Any, base: pathlib.Path, adapter: pathlib.Path | None) -> None:
        """Loads the model."""
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from vllm import LLM
        from vllm.lora.request import LoRARequest

        from raylib import device

        device.choose(settings)
        self._limit = settings.max_model_len
        lora: dict[str, Any] = {}
        self._request = None
        if adapter is not None:
            rank = rank_of(adapter)
            fitting = [r for r in _RANKS if r >= rank]
            if not fitting:
                raise InputError(f"the adapter's rank is {rank}; vLLM takes {_RANKS[-1]} at most")
            lora = {"enable_lora": True, "max_loras": 1, "max_lora_rank": fitting[0]}
            self._request = LoRARequest("adapter", 1, os.fspath(adapter))
        self._llm = LLM(
            model=os.fspath(base),
            dtype="bfloat16" if settings.precision == "bf16" else "float32",
            max_model_len=settings.max_model_len,
            gpu_memory_utilization=settings.gpu_memory_utilization,
            enable_prefix_caching=True,
            # A model's own settings, such as a penalty for repetition, would make it less than
            # greedy.
            generation_config="vllm",
            **lora,
        )

    def generate(
        self, conversations: Sequence[Conversation], max_tokens: int, adapter: bool = True
    ) -> list[Answer]:
        """Returns an answer for each conversation, in order, with the adapter or without."""
        from vllm import SamplingParams

        tokenizer, room = self._llm.get_tokenizer(), self._limit - max_tokens
        prompts = [
            tokenizer.apply_chat_template(list(c), tokenize=True, add_generation_prompt=True)
            for c in conversations
        ]
        prompts = [list(getattr(p, "input_ids", p)) for p in prompts]
        fit = [i for i, p in enumerate(prompts) if len(p) <= room]
        answers = [
            Answer(
                prompt_tokens=len(p), error=f"the prompt has {len(p)} tokens, at most {room} fit"
            )
            for p in prompts
        ]
        made = self._llm.generate(
            [{"prompt_token_ids": prompts[i]} for i in fit],
            SamplingParams(
                temperature=0.0, repetition_penalty=1.0, max_tokens=max_tokens, logprobs=0
            ),
            lora_request=self._request if adapter else None,
            use_tqdm=False,
        )
        if len(made) != len(fit):
            raise ResultError(f"vLLM answered {len(made)} of {len(fit)} prompts")
        for i, out in zip(fit, made, strict=True):
            best = out.outputs[0]
            answers[i] = Answer(
                text=best.text,
                prompt_tokens=len(prompts[i]),
                tokens=len(best.token_ids),
                logprob=float(best.cumulative_logprob or 0.0),
                finish=best.finish_reason or "stop",
            )
        return answers
