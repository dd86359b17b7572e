"""Checkpoints on the mount: a new folder each, never changed, valid only when complete.

Two attempts of a run may overlap for a while, so a folder's name carries the attempt. Readers take
the newest valid checkpoint and pass over what is damaged or half-written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from raylib import files, log, sealed
from raylib.errors import StorageError

_NAME = re.compile(r"step-(\d{9})\.([A-Za-z0-9]+)")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A valid checkpoint."""

    step: int
    path: pathlib.Path
    about: dict[str, Any]
    files: tuple[tuple[str, int, str], ...]


class Store:
    """The checkpoints of one run.

    `config` is the digest of what decides the result; checkpoints of another are passed over.
    """

    def __init__(self, folder: pathlib.Path, config: str, attempt: str, keep: int = 2) -> None:
        """Makes the folder if it is not there."""
        self.folder = folder
        self.config = config
        self.attempt = attempt
        self.keep = keep
        with files.storage(f"creating {folder}"):
            folder.mkdir(parents=True, exist_ok=True)

    def begin(self, step: int) -> pathlib.Path:
        """Returns the folder of a new checkpoint. Raises if this attempt has saved it before."""
        path = self.folder / f"step-{step:09d}.{self.attempt}"
        with files.storage(f"creating {path}"):
            path.mkdir()
        return path

    def commit(
        self,
        path: pathlib.Path,
        step: int,
        about: Mapping[str, Any] | None = None,
        known: Mapping[str, str] | None = None,
    ) -> Checkpoint:
        """Makes a checkpoint valid, once all its files are there.

        `known` are SHA-256 by name of all that was written. Raises StorageError if something else
        is there.
        """
        record = {**(about or {}), "step": step, "config": self.config, "attempt": self.attempt}
        made = sealed.seal(path, record, known)
        return Checkpoint(step, path, made.about, made.files)

    def save(
        self,
        step: int,
        sources: Mapping[str, pathlib.Path | bytes],
        about: Mapping[str, Any] | None = None,
    ) -> Checkpoint:
        """Writes a checkpoint and removes old ones.

        Raises StorageError if the mount is full; what was written of it is removed again, and
        earlier checkpoints are as they were.
        """
        path = self.begin(step)
        known: dict[str, str] = {}
        try:
            for name, source in sources.items():
                if isinstance(source, bytes):
                    files.write(path / name, source)
                    known[name] = hashlib.sha256(source).hexdigest()
                else:
                    known[name] = files.copy(source, path / name)
            saved = self.commit(path, step, about, known)
        except BaseException:
            files.remove(path, sealed.RECORD)
            raise
        self.prune()
        return saved

    def newest(self) -> Checkpoint | None:
        """Returns the newest valid checkpoint, or None. Reads and compares its whole content."""
        found = self._found()
        while True:
            for step, path in found:
                try:
                    return self._valid(step, path, deep=True)
                except sealed.Damaged as e:
                    log.event("checkpoint_passed_over", path=str(path), reason=str(e))
            # An attempt that overlaps may have removed them while they were read, after newer ones.
            before, found = found, self._found()
            if found == before:
                return None

    def at(self, path: pathlib.Path) -> Checkpoint:
        """Returns the checkpoint in a folder, for a worker that is told which one to take.

        Raises StorageError if it does not count here, such as when this node does not see it yet.
        """
        match = _NAME.fullmatch(path.name)
        try:
            if match is None:
                raise sealed.Damaged("its name is not a checkpoint's")
            return self._valid(int(match.group(1)), path, deep=True)
        except sealed.Damaged as e:
            raise StorageError(f"{path} is valid on another node, but not on this one: {e}") from e

    def prune(self) -> None:
        """Removes all but the newest valid checkpoints.

        Only what is this attempt's own or has been finished with the same config is removed: what
        else is there may be another attempt's that is being written, or another run's. A failure to
        remove is logged, not raised.
        """
        kept = 0
        for step, path in self._found():
            if kept >= self.keep:
                if self._may_go(path):
                    files.remove(path, sealed.RECORD)
                    if path.exists():
                        log.event("checkpoint_not_removed", path=str(path))
                continue
            with contextlib.suppress(sealed.Damaged):
                self._valid(step, path, deep=False)
                kept += 1

    def _may_go(self, path: pathlib.Path) -> bool:
        if path.name.endswith(f".{self.attempt}"):
            return True
        with contextlib.suppress(StorageError):
            record = files.read_json(path / sealed.RECORD)
            return record is not None and record["about"].get("config") == self.config
        return False

    def _valid(self, step: int, path: pathlib.Path, deep: bool) -> Checkpoint:
        try:
            found = sealed.read(path, deep)
        except (OSError, StorageError) as e:
            raise sealed.Damaged(f"it cannot be read: {e}") from e
        if found.about.get("step") != step:
            raise sealed.Damaged(f"its record is of step {found.about.get('step')}")
        if found.about.get("config") != self.config:
            raise sealed.Damaged("it is of a run with other parameters")
        return Checkpoint(step, path, found.about, found.files)

    def _found(self) -> list[tuple[int, pathlib.Path]]:
        """Lists folders that may be checkpoints, the newest first."""
        with files.storage(f"listing {self.folder}"):
            names = [(m, p) for p in self.folder.iterdir() if (m := _NAME.fullmatch(p.name))]
        return sorted(((int(m.group(1)), p) for m, p in names), key=lambda e: (-e[0], e[1].name))
