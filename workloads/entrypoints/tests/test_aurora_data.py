"""Tests of what aurora_finetune asks of its inputs: states, base checkpoint, and the run's own."""

import dataclasses
import datetime
import json
import pathlib
import shutil

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("aurora")

from small import AURORA

import aurora_finetune
from raylib import aurora_data, aurora_model, aurora_train, identity, params, sealed, tiny
from raylib.errors import IdentityError, InputError, Interrupted, ResultError
from raylib.run import Run


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


def test_a_state_that_is_not_complete_is_passed_over_but_not_by_a_run_that_began_with_it(
    aurora_mount, capsys
):
    folder = aurora_mount / "aurora/data/era5"
    known = {p.name: "" for p in folder.iterdir()}
    (folder / "20210830T06/a1").mkdir(parents=True)
    (folder / "2021 829T6").mkdir()
    (folder / "20219999T06").mkdir()
    assert len(aurora_data.States(folder).samples(6, ())) == 3
    passed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {pathlib.Path(p["path"]).name for p in passed} == {"20210830T06", "20219999T06"}
    (folder / "20210829T12/a1" / sealed.RECORD).unlink()
    with pytest.raises(InputError, match="20210829T12 is not complete"):
        aurora_data.States(folder, known).samples(6, ())


@pytest.mark.parametrize("text", ["2021829T6", "20210829T6", " 20210829T06", "20219999T06", ""])
def test_a_time_has_all_its_digits(text):
    with pytest.raises(InputError, match="is no time of the form"):
        aurora_data.parse_time(text)


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
    tiny.write_netcdf(folder / "state.nc", values, levels, time=change.get("time"))
    sealed.seal(folder, {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"drop": "msl"}, "lacks the variable msl"),
        ({"nan": "t"}, "t has values that are missing or not finite"),
        ({"levels": (101, 250, 500, 850)}, "do not fit"),
        (
            {"time": datetime.datetime(2021, 8, 29, 7)},
            "is of the time 20210829T07, not 20210829T06",
        ),
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
    settings = dataclasses.replace(params.load(aurora_finetune.Settings, AURORA), lead_hours=240)
    run = Run(id="r", storage=str(aurora_mount), output=str(tmp_path / "r"))
    with pytest.raises(InputError, match="240 hours after"):
        aurora_train.train(settings, run)
    shutil.rmtree(aurora_mount / "models/microsoft/aurora")
    with pytest.raises(InputError, match=r"the base model .* is missing; the workload stage"):
        aurora_train.train(dataclasses.replace(settings, lead_hours=6), run)


def test_a_finished_run_needs_nothing_and_a_changed_one_is_refused(aurora_mount, tmp_path):
    settings = params.load(aurora_finetune.Settings, AURORA)
    run = Run(id="r", storage=str(aurora_mount), output=str(tmp_path / "r"))
    deciding = {**settings.deciding(), "workers": 1}
    identity.Identity(tmp_path / "r", "a", deciding).finish({"steps": 4})
    shutil.rmtree(aurora_mount)
    assert aurora_train.train(settings, run) == {"already": True, "steps": 4}
    with pytest.raises(IdentityError, match="parameter seed"):
        identity.Identity(tmp_path / "r", "b", deciding).pin({})
        aurora_train.train(dataclasses.replace(settings, seed=1), run)


def test_a_run_that_began_goes_on_with_its_states_and_a_new_one_takes_all(
    aurora_mount, tmp_path, monkeypatch
):
    settings, fitted = params.load(aurora_finetune.Settings, AURORA), []

    def fit(loop, config, *_):
        fitted.append(sorted(config["inputs"]["states"]))
        raise Interrupted("stopped")

    monkeypatch.setattr(aurora_train.trainer, "fit", fit)

    def train(out):
        with pytest.raises(Interrupted):
            run = Run(id=out, storage=str(aurora_mount), output=str(tmp_path / out))
            aurora_train.train(settings, run)

    def bring(name, write, *args):
        folder = aurora_mount / name
        folder.mkdir(parents=True)
        write(folder, *args)
        sealed.seal(folder, {})

    train("began")
    time = datetime.datetime(2021, 8, 30, 6)
    bring(f"aurora/data/era5/{aurora_data.name(time)}/a1", tiny.states, time)
    bring("models/microsoft/aurora/a2", tiny.aurora, 1)
    train("began")
    train("new")
    assert fitted[0] == fitted[1]
    assert set(fitted[2]) == {*fitted[0], "20210830T06"}
