"""Tests of checkpoints on a folder that misbehaves."""

import errno
import json
import pathlib

import pytest
from programs import fill_the_disk

from raylib import checkpoints, files, sealed
from raylib.errors import StorageError

DATA = {"model.bin": b"m" * 1000, "rng.bin": b"r" * 100}


def store(folder: pathlib.Path, attempt: str = "a1", keep: int = 2, config: str = "c"):
    return checkpoints.Store(folder, config, attempt, keep)


def steps(folder: pathlib.Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def truncate(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_the_newest_checkpoint_is_read_back(tmp_path):
    s = store(tmp_path)
    assert s.newest() is None
    s.save(1, DATA)
    source = tmp_path / "local.bin"
    source.write_bytes(b"local")
    saved = s.save(2, {**DATA, "local.bin": source}, {"loss": 1.5})
    found = store(tmp_path, "a2").newest()
    assert (found.step, found.path, found.about["loss"]) == (2, saved.path, 1.5)
    assert (found.path / "local.bin").read_bytes() == b"local"


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: (p / sealed.RECORD).unlink(),
        lambda p: truncate(p / sealed.RECORD),
        lambda p: flip_a_bit(p / sealed.RECORD),
        lambda p: (p / sealed.RECORD).write_bytes(b""),
        lambda p: (p / "model.bin").unlink(),
        lambda p: truncate(p / "model.bin"),
        lambda p: flip_a_bit(p / "model.bin"),
        lambda p: p.rename(p.with_name("step-000000009.a1")),
    ],
    ids=[
        "no record",
        "truncated record",
        "bit-flipped record",
        "empty record",
        "missing file",
        "truncated file",
        "bit-flipped file",
        "record of another step",
    ],
)
def test_a_damaged_checkpoint_is_passed_over(tmp_path, damage, capsys):
    s = store(tmp_path)
    s.save(1, DATA)
    damage(s.save(2, DATA).path)
    assert s.newest().step == 1
    passed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert passed["event"] == "checkpoint_passed_over"


def test_a_checkpoint_of_other_parameters_is_passed_over(tmp_path):
    store(tmp_path, config="c").save(1, DATA)
    store(tmp_path, config="other", attempt="b").save(2, DATA)
    assert store(tmp_path, config="c").newest().step == 1


def test_pruning_keeps_the_newest_valid_ones(tmp_path):
    s = store(tmp_path, keep=2)
    for step in (1, 2, 3):
        s.save(step, DATA)
    assert steps(tmp_path) == ["step-000000002.a1", "step-000000003.a1"]
    truncate(tmp_path / "step-000000003.a1" / "rng.bin")
    s.save(4, DATA)
    # The damaged one does not count among those that are kept.
    assert (tmp_path / "step-000000002.a1").exists()


def test_pruning_leaves_what_is_not_its_own_and_not_finished(tmp_path):
    other = store(tmp_path, "other").begin(5)
    files.write(other / "model.bin", b"half")
    elsewhere = store(tmp_path, "elsewhere", config="other").save(2, DATA).path
    mine = store(tmp_path, "mine", keep=1)
    half = mine.begin(1)
    done = store(tmp_path, "done").save(3, DATA).path
    mine.save(6, DATA)
    assert other.exists()
    assert elsewhere.exists()
    assert not half.exists()
    assert not done.exists()


def test_what_is_sealed_is_what_was_written(tmp_path):
    known = {"a": "0", "b": "1"}
    files.write(tmp_path / "a", b"a")
    with pytest.raises(StorageError, match="has not the files that were written to it"):
        sealed.seal(tmp_path, {}, known)
    files.write(tmp_path / "b", b"b")
    files.write(tmp_path / "c", b"c")
    with pytest.raises(StorageError, match="has not the files that were written to it"):
        sealed.seal(tmp_path, {}, known)
    (tmp_path / "c").unlink()
    assert [f[0] for f in sealed.seal(tmp_path, {}, known).files] == ["a", "b"]


def test_a_checkpoint_that_loses_a_file_while_it_is_written_is_not_saved(tmp_path, monkeypatch):
    s = store(tmp_path)
    write = files.write

    def lost(path, data):
        write(path, data)
        if path.name == "rng.bin":
            path.with_name("model.bin").unlink()

    monkeypatch.setattr(files, "write", lost)
    with pytest.raises(StorageError, match=r"model\.bin"):
        s.save(1, DATA)
    assert s.newest() is None


def test_overlapping_attempts_do_not_touch_each_other(tmp_path):
    one, two = store(tmp_path, "one"), store(tmp_path, "two")
    first = one.begin(7)
    files.write(first / "model.bin", b"one")
    two.save(7, {"model.bin": b"two"})
    assert store(tmp_path).newest().path.name == "step-000000007.two"
    one.commit(first, 7)
    assert (tmp_path / "step-000000007.two" / "model.bin").read_bytes() == b"two"
    assert (tmp_path / "step-000000007.one" / "model.bin").read_bytes() == b"one"
    with pytest.raises(FileExistsError):
        one.begin(7)


def test_checkpoints_that_go_while_they_are_read_cost_nothing(tmp_path, monkeypatch):
    mine, other = store(tmp_path, "mine"), store(tmp_path, "other", keep=1)
    mine.save(2, DATA)
    read = sealed.read

    def removed(*args):
        # Another attempt saves a newer one, and with that removes the one that is read here.
        monkeypatch.setattr(sealed, "read", read)
        other.save(4, DATA)
        return read(*args)

    monkeypatch.setattr(sealed, "read", removed)
    assert mine.newest().step == 4


def test_nothing_is_ever_overwritten(tmp_path):
    files.write(tmp_path / "x", b"1")
    with pytest.raises(FileExistsError):
        files.write(tmp_path / "x", b"2")
    assert (tmp_path / "x").read_bytes() == b"1"


@pytest.mark.parametrize("after", [0, 1, 2], ids=["first file", "second file", "record"])
def test_a_full_disk_is_said_and_leaves_the_last_checkpoint(tmp_path, monkeypatch, after):
    s = store(tmp_path)
    s.save(1, DATA)
    with monkeypatch.context() as m:
        fill_the_disk(m, after)
        with pytest.raises(StorageError, match="the disk is full") as e:
            s.save(2, DATA)
    assert e.value.code == 6
    assert steps(tmp_path) == ["step-000000001.a1"]
    assert s.newest().step == 1
    assert s.save(2, DATA).step == 2


def test_a_short_write_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsync", lambda fd: files.os.ftruncate(fd, 3))
    with pytest.raises(StorageError, match="3 of 5 bytes"):
        files.write(tmp_path / "x", b"12345")


def test_a_disk_that_fails_twice_says_what_failed_first(tmp_path, monkeypatch):
    def fails(path, missing_ok=False):
        raise OSError(errno.EIO, "input/output error")

    s = store(tmp_path)
    fill_the_disk(monkeypatch, 1)
    monkeypatch.setattr(pathlib.Path, "unlink", fails)
    with pytest.raises(StorageError, match="the disk is full"):
        s.save(1, DATA)
