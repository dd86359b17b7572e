"""Tests of batch_inference: shards, scores, engines with a real adapter, and what is refused."""

import dataclasses
import json

import pytest

pytest.importorskip("peft")

import batch_inference
from raylib import adapters, batch, engines, identity, inputs, params, scoring, shards
from raylib.errors import ClusterError, InputError, ResultError
from raylib.run import Run

TINY = {
    "BATCH_ENGINE": "transformers",
    "BATCH_DEVICE": "cpu",
    "BATCH_THREADS": "1",
    "BATCH_PRECISION": "fp32",
    "BATCH_MAX_TOKENS": "8",
    "BATCH_MAX_MODEL_LEN": "128",
    "BATCH_SHARD_ROWS": "5",
    "BATCH_BATCH_SIZE": "3",
}


@pytest.fixture
def settings(tmp_path):
    env = {**TINY, "BATCH_SCRATCH": str(tmp_path / "scratch")}
    return params.load(batch_inference.Settings, env)


@pytest.fixture
def run(llm_mount, tmp_path):
    return Run(id="b", storage=str(llm_mount), output=str(tmp_path / "b"))


@pytest.fixture
def here(monkeypatch):
    """Lets the driver's part answer shards in this process, without Ray; collects their numbers."""
    answered = []

    class Crew:
        def __init__(self, *args):
            self.worker = batch.Worker(*args)

    def answer_all(crew, settings, results, left, rows, attempt):
        worker = crew.worker
        for shard in left:
            worker.answer(results, shard, rows[shard.first : shard.end], attempt)
            answered.append(shard.number)

    monkeypatch.setattr(batch, "Crew", Crew)
    monkeypatch.setattr(batch, "_answer_all", answer_all)
    return answered


def test_rows_are_cut_the_same_way_each_time():
    assert shards.plan(12, 5) == [
        shards.Shard(0, 0, 5),
        shards.Shard(1, 5, 10),
        shards.Shard(2, 10, 12),
    ]
    assert shards.plan(5, 5) == [shards.Shard(0, 0, 5)]


def test_scores_of_meanings():
    want = "inform(name[Iron Tide])"
    assert scoring.score(" inform(name[Iron Tide])\n", want) == {
        "exact_match": True,
        "function_match": True,
    }
    assert scoring.score("inform(name[Salt Road])", want)["function_match"]
    assert not scoring.score("request(name[Iron Tide])", want)["function_match"]
    assert not scoring.score("inform", want)["function_match"]
    row = {"error": "", "exact_match": True, "function_match": True, "tokens": 3}
    bad = {"error": "x", "exact_match": False, "function_match": False, "tokens": 0}
    got = scoring.totals([row, row, row, bad])
    assert (got["exact_match_share"], got["errors_share"], got["tokens"]) == (0.75, 0.25, 9)


def test_the_whole_batch_goes_on_with_what_is_left(settings, run, llm_adapter, here, tmp_path):
    first = batch.answer(settings, run)
    assert here == [0, 1, 2]
    assert first["rows"] == 12
    lines = (tmp_path / "b" / first["predictions"]).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(12))

    # As if killed after the first shard, and while the second was written.
    again = dataclasses.replace(run, output=str(tmp_path / "c"))
    (tmp_path / "c").mkdir()
    (tmp_path / "b" / "shards").rename(tmp_path / "c" / "shards")
    done = sorted((tmp_path / "c" / "shards").iterdir())
    (done[1] / "_COMPLETE.json").unlink()
    (done[2] / shards.FILE).write_text("")
    here.clear()
    second = batch.answer(settings, again)
    assert here == [1, 2]
    same = set(first) - {"predictions"}
    assert {k: second[k] for k in same} == {k: first[k] for k in same}
    here.clear()
    assert batch.answer(settings, again)["already"] is True
    assert here == []


