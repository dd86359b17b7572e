"""Where real models and data come from. Needs the network; each function writes to one folder."""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import hashlib
import http.client
import json
import pathlib
import shutil
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

from raylib import aurora_data, files, tiny, tiny_llm
from raylib.errors import InputError, StorageError

_TIMEOUT = 120
# The names in WeatherBench2's stores of what Aurora takes.
_NAMES = {
    "2t": "2m_temperature",
    "10u": "10m_u_component_of_wind",
    "10v": "10m_v_component_of_wind",
    "msl": "mean_sea_level_pressure",
    "z": "geopotential",
    "u": "u_component_of_wind",
    "v": "v_component_of_wind",
    "t": "temperature",
    "q": "specific_humidity",
}
_STATIC = {"lsm": "land_sea_mask", "z": "geopotential_at_surface", "slt": "soil_type"}
_PATCH = 4


def hub(repository: str, revision: str, patterns: Sequence[str], folder: pathlib.Path) -> None:
    """Downloads the files of a commit that fit the patterns, and checks them against the hub.

    A pattern that begins with an exclamation mark takes files out. Raises InputError, StorageError.
    """
    from huggingface_hub import HfApi, hf_hub_download

    with _asking(f"{repository}@{revision}"):
        listed = HfApi().repo_info(repository, revision=revision, files_metadata=True).siblings
    chosen = [f for f in listed or [] if _fits(f.rfilename, patterns)]
    if not chosen:
        raise InputError(f"{repository}@{revision} has no file like {', '.join(patterns)}")
    needed, free = sum(f.size or 0 for f in chosen), files.free_bytes(folder)
    if needed > free:
        raise StorageError(f"{repository} takes {needed} bytes, but {free} are free in {folder}")
    for f in chosen:
        with _asking(f"{repository}/{f.rfilename}"):
            hf_hub_download(repository, f.rfilename, revision=revision, local_dir=folder)
        path = folder / f.rfilename
        if f.size is not None and path.stat().st_size != f.size:
            raise InputError(f"{repository}/{f.rfilename} has not the size that the hub says")
        if f.lfs is not None and files.sha256(path) != f.lfs.sha256:
            raise InputError(f"{repository}/{f.rfilename} has not the content that the hub says")
    # The client's own notes.
    shutil.rmtree(folder / ".cache", ignore_errors=True)


@contextlib.contextmanager
def _asking(what: str) -> Iterator[None]:
    """Turns what the hub and its client answer with into InputError, but for a full disk here."""
    import httpx

    try:
        with files.storage(f"downloading {what}"):
            yield
    # The client raises the latter where it is told to be offline, or has been given nonsense.
    except (OSError, httpx.HTTPError, ValueError) as e:
        raise InputError(f"{what} cannot be read from the hub: {e}") from e


def _fits(name: str, patterns: Sequence[str]) -> bool:
    out = [p[1:] for p in patterns if p.startswith("!")]
    into = [p for p in patterns if not p.startswith("!")]
    return any(fnmatch.fnmatch(name, p) for p in into) and not any(
        fnmatch.fnmatch(name, p) for p in out
    )


def _read(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            data: bytes = answer.read()
            want = answer.headers.get("Content-Length")
    except (OSError, http.client.HTTPException) as e:
        raise InputError(f"{url} cannot be read: {e}") from e
    if want is not None and len(data) != int(want):
        raise InputError(f"{url}: {len(data)} of {want} bytes arrived")
    if not data.strip():
        raise InputError(f"{url} is empty")
    return data


def text(url: str, sha256: str, path: pathlib.Path) -> None:
    """Downloads a file and compares its SHA-256, if one is given. Raises InputError."""
    data = _read(url)
    found = hashlib.sha256(data).hexdigest()
    if sha256 and found != sha256:
        raise InputError(f"{url} has the SHA-256 {found}, not {sha256}")
    path.write_bytes(data)


def viggo(url: str, folder: pathlib.Path) -> None:
    """Downloads ViGGO's rows, turns them into conversations, and writes dataset_info.json.

    Raises InputError for a row without instruction, input and output.
    """
    for name in ("train", "test"):
        source = f"{url.rstrip('/')}/{name}.jsonl"
        lines = list(_conversations(_read(source), source))
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    info = tiny_llm.dataset_info("viggo", "train.jsonl")
    (folder / "dataset_info.json").write_text(json.dumps(info, indent=1))


def _conversations(content: bytes, source: str) -> Iterator[str]:
    # Only a newline ends a row: a text may hold other ends of lines.
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            parts = {"system": "instruction", "user": "input", "assistant": "output"}
            messages = [{"role": r, "content": str(row[k]).strip()} for r, k in parts.items()]
        except (ValueError, KeyError, TypeError) as e:
            raise InputError(f"{source}, line {number} is no row of ViGGO: {e!r}") from None
        yield json.dumps({"messages": messages})


def _open(store: str) -> Any:
    import xarray

    options = {"token": "anon"} if store.startswith("gs://") else None
    try:
        return xarray.open_zarr(store, storage_options=options, consolidated=None)
    except (OSError, ValueError, ImportError, KeyError) as e:
        raise InputError(f"the store {store} cannot be read: {e}") from e


def _cut(data: Any, region: Sequence[float]) -> Any:
    """Orders latitudes to fall, cuts a region of south, north, west, east, and fits the patches."""
    data = data.sortby("latitude", ascending=False).sortby("longitude")
    if region:
        south, north, west, east = region
        data = data.sel(latitude=slice(north, south), longitude=slice(west, east))
        rows, columns = data.sizes["latitude"], data.sizes["longitude"]
        data = data.isel(
            latitude=slice(0, rows - rows % _PATCH), longitude=slice(0, columns - columns % _PATCH)
        )
    if not data.sizes["latitude"] or not data.sizes["longitude"]:
        raise InputError(f"the region {tuple(region)} holds no points of the grid")
    return data


def _write(
    data: Any,
    names: dict[str, str],
    path: pathlib.Path,
    levels: Sequence[int],
    time: datetime.datetime | None = None,
) -> None:
    missing = sorted(n for n in names.values() if n not in data)
    if missing:
        raise InputError(f"the store lacks {', '.join(missing)}")
    values = {}
    for ours, theirs in names.items():
        order = [d for d in ("level", "latitude", "longitude") if d in data[theirs].dims]
        values[ours] = data[theirs].transpose(*order).to_numpy()
    lat, lon = data["latitude"].to_numpy(), data["longitude"].to_numpy()
    tiny.write_netcdf(path, values, levels, lat, lon, time)


def state(
    store: str, time: datetime.datetime, region: Sequence[float], folder: pathlib.Path
) -> None:
    """Writes the state at a time, named by that time. Raises InputError if the store lacks it."""
    data = _cut(_open(store), region)
    try:
        at = data.sel(time=time)
    except KeyError:
        raise InputError(f"{store} has no state at {aurora_data.name(time)}") from None
    levels = [int(v) for v in at["level"].to_numpy()]
    _write(at, _NAMES, folder / "state.nc", levels, time)


def static(store: str, region: Sequence[float], folder: pathlib.Path) -> None:
    """Writes the static variables."""
    data = _cut(_open(store), region)
    if "time" in data.dims:
        data = data.isel(time=0)
    _write(data, _STATIC, folder / "static.nc", ())
