"""Tests of batch_inference: shards, scores, engines with a real adapter, and what is refused."""

import dataclasses
import json
import types

import pytest

pytest.importorskip("peft")

from raylib import adapters, batch, identity, scoring, sealed, shards, tiny_llm
from raylib.errors import ClusterError, InputError, ResultError


class Here:
    """In the place of a crew: one worker in this process, whose answers are there at once."""

    def __init__(self, settings, run, base, adapter):
        """Is alone."""
        self.worker = batch.Worker(settings, run, base, adapter)
        self.run, self.size, self.adapted, self.answered = run.id, 1, bool(adapter), []

    def start(self):
        def answer(results, shard, rows, attempt):
            self.answered.append(shard.number)
            return (self.worker.answer(results, shard, rows, attempt),)

        remote = types.SimpleNamespace
        check = remote(remote=lambda chats: (self.worker.check(chats),))
        return remote(check=check, answer=remote(remote=answer))

    def result(self, reference):
        return reference[0]


@pytest.fixture
def here(monkeypatch):
    """Lets the driver's part answer shards in this process, without Ray; collects their numbers."""
    ray = pytest.importorskip("ray")
    answered = []

    def crew(*args):
        made = Here(*args)
        made.answered = answered
        return made

    monkeypatch.setattr(batch, "Crew", crew)
    monkeypatch.setattr(ray, "wait", lambda references, num_returns: (references[:1], []))
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


def test_the_whole_batch_goes_on_with_what_is_left(
    batch_settings, batch_run, llm_adapter, here, tmp_path
):
    first = batch.answer(batch_settings, batch_run)
    assert here == [0, 1, 2]
    assert first["rows"] == 12
    lines = (tmp_path / "b" / first["predictions"]).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(12))

    # As if killed after the first shard, and while the second was written.
    again = dataclasses.replace(batch_run, output=str(tmp_path / "c"))
    (tmp_path / "c").mkdir()
    (tmp_path / "b" / "shards").rename(tmp_path / "c" / "shards")
    done = sorted((tmp_path / "c" / "shards").iterdir())
    (done[1] / "_COMPLETE.json").unlink()
    (done[2] / shards.FILE).write_text("")
    here.clear()
    second = batch.answer(batch_settings, again)
    assert here == [1, 2]
    same = set(first) - {"predictions"}
    assert {k: second[k] for k in same} == {k: first[k] for k in same}
    here.clear()
    assert batch.answer(batch_settings, again)["already"] is True
    assert here == []


def more_rows(folder, count):
    tiny_llm.write_data(folder, test=12 + count)


def test_what_came_later_does_not_mix_into_a_run_that_began(
    batch_settings, batch_run, llm_adapter, make_adapter, here, monkeypatch
):
    finish = batch._finish
    monkeypatch.setattr(batch, "_finish", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        batch.answer(batch_settings, batch_run)
    later = make_adapter("later", seed=9)
    registry = adapters.Registry(batch_run.path(batch_settings.adapters), batch_settings.task)
    assert registry.find(adapters.LATEST, "w").digest == later.digest
    for kind, write in ((batch_settings.base, tiny_llm.qwen), (batch_settings.data, more_rows)):
        newer = batch_run.path(kind) / "a2"
        newer.mkdir()
        write(newer, 9)
        sealed.seal(newer, {})
    monkeypatch.setattr(batch, "_finish", finish)
    here.clear()
    assert batch.answer(batch_settings, batch_run)["adapter"] == llm_adapter.digest
    assert here == []
    with pytest.raises(InputError, match="'nobody'"):
        other = dataclasses.replace(batch_run, output=batch_run.output + "2")
        batch.answer(dataclasses.replace(batch_settings, adapter="nobody"), other)


def test_answers_of_another_adapter_do_not_count(batch_settings, tmp_path):
    shard = shards.Shard(0, 0, 1)
    shards.Results(tmp_path, "with adapter one").write(shard, "a", [{"id": 0}])
    assert shards.Results(tmp_path, "with adapter two").read(shard) is None
    assert shards.Results(tmp_path, "with adapter one").read(shard) == [{"id": 0}]


def test_an_adapter_of_another_base_model_is_refused(batch_settings, batch_run, make_adapter):
    made = make_adapter("other", base="0" * 64)
    with pytest.raises(InputError, match="trained on another base model"):
        batch.find_adapter(batch_settings, batch_run, made.digest, "1" * 64)


def test_missing_rows_and_too_many_errors_fail(
    batch_settings, batch_run, llm_adapter, here, monkeypatch
):
    long = dataclasses.replace(batch_settings, max_model_len=16)
    with pytest.raises(ResultError, match="12 of 12 rows have errors"):
        batch.answer(long, batch_run)
    allowed = dataclasses.replace(long, max_error_rate=1.0)
    other = dataclasses.replace(batch_run, output=batch_run.output + "1")
    assert batch.answer(allowed, other)["errors"] == 12
    other = dataclasses.replace(batch_run, output=batch_run.output + "2")
    monkeypatch.setattr(batch, "_answer_all", lambda *a: None)
    with pytest.raises(ResultError, match="0 of 12 rows have an answer"):
        batch.answer(batch_settings, other)
    assert identity.Identity(other.folder(), "x", batch_settings.deciding()).finished() is None


def test_workers_are_replaced_so_often_and_no_more(batch_settings, batch_run, monkeypatch):
    from ray.exceptions import RayActorError

    def lost(reference):
        raise RayActorError

    monkeypatch.setattr(batch.cluster, "connect", lambda: None)
    monkeypatch.setattr(batch.cluster, "wait_for", lambda *a: None)
    monkeypatch.setattr(batch.cluster, "get", lost)
    crew = batch.Crew(dataclasses.replace(batch_settings, max_failures=1), batch_run, "", "")
    assert crew.result("reference") is None
    with pytest.raises(ClusterError, match="workers were lost 2 times"):
        crew.result("reference")


def test_a_batch_whose_adapter_changes_nothing_fails(batch_settings, batch_run, make_adapter, here):
    make_adapter("untrained", trained=False)
    with pytest.raises(ResultError, match="the adapter changes nothing on 8 prompts"):
        batch.answer(batch_settings, batch_run)
    assert here == []
    unchecked = dataclasses.replace(batch_settings, canary_rows=0)
    assert batch.answer(unchecked, batch_run)["rows"] == 12
