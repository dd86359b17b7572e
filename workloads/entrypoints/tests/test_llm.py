"""Tests of llm_finetune on a tiny Qwen2: LLaMA-Factory's real training, and resuming it."""

import json

import pytest

pytest.importorskip("llamafactory")

from programs import fill_the_disk
from small import LLM

import llm_finetune
from raylib import (
    adapters,
    checkpoints,
    llm_loop,
    llm_train,
    log,
    params,
    sealed,
    tiny_llm,
)
from raylib.errors import InputError, Interrupted, ResultError, StorageError
from raylib.run import Run


@pytest.fixture
def train(llm_mount, tmp_path, place):
    """Trains on one worker without Ray, with other knobs than usual if given."""

    def trained(out, stop_after=None, **knobs):
        env = {**LLM, **{f"LLM_{k.upper()}": str(v) for k, v in knobs.items()}}
        env["LLM_SCRATCH"] = str(tmp_path / "scratch")
        settings = params.load(llm_finetune.Settings, env)
        run = Run(id=out, storage=str(llm_mount), output=str(tmp_path / out))
        where = place(stop_after)
        llm_loop.train(where, settings, run, "config")
        return where.facts["summary"]

    return trained


def weights(mount, run):
    found = adapters.Registry(mount / "llm-pipeline/adapters", "viggo").find(run, "llm-training")
    return (found.path / "adapter_model.safetensors").read_bytes()


def test_resuming_gives_the_very_bits_of_an_uninterrupted_run(train, llm_mount, tmp_path):
    whole = train("whole")
    assert whole["steps"] == 4
    assert whole["last_loss"] < whole["first_loss"]
    # Stopped between two checkpoints: one is saved where it stops.
    with pytest.raises(Interrupted):
        train("parts", stop_after=3)
    steps = sorted(p.name.split(".")[0] for p in (tmp_path / "parts/checkpoints").iterdir())
    assert steps == ["step-000000002", "step-000000003"]
    parts = train("parts")
    assert weights(llm_mount, "whole") == weights(llm_mount, "parts")
    assert parts["last_loss"] == whole["last_loss"]
    assert (parts["steps"], parts["first_loss"]) == (4, whole["first_loss"])
    assert parts["adapter"] == whole["adapter"]


def test_a_run_that_ended_after_its_last_step_makes_no_other(
    train, llm_mount, tmp_path, monkeypatch
):
    whole = train("whole")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(adapters.Registry, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            train("parts")
    assert sorted(p.name[:14] for p in (tmp_path / "parts/checkpoints").iterdir())[-1:] == [
        "step-000000004"
    ]
    parts = train("parts")
    assert (parts["steps"], parts["adapter"]) == (4, whole["adapter"])
    assert (parts["first_loss"], parts["last_loss"]) == (whole["first_loss"], whole["last_loss"])
    assert weights(llm_mount, "whole") == weights(llm_mount, "parts")
    found = adapters.Registry(llm_mount / "llm-pipeline/adapters", "viggo").find("parts", "w")
    assert found.about["steps"] == 4


def test_progress_counts_from_where_an_attempt_begins(train, monkeypatch):
    seen = []
    step = log.Progress.step
    monkeypatch.setattr(
        log.Progress, "step", lambda p, n, items=0, **v: (seen.append(items), step(p, n, items))[1]
    )
    with pytest.raises(Interrupted):
        train("parts", stop_after=3)
    before = list(seen)
    train("parts")
    assert len(before) == 3
    assert len(seen) == 4
    # The tokens of a batch of two short rows, and not of all batches before it.
    assert seen[3] < 2 * max(before)


def test_a_checkpoint_that_changes_while_it_is_copied_is_refused(train, tmp_path, monkeypatch):
    with pytest.raises(Interrupted):
        train("parts", stop_after=3)
    newest = checkpoints.Store.newest

    def changed(store):
        found = newest(store)
        weights = found.path / "optimizer.pt"
        weights.write_bytes(weights.read_bytes()[:-1] + b"x")
        (found.path / "more.bin").write_bytes(b"not of it")
        return found

    monkeypatch.setattr(checkpoints.Store, "newest", changed)
    with pytest.raises(StorageError, match=r"optimizer\.pt was read with another content"):
        train("parts")


def test_a_run_that_began_goes_on_with_its_data_and_a_new_one_takes_the_newest(
    llm_mount, tmp_path, monkeypatch
):
    settings = params.load(llm_finetune.Settings, LLM)
    fitted = []

    def fit(loop, config, *_):
        fitted.append(config["inputs"])
        raise Interrupted("stopped")

    monkeypatch.setattr(llm_train.trainer, "fit", fit)

    def train(out):
        with pytest.raises(Interrupted):
            run = Run(id=out, storage=str(llm_mount), output=str(tmp_path / out))
            llm_train.train(settings, run)

    train("began")
    newer = llm_mount / settings.data / "a2"
    newer.mkdir()
    tiny_llm.write_data(newer, train=50)
    sealed.seal(newer, {})
    train("began")
    train("new")
    assert fitted[0] == fitted[1]
    assert fitted[2]["data"] != fitted[0]["data"]


def test_a_damaged_checkpoint_costs_one_interval(train, llm_mount, tmp_path):
    train("whole")
    with pytest.raises(Interrupted):
        train("parts", stop_after=3)
    newest = sorted((tmp_path / "parts/checkpoints").iterdir())[-1] / "optimizer.pt"
    newest.write_bytes(newest.read_bytes()[:-1])
    train("parts")
    assert weights(llm_mount, "whole") == weights(llm_mount, "parts")


def test_a_full_disk_ends_the_run_and_leaves_the_last_checkpoint(
    train, llm_mount, tmp_path, monkeypatch
):
    train("whole")
    with monkeypatch.context() as m:
        fill_the_disk(m, 1, of="step-000000004")
        with pytest.raises(StorageError, match="the disk is full"):
            train("parts")
    complete = (tmp_path / "parts/checkpoints").glob("*/_COMPLETE.json")
    assert [p.parent.name.split(".")[0] for p in complete] == ["step-000000002"]
    with pytest.raises(InputError):
        weights(llm_mount, "parts")
    assert train("parts")["steps"] == 4
    assert weights(llm_mount, "whole") == weights(llm_mount, "parts")


def test_the_adapter_is_complete_and_says_what_it_is(train, llm_mount):
    train("run", lora_rank=4, max_steps=1)
    found = adapters.Registry(llm_mount / "llm-pipeline/adapters", "viggo").find("latest", "w")
    assert sorted(n for n, _, _ in found.sealed.files) == list(llm_loop.ADAPTER_FILES)
    config = json.loads((found.path / "adapter_config.json").read_text())
    assert config["r"] == 4
    assert config["base_model_name_or_path"] == "models/Qwen/Qwen2.5-7B-Instruct"
    assert found.about["dataset"] == "viggo"


def test_a_loss_that_is_not_finite_ends_before_a_checkpoint(train, llm_mount, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = llm_mount / "models/Qwen/Qwen2.5-7B-Instruct/a1"
    broken = load_file(folder / "model.safetensors")
    broken["lm_head.weight"][0] = float("nan")
    save_file(broken, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / sealed.RECORD).unlink()
    sealed.seal(folder, {})
    with pytest.raises(ResultError, match="step 1 has the loss nan"):
        train("run", checkpoint_steps=1)
    assert list((tmp_path / "run/checkpoints").iterdir()) == []
