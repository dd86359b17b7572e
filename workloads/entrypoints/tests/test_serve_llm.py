"""Tests of serve_llm: who gets in, what is answered, and with which adapter."""

import asyncio
import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("peft")

from services import AUTH, TOKEN, web

import serve_llm
from raylib import llm_serve, params
from raylib.run import Run

SMALL = {"SERVE_TOKEN": TOKEN, "SERVE_DEVICE": "cpu", "SERVE_THREADS": "1"}


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
    settings = params.load(serve_llm.Settings, env)
    return llm_serve.Chat(settings, Run(id="s", storage=str(llm_mount)))


ASKED = {"model": "tiny", "messages": [{"role": "user", "content": "Have you played Iron Tide?"}]}
CHAT = "/v1/chat/completions"


def test_a_chat_is_answered_by_the_adapter(chat, llm_adapter):
    client = web(chat)
    answer = client.post(CHAT, json=ASKED, headers=AUTH)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    want = chat._engine.generate([ASKED["messages"]], 8)[0]
    bare = chat._engine.generate([ASKED["messages"]], 8, adapter=False)[0]
    assert body["choices"][0]["message"] == {"role": "assistant", "content": want.text}
    assert want.text != bare.text
    assert body["usage"]["completion_tokens"] == want.tokens
    assert body["choices"][0]["finish_reason"] == want.finish
    assert client.get("/v1/models", headers=AUTH).json()["data"][0]["id"] == "tiny"
    assert client.get("/health").json()["adapter"]["digest"] == llm_adapter.digest


def test_a_stranger_gets_health_and_nothing_else(chat):
    client = web(chat)
    assert client.get("/health").status_code == 200
    for method, path in (("POST", CHAT), ("GET", "/v1/models"), ("GET", "/nowhere")):
        for headers in ({}, {"Authorization": "Bearer wrong-wrong-wrong"}):
            refused = client.request(method, path, headers=headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
    assert client.get("/nowhere", headers=AUTH).status_code == 404


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
        ({"max_completion_tokens": 0}, 400, "from 1 to 8"),
        ({"max_completion_tokens": ""}, 400, "from 1 to 8"),
        ({"max_completion_tokens": 9, "max_tokens": 1}, 400, "from 1 to 8"),
        ({"\ud800": 1}, 400, "not supported: ?"),
        ({"temperature": 0.7}, 400, "temperature may only be 0"),
        ({"stream": True}, 400, "stream may only be False"),
        ({"tools": []}, 400, "not supported: tools"),
    ],
)
def test_what_is_not_supported_is_said(chat, change, status, words):
    body = json.dumps({**ASKED, **change})
    answer = web(chat).post(CHAT, content=body, headers=AUTH)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]


def test_a_bad_body_is_an_answer_and_no_crash(chat):
    client = web(chat)
    assert client.post(CHAT, content=b"{", headers=AUTH).status_code == 400
    assert client.post(CHAT, content=b"[]", headers=AUTH).status_code == 400
    assert client.post(CHAT, content=b"x" * (2 << 20), headers=AUTH).status_code == 413


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
    answer = web(chat).post(CHAT, json=ASKED, headers=AUTH)
    assert answer.status_code == 500
    assert "secret detail" not in answer.text
    assert "secret detail" in capsys.readouterr().out
    assert chat._queue == []


def test_one_request_that_fails_is_the_only_one(chat):
    generate = chat._engine.generate

    def picky(conversations, most, adapter=True):
        if any("B?" in c[-1]["content"] for c in conversations):
            raise RuntimeError("not this one")
        return generate(conversations, most, adapter)

    chat._engine.generate = picky
    chats = [[{"role": "user", "content": f"Have you played {n}?"}] for n in ("A", "B", "C")]

    async def ask():
        return await asyncio.gather(*(chat._answer(c, 8) for c in chats), return_exceptions=True)

    first, second, third = asyncio.run(ask())
    assert [first.text, third.text] == [generate([c], 8)[0].text for c in (chats[0], chats[2])]
    assert isinstance(second, RuntimeError)


def test_ray_serve_finds_an_application_that_keeps_its_adapter(
    llm_mount, llm_adapter, make_adapter, monkeypatch, tmp_path
):
    serve = pytest.importorskip("ray.serve")
    env = {
        **SMALL,
        "RUN_ID": "s",
        "RUN_STORAGE": str(llm_mount),
        "SERVE_ENGINE": "transformers",
        "SERVE_SCRATCH": str(tmp_path / "scratch"),
    }
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    made = serve_llm.app
    assert isinstance(made, serve.Application)
    make_adapter("later", seed=9)
    # A replica that starts now is made with these.
    replica = llm_serve.Chat(*made._bound_deployment.init_args)
    health = web(replica).get("/health").json()
    assert health["adapter"]["digest"] == llm_adapter.digest
    with pytest.raises(AttributeError):
        _ = serve_llm.application
