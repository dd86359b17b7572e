"""The arguments that llm_finetune gives to LLaMA-Factory 0.9.5, and what it asks of its data."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from raylib.errors import InputError, ParameterError
from raylib.params import nearest


def arguments(
    settings: Any,
    base: pathlib.Path,
    data: pathlib.Path,
    output: pathlib.Path,
    resume: pathlib.Path | None,
) -> dict[str, Any]:
    """Returns the arguments. All paths are absolute: Ray changes the working directory.

    `output` must not exist: LLaMA-Factory would resume from what it finds there, whole or not.
    """
    s = settings
    made: dict[str, Any] = {
        "model_name_or_path": os.fspath(base),
        "trust_remote_code": False,
        "flash_attn": "sdpa",
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "lora",
        "lora_rank": s.lora_rank,
        "lora_alpha": s.lora_alpha,
        "lora_dropout": s.lora_dropout,
        "lora_target": s.lora_target,
        "dataset": s.dataset,
        "dataset_dir": os.fspath(data),
        "template": s.template,
        "cutoff_len": s.cutoff_len,
        "packing": False,
        "preprocessing_num_workers": s.preprocessing_workers,
        "dataloader_num_workers": 0,
        "output_dir": os.fspath(output),
        "overwrite_output_dir": False,
        "save_strategy": "steps",
        "save_steps": s.checkpoint_steps,
        "save_total_limit": 1,
        "save_only_model": False,
        # Every step: the loss is looked at before anything is saved.
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "include_num_input_tokens_seen": "all",
        "report_to": "none",
        "plot_loss": False,
        "disable_tqdm": True,
        **_learning(s),
    }
    if s.max_samples:
        made["max_samples"] = s.max_samples
    if resume is not None:
        made["resume_from_checkpoint"] = os.fspath(resume)
    return made


def _learning(s: Any) -> dict[str, Any]:
    """Returns the arguments that say how to learn."""
    return {
        "per_device_train_batch_size": s.batch_size,
        "gradient_accumulation_steps": s.accumulate,
        "learning_rate": s.learning_rate,
        "num_train_epochs": s.epochs,
        "max_steps": s.max_steps or -1,
        "lr_scheduler_type": s.scheduler,
        # A share of all steps where it is below 1.
        "warmup_steps": s.warmup_ratio,
        "bf16": s.precision == "bf16",
        "disable_gradient_checkpointing": not s.gradient_checkpointing,
        "ddp_timeout": s.collective_timeout_seconds,
        "seed": s.seed,
        "data_seed": s.seed,
        "use_cpu": s.device == "cpu",
    }


def check_data(folder: pathlib.Path, dataset: str) -> int:
    """Returns how many rows a dataset has.

    Raises InputError for a row that LLaMA-Factory would drop without failing, ParameterError for a
    dataset that dataset_info.json lacks.
    """
    info_path = folder / "dataset_info.json"
    try:
        info = json.loads(info_path.read_text())
    except FileNotFoundError:
        raise InputError(f"{info_path} is missing; the workload stage brings it") from None
    except ValueError as e:
        raise InputError(f"{info_path} is no JSON: {e}") from None
    if dataset not in info:
        raise ParameterError(
            [f"LLM_DATASET is {dataset!r}, which {info_path} lacks{nearest(dataset, info)}"]
        )
    entry = info[dataset]
    path = folder / str(entry.get("file_name", ""))
    if not path.is_file():
        raise InputError(f"{path} is missing, which {info_path} names for {dataset!r}")
    if path.suffix != ".jsonl" or entry.get("formatting") != "sharegpt":
        return -1
    key = entry.get("columns", {}).get("messages", "messages")
    rows = 0
    with open(path, "rb") as f:
        for number, line in enumerate(f, 1):
            _check_row(line, key, f"{path}, line {number}")
            rows += 1
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


def _check_row(line: bytes, key: str, where: str) -> None:
    try:
        messages = json.loads(line)[key]
        roles = [m["role"] for m in messages if m["role"] != "system"]
        texts = [m["content"] for m in messages]
    except (ValueError, KeyError, TypeError) as e:
        raise InputError(f"{where} is not a row with {key}: {e!r}") from None
    want = ["user", "assistant"] * (len(roles) // 2)
    if not roles or roles != want:
        raise InputError(f"{where}: roles must alternate user and assistant, not {roles}")
    if not all(isinstance(t, str) and t for t in texts):
        raise InputError(f"{where} has a message without text")
