"""Tests of aurora_finetune on a tiny Aurora: what learns, what the knobs do, and resuming."""

import dataclasses
import datetime
import functools
import shutil

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("aurora")

import aurora_finetune
from raylib import (
    adapters,
    aurora_data,
    aurora_loop,
    aurora_model,
    aurora_train,
    params,
    sealed,
)
from raylib.errors import IdentityError, InputError, Interrupted, ResultError
from raylib.run import Run

TINY = {
    "AURORA_MODEL": "tiny",
    "AURORA_DEVICE": "cpu",
    "AURORA_THREADS": "1",
    "AURORA_AUTOCAST": "false",
    "AURORA_LEARNING_RATE": "0.01",
    "AURORA_MAX_STEPS": "4",
    "AURORA_CHECKPOINT_STEPS": "2",
}


@pytest.fixture
def start(aurora_mount, tmp_path, place):
    """Makes one worker's training, with other knobs than usual if given."""

    def made(out="out", stop_after=None, **knobs):
        env = {**TINY, **{f"AURORA_{k.upper()}": str(v) for k, v in knobs.items()}}
        env["AURORA_SCRATCH"] = str(tmp_path / "scratch")
        settings = params.load(aurora_finetune.Settings, env)
        run = Run(id=out, storage=str(aurora_mount), output=str(tmp_path / out))
        return aurora_loop.Training(place(stop_after), settings, run, "config")

    return made


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
    "init_times": "20210829T12",
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


def test_a_lead_time_without_its_truth_is_an_error(aurora_mount):
    states = aurora_data.States(aurora_mount / "aurora/data/era5")
    assert len(states.samples(6, ())) == 3
    assert len(states.samples(12, ("20210829T06",))) == 1
    with pytest.raises(InputError) as e:
        states.samples(24, ("20210829T06",))
    assert "the truth 24 hours after 20210829T06" in str(e.value)
    assert "20210830T06" in str(e.value)
    assert "the workload stage (STAGE_ITEMS=era5) brings it" in str(e.value)
    with pytest.raises(InputError, match="6 hours before"):
        states.samples(6, ("20210829T00",))
    with pytest.raises(InputError, match="48 hours after"):
        states.samples(48, ())


def test_a_forecast_is_compared_with_the_truth_of_its_time(start):
    t = start()
    data, when = t.states, datetime.datetime(2021, 8, 29, 6)
    first = aurora_model.batch(data, [when])
    wrong = aurora_model.batch(data, [when + 2 * aurora_data.STEP], history=False)
    with pytest.raises(ResultError, match="the truth for"):
        aurora_model.loss(t.model, first, wrong, 1, 1.0)
    right = aurora_model.batch(data, [when + aurora_data.STEP], history=False)
    assert right.spatial_shape == (17, 32)
    assert torch.isfinite(aurora_model.loss(t.model, first, right, 1, 1.0))


def test_a_loss_that_is_not_finite_ends_before_a_checkpoint(start, tmp_path):
    t = start(checkpoint_steps=1)
    with torch.no_grad():
        t.learning[0].fill_(float("nan"))
    with pytest.raises(ResultError, match="the loss of step 1 is nan"):
        t.run()
    assert list((tmp_path / "out/checkpoints").iterdir()) == []


def damaged_state(mount, **change):
    import netCDF4
    import numpy as np

    folder = mount / "aurora/data/era5/20210829T06/a1"
    with netCDF4.Dataset(folder / "state.nc") as data:
        levels = change.get("levels", data["level"][:])
        values = {v: np.array(data[v][:]) for v in data.variables}
    for axis in ("latitude", "longitude", "level"):
        values.pop(axis)
    if "drop" in change:
        del values[change["drop"]]
    if "nan" in change:
        values[change["nan"]].flat[0] = np.nan
    shutil.rmtree(folder)
    folder.mkdir()
    from raylib import tiny

    tiny.write_netcdf(folder / "state.nc", values, levels)
    sealed.seal(folder, {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drop": "msl"}, "lacks the variable msl"),
        ({"nan": "t"}, "t has values that are missing or not finite"),
        ({"levels": (101, 250, 500, 850)}, "do not fit"),
    ],
)
def test_a_bad_state_is_named(aurora_mount, change, words):
    damaged_state(aurora_mount, **change)
    states = aurora_data.States(aurora_mount / "aurora/data/era5")
    with pytest.raises(InputError, match=words):
        aurora_model.batch(states, [datetime.datetime(2021, 8, 29, 12)])


def test_a_base_checkpoint_of_another_model_is_refused(start, tmp_path):
    t = start()
    weights = {n: v for n, v in t.model.state_dict().items() if "lora_" not in n}
    weights.pop("backbone.encoder_layers.0.blocks.0.attn.qkv.weight", None)
    missing = dict(list(weights.items())[:-1])
    torch.save(missing, tmp_path / "missing.ckpt")
    with pytest.raises(InputError, match="is not a checkpoint of this model"):
        aurora_model.load_base(aurora_model.build("tiny", False), tmp_path / "missing.ckpt")
    with pytest.raises(InputError, match="is missing"):
        aurora_model.load_base(t.model, tmp_path / "absent.ckpt")


def test_the_driver_checks_inputs_before_it_asks_for_a_cluster(aurora_mount, tmp_path):
    settings = dataclasses.replace(params.load(aurora_finetune.Settings, TINY), lead_hours=240)
    run = Run(id="r", storage=str(aurora_mount), output=str(tmp_path / "r"))
    with pytest.raises(InputError, match="240 hours after"):
        aurora_train.train(settings, run)
    shutil.rmtree(aurora_mount / "models/microsoft/aurora")
    with pytest.raises(InputError, match=r"the base model .* is missing; the workload stage"):
        aurora_train.train(dataclasses.replace(settings, lead_hours=6), run)


def test_a_finished_run_needs_nothing_and_a_changed_one_is_refused(aurora_mount, tmp_path):
    from raylib import identity

    settings = params.load(aurora_finetune.Settings, TINY)
    run = Run(id="r", storage=str(aurora_mount), output=str(tmp_path / "r"))
    deciding = {**settings.deciding(), "workers": 1}
    identity.Identity(tmp_path / "r", "a", deciding).finish({"steps": 4})
    shutil.rmtree(aurora_mount)
    assert aurora_train.train(settings, run) == {"already": True, "steps": 4}
    with pytest.raises(IdentityError, match="parameter seed"):
        identity.Identity(tmp_path / "r", "b", deciding).pin({})
        aurora_train.train(dataclasses.replace(settings, seed=1), run)
