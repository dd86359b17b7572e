"""Inputs on the mount, and their copies on the node's own disk.

An input is a complete folder, or else one that holds complete folders, of which the newest counts:
whatever writes an input makes a new one, so a reader never sees a half-written one. Models are
copied to the node before use, since a library that maps a file into memory reads a mount in small
pieces.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import pathlib
from collections.abc import Iterator

from raylib import files, log, sealed
from raylib.errors import InputError, StorageError

# What a copy leaves free on the disk, beside its own size.
_MARGIN = 256 << 20


def find(folder: pathlib.Path, what: str, made_by: str, digest: str = "") -> sealed.Sealed:
    """Returns the input in a folder, that of a digest if one is given; compares sizes only.

    A folder that is complete itself, such as data of one's own, counts before those in it. A run
    asks for what it began with by its digest, since another may be brought meanwhile. Raises
    InputError that says what is missing and which workload `made_by` brings it.
    """
    reasons: list[str] = []
    found: list[sealed.Sealed] = []
    for path in (folder, *_subfolders(folder)):
        try:
            one = sealed.read(path, deep=False)
            if not one.files:
                raise sealed.Damaged("it has no files")
            if digest and one.digest != digest:
                raise sealed.Damaged(f"its content is not {digest[:12]}, which the run began with")
            if path == folder:
                return one
            found.append(one)
        except (sealed.Damaged, StorageError) as e:
            if path != folder or not reasons:
                reasons.append(f"{path.name}: {e}")
    if found:
        return max(found, key=lambda s: str(s.about.get("finished", "")))
    there = f"not complete ({'; '.join(reasons)})" if folder.exists() else "missing"
    raise InputError(f"{what} {folder} is {there}; the workload {made_by} brings it")


def _subfolders(folder: pathlib.Path) -> list[pathlib.Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def local(source: sealed.Sealed, scratch: pathlib.Path, parallel: int = 4) -> pathlib.Path:
    """Returns a copy of an input on the node's disk, made once a node.

    Several files are copied at once, each in order. Raises StorageError if there is no room,
    InputError if the content is not what the input's record says.
    """
    target = scratch / "inputs" / source.digest[:24]
    with files.storage(f"creating {target.parent}"):
        target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_suffix(".lock")):
        with contextlib.suppress(sealed.Damaged):
            sealed.read(target, deep=False)
            return target
        files.remove(target, sealed.RECORD)
        free = files.free_bytes(target.parent)
        if free < source.bytes + _MARGIN:
            raise StorageError(
                f"copying {source.path} to {target}: it takes {source.bytes} bytes and "
                f"{_MARGIN} to spare, but {free} are free"
            )
        log.event("copying", source=str(source.path), target=str(target), bytes=source.bytes)
        known = _copy_all(source, target, parallel)
        sealed.seal(target, source.about, known)
    return target


def _copy_all(source: sealed.Sealed, target: pathlib.Path, parallel: int) -> dict[str, str]:
    def one(entry: tuple[str, int, str]) -> tuple[str, str]:
        name, _, checksum = entry
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if files.copy(source.path / name, target / name) != checksum:
            raise InputError(
                f"{source.path / name} has another content than its record says; "
                "remove its folder and bring it again"
            )
        return name, checksum

    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        return dict(pool.map(one, source.files))


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Holds a lock that the processes of one node share; the node's own disk has locks."""
    with open(path, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield
