"""Tests of the engine that generates text, with a real adapter and without."""

import dataclasses
import json
import shutil

import pytest

pytest.importorskip("peft")

from raylib import engines, inputs
from raylib.errors import InputError, ResultError


@pytest.fixture
def engine(batch_settings, batch_run, llm_adapter):
    base = inputs.find(batch_run.path(batch_settings.base), "the base model", "stage")
    return engines.make(batch_settings, base.path, llm_adapter.path)


CHATS = [
    [{"role": "user", "content": "Have you played Iron Tide, from 2001?"}],
    [{"role": "user", "content": "Paper Kings is a puzzle game from 1999. " * 2}],
    [{"role": "user", "content": "Short."}],
]


def test_the_adapter_is_applied_and_can_be_left_out(engine, batch_settings, batch_run):
    assert engines.check_applied(engine, CHATS, 8, "fp32") == 3
    base = inputs.find(batch_run.path(batch_settings.base), "the base model", "stage")
    bare = engines.make(batch_settings, base.path, None)
    without = engine.generate(CHATS, 8, adapter=False)
    assert [a.text for a in bare.generate(CHATS, 8)] == [a.text for a in without]
    with pytest.raises(ResultError, match="it is not applied"):
        engines.check_applied(bare, CHATS, 8, "fp32")


def test_an_answer_does_not_depend_on_what_else_is_asked(engine):
    together = engine.generate(CHATS, 8)
    alone = [engine.generate([c], 8)[0] for c in CHATS]
    assert [a.text for a in together] == [a.text for a in alone]
    assert [a.tokens for a in together] == [a.tokens for a in alone]
    for a, b in zip(together, alone, strict=True):
        assert a.logprob == pytest.approx(b.logprob, abs=1e-3)


def test_the_engine_generates_what_the_model_finds_likeliest(engine):
    import torch

    (answer,) = engine.generate(CHATS[:1], 4)
    model, tokenizer = engine._model, engine._tokenizer
    ids = tokenizer.apply_chat_template(
        CHATS[0], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    picked = []
    for _ in range(4):
        with torch.inference_mode():
            picked.append(int(model(input_ids=ids).logits[0, -1].argmax()))
        ids = torch.cat([ids, torch.tensor([[picked[-1]]])], dim=1)
        if picked[-1] == tokenizer.eos_token_id:
            break
    assert answer.text == tokenizer.decode(picked, skip_special_tokens=True)


def test_a_models_own_settings_do_not_change_what_is_greedy(
    engine, batch_settings, batch_run, llm_adapter, tmp_path
):
    base = inputs.find(batch_run.path(batch_settings.base), "the base model", "stage")
    shutil.copytree(base.path, tmp_path / "picky")
    own = {"repetition_penalty": 1.5, "do_sample": True, "no_repeat_ngram_size": 2, "top_k": 5}
    own.update(min_new_tokens=8, suppress_tokens=list(range(100)))
    (tmp_path / "picky/generation_config.json").write_text(json.dumps(own))
    for adapter in (None, llm_adapter.path):
        picky = engines.make(batch_settings, tmp_path / "picky", adapter)
        usual = engines.make(batch_settings, base.path, adapter)
        got, want = (e.generate(CHATS, 16) for e in (picky, usual))
        assert [a.text for a in got] == [a.text for a in want]


def test_a_prompt_that_is_too_long_is_an_error_of_its_row(engine):
    answers = engine.generate([CHATS[2], [{"role": "user", "content": "word " * 500}]], 8)
    assert not answers[0].error
    assert "at most 120 fit" in answers[1].error


def test_an_adapter_that_does_not_fit_is_refused(batch_settings, batch_run, llm_adapter, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(llm_adapter.path, tmp_path / "bad")
    weights = load_file(tmp_path / "bad/adapter_model.safetensors")
    weights.pop(sorted(weights)[0])
    save_file(weights, tmp_path / "bad/adapter_model.safetensors")
    base = inputs.find(batch_run.path(batch_settings.base), "the base model", "stage")
    with pytest.raises(InputError, match="does not fit the model"):
        engines.make(batch_settings, base.path, tmp_path / "bad")


@pytest.mark.skipif(
    not __import__("importlib").util.find_spec("vllm"), reason="needs vLLM and a GPU"
)
def test_vllm_answers_as_transformers_does(engine, batch_settings, batch_run, llm_adapter):
    base = inputs.find(batch_run.path(batch_settings.base), "the base model", "stage")
    other = dataclasses.replace(batch_settings, engine="vllm", device="cuda")
    vllm = engines.make(other, base.path, llm_adapter.path)
    assert engines.check_applied(vllm, CHATS, 8, "fp32") > 0
    ours = [a.text for a in engine.generate(CHATS, 8)]
    assert [a.text for a in vllm.generate(CHATS, 8)] == ours
