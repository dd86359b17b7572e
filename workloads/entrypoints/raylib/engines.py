"""What generates text: vLLM on GPUs, or transformers with PEFT, which also runs on CPUs.

Both apply the LoRA adapter without changing the base model, generate greedily, and can leave the
adapter out, so that one can see that it does something.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any, Protocol

from raylib.errors import InputError, ResultError

Conversation = Sequence[dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A generated text, how many tokens went in and came out, and its log-probability.

    `finish` is stop, or length where the answer was cut off. `error` says why there is none.
    """

    text: str = ""
    prompt_tokens: int = 0
    tokens: int = 0
    logprob: float = 0.0
    finish: str = "stop"
    error: str = ""


class Engine(Protocol):
    """Answers conversations."""

    def generate(
        self, conversations: Sequence[Conversation], max_tokens: int, adapter: bool = True
    ) -> list[Answer]:
        """Returns an answer for each conversation, in order, with the adapter or without."""
        ...


def make(settings: Any, base: pathlib.Path, adapter: pathlib.Path | None) -> Engine:
    """Returns the engine that the settings name, with its model loaded from local folders."""
    if settings.engine == "vllm":
        from raylib import engine_vllm

        return engine_vllm.VLLM(settings, base, adapter)
    return Transformers(settings, base, adapter)


def rank_of(adapter: pathlib.Path) -> int:
    """Returns the rank of an adapter. Raises InputError if its configuration cannot be read."""
    try:
        return int(json.loads((adapter / "adapter_config.json").read_text())["r"])
    except (OSError, ValueError, KeyError) as e:
        raise InputError(f"{adapter} has no readable adapter_config.json: {e}") from e


class Transformers:
    """transformers with PEFT."""

    def __init__(self, settings: Any, base: pathlib.Path, adapter: pathlib.Path | None) -> None:
        """Loads the model."""
        # All is there; nothing is asked of a hub while a GPU waits.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

        from raylib import device

        self._limit = settings.max_model_len
        self._device = device.choose(settings)
        dtype = torch.bfloat16 if settings.precision == "bf16" else torch.float32
        self._tokenizer = AutoTokenizer.from_pretrained(os.fspath(base), padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(os.fspath(base), dtype=dtype)
        # A model's own settings, such as a penalty for repetition, would make it less than greedy.
        model.generation_config = GenerationConfig()
        self._adapted = adapter is not None
        if adapter is not None:
            model = self._with_adapter(model, adapter)
        self._model = model.to(self._device).eval()

    @staticmethod
    def _with_adapter(model: Any, adapter: pathlib.Path) -> Any:
        from peft import PeftModel
        from safetensors import safe_open

        made = PeftModel.from_pretrained(model, os.fspath(adapter))
        ours = {n.replace(".default.", ".") for n in made.state_dict() if "lora_" in n}
        with safe_open(adapter / "adapter_model.safetensors", "pt") as f:
            theirs = set(f.keys())
        if ours != theirs:
            raise InputError(
                f"the adapter {adapter} does not fit the model: {sorted(ours ^ theirs)[:3]}"
            )
        return made

    def generate(
        self, conversations: Sequence[Conversation], max_tokens: int, adapter: bool = True
    ) -> list[Answer]:
        """Returns an answer for each conversation, in order, with the adapter or without."""
        import contextlib

        texts = [
            self._tokenizer.apply_chat_template(list(c), tokenize=False, add_generation_prompt=True)
            for c in conversations
        ]
        lengths = [len(self._tokenizer(t, add_special_tokens=False).input_ids) for t in texts]
        room = self._limit - max_tokens
        fit = [i for i, n in enumerate(lengths) if n <= room]
        answers = [
            Answer(prompt_tokens=n, error=f"the prompt has {n} tokens, at most {room} fit")
            for n in lengths
        ]
        if fit:
            off = self._adapted and not adapter
            with self._model.disable_adapter() if off else contextlib.nullcontext():
                made = self._batch([texts[i] for i in fit], max_tokens)
            for i, answer in zip(fit, made, strict=True):
                answers[i] = answer
        return answers

    def _batch(self, texts: list[str], max_tokens: int) -> list[Answer]:
        import torch

        enc = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        enc = enc.to(self._device)
        width = enc.input_ids.shape[1]
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=enc.input_ids,
                attention_mask=enc.attention_mask,
                max_new_tokens=max_tokens,
                do_sample=False,
                num_beams=1,
                pad_token_id=self._tokenizer.pad_token_id,
                eos_token_id=self._tokenizer.eos_token_id,
                return_dict_in_generate=True,
                output_logits=True,
            )
        new = out.sequences[:, width:]
        logits = torch.stack(out.logits, dim=1).float().log_softmax(-1)
        chosen = logits.gather(-1, new.unsqueeze(-1)).squeeze(-1)
        answers = []
        for i, tokens in enumerate(new.tolist()):
            ended = self._tokenizer.eos_token_id in tokens
            count = tokens.index(self._tokenizer.eos_token_id) + 1 if ended else len(tokens)
            answers.append(
                Answer(
                    text=self._tokenizer.decode(tokens[:count], skip_special_tokens=True),
                    prompt_tokens=int(enc.attention_mask[i].sum()),
                    tokens=count,
                    logprob=float(chosen[i, :count].sum()),
                    finish="stop" if ended else "length",
                )
            )
        return answers


def check_applied(
    engine: Engine, conversations: Sequence[Conversation], max_tokens: int, precision: str
) -> int:
    """Returns on how many prompts the adapter changes the answer or its probability.

    Those that cannot be answered do not count; it is 0 if none can. Raises ResultError if answers
    are the same on all others: they would be the base model's, under another name.
    """
    tolerance = 1e-2 if precision == "bf16" else 1e-5
    with_it = engine.generate(conversations, max_tokens)
    without = engine.generate(conversations, max_tokens, adapter=False)
    both = [(a, b) for a, b in zip(with_it, without, strict=True) if not a.error]
    changed = sum(a.text != b.text or abs(a.logprob - b.logprob) > tolerance for a, b in both)
    if both and not changed:
        raise ResultError(f"the adapter changes nothing on {len(both)} prompts: it is not applied")
    return changed