def test_a_later_adapter_does_not_mix_into_a_run_that_began(
    settings, run, llm_adapter, make_adapter, here, monkeypatch
):
    finish = batch._finish
    monkeypatch.setattr(batch, "_finish", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        batch.answer(settings, run)
    later = make_adapter("later", seed=9)
    registry = adapters.Registry(run.path(settings.adapters), settings.task)
    assert registry.find(adapters.LATEST, "w").digest == later.digest
    monkeypatch.setattr(batch, "_finish", finish)
    here.clear()
    assert batch.answer(settings, run)["adapter"] == llm_adapter.digest
    assert here == []
    with pytest.raises(InputError, match="'nobody'"):
        other = dataclasses.replace(run, output=run.output + "2")
        batch.answer(dataclasses.replace(settings, adapter="nobody"), other)


def test_answers_of_another_adapter_do_not_count(settings, tmp_path):
    shard = shards.Shard(0, 0, 1)
    shards.Results(tmp_path, "with adapter one").write(shard, "a", [{"id": 0}])
    assert shards.Results(tmp_path, "with adapter two").read(shard) is None
    assert shards.Results(tmp_path, "with adapter one").read(shard) == [{"id": 0}]


def test_an_adapter_of_another_base_model_is_refused(settings, run, make_adapter):
    made = make_adapter("other", base="0" * 64)
    with pytest.raises(InputError, match="trained on another base model"):
        batch.find_adapter(settings, run, made.digest, "1" * 64)


def test_missing_rows_and_too_many_errors_fail(settings, run, llm_adapter, here, monkeypatch):
    long = dataclasses.replace(settings, max_model_len=16)
    with pytest.raises(ResultError, match="12 of 12 rows have errors"):
        batch.answer(long, run)
    other = dataclasses.replace(run, output=run.output + "2")
    monkeypatch.setattr(batch, "_answer_all", lambda *a: None)
    with pytest.raises(ResultError, match="0 of 12 rows have an answer"):
        batch.answer(settings, other)
    assert identity.Identity(other.folder(), "x", settings.deciding()).finished() is None


def test_workers_are_replaced_so_often_and_no_more(settings, run, monkeypatch):
    from ray.exceptions import RayActorError

    def lost(reference):
        raise RayActorError

    monkeypatch.setattr(batch.cluster, "connect", lambda: None)
    monkeypatch.setattr(batch.cluster, "wait_for", lambda *a: None)
    monkeypatch.setattr(batch.cluster, "get", lost)
    crew = batch.Crew(dataclasses.replace(settings, max_failures=1), run, "", "")
    assert crew.result("reference") is None
    with pytest.raises(ClusterError, match="workers were lost 2 times"):
        crew.result("reference")


@pytest.fixture
def engine(settings, run, llm_adapter):
    base = inputs.find(run.path(settings.base), "the base model", "stage")
    return engines.make(settings, base.path, llm_adapter.path)


CHATS = [
    [{"role": "user", "content": "Have you played Iron Tide, from 2001?"}],
    [{"role": "user", "content": "Paper Kings is a puzzle game from 1999. " * 2}],
    [{"role": "user", "content": "Short."}],
]


def test_the_adapter_is_applied_and_can_be_left_out(engine, settings, run):
    assert engines.check_applied(engine, CHATS, 8, "fp32") == 3
    base = inputs.find(run.path(settings.base), "the base model", "stage")
    bare = engines.make(settings, base.path, None)
    without = engine.generate(CHATS, 8, adapter=False)
    assert [a.text for a in bare.generate(CHATS, 8)] == [a.text for a in without]
    with pytest.raises(ResultError, match="it is not applied"):
        engines.check_applied(bare, CHATS, 8, "fp32")


def test_an_answer_does_not_depend_on_what_else_is_asked(engine):
    together = engine.generate(CHATS, 8)
    alone = [engine.generate([c], 8)[0] for c in CHATS]
    assert [a.text for a in together] == [a.text for a in alone]
    assert [a.tokens for a in together] == [a.tokens for a in alone]
    for a, b in zip(together, alone, strict=True):
        assert a.logprob == pytest.approx(b.logprob, abs=1e-3)


def test_the_engine_generates_what_the_model_finds_likeliest(engine):
    import torch

    (answer,) = engine.generate(CHATS[:1], 4)
    model, tokenizer = engine._model, engine._tokenizer
    ids = tokenizer.apply_chat_template(
        CHATS[0], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    picked = []
    for _ in range(4):
        with torch.inference_mode():
            picked.append(int(model(input_ids=ids).logits[0, -1].argmax()))
        ids = torch.cat([ids, torch.tensor([[picked[-1]]])], dim=1)
        if picked[-1] == tokenizer.eos_token_id:
            break
    assert answer.text == tokenizer.decode(picked, skip_special_tokens=True)


def test_a_prompt_that_is_too_long_is_an_error_of_its_row(engine):
    answers = engine.generate([CHATS[2], [{"role": "user", "content": "word " * 500}]], 8)
    assert not answers[0].error
    assert "at most 120 fit" in answers[1].error


def test_an_adapter_that_does_not_fit_is_refused(settings, run, llm_adapter, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    shutil.copytree(llm_adapter.path, tmp_path / "bad")
    weights = load_file(tmp_path / "bad/adapter_model.safetensors")
    weights.pop(sorted(weights)[0])
    save_file(weights, tmp_path / "bad/adapter_model.safetensors")
    base = inputs.find(run.path(settings.base), "the base model", "stage")
    with pytest.raises(InputError, match="does not fit the model"):
        engines.make(settings, base.path, tmp_path / "bad")


@pytest.mark.skipif(
    not __import__("importlib").util.find_spec("vllm"), reason="needs vLLM and a GPU"
)
def test_vllm_answers_as_transformers_does(engine, settings, run, llm_adapter):
    base = inputs.find(run.path(settings.base), "the base model", "stage")
    other = dataclasses.replace(settings, engine="vllm", device="cuda")
    vllm = engines.make(other, base.path, llm_adapter.path)
    assert engines.check_applied(vllm, CHATS, 8, "fp32") > 0
    ours = [a.text for a in engine.generate(CHATS, 8)]
    assert [a.text for a in vllm.generate(CHATS, 8)] == ours
