"""The registry of adapters: each complete or absent, named by its content, and never changed.

There is no pointer to the newest one that the last writer would win: what is newest is computed
from the records of the adapters that are complete.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from raylib import files, identity, log, sealed
from raylib.errors import InputError, StorageError

LATEST = "latest"
NONE = "none"


@dataclasses.dataclass(frozen=True)
class Adapter:
    """A complete adapter: its files, the digest of their content, and its record."""

    path: pathlib.Path
    digest: str
    run: str
    about: dict[str, Any]
    sealed: sealed.Sealed


class Registry:
    """The adapters of one task below `root`."""

    def __init__(self, root: pathlib.Path, task: str) -> None:
        """Reads and writes below root/task."""
        self.folder = root / task
        self.task = task

    def put(
        self, source: pathlib.Path, run: str, attempt: str, about: Mapping[str, Any]
    ) -> Adapter:
        """Registers the files of a folder as the run's adapter, and returns it.

        `about` may name the run's own folder as `output`, for when its attempts end with different
        adapters.
        What the run has registered before with the same content is returned as it is.
        """
        listed = sealed.listing(source, {})
        name = sealed.content(listed)
        for found in self._complete():
            if found.digest == name and found.run == run and _whole(found):
                return found
        target = self.folder / f"{name[:16]}.{attempt}"
        record = {**about, "task": self.task, "run": run}
        try:
            with files.storage(f"creating {target}"):
                target.mkdir(parents=True)
            known = {}
            for relative, _, _ in listed:
                with files.storage(f"creating {target}"):
                    (target / relative).parent.mkdir(parents=True, exist_ok=True)
                known[relative] = files.copy(source / relative, target / relative)
            made = sealed.seal(target, record, known)
        except StorageError:
            files.remove(target, sealed.RECORD)
            raise
        log.event("adapter_registered", path=str(target), digest=name)
        return Adapter(target, made.digest, run, made.about, made)

    def find(self, wanted: str, made_by: str) -> Adapter:
        """Returns the adapter of a run, by its content's digest, or the latest of the task.

        Of several adapters of a run, that of the attempt whose success counts is found first.
        Raises InputError if there is none; `made_by` names the workload that makes one.
        """
        candidates = self._complete()
        if wanted != LATEST:
            candidates = [a for a in candidates if wanted in (a.run, a.digest)]
            candidates.sort(key=lambda a: not _counts(a))
        for found in candidates:
            if _whole(found):
                return found
        what = "no adapter" if wanted == LATEST else f"no adapter of {wanted!r}"
        raise InputError(
            f"{self.folder} has {what} that is complete; the workload {made_by} makes one"
        )

    def _complete(self) -> list[Adapter]:
        """Lists adapters whose record and sizes are right, the latest first."""
        found = []
        try:
            folders = sorted(p for p in self.folder.iterdir() if p.is_dir())
        except FileNotFoundError:
            return []
        for path in folders:
            try:
                entry = sealed.read(path, deep=False)
            except (sealed.Damaged, StorageError):
                continue
            if entry.about.get("task") == self.task:
                run = str(entry.about.get("run"))
                found.append(Adapter(path, entry.digest, run, entry.about, entry))
        key = lambda a: (str(a.about.get("finished")), a.digest)  # noqa: E731
        return sorted(found, key=key, reverse=True)


def _counts(found: Adapter) -> bool:
    """Tells whether the run that made an adapter has ended with it, and not with another one."""
    output = found.about.get("output")
    try:
        done = identity.finished(pathlib.Path(output)) if output else None
    except StorageError:
        return False
    return done is not None and done["summary"].get("adapter") == found.digest


def _whole(found: Adapter) -> bool:
    """Compares the content of all files with the record, and logs what differs."""
    try:
        sealed.read(found.path, deep=True)
    except (sealed.Damaged, StorageError) as e:
        log.event("adapter_passed_over", path=str(found.path), reason=str(e))
        return False
    return True
