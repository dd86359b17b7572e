"""Tests of the registry of adapters on a folder that misbehaves."""

import errno
import json
import pathlib

import pytest
from programs import fill_the_disk
from test_checkpoints import flip_a_bit

from raylib import adapters, identity
from raylib.errors import InputError, StorageError


def adapter_files(folder: pathlib.Path, text: str) -> pathlib.Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"r": text}))
    (folder / "adapter_model.safetensors").write_bytes(text.encode() * 50)
    return folder


def test_an_adapter_is_found_by_run_by_digest_and_as_the_latest(tmp_path):
    registry = adapters.Registry(tmp_path / "r", "viggo")
    one = registry.put(adapter_files(tmp_path / "1", "one"), "run1", "a", {"rank": 8})
    two = registry.put(adapter_files(tmp_path / "2", "two"), "run2", "b", {})
    assert registry.find("run1", "w").digest == one.digest
    assert registry.find(two.digest, "w").run == "run2"
    assert registry.find(adapters.LATEST, "w").run == "run2"
    assert registry.find("run1", "w").about["rank"] == 8
    other = adapters.Registry(tmp_path / "r", "other")
    with pytest.raises(InputError, match="the workload llm-training makes one"):
        other.find(adapters.LATEST, "llm-training")
    with pytest.raises(InputError, match="'run3'"):
        registry.find("run3", "w")


def test_an_adapter_is_registered_once(tmp_path):
    registry = adapters.Registry(tmp_path / "r", "viggo")
    source = adapter_files(tmp_path / "1", "one")
    first = registry.put(source, "run1", "a", {})
    assert registry.put(source, "run1", "b", {}).path == first.path
    assert registry.put(source, "run2", "c", {}).path != first.path


def test_a_damaged_or_half_written_adapter_is_absent(tmp_path, monkeypatch):
    registry = adapters.Registry(tmp_path / "r", "viggo")
    registry.put(adapter_files(tmp_path / "1", "one"), "run1", "a", {})
    two = registry.put(adapter_files(tmp_path / "2", "two"), "run2", "b", {})
    flip_a_bit(two.path / "adapter_model.safetensors")
    assert registry.find(adapters.LATEST, "w").run == "run1"
    with monkeypatch.context() as m:
        fill_the_disk(m, 1)
        with pytest.raises(StorageError):
            registry.put(adapter_files(tmp_path / "3", "three"), "run3", "c", {})
    assert registry.find(adapters.LATEST, "w").run == "run1"
    assert len(list((tmp_path / "r" / "viggo").iterdir())) == 2


def test_a_damaged_adapter_is_registered_anew(tmp_path):
    registry = adapters.Registry(tmp_path / "r", "viggo")
    source = adapter_files(tmp_path / "1", "one")
    first = registry.put(source, "run1", "a", {})
    flip_a_bit(first.path / "adapter_model.safetensors")
    again = registry.put(source, "run1", "b", {})
    assert again.path != first.path
    assert registry.find("run1", "w").path == again.path


def test_one_record_that_cannot_be_read_costs_no_other(tmp_path, monkeypatch):
    registry = adapters.Registry(tmp_path / "r", "viggo")
    one = registry.put(adapter_files(tmp_path / "1", "one"), "run1", "a", {})
    two = registry.put(adapter_files(tmp_path / "2", "two"), "run2", "b", {})
    read = pathlib.Path.read_bytes

    def fails(path):
        if path.parent == two.path:
            raise OSError(errno.EIO, "input/output error")
        return read(path)

    monkeypatch.setattr(pathlib.Path, "read_bytes", fails)
    assert registry.find(adapters.LATEST, "w").digest == one.digest


def test_of_two_adapters_of_a_run_the_one_that_its_success_names_is_found(tmp_path):
    registry, about = adapters.Registry(tmp_path / "r", "viggo"), {"output": str(tmp_path / "run")}
    one = registry.put(adapter_files(tmp_path / "1", "one"), "run1", "a", about)
    two = registry.put(adapter_files(tmp_path / "2", "two"), "run1", "b", about)
    assert registry.find("run1", "w").digest == two.digest
    for attempt, made in (("b", two), ("a", one)):
        identity.Identity(tmp_path / "run", attempt, {}).finish({"adapter": made.digest})
    known = identity.Identity(tmp_path / "run", "c", {})
    assert known.finished() == {"adapter": one.digest}
    assert registry.find("run1", "w").digest == one.digest
    assert registry.find(two.digest, "w").digest == two.digest
