"""Tests of a run's identity: the same id means the same parameters and inputs, done once."""

import pytest

from raylib import identity
from raylib.errors import IdentityError


def test_a_finished_run_is_known_to_every_later_attempt(tmp_path):
    first = identity.Identity(tmp_path, "a", {"steps": 3, "times": ("x",)})
    assert first.finished() is None
    first.pin({"model": "m1"})
    first.finish({"loss": 0.5})
    again = identity.Identity(tmp_path, "b", {"steps": 3, "times": ("x",)})
    assert again.finished() == {"loss": 0.5}
    assert again.pinned() == {"model": "m1"}


def test_other_parameters_or_inputs_under_the_same_id_are_refused(tmp_path):
    identity.Identity(tmp_path, "a", {"steps": 3}).pin({"model": "m1"})
    with pytest.raises(IdentityError, match="parameter steps: 3 then, 4 now") as e:
        identity.Identity(tmp_path, "b", {"steps": 4})
    assert e.value.code == 5
    same = identity.Identity(tmp_path, "b", {"steps": 3})
    same.pin({"model": "m1"})
    with pytest.raises(IdentityError, match="input model"):
        same.pin({"model": "m2"})


def test_attempts_that_pin_at_the_same_moment_do_not_end_the_run(tmp_path):
    one, two = (identity.Identity(tmp_path, a, {"steps": 3}) for a in ("a", "b"))
    assert one.pinned() is None
    with pytest.MonkeyPatch.context() as m:
        m.setattr(one, "pinned", lambda: None)
        two.pin({"adapter": "y"})
        one.pin({"adapter": "x"})
    # What they make is told apart, and later attempts go on with one of them.
    assert one.digest != two.digest
    later = identity.Identity(tmp_path, "c", {"steps": 3})
    later.pin(later.pinned())
    assert later.digest == one.digest


def test_a_half_written_identity_is_passed_over(tmp_path):
    (tmp_path / "_RUN.a.json").write_text('{"value": {"parameters"')
    (tmp_path / "_SUCCESS.a.json").write_text("")
    one = identity.Identity(tmp_path, "b", {"steps": 3})
    assert one.finished() is None
    one.pin({"model": "m"})
    assert identity.Identity(tmp_path, "c", {"steps": 3}).pinned() == {"model": "m"}
