"""Tests of progress: its rate, the time that is left, and the gauges in Ray's metrics."""

import json
import types

import pytest

from raylib import log, staging, tuning
from raylib.run import Run


def test_progress_tells_rate_and_time_left(capsys):
    now = [0.0]
    progress = log.Progress(10, "tokens", every=2, clock=lambda: now[0])
    for step in range(5, 8):
        now[0] += 2.0
        progress.step(step, items=100, loss=1.5)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["step"] for line in lines] == [6]
    assert lines[0]["tokens_per_second"] == 50
    assert lines[0]["seconds_left"] == 8.0
    assert lines[0]["loss"] == 1.5


@pytest.fixture
def gauges(patient_ray, monkeypatch):
    """What is set in Ray's metrics, by name, while a real Ray runs here."""
    ray = pytest.importorskip("ray")
    from ray.util import metrics

    values, put = {}, metrics.Gauge.set

    def seen(gauge, value, tags=None):
        put(gauge, value, tags)
        values.setdefault(gauge.info["name"], []).append((value, tags))

    monkeypatch.setattr(metrics.Gauge, "set", seen)
    # A Ray of its own: without an address that of an earlier test would do.
    ray.init("local", num_cpus=0, include_dashboard=False)
    yield values
    ray.shutdown()


def test_gauges_tell_the_same_as_the_log(gauges, tmp_path, capsys):
    now = [0.0]
    progress = log.Progress(10, "tokens", run="r", clock=lambda: now[0])
    for step in (1, 2):
        now[0] += 2.0
        progress.step(step, items=100, loss=1.5 / step)
    tags = {"run": "r"}
    assert gauges == {
        "run_step": [(1, tags), (2, tags)],
        "run_loss": [(1.5, tags), (0.75, tags)],
        "run_items_per_second": [(50.0, tags), (50.0, tags)],
        "run_seconds_left": [(18.0, tags), (16.0, tags)],
    }

    # What is brought, item by item.
    gauges.clear()
    fetch = lambda folder: (folder / "a").write_text("a")  # noqa: E731
    wanted = {name: (name, fetch) for name in ("one", "two")}
    settings = types.SimpleNamespace(scratch=str(tmp_path / "scratch"))
    with pytest.MonkeyPatch.context() as m:
        m.setattr(staging, "wanted_items", lambda settings: wanted)
        staging.bring(settings, Run(id="s", storage=str(tmp_path / "mount")))
    assert gauges["run_step"] == [(1, {"run": "s"}), (2, {"run": "s"})]


def test_nothing_is_exported_where_no_ray_runs(capsys):
    log.Progress(2, "tokens").step(1, 5)
    assert json.loads(capsys.readouterr().out)["step"] == 1


def test_a_search_tells_how_many_trials_have_ended(capsys):
    pytest.importorskip("ray.tune", exc_type=ImportError)
    seen = tuning._progress(3, Run(id="t"))
    for loss in (2.5, tuning.DIVERGED, 2.0):
        trial = types.SimpleNamespace(last_result={"loss": loss})
        seen.on_trial_complete(1, [], trial)
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(e["step"], e["of"], e["loss"]) for e in said] == [(1, 3, 2.5), (2, 3, 2.5), (3, 3, 2)]
