"""Tests of waiting for a cluster, and of errors that come from its workers."""

import pytest

from raylib import cluster
from raylib.errors import ClusterError, InputError, ResultError


def test_waiting_ends_when_the_cluster_has_what_is_needed(capsys):
    seen = iter([{"CPU": 1.0}, {"CPU": 1.0, "GPU": 1.0}, {"CPU": 2.0, "GPU": 1.0}])
    slept = []
    cluster.wait_for({"CPU": 2, "GPU": 1}, 60, lambda: next(seen), lambda: 0.0, slept.append)
    assert len(slept) == 2
    assert capsys.readouterr().out.count("waiting_for_cluster") == 2


def test_waiting_ends_at_the_deadline():
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    with pytest.raises(ClusterError, match="has 1 of 4 GPU after 9 s"):
        cluster.wait_for({"GPU": 4}, 9, lambda: {"GPU": 1.0}, lambda: now[0], sleep)


def test_an_error_of_a_worker_is_found_below_what_ray_makes_of_it():
    exceptions = pytest.importorskip("ray.exceptions")
    own = InputError("the base model is missing")
    # As ray.get raises it: of both classes, and with a traceback for its text.
    raised = exceptions.RayTaskError("f", "traceback", own).as_instanceof_cause()
    assert isinstance(raised, InputError)
    assert cluster.own_error(raised) is own
    wrapped = RuntimeError("a trial failed")
    wrapped.__cause__ = raised
    assert cluster.own_error(wrapped) is own
    assert cluster.own_error(own) is own
    other = exceptions.RayTaskError("f", "traceback", ValueError("x")).as_instanceof_cause()
    assert cluster.own_error(other) is None
    assert cluster.own_error(ResultError("x")).code == 7
