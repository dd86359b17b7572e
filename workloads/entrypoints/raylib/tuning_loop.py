"""One trial of tune_gpt2. Needs torch, transformers and PEFT."""

from __future__ import annotations

import io
import json
import math
import pathlib
import random
from collections.abc import Callable, Mapping
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load, save
from transformers import AutoModelForCausalLM, AutoTokenizer

from raylib import checkpoints, device, inputs, log, tuning
from raylib.errors import InputError
from raylib.run import Run

WEIGHTS = "adapter_model.safetensors"
# GPT-2's attention and its output, and the two layers of each block; they are Conv1D there.
TARGETS = ["c_attn", "c_proj", "c_fc"]


def train(
    settings: Any,
    run: Run,
    trial: tuning.Trial,
    config: str,
    report: Callable[[dict[str, Any]], None],
    pinned: Mapping[str, str] | None = None,
) -> None:
    """Trains a trial from its newest checkpoint on and reports its loss after each rung.

    A trial whose loss is not finite reports a very large one and ends, and that rung is not saved.
    What earlier attempts reported is reported again, so that the scheduler knows it. `pinned` are
    the digests of `base` and `data` that the run began with, else the newest are used.
    """
    want = pinned or {}
    where = device.choose(settings)
    scratch = pathlib.Path(settings.scratch)
    base, data = (
        inputs.find(run.path(path), what, made_by, want.get(key, ""))
        for key, path, what, made_by in (
            ("base", settings.base, "the base model", tuning.BASE_BY),
            ("data", settings.data, "the text", tuning.DATA_BY),
        )
    )
    folder = inputs.local(base, scratch)
    torch.manual_seed(settings.seed)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    lora = LoraConfig(
        r=trial.rank,
        lora_alpha=2 * trial.rank,
        target_modules=TARGETS,
        fan_in_fan_out=True,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(model, lora).to(where)
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=trial.learning_rate)
    samples, held_out = blocks(folder, data.path / "text.txt", settings.block_size)
    store = tuning.store(run, trial, config, settings.keep_checkpoints)
    losses = _restore(store.newest(), model, optimizer)
    for rung, loss in enumerate(losses, 1):
        report({"loss": loss, "rung": rung})
    for rung in range(len(losses) + 1, settings.rungs + 1):
        made = _steps(settings, model, optimizer, learning, samples, rung)
        loss = evaluate(model, held_out, settings.batch_size) if made else math.nan
        if not math.isfinite(loss):
            # One learning rate that is too high is no failure of the search.
            log.event("trial_diverged", trial=trial.name, rung=rung)
            report({"loss": tuning.DIVERGED, "rung": rung})
            return
        losses.append(loss)
        _save(store, settings, model, optimizer, trial, rung, losses)
        log.event("rung", trial=trial.name, rung=rung, of=settings.rungs, loss=losses[-1])
        report({"loss": losses[-1], "rung": rung})


def blocks(
    tokenizer: pathlib.Path, text: pathlib.Path, size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns samples of `size` tokens to learn from, and the last tenth of them, held out."""
    encode = AutoTokenizer.from_pretrained(tokenizer)
    tokens = encode(text.read_text(encoding="utf-8"), verbose=False).input_ids
    count = len(tokens) // size
    if count < 10:
        raise InputError(f"{text} has {len(tokens)} tokens, too few for ten samples of {size}")
    cut = torch.tensor(tokens[: count * size]).view(count, size)
    held = max(1, count // 10)
    return cut[:-held], cut[-held:]


def _steps(
    settings: Any,
    model: Any,
    optimizer: torch.optim.Optimizer,
    learning: list[torch.nn.Parameter],
    samples: torch.Tensor,
    rung: int,
) -> bool:
    """Makes the steps of a rung. Their samples depend on the seed and the step alone.

    Returns whether all their losses were finite; it ends at the first that is not.
    """
    model.train()
    first = (rung - 1) * settings.steps_per_rung
    for step in range(first, first + settings.steps_per_rung):
        chance = random.Random(f"{settings.seed}/{step}")
        picked = [chance.randrange(len(samples)) for _ in range(settings.batch_size)]
        # Dropout must not depend on what ran before in this process.
        torch.manual_seed(settings.seed + step)
        batch = samples[picked].to(learning[0].device)
        loss = model(input_ids=batch, labels=batch).loss
        if not torch.isfinite(loss):
            return False
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return True


def evaluate(model: Any, held_out: torch.Tensor, size: int) -> float:
    """Returns the mean loss over what is held out."""
    model.eval()
    total = 0.0
    where = next(model.parameters()).device
    with torch.inference_mode():
        for batch in held_out.split(size):
            moved = batch.to(where)
            total += float(model(input_ids=moved, labels=moved).loss) * len(batch)
    return total / len(held_out)


def _save(
    store: checkpoints.Store,
    settings: Any,
    model: Any,
    optimizer: torch.optim.Optimizer,
    trial: tuning.Trial,
    rung: int,
    losses: list[float],
) -> None:
    buffer = io.BytesIO()
    torch.save(optimizer.state_dict(), buffer)
    weights = {n: v.cpu().contiguous() for n, v in get_peft_model_state_dict(model).items()}
    config = model.peft_config["default"].to_dict()
    config.update(base_model_name_or_path=settings.base, inference_mode=True)
    text = json.dumps(config, indent=1, sort_keys=True, default=lambda v: sorted(map(str, v)))
    store.save(
        rung,
        {
            WEIGHTS: save(weights),
            "adapter_config.json": text.encode(),
            "optimizer.pt": buffer.getvalue(),
        },
        {"losses": losses, "trial": trial.number},
    )


def _restore(
    found: checkpoints.Checkpoint | None, model: Any, optimizer: torch.optim.Optimizer
) -> list[float]:
    """Goes back to a checkpoint and returns the losses up to it."""
    if found is None:
        return []
    # Read whole: a file that is mapped into memory reads a mount in small pieces.
    set_peft_model_state_dict(model, load((found.path / WEIGHTS).read_bytes()))
    optimizer.load_state_dict(torch.load(found.path / "optimizer.pt", weights_only=True))
    log.event("resumed", step=found.step, path=str(found.path))
    return [float(v) for v in found.about["losses"]]
