"""Tests of inputs: which one counts, data of one's own, and what is no input."""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

import stage
from raylib import files, inputs, params, sealed, shards, sources, staging
from raylib.errors import InputError, StorageError
from raylib.run import Run

ROW = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}


def settings(tmp_path, **knobs):
    env = {f"STAGE_{k.upper()}": str(v) for k, v in knobs.items()}
    return params.load(stage.Settings, {**env, "STAGE_SCRATCH": str(tmp_path / "scratch")})


def seal(folder):
    """Writes the record of a folder as README.md says."""
    readme = (pathlib.Path(stage.__file__).parent / "README.md").read_text()
    command = readme.partition("python -c '")[2].partition("'`")[0]
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(stage.__file__).parent)}
    code = command.replace("FOLDER", str(folder))
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def item(tmp_path):
    """Stages a text; returns its folder, the settings and the run."""
    s = settings(tmp_path, items="shakespeare", text_url=(tmp_path / "in.txt").as_uri())
    (tmp_path / "in.txt").write_text("to be")
    run = Run(id="s", storage=str(tmp_path / "mount"))
    staging.bring(s, run)
    return run.path(staging.FOLDERS["shakespeare"]), s, run


@pytest.mark.parametrize("place", ["mine", "."], ids=["beside", "in its place"])
def test_data_of_ones_own_counts_and_is_left_alone(tmp_path, place):
    folder, s, run = item(tmp_path)
    own = folder / place
    own.mkdir(exist_ok=True)
    (own / "text.txt").write_text("not to be")
    seal(own)
    found = inputs.find(folder, "the text", "stage")
    assert (found.path / "text.txt").read_text() == "not to be"
    assert staging._compare(s, run)[1] == {}
    # The content decides the digest, whenever it was sealed.
    again = tmp_path / "again"
    again.mkdir()
    (again / "text.txt").write_text("not to be")
    if place == "mine":
        assert sealed.seal(again, {}).digest == found.digest


def test_what_comes_from_elsewhere_is_brought_again(tmp_path):
    _, _, run = item(tmp_path)
    (tmp_path / "other.txt").write_text("that is the question")
    other = settings(tmp_path, items="shakespeare", text_url=(tmp_path / "other.txt").as_uri())
    assert len(staging._compare(other, run)[1]) == 1


@pytest.mark.parametrize("kind", ["file", "empty"])
def test_what_is_no_folder_with_files_is_no_input(tmp_path, kind):
    if kind == "file":
        (tmp_path / "x").write_text("x")
    else:
        (tmp_path / "x").mkdir()
        sealed.seal(tmp_path / "x", {})
    with pytest.raises(InputError, match="is not complete"):
        inputs.find(tmp_path / "x", "it", "stage")


def test_a_full_disk_is_said_while_something_is_downloaded(tmp_path):
    def fetch(folder):
        with open("/dev/full", "wb", buffering=0) as f:
            f.write(b"x")

    with pytest.raises(StorageError, match=r"bringing the thing to .* the disk is full"):
        staging.one(settings(tmp_path), tmp_path / "mount", "the thing", fetch)


def breaks_off(*_, **__):
    """Returns what a server answers that breaks off."""

    def read():
        raise http.client.IncompleteRead(b"to")

    return contextlib.nullcontext(types.SimpleNamespace(read=read))


def test_an_answer_that_breaks_off_or_is_empty_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_bytes(b"\n")
    with pytest.raises(InputError, match="is empty"):
        sources.text((tmp_path / "in.txt").as_uri(), "", tmp_path / "out.txt")
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        sources.viggo(tmp_path.as_uri(), tmp_path)
    monkeypatch.setattr(sources.urllib.request, "urlopen", breaks_off)
    with pytest.raises(InputError, match="cannot be read"):
        sources.text("https://nowhere", "", tmp_path / "out.txt")


def test_a_hub_that_cannot_be_reached_is_an_error_of_the_input(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    httpx = pytest.importorskip("httpx")
    listed = [types.SimpleNamespace(rfilename="a.json", size=1, lfs=None)]
    answer = types.SimpleNamespace(siblings=listed)

    def fails(why):
        def failing(*_, **__):
            raise why

        return failing

    lost = httpx.ConnectError("no route to the host")
    monkeypatch.setattr(hub.HfApi, "repo_info", fails(lost))
    with pytest.raises(InputError, match="cannot be read from the hub: no route"):
        sources.hub("a/b", "0" * 40, ("*.json",), tmp_path)
    monkeypatch.setattr(hub.HfApi, "repo_info", lambda *_, **__: answer)
    monkeypatch.setattr(hub, "hf_hub_download", fails(lost))
    with pytest.raises(InputError, match="cannot be read from the hub: no route"):
        sources.hub("a/b", "0" * 40, ("*.json",), tmp_path)
    monkeypatch.setattr(hub, "hf_hub_download", fails(OSError(28, "No space left on device")))
    with pytest.raises(StorageError, match="the disk is full"):
        sources.hub("a/b", "0" * 40, ("*.json",), tmp_path)


def test_only_a_newline_ends_a_row(tmp_path):
    for end in ("\u2028", "\x85", "\x0c"):
        text = f"I like{end}it."
        row = {"instruction": "Say.", "input": text, "output": "inform(x[y])"}
        for name in ("train", "test"):
            raw = json.dumps(row, ensure_ascii=end == "\x0c") + "\n"
            (tmp_path / f"{name}.jsonl").write_text(raw, encoding="utf-8")
        made = tmp_path / f"made-{ord(end)}"
        made.mkdir()
        sources.viggo(tmp_path.as_uri(), made)
        (got,) = shards.read_rows(made / "train.jsonl", 0)
        assert got[1]["content"] == text
        own = {"messages": [{"role": "user", "content": text}, ROW["messages"][1]]}
        raw = json.dumps(own, ensure_ascii=end == "\x0c")
        (tmp_path / "own.jsonl").write_text(raw, encoding="utf-8")
        assert shards.read_rows(tmp_path / "own.jsonl", 0) == [own["messages"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "has no rows"), (b"\xff\n", "is no text in UTF-8"), (b"\n", "has no rows")],
)
def test_a_file_without_rows_is_named(tmp_path, content, words):
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=words):
        shards.read_rows(tmp_path / "rows.jsonl", 0)
    with pytest.raises(InputError, match="is missing"):
        shards.read_rows(tmp_path / "rows.jsonl/x", 0)


def test_what_is_not_there_is_no_failure_of_the_disk(tmp_path):
    (tmp_path / "x").write_text("x")
    assert files.read_json(tmp_path / "x" / sealed.RECORD) is None
