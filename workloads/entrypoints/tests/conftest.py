"""Makes the programs importable by name, as in a pod, and small inputs for them."""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ENTRYPOINTS))

# Tests talk to this machine alone, and a slow machine is no failure.
os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_memory_monitor_refresh_ms="0",
    RAY_DEDUP_LOGS="0",
    RAY_worker_register_timeout_seconds="240",
    HF_HUB_OFFLINE="1",
    TRANSFORMERS_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
    OMP_NUM_THREADS="1",
)


class _Clock:
    """The time module, but for clocks that run at a tenth of the speed."""

    def __getattr__(self, name: str):
        """Takes all else from the module."""
        return getattr(time, name)

    def monotonic(self) -> float:
        return time.monotonic() / 10

    def time(self) -> float:
        return time.time() / 10


@pytest.fixture(scope="session")
def patient_ray():
    """Lets Ray's nodes take as long as they need to start: it gives up after 30 s, unasked."""
    pytest.importorskip("ray")
    import ray._private.node
    import ray.cluster_utils

    with pytest.MonkeyPatch.context() as m:
        m.setattr(ray._private.node, "time", _Clock())
        m.setattr(ray.cluster_utils, "time", _Clock())
        yield


@pytest.fixture(scope="session")
def ray_address(patient_ray):
    """A real Ray in processes of this machine: a head without CPUs, and a worker node with two."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = str(ENTRYPOINTS)
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=2, object_store_memory=200 << 20)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


class Program:
    """Runs the programs as the submitter does: each in a process of its own, on a real Ray."""

    def __init__(self, address: str, mount: pathlib.Path, scratch: pathlib.Path):
        """All programs share the mount and the node's disk."""
        self.mount = mount
        self.env = {
            **os.environ,
            "RAY_ADDRESS": address,
            "RUN_STORAGE": str(mount),
            "RUN_WORKERS": "1",
        }
        self.scratch = scratch

    def start(self, name: str, run: str, **knobs: object) -> subprocess.Popen:
        """Starts a program under a run id; knobs come with their prefix."""
        env = {**self.env, "RUN_ID": run, "RUN_OUTPUT": str(self.mount / "out" / run)}
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
        """Waits for a program and returns its last event. It must end with the code."""
        try:
            out, _ = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        assert process.returncode == code, out[-6000:]
        # Lines of workers come with a name before them.
        lines = [(line, line.find('{"time"')) for line in out.splitlines()]
        events = [json.loads(line[at:]) for line, at in lines if at >= 0 and line.endswith("}")]
        last = [json.loads(line) for line, at in lines if at == 0][-1]
        return {**last, "events": events}

    def folder(self, run: str) -> pathlib.Path:
        """The run's own folder."""
        return self.mount / "out" / run


def wait_until(true, process: subprocess.Popen, seconds: float = 600) -> None:
    """Waits until something holds, while a program runs."""
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.communicate()[0][-6000:]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


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


@pytest.fixture
def place():
    return Place


@pytest.fixture(scope="session")
def aurora_inputs(tmp_path_factory):
    """A mount with a tiny base model and five states, made once."""
    pytest.importorskip("aurora")
    from raylib import aurora_data, sealed, tiny

    root = tmp_path_factory.mktemp("aurora-mount")

    def made(relative, write, *args):
        folder = root / relative
        folder.mkdir(parents=True)
        write(folder, *args)
        sealed.seal(folder, {"item": relative})

    made("models/microsoft/aurora/a1", tiny.aurora)
    made("aurora/data/era5/static/a1", tiny.static)
    for i in range(5):
        time = datetime.datetime(2021, 8, 29, 0) + i * aurora_data.STEP
        made(f"aurora/data/era5/{aurora_data.name(time)}/a1", tiny.states, time)
    return root


@pytest.fixture
def aurora_mount(aurora_inputs, tmp_path):
    """A mount of the test's own."""
    root = tmp_path / "mount"
    shutil.copytree(aurora_inputs, root)
    return root


@pytest.fixture(scope="session")
def llm_inputs(tmp_path_factory):
    """A mount with a tiny Qwen2, a tiny GPT-2, and made-up rows, made once."""
    pytest.importorskip("transformers")
    from raylib import sealed, tiny_llm

    root = tmp_path_factory.mktemp("llm-mount")
    for relative, write in (
        ("models/Qwen/Qwen2.5-7B-Instruct/a1", tiny_llm.qwen),
        ("models/openai-community/gpt2/a1", tiny_llm.gpt2),
        ("llm-pipeline/data/viggo/a1", tiny_llm.write_data),
        ("llm-pipeline/data/shakespeare/a1", tiny_llm.write_text),
    ):
        folder = root / relative
        folder.mkdir(parents=True)
        write(folder)
        sealed.seal(folder, {"item": relative})
    return root


@pytest.fixture
def llm_mount(llm_inputs, tmp_path):
    """A mount of the test's own."""
    root = tmp_path / "mount"
    shutil.copytree(llm_inputs, root)
    return root


@pytest.fixture
def make_adapter(llm_mount, tmp_path):
    """Registers an adapter of the tiny Qwen2 with random weights."""

    def made(run, seed=1, base=None):
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM

        from raylib import adapters, inputs

        found = inputs.find(llm_mount / "models/Qwen/Qwen2.5-7B-Instruct", "base", "stage")
        torch.manual_seed(seed)
        config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"])
        model = get_peft_model(AutoModelForCausalLM.from_pretrained(found.path), config)
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.5)
        folder = tmp_path / f"adapter-{run}"
        model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        registry = adapters.Registry(llm_mount / "llm-pipeline/adapters", "viggo")
        return registry.put(folder, run, f"of{run}", {"base": base or found.digest})

    return made


@pytest.fixture
def llm_adapter(make_adapter):
    """An adapter of the run `trained`."""
    return make_adapter("trained")
