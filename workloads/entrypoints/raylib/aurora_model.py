"""Aurora with LoRA: building it, freezing it, its batches and its loss. Needs torch and aurora."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from aurora import Aurora, AuroraPretrained, AuroraSmallPretrained, Batch, Metadata
from aurora.model.lora import LoRARollout
from aurora.rollout import rollout

from raylib import aurora_data
from raylib.errors import InputError, ResultError

# The file of the base checkpoint for each size of the model.
CHECKPOINTS = {
    "pretrained": "aurora-0.25-pretrained.ckpt",
    "small": "aurora-0.25-small-pretrained.ckpt",
    "tiny": "aurora-tiny.ckpt",
}
# A model of some 10^5 parameters of the same kind, for CPUs.
TINY = {
    "encoder_depths": (2, 2),
    "encoder_num_heads": (4, 8),
    "decoder_depths": (2, 2),
    "decoder_num_heads": (8, 4),
    "embed_dim": 64,
    "num_heads": 4,
    "latent_levels": 4,
    "patch_size": 4,
    "window_size": (2, 2, 4),
}


def build(size: str, autocast: bool, use_lora: bool = True) -> Aurora:
    """Returns a model with random weights. Its LoRA is the same at all steps of a roll-out."""
    known = {"use_lora": use_lora, "lora_mode": "single", "autocast": autocast}
    if size == "pretrained":
        return AuroraPretrained(**known)
    if size == "small":
        return AuroraSmallPretrained(**known)
    return AuroraPretrained(**TINY, **known)


def load_base(model: Aurora, path: pathlib.Path) -> None:
    """Loads the pretrained weights. Raises InputError if they are not those of this model."""
    if not path.is_file():
        raise InputError(f"the base checkpoint {path} is missing")
    before = _fingerprint(model)
    try:
        model.load_checkpoint_local(str(path), strict=False)
        weights = model._adapt_checkpoint(
            torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        )
    except (RuntimeError, KeyError, AssertionError) as e:
        raise InputError(f"{path} is not a checkpoint of this model: {e}") from e
    ours = {n for n in model.state_dict() if "lora_" not in n}
    missing, extra = sorted(ours - set(weights)), sorted(set(weights) - ours)
    if missing or extra:
        raise InputError(
            f"{path} is not a checkpoint of this model: it lacks {missing[:3]} and has {extra[:3]}"
        )
    if _fingerprint(model) == before:
        raise InputError(f"{path} changed nothing in the model")


def _fingerprint(model: Aurora) -> float:
    return sum(
        float(p.detach().double().sum()) for n, p in model.named_parameters() if "lora_" not in n
    )


def add_lora(model: Aurora, rank: int, alpha: int, seed: int) -> list[torch.nn.Parameter]:
    """Gives every LoRA layer this rank and scale, freezes all else, and returns what learns.

    The library's own flag freezes nothing, and its constructor knows rank 8 alone.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoRARollout):
                old = child.loras[0]
                made = LoRARollout(
                    old.lora_A.shape[1], old.lora_B.shape[0], r=rank, alpha=alpha, mode="single"
                )
                for lora in made.loras:
                    # As the library does it, but from this seed alone.
                    bound = old.lora_A.shape[1] ** -0.5
                    torch.nn.init.uniform_(lora.lora_A, -bound, bound, generator=generator)
                setattr(module, name, made)
    learning = []
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_" in name)
        if parameter.requires_grad:
            learning.append(parameter)
    if not learning:
        raise ResultError("the model has no LoRA weights to train")
    return learning


def lora_weights(model: Aurora) -> dict[str, torch.Tensor]:
    """Returns the LoRA weights by name, on the CPU."""
    state = model.state_dict()
    return {n: v.detach().cpu().contiguous() for n, v in state.items() if "lora_" in n}


def set_lora(model: Aurora, weights: Mapping[str, torch.Tensor]) -> None:
    """Loads LoRA weights. Raises InputError unless they are exactly this model's."""
    ours = lora_weights(model)
    wrong = sorted(set(ours) ^ set(weights))
    wrong += [n for n in ours if n in weights and ours[n].shape != weights[n].shape]
    if wrong:
        raise InputError(f"the adapter is not of this model and rank: {wrong[:3]} do not fit")
    model.load_state_dict(dict(weights), strict=False)


