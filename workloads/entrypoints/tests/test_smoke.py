"""Tests of smoke.py: its own logic, and the whole program on a real Ray."""

import json

import pytest
from programs import cluster

import smoke
from raylib import program
from raylib.errors import ClusterError, ResultError


def node(name: str, cpus: float, alive: bool = True) -> dict:
    return {"NodeID": name, "Alive": alive, "Resources": {"CPU": cpus} if cpus else {}}


def test_the_head_and_dead_nodes_are_no_workers():
    nodes = [node("head", 0), node("b", 1), node("a", 2), node("dead", 1, alive=False)]
    assert smoke.worker_nodes(nodes) == ["a", "b"]


def test_waiting_ends_when_the_nodes_are_there():
    seen = iter([[], [node("a", 1)], [node("a", 1), node("b", 1)]])
    slept = []
    got = smoke.wait_for_workers(2, 300, lambda: next(seen), lambda: 0.0, slept.append)
    assert got == ["a", "b"]
    assert len(slept) == 2


def test_waiting_ends_at_the_deadline():
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with pytest.raises(ClusterError, match="1 of 2 worker nodes after 5 s"):
        smoke.wait_for_workers(2, 5, lambda: [node("a", 1)], lambda: now[0], sleep)


def test_an_answer_from_another_node_is_refused():
    smoke.check_placement({"a": "a", "b": "b"})
    with pytest.raises(ResultError, match="other nodes"):
        smoke.check_placement({"a": "a", "b": "a"})


@pytest.mark.parametrize("tasks", [1, 2, 32, 1000])
def test_the_total_is_the_sum_of_squares(tasks):
    smoke.check_total(tasks, sum(i * i for i in range(tasks)))


def test_a_wrong_total_is_refused():
    with pytest.raises(ResultError, match="expected 10416"):
        smoke.check_total(32, 1)


@pytest.fixture(scope="module")
def two_workers(patient_ray):
    """A real Ray of a head without CPUs and two worker nodes, in processes of this machine."""
    import ray

    made = cluster({"num_cpus": 1}, {"num_cpus": 1})
    with pytest.MonkeyPatch.context() as m:
        m.setenv("RAY_ADDRESS", made.address)
        yield made
    ray.shutdown()
    made.shutdown()


def test_the_whole_program_on_a_real_ray(two_workers, capsys):
    env = {"RUN_ID": "s", "RUN_WORKERS": "2", "SMOKE_TASKS": "8", "SMOKE_TIMEOUT_SECONDS": "120"}
    assert program.main(smoke.PROGRAM, [], env) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["event"] == "done"
    assert summary["nodes"] == 2
    assert summary["total"] == smoke.expected_total(8)


def test_a_missing_worker_is_found_on_a_real_ray(two_workers, capsys):
    env = {"RUN_ID": "s", "RUN_WORKERS": "3", "SMOKE_TIMEOUT_SECONDS": "2"}
    assert program.main(smoke.PROGRAM, [], env) == 3
    assert "2 of 3 worker nodes" in capsys.readouterr().err
