"""Tests of what the services share: who gets in, who waits, and how many replicas there are."""

import asyncio
import json
import time

import pytest

pytest.importorskip("starlette")

from services import TOKEN

import serve_aurora
import serve_llm
from raylib import params, serving
from raylib.errors import ClusterError, InputError
from raylib.run import Run


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


def test_a_wrong_token_takes_as_long_as_the_right_one(monkeypatch):
    compared = []
    monkeypatch.setattr(serving.hmac, "compare_digest", lambda *both: compared.append(both))
    serving.authorized("Bearer wrong", TOKEN)
    assert compared == [(b"Bearer wrong", f"Bearer {TOKEN}".encode())]


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


def test_one_computation_runs_at_a_time_although_callers_go():
    running, most, done = [0], [0], []

    def work():
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.05)
        running[0] -= 1
        done.append(1)
        if len(done) == 2:
            raise ValueError

    async def scenario():
        gate = serving.Gate(1)
        for _ in range(4):
            caller = asyncio.create_task(gate.run(work))
            # Until it computes.
            while not running[0]:
                await asyncio.sleep(0.001)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            waits = asyncio.create_task(gate.run(work))
            await asyncio.sleep(0)
            with pytest.raises(serving.Refused):
                await gate.run(work)
            await asyncio.wait([waits])

    asyncio.run(scenario())
    assert most == [1]
    assert len(done) == 8


def test_half_a_character_in_a_message_is_an_answer():
    answer = serving.error(400, "not supported: \ud800")
    assert json.loads(answer.body)["error"]["message"] == "not supported: ?"


@pytest.mark.parametrize("module", [serve_aurora, serve_llm])
def test_settings_do_not_show_the_token(module):
    settings = params.load(module.Settings, {"SERVE_TOKEN": TOKEN})
    assert TOKEN not in repr(settings)


@pytest.mark.parametrize("module", [serve_aurora, serve_llm])
def test_knobs_decide_how_a_service_is_deployed(module):
    pytest.importorskip("ray.serve")

    def made(**knobs):
        env = {"SERVE_TOKEN": TOKEN, **{f"SERVE_{k.upper()}": str(v) for k, v in knobs.items()}}
        settings = params.load(module.Settings, env)
        return serving.deployment(object, "x", settings, Run(id="s", workers=3))

    # A replica takes a GPU, and so does each worker have one.
    assert made().num_replicas == 3
    assert made(replicas=2).num_replicas == 2
    assert made().ray_actor_options["num_gpus"] == 1
    assert "num_gpus" not in made(device="cpu").ray_actor_options
    assert made(max_waiting=5).max_ongoing_requests > 5


def test_a_service_of_someone_else_is_left_alone(monkeypatch):
    serve = pytest.importorskip("ray.serve")
    there = serve.schema.ServeStatus(applications={}, proxies={"node": "HEALTHY"})
    monkeypatch.setattr(serving.cluster, "connect", lambda: None)
    monkeypatch.setattr(serve, "status", lambda: there)
    settings = params.load(serve_llm.Settings, {"SERVE_TOKEN": TOKEN})
    with pytest.raises(ClusterError, match="runs on this cluster already"):
        serving.run_until_stopped(None, "/", settings, Run(id="s"))


@pytest.mark.parametrize("module", [serve_aurora, serve_llm])
def test_what_is_missing_is_found_before_a_cluster_is_asked_for(module, tmp_path):
    settings = params.load(module.Settings, {"SERVE_TOKEN": TOKEN})
    with pytest.raises(InputError, match="is missing; the workload stage"):
        module.work(settings, Run(id="s", storage=str(tmp_path)))
