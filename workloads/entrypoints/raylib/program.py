"""The frame of every program: --help, --check-config, messages and exit codes."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from raylib import errors, leave, log, params
from raylib.run import Run

P = TypeVar("P", bound=params.Params)

_USAGE = """usage: {name}.py [--help | --check-config]

  --check-config   read and check all parameters, print them as JSON, and end; needs neither
                   Ray nor a GPU nor the mounts

{doc}

Parameters are environment variables; {prefix}CONFIG may name a YAML file with the same keys in
lower case and without the prefix.

{knobs}

Set by the platform:

{run}
{exits}
A pod that has to go asks the program to end by SIGTERM, and waits {seconds:g} s for it at most."""


@dataclasses.dataclass(frozen=True)
class Program(Generic[P]):
    """A program: its name, documentation, parameters and what it does.

    `work` returns a summary, which is logged. `needs_output` says that RUN_OUTPUT must be set.
    """

    name: str
    doc: str
    params: type[P]
    work: Callable[[P, Run], Mapping[str, Any]]
    needs_output: bool = True

    def load(self, env: Mapping[str, str]) -> tuple[P, Run]:
        """Reads all parameters. Raises ParameterError with everything that is wrong."""
        problems: list[str] = []
        loaded: list[Any] = []
        for cls in (self.params, Run):
            try:
                loaded.append(params.load(cls, env))
            except errors.ParameterError as e:
                problems.extend(e.problems)
        if self.needs_output and not env.get("RUN_OUTPUT"):
            problems.append(
                "RUN_OUTPUT is not set; it comes from `output` in the workload's config"
            )
        if problems:
            raise errors.ParameterError(problems)
        return loaded[0], loaded[1]

    def help(self) -> str:
        """Returns what --help prints."""
        exits = (errors.__doc__ or "").split("\n", 1)[1]
        return _USAGE.format(
            name=self.name,
            doc=self.doc.strip(),
            prefix=self.params.PREFIX,
            knobs=params.describe(self.params),
            run=params.describe(Run),
            exits=exits,
            seconds=leave.SECONDS,
        )


def main(
    program: Program[Any],
    argv: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Runs a program and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    variables = os.environ if env is None else env
    if arguments in (["--help"], ["-h"]):
        print(program.help())
        return 0
    check = arguments == ["--check-config"]
    if arguments and not check:
        print(f"{program.name}: unknown arguments {arguments}; see --help", file=sys.stderr)
        return errors.EXIT_PARAMETER
    try:
        knobs, run = program.load(variables)
        if check:
            shown = {"program": program.name, "ok": True}
            print(json.dumps({**shown, "parameters": knobs.shown(), "run": run.shown()}))
            return 0
        log.bind(program=program.name, run=run.id)
        log.event("start", parameters=knobs.shown(), name=run.name, workers=run.workers)
        log.event("done", **program.work(knobs, run))
    except errors.ProgramError as e:
        return _ended(program.name, e)
    return 0


def _ended(name: str, e: errors.ProgramError) -> int:
    lines = str(e).splitlines()
    log.event("ended", program=name, code=e.code, kind=type(e).__name__, reasons=lines)
    for line in lines:
        print(f"{name}: {line}", file=sys.stderr, flush=True)
    return e.code