def batch(
    states: aurora_data.States, times: Sequence[datetime.datetime], history: bool = True
) -> Batch:
    """Reads initial states, or truths without history, into one batch. Shapes are (b, t, …)."""
    static = aurora_data.read(states.static(), "static.nc", aurora_data.STATIC, ())
    rows: dict[str, list[torch.Tensor]] = {}
    fields = static
    for time in times:
        steps = (time - aurora_data.STEP, time) if history else (time,)
        read = [
            aurora_data.read(
                states.state(t, "a step of a sample"),
                "state.nc",
                aurora_data.SURFACE,
                aurora_data.ATMOSPHERE,
                t,
            )
            for t in steps
        ]
        fields = aurora_data.same_grid([fields, *read])
        for v in (*aurora_data.SURFACE, *aurora_data.ATMOSPHERE):
            stacked = torch.stack([torch.from_numpy(f.values[v]) for f in read])
            rows.setdefault(v, []).append(stacked)
    try:
        whole = {v: torch.stack(r) for v, r in rows.items()}
        made = Batch(
            surf_vars={v: whole[v] for v in aurora_data.SURFACE},
            static_vars={v: torch.from_numpy(static.values[v]) for v in aurora_data.STATIC},
            atmos_vars={v: whole[v] for v in aurora_data.ATMOSPHERE},
            metadata=Metadata(
                lat=torch.from_numpy(fields.lat),
                lon=torch.from_numpy(fields.lon),
                time=tuple(times),
                atmos_levels=fields.levels,
            ),
        )
        made.normalise(surf_stats={})
        return made
    except (RuntimeError, ValueError, KeyError) as e:
        raise InputError(f"the states of {', '.join(map(str, times))} do not fit: {e}") from e


def forecast(model: Aurora, start: Batch, steps: int) -> Iterator[Batch]:
    """Rolls the model out and yields each step. Only the last step keeps gradients.

    Gradients through all steps would take so many times the memory of one.
    """
    steps_made = rollout(model, start, steps)
    for step in range(steps):
        # Not held across the yield: the mode is the thread's, and the caller runs in between.
        with torch.set_grad_enabled(torch.is_grad_enabled() and step == steps - 1):
            made = next(steps_made)
        yield made


def loss(
    model: Aurora, start: Batch, truth: Batch, steps: int, surface_weight: float
) -> torch.Tensor:
    """Returns the mean absolute error over normalised variables, each variable weighing the same.

    Surface variables weigh `surface_weight` beside 1 for atmospheric ones.
    """
    *_, last = forecast(model, start, steps)
    target = truth.to(next(model.parameters()).device).crop(model.patch_size)
    if last.metadata.time != target.metadata.time:
        raise ResultError(
            f"the forecast is for {last.metadata.time}, the truth for {target.metadata.time}"
        )
    levels = (last.metadata.atmos_levels, target.metadata.atmos_levels)
    if levels[0] != levels[1]:
        raise InputError(f"the forecast has the levels {levels[0]}, the truth {levels[1]}")
    ours, theirs = last.normalise(surf_stats={}), target.normalise(surf_stats={})
    total = torch.zeros((), device=next(model.parameters()).device)
    for weight, predicted, true in (
        (surface_weight, ours.surf_vars, theirs.surf_vars),
        (1.0, ours.atmos_vars, theirs.atmos_vars),
    ):
        for v in predicted:
            total = total + weight * (predicted[v] - true[v]).abs().mean()
    return total / (len(ours.surf_vars) + len(ours.atmos_vars))


def statistics(field: Batch) -> dict[str, dict[str, Any]]:
    """Returns for each variable its shape, mean, least and greatest value."""
    out = {}
    for v, tensor in [*field.surf_vars.items(), *field.atmos_vars.items()]:
        t = tensor[0, -1].float()
        out[v] = {
            "shape": list(t.shape),
            "mean": float(t.mean()),
            "min": float(t.min()),
            "max": float(t.max()),
        }
    return out
