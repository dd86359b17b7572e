"""Tests of serve_aurora and serve_llm: who gets in, what is answered, and with which adapter."""

import asyncio
import dataclasses
import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.requests import Request
from starlette.testclient import TestClient

import serve_aurora
import serve_llm
from raylib import adapters, params, serving
from raylib.errors import InputError
from raylib.run import Run

TOKEN = "0123456789abcdef"
AUTH = {"Authorization": f"Bearer {TOKEN}"}
SMALL = {"SERVE_TOKEN": TOKEN, "SERVE_DEVICE": "cpu", "SERVE_THREADS": "1"}


def client(replica, root=""):
    """A client of a replica as Serve calls it."""

    async def app(scope, receive, send):
        response = await replica(Request(scope, receive))
        await response(scope, receive, send)

    return TestClient(app, root_path=root)


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (TOKEN, False),
        ("Bearer ", False),
        ("Bearer \u00e9", False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_token_gets_in(header, allowed):
    assert serving.authorized(header, TOKEN) is allowed
    assert serving.authorized(header, "") is False


def test_so_many_may_wait_and_no_more():
    async def scenario():
        gate = serving.Gate(1)
        entered, leave = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow():
            loop.call_soon_threadsafe(entered.set)
            asyncio.run_coroutine_threadsafe(leave.wait(), loop).result(10)
            return 1

        first = asyncio.create_task(gate.run(slow))
        await entered.wait()
        second = asyncio.create_task(gate.run(lambda: 2))
        await asyncio.sleep(0)
        with pytest.raises(serving.Refused) as e:
            await gate.run(lambda: 3)
        assert e.value.status == 503
        second.cancel()
        await asyncio.sleep(0)
        third = asyncio.create_task(gate.run(lambda: 3))
        leave.set()
        assert (await first, await third) == (1, 3)

    asyncio.run(scenario())


@pytest.fixture
def chat(llm_mount, llm_adapter, tmp_path):
    env = {
        **SMALL,
        "SERVE_ENGINE": "transformers",
        "SERVE_PRECISION": "fp32",
        "SERVE_MODEL_ID": "tiny",
        "SERVE_MAX_TOKENS": "8",
        "SERVE_MAX_MODEL_LEN": "128",
        "SERVE_SCRATCH": str(tmp_path / "scratch"),
    }
    from raylib import llm_serve

    settings = params.load(serve_llm.Settings, env)
    return llm_serve.Chat(settings, Run(id="s", storage=str(llm_mount)))


ASKED = {"model": "tiny", "messages": [{"role": "user", "content": "Have you played Iron Tide?"}]}
CHAT = "/v1/chat/completions"


def test_a_chat_is_answered_by_the_adapter(chat, llm_adapter):
    web = client(chat)
    answer = web.post(CHAT, json=ASKED, headers=AUTH)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    want = chat._engine.generate([ASKED["messages"]], 8)[0]
    bare = chat._engine.generate([ASKED["messages"]], 8, adapter=False)[0]
    assert body["choices"][0]["message"] == {"role": "assistant", "content": want.text}
    assert want.text != bare.text
    assert body["usage"]["completion_tokens"] == want.tokens
    assert body["choices"][0]["finish_reason"] == want.finish
    assert web.get("/v1/models", headers=AUTH).json()["data"][0]["id"] == "tiny"
    assert web.get("/health").json()["adapter"]["digest"] == llm_adapter.digest


def test_a_stranger_gets_health_and_nothing_else(chat):
    web = client(chat)
    assert web.get("/health").status_code == 200
    for method, path in (("POST", CHAT), ("GET", "/v1/models"), ("GET", "/nowhere")):
        for headers in ({}, {"Authorization": "Bearer wrong-wrong-wrong"}):
            refused = web.request(method, path, headers=headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
    assert web.get("/nowhere", headers=AUTH).status_code == 404


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"model": "other"}, 404, "there is no model 'other'"),
        ({"messages": []}, 400, "not empty"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, "a role and a text"),
        ({"messages": [{"role": "user", "content": [1]}]}, 400, "a role and a text"),
        ({"messages": [{"role": "user", "content": "w " * 999}]}, 400, "at most 120 fit"),
        ({"max_tokens": 9}, 400, "from 1 to 8"),
        ({"max_tokens": True}, 400, "from 1 to 8"),
        ({"temperature": 0.7}, 400, "temperature may only be 0"),
        ({"stream": True}, 400, "stream may only be False"),
        ({"tools": []}, 400, "not supported: tools"),
    ],
)
def test_what_is_not_supported_is_said(chat, change, status, words):
    answer = client(chat).post(CHAT, json={**ASKED, **change}, headers=AUTH)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]


