"""Tests of tune_gpt2: its plan, a trial's training and resuming, and the best adapter."""

import dataclasses
import json

import pytest

pytest.importorskip("peft")
safetensors = pytest.importorskip("safetensors.torch")

import tune_gpt2
from raylib import adapters, params, sealed, tiny_llm, tuning, tuning_loop
from raylib.errors import InputError, Interrupted, ResultError
from raylib.run import Run

TINY = {
    "GPT2_DEVICE": "cpu",
    "GPT2_THREADS": "1",
    "GPT2_TRIALS": "3",
    "GPT2_RUNGS": "3",
    "GPT2_GRACE_RUNGS": "1",
    "GPT2_STEPS_PER_RUNG": "2",
    "GPT2_BLOCK_SIZE": "32",
    "GPT2_BATCH_SIZE": "4",
    "GPT2_LEAST_LEARNING_RATE": "0.001",
    "GPT2_GREATEST_LEARNING_RATE": "0.05",
}


@pytest.fixture
def settings(tmp_path):
    return params.load(tune_gpt2.Settings, {**TINY, "GPT2_SCRATCH": str(tmp_path / "scratch")})


def run(llm_mount, tmp_path, out="t"):
    return Run(id=out, storage=str(llm_mount), output=str(tmp_path / out))


class Stop(Exception):  # noqa: N818
    """The scheduler has stopped the trial."""


def reports(limit=None):
    """A stand-in for tune.report, which ends the trial after so many reports."""
    got = []

    def report(metrics):
        got.append(metrics)
        if limit is not None and len(got) >= limit:
            raise Stop

    report.got = got
    return report


def test_the_plan_depends_on_the_settings_alone(settings):
    assert tuning.plan(settings) == tuning.plan(settings)
    assert tuning.plan(dataclasses.replace(settings, seed=8)) != tuning.plan(settings)
    more = tuning.plan(dataclasses.replace(settings, trials=50))
    assert {t.rank for t in more} == {4, 8, 16}
    assert all(0.001 <= t.learning_rate <= 0.05 for t in more)
    assert len({t.learning_rate for t in more}) == 50


def test_a_trial_learns_and_goes_on_where_it_was(settings, llm_mount, tmp_path, monkeypatch):
    (trial, *_) = tuning.plan(settings)
    whole, parts = run(llm_mount, tmp_path, "whole"), run(llm_mount, tmp_path, "parts")
    full = reports()
    tuning_loop.train(settings, whole, trial, "c", full)
    assert [m["rung"] for m in full.got] == [1, 2, 3]
    assert full.got[-1]["loss"] < full.got[0]["loss"]
    with pytest.raises(Stop):
        tuning_loop.train(settings, parts, trial, "c", reports(2))
    again = reports()

    def mapped(*_, **__):
        raise AssertionError("a checkpoint on the mount is read whole, not mapped into memory")

    with monkeypatch.context() as m:
        restore = tuning_loop._restore
        opened = safetensors.safe_open

        def restored(*args):
            m.setattr(safetensors, "safe_open", mapped)
            try:
                return restore(*args)
            finally:
                m.setattr(safetensors, "safe_open", opened)

        m.setattr(tuning_loop, "_restore", restored)
        tuning_loop.train(settings, parts, trial, "c", again)
    assert again.got == full.got
    kept = [tuning.store(r, trial, "c", 2).newest() for r in (whole, parts)]
    files = [(k.path / tuning_loop.WEIGHTS).read_bytes() for k in kept]
    assert files[0] == files[1]


def test_the_best_trial_is_registered(settings, llm_mount, tmp_path):
    where, trials = run(llm_mount, tmp_path), tuning.plan(settings)
    for trial in trials[:2]:
        tuning_loop.train(settings, where, trial, "c", reports())
    best = tuning._best(settings, where, "a", "c", trials)
    losses = {}
    for trial in trials[:2]:
        losses[trial.name] = tuning.store(where, trial, "c", 2).newest().about["losses"][-1]
    assert best["trial"] == min(losses, key=losses.get)
    assert best["trials"] == 2
    found = adapters.Registry(llm_mount / "llm-pipeline/adapters", "shakespeare").find(
        "latest", "w"
    )
    assert found.digest == best["adapter"]
    config = json.loads((found.path / "adapter_config.json").read_text())
    assert config["r"] == best["rank"]

    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = next((llm_mount / "models/openai-community/gpt2").iterdir())
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), found.path)
    _, held_out = tuning_loop.blocks(
        base, next((llm_mount / "llm-pipeline/data/shakespeare").iterdir()) / "text.txt", 32
    )
    assert tuning_loop.evaluate(model, held_out, 4) == pytest.approx(best["loss"], abs=1e-5)


def test_a_search_that_began_goes_on_with_its_text(settings, llm_mount, tmp_path, monkeypatch):
    searched = []

    def tune(settings, run, attempt, config, made_from, trials):
        searched.append(dict(made_from))
        raise Interrupted("stopped")

    monkeypatch.setattr(tuning, "_tune", tune)
    for _ in range(2):
        with pytest.raises(Interrupted):
            tuning.search(settings, run(llm_mount, tmp_path))
        newer = llm_mount / settings.data / "a2"
        if not newer.exists():
            newer.mkdir()
            tiny_llm.write_text(newer, 300)
            sealed.seal(newer, {})
    assert searched[0] == searched[1]


def test_a_trial_that_diverges_ends_alone_and_never_wins(
    settings, llm_mount, tmp_path, monkeypatch
):
    where, trials = run(llm_mount, tmp_path), tuning.plan(settings)
    evaluate, seen = tuning_loop.evaluate, []

    def diverges(*args):
        seen.append(1)
        return float("nan") if len(seen) == 2 else evaluate(*args)

    monkeypatch.setattr(tuning_loop, "evaluate", diverges)
    got = reports()
    tuning_loop.train(settings, where, trials[0], "c", got)
    assert [m["rung"] for m in got.got] == [1, 2]
    assert got.got[1]["loss"] == tuning.DIVERGED
    assert tuning.store(where, trials[0], "c", 2).newest().step == 1

    monkeypatch.setattr(tuning_loop, "_steps", lambda *_: False)
    got = reports()
    tuning_loop.train(settings, where, trials[1], "c", got)
    assert [m["loss"] for m in got.got] == [tuning.DIVERGED]
    tuning.store(where, trials[2], "c", 2).save(1, {"x": b"x"}, {"losses": [float("nan")]})
    assert tuning._best(settings, where, "a", "c", trials)["trial"] == trials[0].name
    with pytest.raises(ResultError, match="no trial has left a checkpoint with a finite loss"):
        tuning._best(settings, where, "b", "c", trials[1:])


def test_a_step_whose_loss_is_not_finite_ends_the_steps(settings, llm_mount, tmp_path):
    import types

    import torch

    weight = torch.nn.Parameter(torch.ones(1))
    made = []

    class Model:
        def train(self):
            pass

        def __call__(self, **_):
            made.append(1)
            return types.SimpleNamespace(loss=weight.sum() * float("inf"))

    steps = tuning_loop._steps(
        settings, Model(), torch.optim.SGD([weight]), [weight], torch.zeros(3, 4), 1
    )
    assert steps is False
    assert len(made) == 1


def test_a_text_that_is_too_short_is_an_error(settings, llm_mount, tmp_path):
    base = next((llm_mount / "models/openai-community/gpt2").iterdir())
    (tmp_path / "short.txt").write_text("to be or not to be")
    with pytest.raises(InputError, match="too few for ten samples of 32"):
        tuning_loop.blocks(base, tmp_path / "short.txt", 32)
