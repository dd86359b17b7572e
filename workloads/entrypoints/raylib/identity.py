"""A run's identity: the same id means the same parameters and inputs, and is done only once.

The run's folder holds `_RUN.<attempt>.json`, which says what the run is made from, and in the end
`_SUCCESS.<attempt>.json`. Attempts may overlap, so each writes files of its own.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from raylib import files, log
from raylib.errors import IdentityError
from raylib.params import digest


def finished(folder: pathlib.Path) -> dict[str, Any] | None:
    """Returns the record of the attempt whose success counts for a run, or None if it has none."""
    return next(_read(folder, "_SUCCESS"), None)


def _read(folder: pathlib.Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"{kind}.*.json")):
        value = files.read_json(path)
        if value is None:
            log.event("damaged_file_passed_over", path=str(path))
            continue
        yield value


class Identity:
    """What a run is made from, and whether it is done."""

    def __init__(self, folder: pathlib.Path, attempt: str, deciding: Mapping[str, Any]) -> None:
        """Compares `deciding` with what earlier attempts wrote. Raises IdentityError."""
        self.folder = folder
        self.attempt = attempt
        # As JSON has it: tuples become lists.
        self.parameters = {k: _plain(v) for k, v in deciding.items()}
        with files.storage(f"creating {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
        self._inputs: dict[str, Any] = {}
        for earlier in _read(folder, "_RUN"):
            self._same("parameter", self.parameters, earlier["parameters"])

    @property
    def digest(self) -> str:
        """The digest of all that decides the result: the parameters, and the inputs once pinned."""
        return digest([self.parameters, self._inputs])

    def finished(self) -> dict[str, Any] | None:
        """Returns the summary of an attempt that succeeded, or None."""
        done = finished(self.folder)
        if done is None:
            return None
        self._same("parameter", self.parameters, done["parameters"])
        return dict(done["summary"])

    def pinned(self) -> dict[str, Any] | None:
        """Returns the inputs that an earlier attempt pinned, or None."""
        for earlier in _read(self.folder, "_RUN"):
            return dict(earlier["inputs"])
        return None

    def pin(self, inputs: Mapping[str, Any]) -> None:
        """Writes what the run is made from, or compares it. Raises IdentityError if it differs.

        If attempts that overlap pin different inputs at the same moment, the one whose name sorts
        first counts for all later ones; what the other makes has another digest.
        """
        self._inputs = {k: _plain(v) for k, v in inputs.items()}
        earlier = self.pinned()
        if earlier is not None:
            self._same("input", self._inputs, earlier)
            return
        record = {"parameters": self.parameters, "inputs": self._inputs, "attempt": self.attempt}
        files.write_json(self.folder / f"_RUN.{self.attempt}.json", record)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Says that the run is done; written after everything else."""
        record = {"parameters": self.parameters, "summary": dict(summary), "attempt": self.attempt}
        files.write_json(self.folder / f"_SUCCESS.{self.attempt}.json", record)

    def _same(self, what: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
        differing = sorted(
            k for k in {*ours, *theirs} if ours.get(k, "absent") != theirs.get(k, "absent")
        )
        if differing:
            lines = [
                f"{self.folder} belongs to a run with another {what} {k}: "
                f"{theirs.get(k, 'absent')!r} then, {ours.get(k, 'absent')!r} now"
                for k in differing
            ]
            lines.append("a run with other parameters or inputs needs another RUN_ID and output")
            raise IdentityError("\n".join(lines))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
