"""Aurora on a real Ray: trained, interrupted in two ways, resumed, and served."""

import os
import signal

import pytest

pytest.importorskip("aurora")
pytest.importorskip("ray.serve")

from programs import Place, Program, steps_resumed_at, wait_until
from services import AUTH, TOKEN, service, web

import aurora_finetune
import serve_aurora
from raylib import aurora_loop, aurora_serve, params
from raylib.run import Run

pytestmark = pytest.mark.timeout(2400)

STEPS = 20
AURORA = {
    "RUN_WORKERS": 2,
    "AURORA_MODEL": "tiny",
    "AURORA_DEVICE": "cpu",
    "AURORA_THREADS": 1,
    "AURORA_AUTOCAST": "false",
    "AURORA_MAX_STEPS": STEPS,
    "AURORA_CHECKPOINT_STEPS": 2,
    "AURORA_LEARNING_RATE": 0.01,
}
SERVE = {
    "SERVE_MODEL": "tiny",
    "SERVE_DEVICE": "cpu",
    "SERVE_THREADS": 1,
    "SERVE_AUTOCAST": "false",
}
ASKED = {"init_time": "20210829T12", "lead_hours": 12}


def load(program, cls, knobs):
    """Returns the settings that a program would have."""
    return params.load(cls, {**program.env, **{k: str(v) for k, v in knobs.items()}})


def uninterrupted(program):
    """Trains in this process, alone and without Ray, on as many samples a step as two workers."""
    where = Run(
        id="aurora-whole", storage=str(program.mount), output=str(program.folder("aurora-whole"))
    )
    place = Place()
    settings = load(program, aurora_finetune.Settings, {**AURORA, "AURORA_ACCUMULATE": 2})
    aurora_loop.Training(place, settings, where, "config").run()
    return place.facts["summary"]


@pytest.fixture(scope="module")
def trained(program):
    """What the training of an adapter says that was asked to stop, and that lost a worker."""
    run = "aurora-parts"
    with program.hold(f"{run}/*/step-000000002.*") as held:
        stopped = program.start("aurora_finetune", run, **AURORA, AURORA_GRACE_SECONDS=600)
        held.reached(stopped)
        stopped.send_signal(signal.SIGTERM)
        wait_until(lambda: "asked_to_stop" in stopped.said(), stopped)
    assert Program.end(stopped, 75)["kind"] == "Interrupted"
    first = program.newest_step(run)
    assert 2 <= first < STEPS

    with program.hold(f"{run}/*/step-*") as held:
        resumed = program.start("aurora_finetune", run, **AURORA)
        os.kill(held.reached(resumed), signal.SIGKILL)
    said = Program.end(resumed)
    # What was not completed does not count: the steps since the last that was are repeated.
    assert steps_resumed_at(said, rank=0) == [first, first]
    return said


def test_it_ends_with_the_very_bits_of_one_uninterrupted_worker(program, trained):
    whole = uninterrupted(program)
    assert (trained["steps"], trained["adapter"]) == (STEPS, whole["adapter"])
    # Workers add up their losses in another precision than one worker.
    assert trained["last_loss"] == pytest.approx(whole["last_loss"], rel=1e-6)


def test_a_finished_run_is_not_repeated_and_belongs_to_its_parameters(program, trained):
    again = program.run("aurora_finetune", "aurora-parts", **AURORA)
    assert (again["already"], again["adapter"]) == (True, trained["adapter"])
    changed = program.run("aurora_finetune", "aurora-parts", 5, **{**AURORA, "AURORA_SEED": 1})
    assert changed["kind"] == "IdentityError"
    assert not list(program.folder("aurora-parts").glob("ray/*"))


def test_forecasts_are_served_with_the_adapter_and_to_those_who_may(program, trained):
    with service(
        program, "serve_aurora", "/aurora", SERVE_ADAPTER="aurora-parts", **SERVE
    ) as client:
        status, health = client.ask("/aurora")
        assert (status, health["adapter"]["digest"]) == (200, trained["adapter"])
        assert client.ask("/aurora", body=ASKED)[0] == 401
        assert client.ask("/aurora", "wrong" * 5, ASKED)[0] == 401
        status, answer = client.ask("/aurora", TOKEN, ASKED)
    assert status == 200, answer
    assert answer["valid_time"] == "20210830T00"
    bare = base_forecast(program)
    assert answer["variables"].keys() == bare["variables"].keys()
    same = [v for v in bare["variables"] if answer["variables"][v] == bare["variables"][v]]
    assert same == []


def base_forecast(program):
    """Returns the forecast of the base model, by a replica in this process."""
    knobs = {**SERVE, "SERVE_TOKEN": TOKEN, "SERVE_ADAPTER": "none"}
    settings = load(program, serve_aurora.Settings, knobs)
    replica = aurora_serve.Forecaster(settings, Run(id="base", storage=str(program.mount)))
    return web(replica, "/aurora").post("/aurora", json=ASKED, headers=AUTH).json()


def test_a_cluster_that_is_too_small_is_said(program):
    knobs = {**AURORA, "RUN_WORKERS": 9, "AURORA_CLUSTER_TIMEOUT_SECONDS": 1}
    said = program.run("aurora_finetune", "large", 3, **knobs)
    assert said["reasons"] == ["the cluster has 2 of 9 CPU after 1 s"]
