"""Writing and reading files on a mount that has no atomic rename, no links and no locks.

A file is written once, under a name that nothing else uses, and never again. Its data reaches the
storage when it is closed, so an error at closing is an error of the write.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from raylib.errors import StorageError
from raylib.params import digest

_CHUNK = 8 << 20
_MEANING = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the file system failed",
    errno.ENOTCONN: "the mount is gone",
    errno.ENODEV: "the mount is gone",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
}


@contextlib.contextmanager
def storage(doing: str) -> Iterator[None]:
    """Turns errors of the file system into StorageError that says what was being done."""
    try:
        yield
    except OSError as e:
        if e.errno not in _MEANING:
            raise
        raise StorageError(f"{doing}: {_MEANING[e.errno]} ({e.strerror})") from e


def create(path: pathlib.Path) -> BinaryIO:
    """Opens a new file for writing; one that exists is an error, never overwritten."""
    return open(path, "xb")


def write(path: pathlib.Path, data: bytes) -> None:
    """Writes a new file and checks its size. Raises StorageError, FileExistsError."""
    with storage(f"writing {path}"):
        with create(path) as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        _check_size(path, len(data))


def copy(source: pathlib.Path, target: pathlib.Path) -> str:
    """Copies a file to a new name, in order and in large pieces, and returns its SHA-256."""
    seen, size = hashlib.sha256(), 0
    with storage(f"copying {source} to {target}"):
        with open(source, "rb") as reader, create(target) as writer:
            while chunk := reader.read(_CHUNK):
                seen.update(chunk)
                size += len(chunk)
                writer.write(chunk)
            writer.flush()
            os.fsync(writer.fileno())
        _check_size(target, size)
    return seen.hexdigest()


def _check_size(path: pathlib.Path, want: int) -> None:
    got = path.stat().st_size
    if got != want:
        raise StorageError(f"writing {path}: {got} of {want} bytes arrived")


def sha256(path: pathlib.Path) -> str:
    """Returns the SHA-256 of a file's content."""
    seen = hashlib.sha256()
    with storage(f"reading {path}"), open(path, "rb") as f:
        while chunk := f.read(_CHUNK):
            seen.update(chunk)
    return seen.hexdigest()


def write_json(path: pathlib.Path, value: Mapping[str, Any]) -> None:
    """Writes a JSON file that carries its own SHA-256, so that damage is seen at reading."""
    text = json.dumps({"value": value, "sha256": digest(value)}, indent=1, sort_keys=True)
    write(path, text.encode())


def read_json(path: pathlib.Path) -> dict[str, Any] | None:
    """Returns what `write_json` wrote, or None if the file is absent, cut off or damaged.

    Raises StorageError if it is there and cannot be read.
    """
    try:
        with storage(f"reading {path}"):
            outer = json.loads(path.read_bytes())
        value = outer["value"]
        return value if digest(value) == outer["sha256"] else None
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def remove(folder: pathlib.Path, first: str) -> None:
    """Removes a folder, the file `first` before all others, so that it is never half valid.

    What cannot be removed stays: it is often the same disk that failed before, which is then said.
    """
    try:
        (folder / first).unlink(missing_ok=True)
    except OSError:
        # Without the others the first would tell of what is gone.
        return
    shutil.rmtree(folder, ignore_errors=True)


def free_bytes(folder: pathlib.Path) -> int:
    """Returns how much may still be written to the disk that holds a folder."""
    return shutil.disk_usage(folder).free
