"""Which run this is, and where its inputs and outputs are.

The variables are set by the workload's builder, the same on the head and on all workers.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import uuid
from typing import Any, ClassVar

from raylib.errors import ParameterError
from raylib.params import Params, knob


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run(Params):
    """The run's identity and places."""

    PREFIX: ClassVar[str] = "RUN_"
    # Other software may have variables of that prefix.
    STRICT: ClassVar[bool] = False

    id: str = knob(
        required=True,
        pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}",
        help="what decides the result, hashed: the same for every attempt of a run",
    )
    name: str = knob("", help="the name of the object in Kubernetes, for logs")
    workers: int = knob(1, low=1, high=10000, help="how many worker nodes the cluster has")
    storage: str = knob("/mnt/blob", help="where the containers are mounted, each as a folder")
    output: str = knob("", help="the run's own folder on the mount; empty = the workload has none")

    def problems(self) -> list[str]:
        """Refuses relative paths: Ray changes the working directory of workers."""
        wrong = []
        for name, value in (("RUN_STORAGE", self.storage), ("RUN_OUTPUT", self.output)):
            if value and not os.path.isabs(value):
                wrong.append(f"{name} is {value!r}, but must be an absolute path")
        return wrong

    def path(self, relative: str) -> pathlib.Path:
        """Returns a path below the mounts. Raises ParameterError if it would lead out of them."""
        root = pathlib.Path(self.storage)
        normal = os.path.normpath(relative)
        if os.path.isabs(relative) or normal == ".." or normal.startswith("../"):
            raise ParameterError([f"{relative!r} must be a path below {root}"])
        return root / normal

    def folder(self) -> pathlib.Path:
        """Returns the run's own folder. Raises ParameterError if the workload has none."""
        if not self.output:
            raise ParameterError(
                ["RUN_OUTPUT is not set; it comes from `output` in the workload's config"]
            )
        return pathlib.Path(self.output)


def attempt_id() -> str:
    """Returns a new id for this attempt: two attempts of a run may overlap for a while."""
    return uuid.uuid4().hex[:8]


def relative_path(default: str, help: str, **known: Any) -> Any:
    """Returns the knob of a path below RUN_STORAGE; the path may not lead out of it."""
    text = f"{help}, below RUN_STORAGE"
    return knob(default, pattern=r"(?!/)(?!(.*/)?\.\.(/|$))[^\0]+", help=text, **known)
