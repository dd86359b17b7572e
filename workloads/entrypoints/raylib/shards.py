"""Rows cut into shards in a fixed way, each done when its folder is complete."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from raylib import files, log, sealed
from raylib.errors import InputError, StorageError

FILE = "rows.jsonl"


@dataclasses.dataclass(frozen=True)
class Shard:
    """A piece of the rows: from `first` up to, but without, `end`."""

    number: int
    first: int
    end: int


def read_rows(path: pathlib.Path, most: int) -> list[list[dict[str, str]]]:
    """Returns the conversations of a file, each ending with the expected answer.

    Raises InputError for a row of another form.
    """
    rows: list[list[dict[str, str]]] = []
    try:
        with files.storage(f"reading {path}"):
            # Only a newline ends a row: a text may hold other ends of lines.
            lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(f"{path} is missing; the workload stage brings it") from None
    except UnicodeDecodeError as e:
        raise InputError(f"{path} is no text in UTF-8: {e}") from None
    if lines == [""]:
        raise InputError(f"{path} has no rows")
    for number, line in enumerate(lines, 1):
        try:
            messages = json.loads(line)["messages"]
            roles = [m["role"] for m in messages if isinstance(m["content"], str)]
        except (ValueError, KeyError, TypeError) as e:
            raise InputError(f"{path}, line {number} is not a row with messages: {e!r}") from None
        if len(roles) != len(messages) or roles[-1:] != ["assistant"] or len(roles) < 2:
            raise InputError(f"{path}, line {number} must end with the assistant's answer")
        rows.append(messages)
    return rows[:most] if most else rows


def plan(rows: int, size: int) -> list[Shard]:
    """Cuts rows into shards of a size; the last one may be smaller."""
    return [Shard(n, i, min(i + size, rows)) for n, i in enumerate(range(0, rows, size))]


class Results:
    """The shards that are done, of one plan."""

    def __init__(self, folder: pathlib.Path, config: str) -> None:
        """Makes the folder; `config` is the digest of all that decides the answers."""
        self.folder = folder
        self.config = config
        with files.storage(f"creating {folder}"):
            folder.mkdir(parents=True, exist_ok=True)

    def write(self, shard: Shard, attempt: str, rows: Sequence[dict[str, Any]]) -> None:
        """Writes the answers of a shard, and last the record that makes them count."""
        path = self.folder / f"shard-{shard.number:06d}.{attempt}"
        text = "".join(json.dumps(r, sort_keys=True) + "\n" for r in rows)
        try:
            with files.storage(f"creating {path}"):
                path.mkdir()
            files.write(path / FILE, text.encode())
            about = {"config": self.config, "first": shard.first, "end": shard.end}
            sealed.seal(path, about)
        except BaseException:
            files.remove(path, sealed.RECORD)
            raise

    def read(self, shard: Shard) -> list[dict[str, Any]] | None:
        """Returns the answers of a shard that is done, or None."""
        for path in sorted(self.folder.glob(f"shard-{shard.number:06d}.*")):
            try:
                found = sealed.read(path)
            except (sealed.Damaged, StorageError) as e:
                log.event("shard_passed_over", path=str(path), reason=str(e))
                continue
            want = {"config": self.config, "first": shard.first, "end": shard.end}
            if {k: found.about.get(k) for k in want} != want:
                log.event("shard_passed_over", path=str(path), reason="it is of another plan")
                continue
            text = (path / FILE).read_text(encoding="utf-8")
            return [json.loads(line) for line in text.removesuffix("\n").split("\n")]
        return None
