"""Tests of what llm_finetune gives to LLaMA-Factory, and of what it asks of its data."""

import json

import pytest

pytest.importorskip("llamafactory")

from small import LLM

import llm_finetune
from raylib import llm_config, params, tiny_llm
from raylib.errors import InputError, ParameterError


def arguments(tmp_path, **knobs):
    env = {**LLM, **{f"LLM_{k.upper()}": str(v) for k, v in knobs.items()}}
    settings = params.load(llm_finetune.Settings, env)
    return llm_config.arguments(settings, tmp_path / "b", tmp_path / "d", tmp_path / "o", None)


def test_llama_factory_knows_every_argument(llm_mount, tmp_path, monkeypatch):
    from llamafactory.hparams import get_train_args

    monkeypatch.delenv("ALLOW_EXTRA_ARGS", raising=False)
    model, data, training, tuning, _ = get_train_args(arguments(tmp_path, max_samples=7))
    assert (tuning.lora_rank, data.max_samples, training.max_steps) == (8, 7, 4)
    assert training.resume_from_checkpoint is None
    assert not model.trust_remote_code


OWN = {
    "epochs": ("num_train_epochs", 2.5),
    "lora_target": ("lora_target", "q_proj"),
    "precision": ("bf16", "bf16"),
    "gradient_checkpointing": ("disable_gradient_checkpointing", "false"),
    "preprocessing_workers": ("preprocessing_num_workers", 3),
    "accumulate": ("gradient_accumulation_steps", 5),
    "batch_size": ("per_device_train_batch_size", 9),
    "cutoff_len": ("cutoff_len", 77),
    "max_steps": ("max_steps", 9),
    "warmup_ratio": ("warmup_steps", 0.2),
    "scheduler": ("lr_scheduler_type", "linear"),
    "template": ("template", "llama3"),
    "seed": ("seed", 9),
    "lora_alpha": ("lora_alpha", 3),
    "lora_dropout": ("lora_dropout", 0.3),
    "learning_rate": ("learning_rate", 0.5),
    "checkpoint_steps": ("save_steps", 17),
    "collective_timeout_seconds": ("ddp_timeout", 99),
    "dataset": ("dataset", "other"),
}


@pytest.mark.parametrize("knob", OWN)
def test_every_knob_reaches_llama_factory(tmp_path, knob):
    name, value = OWN[knob]
    assert arguments(tmp_path)[name] != arguments(tmp_path, **{knob: value})[name]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1 is not a row"),
        ('{"messages": []}', "must alternate"),
        ('{"messages": [{"role": "user", "content": "x"}]}', "must alternate"),
        (json.dumps(tiny_llm.row("", "x")), "without text"),
        ("", "has no rows"),
        (b"\xff", "line 1 is not a row"),
    ],
)
def test_a_row_that_would_be_dropped_is_an_error(tmp_path, line, words):
    (tmp_path / "dataset_info.json").write_text(
        json.dumps(tiny_llm.dataset_info("viggo", "train.jsonl"))
    )
    content = line if isinstance(line, bytes) else line.encode()
    (tmp_path / "train.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=words):
        llm_config.check_data(tmp_path, "viggo")
    with pytest.raises(ParameterError, match="did you mean viggo"):
        llm_config.check_data(tmp_path, "vigo")
