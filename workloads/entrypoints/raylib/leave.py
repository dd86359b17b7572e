"""Lets a pod go only when its run has saved what it can: `python -m raylib.leave`.

The pods of a Ray cluster run this before they are stopped. Ray would not do it: the program that a
job runs is in a session of its own, and is killed (-9) when the process that started it ends.

On the head it sends SIGTERM to the program, which then saves and ends, and waits for that. On a
worker, where no program runs, it waits until the processes that compute for one have ended. It ends
with 0 if nothing is left to wait for, and with 1 if the time is up. Needs nothing but Python, and
Linux's /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

from raylib import log

# Below the 30 s that Kubernetes gives a pod by default.
SECONDS = 25.0
# What Ray calls the processes of a training, a batch and a search. Those of a service are not among
# them: Ray Serve drains them itself.
WORKERS = ("ray::RayTrainWorker", "ray::Worker.", "ray::ImplicitFunc")
# In a rehearsal, pods share a machine, and each has another value of this variable.
_POD = "REHEARSED_POD"
_LOOK_EVERY = 0.2


def _split(pid: int, file: str) -> list[str]:
    """Returns what /proc holds of a process; nothing if it has ended or is someone else's."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{file}", "rb") as f:
        return [os.fsdecode(part) for part in f.read().split(b"\0")]
    return []


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])
    return 0


def _is_driver(pid: int, scripts: str) -> bool:
    """Tells whether a process is Python with a program of the folder, in a run."""
    words = _split(pid, "cmdline")
    if not words or not os.path.basename(words[0]).startswith("python"):
        return False
    script = next((w for w in words[1:] if not w.startswith("-")), "")
    if not script.endswith(".py"):
        return False
    with contextlib.suppress(OSError):
        path = os.path.join(os.readlink(f"/proc/{pid}/cwd"), script)
        if os.path.samefile(os.path.dirname(path), scripts):
            return any(v.startswith("RUN_ID=") for v in _split(pid, "environ"))
    return False


def _in_this_pod(pid: int) -> bool:
    """Tells whether a process is of the caller's pod; one that Ray has named has its parent's."""
    if _POD not in os.environ:
        return True
    mark = f"{_POD}={os.environ[_POD]}"
    return any(mark in _split(p, "environ") for p in (pid, _parent(pid)))


def _processes() -> list[int]:
    others = (int(name) for name in os.listdir("/proc") if name.isdecimal())
    return sorted(p for p in others if p != os.getpid())


def drivers(scripts: str) -> list[int]:
    """Returns the processes of this pod that run a program of the folder `scripts`."""
    return [p for p in _processes() if _is_driver(p, scripts) and _in_this_pod(p)]


def workers() -> list[int]:
    """Returns the processes of this pod that compute for a program."""
    named = (p for p in _processes() if "".join(_split(p, "cmdline")[:1]).startswith(WORKERS))
    return [p for p in named if _in_this_pod(p)]


def leave(scripts: str, seconds: float) -> list[int]:
    """Asks the programs to end, or waits for the workers, and returns what is left at the end."""
    deadline, asked = time.monotonic() + seconds, set[int]()
    while True:
        left = drivers(scripts)
        for pid in set(left) - asked:
            asked.add(pid)
            log.event("asks_to_stop", pid=pid)
            # It may just have ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        left = left if asked else workers()
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(_LOOK_EVERY)


def main(argv: Sequence[str] | None = None) -> int:
    """Waits as the arguments say and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m raylib.leave", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to wait at most")
    given = parser.parse_args(argv)
    scripts = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    left = leave(scripts, given.seconds)
    if left:
        print(f"processes {left} are left after {given.seconds:g} s", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
