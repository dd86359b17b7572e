"""A language model on a real Ray: trained by two workers, killed, resumed, answered and served."""

import json
import os
import signal

import pytest

pytest.importorskip("llamafactory")
pytest.importorskip("ray.serve")

from programs import Place, kill, steps_resumed_at
from services import TOKEN, service

import batch_inference
import llm_finetune
from raylib import engines, inputs, llm_loop, params, tiny_llm
from raylib.run import Run

pytestmark = pytest.mark.timeout(2400)

STEPS = 10
TOKENS = 60
LLM = {
    "RUN_WORKERS": 2,
    "LLM_DEVICE": "cpu",
    "LLM_THREADS": 1,
    "LLM_PRECISION": "fp32",
    "LLM_CUTOFF_LEN": 128,
    "LLM_MAX_STEPS": STEPS,
    "LLM_CHECKPOINT_STEPS": 2,
    "LLM_BATCH_SIZE": 1,
    "LLM_ACCUMULATE": 1,
    "LLM_LEARNING_RATE": 0.05,
    "LLM_PREPROCESSING_WORKERS": 1,
    "LLM_GRADIENT_CHECKPOINTING": "false",
}
ENGINE = {"DEVICE": "cpu", "THREADS": 1, "PRECISION": "fp32", "ENGINE": "transformers"}
BATCH = {
    **{f"BATCH_{k}": v for k, v in ENGINE.items()},
    "BATCH_MAX_TOKENS": TOKENS,
    "BATCH_MAX_MODEL_LEN": 256,
    "BATCH_SHARD_ROWS": 2,
    "BATCH_BATCH_SIZE": 2,
}
SERVE = {
    **{f"SERVE_{k}": v for k, v in ENGINE.items()},
    "SERVE_MAX_TOKENS": TOKENS,
    "SERVE_MAX_MODEL_LEN": 256,
}
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def trained(program):
    """What the training of an adapter says that was killed in the middle and started again."""
    run = "llm-parts"
    with program.hold(f"{run}/*/step-000000006.*") as held:
        killed = program.start("llm_finetune", run, **LLM)
        kill(killed, held.reached(killed))
    assert not list(program.folder(run).glob("_SUCCESS*"))
    assert program.newest_step(run) == 4
    said = program.run("llm_finetune", run, **LLM)
    assert steps_resumed_at(said, rank=0) == [4]
    return said


def load(program, cls, knobs):
    """Returns the settings that a program would have."""
    return params.load(cls, {**program.env, **{k: str(v) for k, v in knobs.items()}})


def uninterrupted(program):
    """Trains in this process, alone and without Ray, on as many rows a step as two workers."""
    where = Run(id="llm-whole", storage=str(program.mount), output=str(program.folder("llm-whole")))
    place = Place()
    settings = load(program, llm_finetune.Settings, {**LLM, "LLM_ACCUMULATE": 2})
    llm_loop.train(place, settings, where, "config")
    return place.facts["summary"]


def test_two_workers_that_were_killed_end_with_the_bits_of_one_uninterrupted(program, trained):
    whole = uninterrupted(program)
    assert (trained["steps"], trained["adapter"]) == (STEPS, whole["adapter"])
    # Workers add up their losses in another precision than one worker.
    assert trained["last_loss"] == pytest.approx(whole["last_loss"], rel=1e-6)


@pytest.fixture(scope="module")
def scores(program, trained):
    """What a batch says whose driver was killed, and that lost its worker once."""
    knobs = {**BATCH, "BATCH_ADAPTER": "llm-parts"}
    with program.hold("batch/shards/shard-000001.*") as held:
        killed = program.start("batch_inference", "batch", **knobs)
        kill(killed, held.reached(killed))
    before = program.records("batch")
    assert len(before) == 1
    with program.hold("batch/shards/shard-000003.*") as held:
        resumed = program.start("batch_inference", "batch", **knobs)
        os.kill(held.reached(resumed), signal.SIGKILL)
    said = program.end(resumed)
    assert [e["failures"] for e in said["events"] if e["event"] == "worker_lost"] == [1]
    after = program.records("batch")
    # No shard is answered twice, and what was not completed does not count.
    assert set(before) < set(after)
    assert len(after) == 6
    return said


def test_a_batch_answers_all_rows_with_the_adapter(program, trained, scores):
    assert (scores["rows"], scores["errors"]) == (12, 0)
    assert scores["adapter"] == trained["adapter"]


def predictions(program, scores):
    """Returns the conversations and the batch's answers to them."""
    lines = (program.folder("batch") / scores["predictions"]).read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    chats = [tiny_llm.row(r["prompt"], "")["messages"][:-1] for r in rows]
    return chats, [r["generated"] for r in rows]


def test_the_service_answers_as_the_batch_and_not_as_the_base_model(program, scores):
    chats, wanted = predictions(program, scores)
    with service(program, "serve_llm", "/health", SERVE_ADAPTER="llm-parts", **SERVE) as client:
        assert client.ask("/health")[1]["adapter"]["digest"] == scores["adapter"]
        assert client.ask(CHAT, body={})[0] == 401
        assert client.ask(CHAT, "wrong" * 5, {})[0] == 401
        got = []
        for chat in chats:
            asked = {"model": "Qwen2.5-7B-Instruct", "messages": chat}
            status, answer = client.ask(CHAT, TOKEN, asked)
            assert status == 200, answer
            got.append(answer["choices"][0]["message"]["content"])
    assert got == wanted
    settings = load(program, batch_inference.Settings, BATCH)
    base = inputs.find(program.mount / settings.base, "the base model", "stage")
    bare = [a.text for a in engines.make(settings, base.path, None).generate(chats, TOKENS)]
    assert [g for g, b in zip(got, bare, strict=True) if g == b] == []
