"""Runs the programs as a cluster does, and looks at what they say and leave behind."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

from raylib import files

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
# In the environment of this session's Ray, so that no other Ray on the machine is touched.
MARK = f"TESTED_BY={os.getpid()}"
TOKEN = "0123456789abcdef"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


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


class Program:
    """Runs the programs as the submitter does: each in a process of its own, on a real Ray."""

    def __init__(self, address: str, root: pathlib.Path):
        """All programs share the mount and the node's disk."""
        self.mount, self.scratch = root / "mount", root / "scratch"
        self.env = {
            **os.environ,
            "RAY_ADDRESS": address,
            "RUN_STORAGE": str(self.mount),
            "RUN_WORKERS": "1",
        }
        for prefix in ("AURORA", "LLM", "BATCH", "SERVE", "STAGE", "GPT2"):
            self.env[f"{prefix}_SCRATCH"] = str(self.scratch)

    def start(self, name: str, run: str, **knobs: object) -> subprocess.Popen:
        """Starts a program under a run id; knobs come with their prefix."""
        env = {**self.env, "RUN_ID": run, "RUN_OUTPUT": str(self.folder(run))}
        env.update({k: str(v) for k, v in knobs.items()})
        return subprocess.Popen(
            [sys.executable, str(ENTRYPOINTS / f"{name}.py")],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, name: str, run: str, code: int = 0, **knobs: object) -> dict:
        """Runs a program to its end and returns what it says last."""
        return self.end(self.start(name, run, **knobs), code)

    @staticmethod
    def end(process: subprocess.Popen, code: int = 0) -> dict:
        """Waits for a program and returns what it says last. It must end with the code."""
        try:
            out, _ = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        assert process.returncode == code, out[-6000:]
        said = events(out)
        return {**[e for e in said if e["event"] in ("done", "ended")][-1], "events": said}

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


def steps_resumed_at(said: dict) -> list[int]:
    """The steps that a program says it has gone on from, in order."""
    return sorted({e["step"] for e in said["events"] if e["event"] == "resumed"})


def kill(process: subprocess.Popen, title: str = "") -> None:
    """Ends a program as a lost node ends it, without a word, and waits until its workers end."""
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 120
    while title and workers(title):
        assert time.monotonic() < deadline, "Ray has not ended the workers of a lost program"
        time.sleep(0.1)


def workers(title: str) -> list[int]:
    """The processes of this session's Ray whose title begins so."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            if not (entry / "cmdline").read_bytes().startswith(title.encode()):
                continue
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if MARK.encode() in pathlib.Path(f"/proc/{parent}/environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def kill_a_worker(title: str) -> bool:
    """Ends one of them as a lost node ends it; tells whether there was one."""
    found = workers(title)
    for pid in found[:1]:
        os.kill(pid, signal.SIGKILL)
    return bool(found)


def wait_until(true, process: subprocess.Popen, seconds: float = 600) -> None:
    """Waits until something holds, while a program runs."""
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.communicate()[0][-6000:]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Client:
    """Asks a service on this machine."""

    def __init__(self, port: int):
        """Keeps the port."""
        self.port = port

    def ask(self, path: str, token: str | None = None, body: dict | None = None):
        """Returns status and content, of JSON where it is JSON. A body makes it a POST."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(asked, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            text = e.read()
            # Ray's proxy answers for an application that is not there yet, and not in JSON.
            return e.code, json.loads(text) if text.startswith(b"{") else text

    def up(self, path: str) -> bool:
        """Tells whether health is answered."""
        try:
            return self.ask(path)[0] == 200
        except OSError:
            return False


@contextlib.contextmanager
def service(program: Program, name: str, health: str, **knobs: object):
    """Serves while it lasts, on a free port; the program must end well when it is asked to."""
    (port,) = free_ports(1)
    started = program.start(name, name, SERVE_TOKEN=TOKEN, SERVE_PORT=port, **knobs)
    client = Client(port)
    try:
        wait_until(lambda: client.up(health), started)
        yield client
        started.send_signal(signal.SIGTERM)
        assert Program.end(started)["stopped"] is True
    finally:
        if started.poll() is None:
            kill(started)


def web(replica, root: str = ""):
    """Returns a client of a replica in this process, which is called as Serve calls it."""
    from starlette.requests import Request
    from starlette.testclient import TestClient

    async def app(scope, receive, send):
        response = await replica(Request(scope, receive))
        await response(scope, receive, send)

    return TestClient(app, root_path=root)


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
