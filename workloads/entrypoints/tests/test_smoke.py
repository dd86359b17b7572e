"""Tests of smoke.py: its own logic, and the whole program on a real Ray."""

import json

import pytest

import smoke


def node(name: str, cpus: float, alive: bool = True) -> dict:
    return {"NodeID": name, "Alive": alive, "Resources": {"CPU": cpus} if cpus else {}}


def test_settings_have_defaults():
    assert smoke.Settings.from_env({"RUN_WORKERS": "2"}) == smoke.Settings(2, 32, 300.0)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "RUN_WORKERS is not set"),
        ({"RUN_WORKERS": "two"}, "'two', which is no number"),
        ({"RUN_WORKERS": "0"}, "must be more than 0"),
        ({"RUN_WORKERS": "1", "SMOKE_TASKS": "-3"}, "SMOKE_TASKS is -3"),
        ({"RUN_WORKERS": "1", "SMOKE_TIMEOUT_SECONDS": "nan"}, "SMOKE_TIMEOUT_SECONDS is nan"),
    ],
)
def test_bad_parameters_are_named(env, words):
    with pytest.raises(smoke.SmokeError, match=words) as e:
        smoke.Settings.from_env(env)
    assert e.value.code == smoke.EXIT_PARAMETER


def test_the_head_and_dead_nodes_are_no_workers():
    nodes = [node("head", 0), node("b", 1), node("a", 2), node("dead", 1, alive=False)]
    assert smoke.worker_nodes(nodes) == ["a", "b"]


def test_waiting_ends_when_the_nodes_are_there():
    seen = iter([[], [node("a", 1)], [node("a", 1), node("b", 1)]])
    slept = []
    got = smoke.wait_for_workers(smoke.Settings(2), lambda: next(seen), lambda: 0.0, slept.append)
    assert got == ["a", "b"]
    assert len(slept) == 2


def test_waiting_ends_at_the_deadline():
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    settings = smoke.Settings(2, timeout=5)
    with pytest.raises(smoke.SmokeError, match="1 of 2 worker nodes after 5 s") as e:
        smoke.wait_for_workers(settings, lambda: [node("a", 1)], lambda: now[0], sleep)
    assert e.value.code == smoke.EXIT_NODES


def test_an_answer_from_another_node_is_refused():
    smoke.check_placement({"a": "a", "b": "b"})
    with pytest.raises(smoke.SmokeError) as e:
        smoke.check_placement({"a": "a", "b": "a"})
    assert e.value.code == smoke.EXIT_PLACEMENT


@pytest.mark.parametrize("tasks", [1, 2, 32, 1000])
def test_the_total_is_the_sum_of_squares(tasks):
    smoke.check_total(tasks, sum(i * i for i in range(tasks)))


def test_a_wrong_total_is_refused():
    with pytest.raises(smoke.SmokeError) as e:
        smoke.check_total(32, 1)
    assert e.value.code == smoke.EXIT_RESULT


def test_main_reports_the_code_of_the_check(capsys):
    assert smoke.main({}) == smoke.EXIT_PARAMETER
    out, err = capsys.readouterr()
    assert json.loads(out) == {"check": "smoke", "ok": False, "code": 2}
    assert "RUN_WORKERS is not set" in err


@pytest.fixture
def two_workers(monkeypatch):
    """A real Ray of a head without CPUs and two worker nodes, in processes of this machine."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_the_whole_program_on_a_real_ray(two_workers, capsys):
    env = {"RUN_WORKERS": "2", "SMOKE_TASKS": "8", "SMOKE_TIMEOUT_SECONDS": "60"}
    assert smoke.main(env) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["nodes"] == 2
    assert summary["total"] == smoke.expected_total(8)


def test_a_missing_worker_is_found_on_a_real_ray(two_workers, capsys):
    env = {"RUN_WORKERS": "3", "SMOKE_TIMEOUT_SECONDS": "2"}
    assert smoke.main(env) == smoke.EXIT_NODES
    assert "2 of 3 worker nodes" in capsys.readouterr().err
