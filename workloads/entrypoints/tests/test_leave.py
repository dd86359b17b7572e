"""Tests of how a pod goes: real processes that are asked to end, and that are waited for."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import uuid

import pytest

from raylib import leave

RAYLIB = pathlib.Path(leave.__file__).parent
PROGRAM = """
import pathlib, signal, sys, time
def asked(*_):
    time.sleep({slow})
    pathlib.Path({saved!r}).touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, {handler})
pathlib.Path({ready!r}).touch()
time.sleep(60)
"""


@pytest.fixture
def pod(tmp_path):
    """A pod on this machine: its scripts, and processes that are of it."""
    made = Pod(tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.wait()


class Pod:
    """Starts processes in a pod, and lets it go."""

    def __init__(self, root):
        """Has scripts as a container has them, with the package beside the programs."""
        self.root, self.scripts, self.started = root, root / "scripts", []
        (self.scripts / "raylib").mkdir(parents=True)
        for path in RAYLIB.glob("*.py"):
            shutil.copy(path, self.scripts / "raylib")
        self.env = {
            "PYTHONPATH": str(self.scripts),
            "PATH": os.environ["PATH"],
            "REHEARSED_POD": uuid.uuid4().hex,
        }

    def program(self, handler="asked", slow=0.0, folder=None, **env):
        """Starts a program that saves when it is asked to end, or does what `handler` says."""
        name = uuid.uuid4().hex
        ready, saved = self.root / f"{name}.ready", self.root / f"{name}.saved"
        script = (folder or self.scripts) / f"p{name}.py"
        facts = {"slow": slow, "ready": str(ready), "saved": str(saved), "handler": handler}
        script.write_text(PROGRAM.format(**facts))
        env = {**self.env, "RUN_ID": "r", **env}
        # As Ray starts it: from a shell, and in a session of its own.
        process = subprocess.Popen(
            f"{sys.executable} -u {script}; exit $?", shell=True, env=env, start_new_session=True
        )
        return self.began(process, ready), saved

    def worker(self, title, **env):
        """Starts a process with a title as Ray gives it."""
        ready = self.root / uuid.uuid4().hex
        code = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
        process = subprocess.Popen(
            [title, "-c", code], executable=sys.executable, env={**self.env, **env}
        )
        return self.began(process, ready)

    def began(self, process, ready):
        self.started.append(process)
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        return process

    def leave(self, seconds=60.0, **env):
        """Runs what the pod runs before it goes; returns its exit code and how long it took."""
        began = time.monotonic()
        command = [sys.executable, "-m", "raylib.leave", "--seconds", str(seconds)]
        got = subprocess.run(command, env={**self.env, **env}, timeout=120, cwd="/")
        return got.returncode, time.monotonic() - began


def test_a_program_is_asked_to_end_and_waited_for(pod):
    process, saved = pod.program(slow=1.0)
    code, seconds = pod.leave()
    assert (code, saved.exists()) == (0, True)
    assert 1 <= seconds < 30
    assert process.wait(10) == 75


def test_a_program_that_does_not_end_is_waited_for_so_long_and_no_longer(pod):
    process, _ = pod.program(handler="signal.SIG_IGN")
    code, seconds = pod.leave(seconds=2)
    assert code == 1
    assert 2 <= seconds < 20
    assert process.poll() is None


def test_what_is_no_program_of_the_pod_is_left_alone(pod, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    others = [
        pod.program(folder=elsewhere),
        pod.program(REHEARSED_POD="another"),
    ]
    assert pod.leave()[0] == 0
    assert [process.poll() for process, _ in others] == [None, None]


def test_without_that_variable_all_of_the_container_counts(pod, monkeypatch):
    process, _ = pod.program(REHEARSED_POD="another")
    monkeypatch.delenv("REHEARSED_POD", raising=False)
    found = leave.drivers(str(pod.scripts))
    assert [leave._parent(pid) for pid in found] == [process.pid]


@pytest.mark.parametrize(
    "title", ["ray::RayTrainWorker.execute", "ray::Worker.answer", "ray::ImplicitFunc.train"]
)
def test_a_worker_waits_for_those_that_compute(pod, title):
    process = pod.worker(title)
    assert pod.leave(seconds=1)[0] == 1
    process.kill()
    process.wait()
    assert pod.leave()[0] == 0


def test_a_worker_waits_for_nothing_else(pod):
    pod.worker("ray::RayTrainWorker", REHEARSED_POD="another")
    pod.worker("ray::IDLE")
    pod.worker("ray::ServeReplica:llm:Chat")
    code, seconds = pod.leave()
    assert code == 0
    assert seconds < 30


def test_a_head_does_not_wait_for_workers_once_its_program_has_ended(pod):
    pod.worker("ray::RayTrainWorker")
    pod.program()
    assert pod.leave()[0] == 0
