"""Tests of aurora_finetune on a tiny Aurora: what learns, what the knobs do, and resuming."""

import dataclasses
import functools

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("aurora")

import aurora_finetune
from raylib import adapters, aurora_model
from raylib.errors import Interrupted, ResultError


def weights(mount, run):
    found = adapters.Registry(mount / "aurora/adapters", "finetune").find(run, "aurora-finetune")
    return (found.path / "aurora_lora.safetensors").read_bytes()


def test_only_lora_learns_and_the_loss_falls(start):
    t = start(max_steps=8, init_times="20210829T06", checkpoint_steps=100, learning_rate=0.02)
    before = {n: v.clone() for n, v in t.model.state_dict().items()}
    t.run()
    changed = {n for n, v in t.model.state_dict().items() if not torch.equal(v, before[n])}
    assert changed
    assert all("lora_" in n for n in changed)
    assert {n for n, p in t.model.named_parameters() if p.requires_grad} == {
        n for n, p in t.model.named_parameters() if "lora_" in n
    }
    assert t.losses[-1] < 0.97 * t.losses[0]
    assert t.place.facts["summary"]["steps"] == 8


def test_resuming_gives_the_very_bits_of_an_uninterrupted_run(start, aurora_mount):
    whole = start("whole")
    whole.run()
    with pytest.raises(Interrupted):
        start("parts", stop_after=3).run()
    resumed = start("parts")
    resumed.restore()
    assert resumed.done == 3
    resumed = start("parts")
    resumed.run()
    assert weights(aurora_mount, "whole") == weights(aurora_mount, "parts")
    assert resumed.losses == whole.losses


def test_a_damaged_checkpoint_costs_one_interval(start, aurora_mount, tmp_path):
    start("whole").run()
    with pytest.raises(Interrupted):
        start("parts", stop_after=3).run()
    newest = sorted((tmp_path / "parts/checkpoints").iterdir())[-1] / "state.pt"
    newest.write_bytes(newest.read_bytes()[:-10])
    again = start("parts")
    again.restore()
    assert again.done == 2
    start("parts").run()
    assert weights(aurora_mount, "whole") == weights(aurora_mount, "parts")


KNOBS = {
    "max_steps": 2,
    "lora_rank": 4,
    "lora_alpha": 16,
    "lead_hours": 12,
    "init_times": "20210829T18",
    "learning_rate": 0.001,
    "weight_decay": 0.9,
    "warmup_steps": 4,
    "batch_size": 2,
    "accumulate": 2,
    "clip_norm": 0.001,
    "surface_weight": 2.0,
    "seed": 5,
    "autocast": "true",
}


def test_every_knob_has_an_effect(start, aurora_mount):
    start("usual", max_steps=1).run()
    usual = weights(aurora_mount, "usual")
    for knob, value in KNOBS.items():
        start(knob, **{"max_steps": 1, knob: value}).run()
    assert [k for k in KNOBS if weights(aurora_mount, k) == usual] == []
    own = {
        f.name for f in dataclasses.fields(aurora_finetune.Settings) if f.metadata["knob"].result
    }
    other = {"device", "model", "base", "data", "activation_checkpointing"}
    assert own - set(KNOBS) == other


def test_activation_checkpointing_changes_memory_and_not_the_result(start, aurora_mount):
    start("with", max_steps=2, activation_checkpointing="true").run()
    start("without", max_steps=2, activation_checkpointing="false").run()
    assert weights(aurora_mount, "with") == weights(aurora_mount, "without")


def test_the_rank_is_that_of_the_matrices(start):
    shapes = {tuple(p.shape) for p in start(lora_rank=3).learning}
    assert all(3 in shape for shape in shapes)


def test_the_real_models_trainable_weights_are_as_published(monkeypatch):
    # Rank 8 on query-key-value and projection of each attention of the 1.3 B model: 2,850,816.
    # It is built without memory, but for numbers that its constructor looks at.
    monkeypatch.setattr(torch, "linspace", functools.partial(torch.linspace, device="cpu"))
    with torch.device("meta"):
        model = aurora_model.build("pretrained", autocast=True)
    assert sum(p.numel() for n, p in model.named_parameters() if "lora_" in n) == 2_850_816


def test_a_loss_that_is_not_finite_ends_before_a_checkpoint(start, tmp_path):
    t = start(checkpoint_steps=1)
    with torch.no_grad():
        t.learning[0].fill_(float("nan"))
    with pytest.raises(ResultError, match="the loss of step 1 is nan"):
        t.run()
    assert list((tmp_path / "out/checkpoints").iterdir()) == []


def test_only_the_first_worker_tells_progress(start, capsys):
    def told(rank):
        t = start(f"rank{rank}", max_steps=2, checkpoint_steps=100)
        t.place.rank = rank
        t.run()
        return capsys.readouterr().out.count('"event": "progress"')

    assert (told(0), told(1)) == (2, 0)
