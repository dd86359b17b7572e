"""Runs the programs as a cluster does, and looks at what they say and leave behind."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

from raylib import files

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing listens on."""
    with contextlib.ExitStack() as held:
        found = [held.enter_context(socket.socket()) for _ in range(count)]
        for s in found:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in found]


def fill_the_disk(monkeypatch, after: int, of: str = "") -> None:
    """Makes the disk full after so many files whose path has `of` in it.

    Writes then end as the kernel's /dev/full ends them.
    """
    seen = [0]
    create = files.create

    def full(path):
        if of not in str(path):
            return create(path)
        seen[0] += 1
        if seen[0] <= after:
            return create(path)
        create(path).close()
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr(files, "create", full)


def cluster(*workers: dict):
    """Starts a real Ray in processes of this machine: a head without CPUs, and worker nodes."""
    from ray.cluster_utils import Cluster

    # A node gives its agents 15 s to choose their ports, whatever else the machine does.
    names = ("metrics_agent", "metrics_export", "dashboard_agent_listen", "runtime_env_agent")

    def ports() -> dict[str, int]:
        return {f"{n}_port": p for n, p in zip(names, free_ports(len(names)), strict=True)}

    head = {"num_cpus": 0, "include_dashboard": False, **ports()}
    made = Cluster(initialize_head=True, head_node_args=head)
    for worker in workers:
        made.add_node(**worker, **ports())
    return made


class Started(subprocess.Popen):
    """A program that was started, and says what it says to a file."""

    def __init__(self, command: list[str], env: dict[str, str], log: pathlib.Path):
        """Starts it; `log` is the file."""
        self._log = log
        with open(log, "wb") as f:
            super().__init__(command, env=env, stdout=f, stderr=subprocess.STDOUT)

    def said(self) -> str:
        """What it has said up to now."""
        return self._log.read_text(errors="replace")


class Hold:
    """A process that waits, before it completes a folder, as long as a test wants."""

    def __init__(self, at: pathlib.Path):
        """`at` is the file that tells the processes of this session where to wait."""
        self.at, self.said = at, at.with_name("pid")

    def reached(self, program: Started) -> int:
        """Waits until a process of the program, or of its Ray, is held; returns its pid."""
        wait_until(self.said.exists, program)
        return int(self.said.read_text())

    def release(self) -> None:
        """Lets it go on."""
        self.at.unlink(missing_ok=True)
        self.said.unlink(missing_ok=True)


class Program:
    """Runs the programs as the submitter does: each in a process of its own, on a real Ray."""

    def __init__(self, address: str, root: pathlib.Path):
        """All programs share the mount and the node's disk."""
        self.mount, self.scratch, self._root = root / "mount", root / "scratch", root
        self.env = {
            **os.environ,
            "RAY_ADDRESS": address,
            "RUN_STORAGE": str(self.mount),
            "RUN_WORKERS": "1",
        }
        for prefix in ("AURORA", "LLM", "BATCH", "SERVE", "STAGE", "GPT2"):
            self.env[f"{prefix}_SCRATCH"] = str(self.scratch)

    def start(self, name: str, run: str, **knobs: object) -> Started:
        """Starts a program under a run id; knobs come with their prefix."""
        env = {**self.env, "RUN_ID": run, "RUN_OUTPUT": str(self.folder(run))}
        env.update({k: str(v) for k, v in knobs.items()})
        log = self._root / f"{run}.{time.monotonic_ns()}.log"
        return Started([sys.executable, str(ENTRYPOINTS / f"{name}.py")], env, log)

    def run(self, name: str, run: str, code: int = 0, **knobs: object) -> dict:
        """Runs a program to its end and returns what it says last."""
        return self.end(self.start(name, run, **knobs), code)

    @staticmethod
    def end(process: Started, code: int = 0) -> dict:
        """Waits for a program and returns what it says last. It must end with the code."""
        try:
            process.wait(timeout=900)
        except subprocess.TimeoutExpired:
            kill(process)
        assert process.returncode == code, process.said()[-6000:]
        said = events(process.said())
        return {**[e for e in said if e["event"] in ("done", "ended")][-1], "events": said}

    @contextlib.contextmanager
    def hold(self, pattern: str) -> Iterator[Hold]:
        """Holds who is about to complete a folder whose path ends so, until it is left."""
        held = Hold(pathlib.Path(self.env["TESTED_HOLD"]))
        # One that was held when the last hold ended may have said so after it.
        held.release()
        held.at.write_text(pattern)
        try:
            yield held
        finally:
            held.release()

    def folder(self, run: str) -> pathlib.Path:
        """The run's own folder."""
        return self.mount / "out" / run

    def records(self, run: str) -> list[pathlib.Path]:
        """The complete checkpoints, or shards, of a run."""
        return sorted(p.parent for p in self.folder(run).glob("*/*/_COMPLETE.json"))

    def newest_step(self, run: str) -> int:
        """The step of the newest complete checkpoint; 0 if there is none."""
        return max((int(p.name[5:14]) for p in self.records(run)), default=0)


def events(output: str) -> list[dict]:
    """What a program and its workers log; lines that Ray brings from workers may run together."""
    found, at, decoder = [], 0, json.JSONDecoder()
    while (at := output.find('{"time"', at)) >= 0:
        event, at = decoder.raw_decode(output, at)
        found.append(event)
    return found


def steps_resumed_at(said: dict, rank: int | None = None) -> list[int]:
    """The steps that a program, or its worker of that rank, says it has gone on from, in order."""
    return [e["step"] for e in said["events"] if e["event"] == "resumed" and e.get("rank") == rank]


def kill(process: Started, *workers: int) -> None:
    """Ends a program as a lost node ends it, without a word, and waits until Ray ends its workers.

    They are those whose pids are given.
    """
    process.kill()
    process.wait()
    deadline = time.monotonic() + 120
    while any(map(alive, workers)):
        assert time.monotonic() < deadline, "Ray has not ended the workers of a lost program"
        time.sleep(0.1)


def alive(pid: int) -> bool:
    """Tells whether a process is there and has not ended, whoever waits for it."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def wait_until(true, process: Started, seconds: float = 600) -> None:
    """Waits until something holds, while a program runs."""
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.said()[-6000:]
        if time.monotonic() >= deadline:
            kill(process)
            raise AssertionError(f"it did not happen in time: {process.said()[-6000:]}")
        time.sleep(0.02)


class Place(SimpleNamespace):
    """A worker's place without Ray: alone, asked to stop when it has taken so many steps."""

    def __init__(self, stop_after: int | None = None):
        """Is asked to stop at the call of that number, counted from 1."""
        super().__init__(rank=0, world=1, asked=0, stop_after=stop_after, facts={})

    def stopping(self) -> bool:
        self.asked += 1
        return self.asked == self.stop_after

    def say(self, **facts) -> None:
        self.facts.update(facts)
