"""The work of stage: what each item is, and bringing what is missing. Needs Ray."""

from __future__ import annotations

import datetime
import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from raylib import aurora_data, cluster, files, inputs, log, sealed
from raylib.errors import InputError
from raylib.run import Run, attempt_id

Fetch = Callable[[pathlib.Path], None]


def stage(settings: Any, run: Run) -> Mapping[str, Any]:
    """Brings what is missing, on a worker, and returns what was brought and what was there."""
    there, missing = _compare(settings, run)
    if missing:
        cluster.connect()
        import ray

        cluster.wait_for({"CPU": 1}, settings.cluster_timeout_seconds)
        cluster.get(ray.remote(num_cpus=1)(bring).remote(settings, run))
    return {"there": sorted(there), "brought": sorted(missing)}


def bring(settings: Any, run: Run) -> None:
    """Brings what is missing, here."""
    log.bind(program="stage", run=run.id)
    _, missing = _compare(settings, run)
    progress = log.Progress(len(missing), "items", 1, run.id)
    for number, (relative, (source, fetch)) in enumerate(missing.items(), 1):
        one(settings, run.path(relative), source, fetch)
        progress.step(number, 1)


def _compare(
    settings: Any, run: Run
) -> tuple[dict[str, tuple[str, Fetch]], dict[str, tuple[str, Fetch]]]:
    """Returns what is there and what is missing of what the settings ask for."""
    there, missing = {}, {}
    for relative, wanted in wanted_items(settings).items():
        try:
            found = inputs.find(run.path(relative), relative, "stage")
            # What names no source is someone's own, which takes the place of what is staged.
            same = found.about.get("source", wanted[0]) == wanted[0]
        except InputError:
            same = False
        (there if same else missing)[relative] = wanted
    return there, missing


def one(settings: Any, folder: pathlib.Path, source: str, fetch: Fetch) -> None:
    """Brings one item: to this node first, and from there to a new folder on the mount."""
    # What an earlier attempt left half-written stays: it cannot be told from what an attempt that
    # overlaps is writing now. Readers pass over it.
    attempt = attempt_id()
    local = pathlib.Path(settings.scratch) / "stage" / attempt
    target = folder / attempt
    log.event("bringing", source=source, target=str(target))
    try:
        with files.storage(f"creating {local}"):
            local.mkdir(parents=True)
        with files.storage(f"bringing {source} to {local}"):
            fetch(local)
        known = {}
        listed = sealed.listing(local, {})
        if not listed:
            raise InputError(f"{source} has no files")
        for name, size, checksum in listed:
            with files.storage(f"creating {target}"):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
            known[name] = files.copy(local / name, target / name)
            if known[name] != checksum:
                raise InputError(f"{local / name} changed while it was copied")
            log.event("brought", file=name, bytes=size)
        sealed.seal(target, {"source": source}, known)
    except BaseException:
        if target.exists():
            files.remove(target, sealed.RECORD)
        raise
    finally:
        shutil.rmtree(local, ignore_errors=True)


def wanted_items(settings: Any) -> dict[str, tuple[str, Fetch]]:
    """Returns for each folder that is asked for what it comes from, and how."""
    s = settings
    made: dict[str, tuple[str, Fetch]] = {}
    for item in dict.fromkeys(s.items):
        if item == "era5":
            made.update(_states(s))
        else:
            made.update(_tiny(item) if s.source == "tiny" else _real(s, item))
    return made


def _tiny(item: str) -> dict[str, tuple[str, Fetch]]:
    def fetch(folder: pathlib.Path) -> None:
        from raylib import tiny, tiny_llm

        writers: dict[str, Fetch] = {
            "aurora": tiny.aurora,
            "qwen": tiny_llm.qwen,
            "gpt2": tiny_llm.gpt2,
            "viggo": tiny_llm.write_data,
            "shakespeare": tiny_llm.write_text,
        }
        writers[item](folder)

    return {FOLDERS[item]: (f"tiny {item}", fetch)}


def _real(s: Any, item: str) -> dict[str, tuple[str, Fetch]]:
    def fetch(folder: pathlib.Path) -> None:
        from raylib import sources

        if item == "viggo":
            sources.viggo(s.viggo_url, folder)
        elif item == "shakespeare":
            sources.text(s.text_url, s.text_sha256, folder / "text.txt")
        else:
            repository, revision, patterns = _hub(s)[item]
            sources.hub(repository, revision, patterns, folder)

    if item == "viggo":
        source = s.viggo_url
    elif item == "shakespeare":
        source = f"{s.text_url} {s.text_sha256}".strip()
    else:
        source = "{}@{}".format(*_hub(s)[item][:2])
    return {FOLDERS[item]: (source, fetch)}


def _states(s: Any) -> dict[str, tuple[str, Fetch]]:
    """Returns the states, each a folder of its own, and the static variables."""
    region = tuple(s.era5_region)
    source = "tiny states" if s.source == "tiny" else f"{s.era5_store} {region or 'globe'}"

    def static(folder: pathlib.Path) -> None:
        from raylib import sources, tiny

        if s.source == "tiny":
            tiny.static(folder)
        else:
            sources.static(s.era5_store, region, folder)

    def state(time: datetime.datetime) -> Fetch:
        def fetch(folder: pathlib.Path) -> None:
            from raylib import sources, tiny

            if s.source == "tiny":
                tiny.states(folder, time)
            else:
                sources.state(s.era5_store, time, region, folder)

        return fetch

    root = FOLDERS["era5"]
    made = {f"{root}/static": (source, static)}
    for text in s.era5_times:
        time = aurora_data.parse_time(text)
        made[f"{root}/{aurora_data.name(time)}"] = (source, state(time))
    return made


FOLDERS = {
    "aurora": "models/microsoft/aurora",
    "qwen": "models/Qwen/Qwen2.5-7B-Instruct",
    "gpt2": "models/openai-community/gpt2",
    "viggo": "llm-pipeline/data/viggo",
    "shakespeare": "llm-pipeline/data/shakespeare",
    "era5": "aurora/data/era5",
}


def _hub(s: Any) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Returns for each item the repository on the hub, its commit, and which files."""
    model = ("*.json", "*.safetensors", "*.txt", "*.jinja", "LICENSE*")
    return {
        "aurora": (
            "microsoft/aurora",
            s.aurora_revision,
            ("aurora-0.25-pretrained.ckpt", "LICENSE*"),
        ),
        "qwen": ("Qwen/Qwen2.5-7B-Instruct", s.qwen_revision, model),
        "gpt2": ("openai-community/gpt2", s.gpt2_revision, (*model, "!onnx/*", "!64*")),
    }