def test_a_bad_body_is_an_answer_and_no_crash(chat):
    web = client(chat)
    assert web.post(CHAT, content=b"{", headers=AUTH).status_code == 400
    assert web.post(CHAT, content=b"[]", headers=AUTH).status_code == 400
    assert web.post(CHAT, content=b"x" * (2 << 20), headers=AUTH).status_code == 413


def test_those_who_wait_are_answered_together_and_each_with_its_own(chat):
    sizes = []
    generate = chat._engine.generate

    def counted(conversations, most, adapter=True):
        sizes.append(len(conversations))
        return generate(conversations, most, adapter)

    chat._engine.generate = counted
    chats = [[{"role": "user", "content": f"Have you played {n}?"}] for n in ("A", "B", "C", "D")]

    async def ask():
        lengths = (8, 8, 8, 4)
        asked = [chat._answer(c, n) for c, n in zip(chats, lengths, strict=True)]
        return await asyncio.gather(*asked)

    answers = asyncio.run(ask())
    assert sum(sizes) == 4
    assert len(sizes) < 4
    assert [a.text for a in answers[:3]] == [generate([c], 8)[0].text for c in chats[:3]]
    assert answers[3].text == generate([chats[3]], 4)[0].text
    assert chat._queue == []


def test_a_failing_engine_is_an_error_of_the_server(chat, capsys):
    def broken(*_):
        raise RuntimeError("secret detail")

    chat._engine.generate = broken
    answer = client(chat).post(CHAT, json=ASKED, headers=AUTH)
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert "secret detail" in capsys.readouterr().out
    assert chat._queue == []


@pytest.fixture
def forecaster(aurora_mount, tmp_path):
    """Makes a replica with the adapter of a run, registered before, or without."""
    pytest.importorskip("aurora")
    import safetensors.torch
    import torch

    from raylib import aurora_model, aurora_serve, inputs

    def made(rank=4, alpha=8, about=None, **knobs):
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
        return aurora_serve.Forecaster(settings, Run(id="s", storage=str(aurora_mount)))

    return made


def test_a_forecast_is_made_with_the_adapter(forecaster):
    web = client(forecaster(), "/aurora")
    health = web.get("/aurora").json()
    assert (health["status"], health["adapter"]["run"]) == ("ok", "tuned")
    asked = {"init_time": "20210829T06", "lead_hours": 12}
    assert web.post("/aurora", json=asked).status_code == 401
    answer = web.post("/aurora", json=asked, headers=AUTH).json()
    assert answer["valid_time"] == "20210829T18"
    assert answer["variables"]["2t"]["shape"] == [16, 32]
    assert answer["variables"]["t"]["shape"] == [4, 16, 32]
    bare = client(forecaster(adapter="none"), "/aurora")
    without = bare.post("/aurora", json=asked, headers=AUTH).json()
    assert without["variables"]["2t"]["mean"] != answer["variables"]["2t"]["mean"]
    assert without["adapter"]["run"] is None
    # No truth is needed, only the states that the forecast begins with.
    late = {"init_time": "20210830T00", "lead_hours": 24}
    assert web.post("/aurora", json=late, headers=AUTH).json()["valid_time"] == "20210831T00"


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
    answer = client(forecaster(), "/aurora").post("/aurora", json=asked, headers=AUTH)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]["message"]


def test_an_adapter_of_another_model_is_refused(forecaster):
    with pytest.raises(InputError, match="trained on another base"):
        forecaster(about={"base": "0" * 64})
    with pytest.raises(InputError, match="not of this model and rank"):
        forecaster(about={"rank": 5})


@pytest.mark.parametrize("module", [serve_aurora, serve_llm])
def test_ray_serve_finds_an_application(module, monkeypatch):
    serve = pytest.importorskip("ray.serve")
    monkeypatch.setenv("SERVE_TOKEN", TOKEN)
    monkeypatch.setenv("RUN_ID", "s")
    assert isinstance(module.app, serve.Application)
    with pytest.raises(AttributeError):
        _ = module.application
