"""Folders that are complete or absent.

A folder counts only when its record is there, is intact, and agrees with the files in it. The
record is written last. It holds names, sizes and SHA-256 of the files, and whatever the writer
wants to say of them.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from raylib import files
from raylib.errors import StorageError
from raylib.params import digest

RECORD = "_COMPLETE.json"


@dataclasses.dataclass(frozen=True)
class Sealed:
    """A complete folder: where it is, the digest of its files, and what its record says."""

    path: pathlib.Path
    digest: str
    files: tuple[tuple[str, int, str], ...]
    about: dict[str, Any]

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(size for _, size, _ in self.files)


class Damaged(Exception):  # noqa: N818 - says what is, not what went wrong
    """A folder that does not count, and why."""


def content(listed: tuple[tuple[str, int, str], ...]) -> str:
    """Returns the digest of a list of names, sizes and SHA-256."""
    return digest([list(entry) for entry in sorted(listed)])


def listing(folder: pathlib.Path, known: Mapping[str, str]) -> tuple[tuple[str, int, str], ...]:
    """Lists the files of a folder with size and SHA-256, which is read where it is not known."""
    names = sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, leaves in os.walk(folder)
        for name in leaves
        if name != RECORD
    )
    return tuple(
        (n, (folder / n).stat().st_size, known.get(n) or files.sha256(folder / n)) for n in names
    )


def seal(
    folder: pathlib.Path, about: Mapping[str, Any], known: Mapping[str, str] | None = None
) -> Sealed:
    """Writes the record of a folder whose files are all there, and returns it.

    `known` are SHA-256 by name of all files that the writer wrote, so that they are not read again.
    Raises StorageError if others are there, or some are not: the record would be of something that
    nobody meant. What `about` does not say is said: `finished`, the time, by which readers choose
    the newest. The digest does not depend on it.
    """
    try:
        listed = listing(folder, known or {})
    except FileNotFoundError as e:
        raise StorageError(f"{e.filename} was removed before {folder} was complete") from e
    if known is not None and (wrong := sorted({n for n, _, _ in listed} ^ set(known))):
        raise StorageError(f"{folder} has not the files that were written to it: {wrong[:3]}")
    now = datetime.datetime.now(datetime.UTC).isoformat()
    said = {"finished": now, **about}
    record = {"files": [list(entry) for entry in listed], "about": said}
    files.write_json(folder / RECORD, record)
    return Sealed(folder, content(listed), listed, said)


def read(folder: pathlib.Path, deep: bool = True) -> Sealed:
    """Returns a complete folder. Raises Damaged if it does not count, StorageError if unreadable.

    `deep` compares the SHA-256 of each file; otherwise only sizes are compared.
    """
    record = files.read_json(folder / RECORD)
    if record is None:
        with files.storage(f"reading {folder}"):
            whole = (folder / RECORD).exists()
        raise Damaged("its record is damaged" if whole else "it has no record")
    listed = tuple((str(n), int(s), str(h)) for n, s, h in record["files"])
    for name, size, checksum in listed:
        path = folder / name
        try:
            with files.storage(f"reading {path}"):
                found = path.stat().st_size
            if found != size:
                raise Damaged(f"{name} has {found} of {size} bytes")
            if deep and files.sha256(path) != checksum:
                raise Damaged(f"{name} has another content than it was written with")
        except (FileNotFoundError, NotADirectoryError):
            raise Damaged(f"{name} is missing") from None
    return Sealed(folder, content(listed), listed, record["about"])
