"""A search by Ray Tune on a real Ray: killed in the middle, and taken up again."""

import pytest

pytest.importorskip("peft")
pytest.importorskip("ray.tune")

from programs import kill, steps_resumed_at

from raylib import adapters

pytestmark = pytest.mark.timeout(2400)

GPT2 = {
    "GPT2_THREADS": 1,
    "GPT2_TRIALS": 2,
    "GPT2_RUNGS": 6,
    "GPT2_GRACE_RUNGS": 6,
    "GPT2_STEPS_PER_RUNG": 2,
    "GPT2_BLOCK_SIZE": 32,
    "GPT2_CONCURRENT": 1,
}


def test_a_search_is_killed_and_goes_on(program):
    # One trial at a time: when the second has a checkpoint, the first has come to its end.
    with program.hold("trial-0001/step-000000002.*") as held:
        killed = program.start("tune_gpt2", "tune", **GPT2)
        kill(killed, held.reached(killed))
    first = program.folder("tune") / "trials/trial-0000"
    kept = sorted(p.name for p in first.iterdir())
    done = program.run("tune_gpt2", "tune", **GPT2)
    assert done["trials"] == 2
    # What was finished is not repeated.
    assert sorted(p.name for p in first.iterdir()) == kept
    assert steps_resumed_at(done) == [6, 1]
    registry = adapters.Registry(program.mount / "llm-pipeline/adapters", "shakespeare")
    assert registry.find("tune", "w").digest == done["adapter"]
    assert program.run("tune_gpt2", "tune", **GPT2)["already"] is True
