"""Tests of serve_aurora: what is forecast, and with which adapter."""

import dataclasses
import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("aurora")

from services import AUTH, TOKEN, web

import serve_aurora
from raylib import adapters, aurora_serve, params
from raylib.errors import InputError
from raylib.run import Run

SMALL = {"SERVE_TOKEN": TOKEN, "SERVE_DEVICE": "cpu", "SERVE_THREADS": "1"}


@pytest.fixture
def forecaster(aurora_mount, tmp_path):
    """Makes a replica with the adapter of a run, registered before, or without."""
    import safetensors.torch
    import torch

    from raylib import aurora_model, inputs

    def made(rank=4, alpha=8, about=None, deployed=False, **knobs):
        model = aurora_model.build("tiny", autocast=False)
        aurora_model.add_lora(model, rank, alpha, seed=3)
        torch.manual_seed(1)
        weights = {
            n: torch.randn_like(v) * 0.3 for n, v in aurora_model.lora_weights(model).items()
        }
        base = inputs.find(aurora_mount / "models/microsoft/aurora", "base", "stage")
        facts = {"model": "tiny", "rank": rank, "alpha": alpha, "lead_hours": 6}
        facts = {**facts, "base": base.digest, **(about or {})}
        folder = tmp_path / "adapter"
        folder.mkdir(exist_ok=True)
        safetensors.torch.save_file(weights, folder / "aurora_lora.safetensors")
        (folder / "adapter_config.json").write_text(json.dumps(facts))
        registry = adapters.Registry(aurora_mount / "aurora/adapters", "finetune")
        registry.put(folder, "tuned", "a", facts)
        env = {**SMALL, "SERVE_MODEL": "tiny", "SERVE_AUTOCAST": "false"}
        env["SERVE_SCRATCH"] = str(tmp_path / "scratch")
        settings = dataclasses.replace(params.load(serve_aurora.Settings, env), **knobs)
        where = Run(id="s", storage=str(aurora_mount))
        if deployed:
            return aurora_serve.application(settings, where)
        return aurora_serve.Forecaster(settings, where)

    return made


def test_a_forecast_is_made_with_the_adapter(forecaster):
    client = web(forecaster(), "/aurora")
    health = client.get("/aurora").json()
    assert (health["status"], health["adapter"]["run"]) == ("ok", "tuned")
    asked = {"init_time": "20210829T06", "lead_hours": 12}
    assert client.post("/aurora", json=asked).status_code == 401
    answer = client.post("/aurora", json=asked, headers=AUTH).json()
    assert answer["valid_time"] == "20210829T18"
    assert answer["variables"]["2t"]["shape"] == [16, 32]
    assert answer["variables"]["t"]["shape"] == [4, 16, 32]
    bare = web(forecaster(adapter="none"), "/aurora")
    without = bare.post("/aurora", json=asked, headers=AUTH).json()
    assert without["variables"]["2t"]["mean"] != answer["variables"]["2t"]["mean"]
    assert without["adapter"]["run"] is None
    # No truth is needed, only the states that the forecast begins with.
    late = {"init_time": "20210830T00", "lead_hours": 24}
    assert client.post("/aurora", json=late, headers=AUTH).json()["valid_time"] == "20210831T00"


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"init_time": "20210829T06", "lead_hours": 7}, 400, "multiple of 6"),
        ({"init_time": "20210829T06", "lead_hours": 246}, 400, "from 6 to 240"),
        ({"init_time": "20210829T06", "lead_hours": "6"}, 400, "multiple of 6"),
        ({"init_time": "../../etc"}, 400, "no time of the form"),
        ({"lead_hours": 6}, 400, "no time of the form"),
        ({"init_time": "20210829T00"}, 404, "20210828T18"),
        ({"init_time": "20210829T06", "file": "x"}, 400, "unknown: file"),
    ],
)
def test_what_cannot_be_forecast_is_said(forecaster, asked, status, words):
    answer = web(forecaster(), "/aurora").post("/aurora", json=asked, headers=AUTH)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]["message"]


def test_an_adapter_of_another_model_is_refused(forecaster):
    with pytest.raises(InputError, match="trained on another base"):
        forecaster(about={"base": "0" * 64})
    with pytest.raises(InputError, match="not of this model and rank"):
        forecaster(about={"rank": 5})


def test_ray_serve_finds_an_application_that_keeps_its_adapter(
    forecaster, aurora_mount, monkeypatch
):
    serve = pytest.importorskip("ray.serve")
    made = forecaster(deployed=True)
    env = {**SMALL, "SERVE_MODEL": "tiny", "RUN_ID": "s", "RUN_STORAGE": str(aurora_mount)}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert isinstance(serve_aurora.app, serve.Application)
    settings, run, base = made._bound_deployment.init_args
    first = aurora_serve.parts(settings, run, base)
    forecaster(rank=2)
    assert aurora_serve.parts(settings, run, base) == first
    assert settings.adapter == first[1].digest
