"""Makes the programs importable by name, as in a pod, and small inputs for them."""

import datetime
import inspect
import os
import pathlib
import shutil
import sys
import time

import pytest

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ENTRYPOINTS))

from programs import Place, Program, cluster
from small import AURORA, BATCH

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
    """Lets Ray's nodes take as long as they need to start: it gives up after 30 s, unasked.

    A node also ends itself if its agent has not said within 15 s on which port it listens. The
    tests have chosen that port, and say it in the agent's place.
    """
    pytest.importorskip("ray")
    import ray._private.node
    import ray.cluster_utils
    from ray._private import services
    from ray._raylet import DASHBOARD_AGENT_LISTEN_PORT_NAME, persist_port

    start_raylet = services.start_raylet

    def start(*args, **kwargs):
        given = inspect.signature(start_raylet).bind(*args, **kwargs).arguments
        port = given["dashboard_agent_listen_port"]
        persist_port(given["session_dir"], given["node_id"], DASHBOARD_AGENT_LISTEN_PORT_NAME, port)
        return start_raylet(*args, **kwargs)

    with pytest.MonkeyPatch.context() as m:
        m.setattr(ray._private.node, "time", _Clock())
        m.setattr(ray.cluster_utils, "time", _Clock())
        m.setattr(services, "start_raylet", start)
        yield


@pytest.fixture(scope="session")
def ray_address(patient_ray, tmp_path_factory):
    """A real Ray in processes of this machine: a head without CPUs, and a worker node with two."""
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ENTRYPOINTS / "tests/held"), str(ENTRYPOINTS)])
    os.environ["TESTED_HOLD"] = str(tmp_path_factory.mktemp("hold") / "at")
    made = cluster({"num_cpus": 2, "object_store_memory": 200 << 20})
    yield made.address
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="session")
def program(ray_address, tmp_path_factory):
    """Programs on a mount that `stage` has filled, on a worker of the cluster."""
    made = Program(ray_address, tmp_path_factory.mktemp("chain"))
    items = "aurora,era5,qwen,viggo,gpt2,shakespeare"
    times = "20210829T06,20210829T12,20210829T18,20210830T00"
    knobs = {"STAGE_SOURCE": "tiny", "STAGE_ITEMS": items, "STAGE_ERA5_TIMES": times}
    brought = made.run("stage", "staged", **knobs)
    assert len(brought["brought"]) == 10
    assert made.run("stage", "staged", **knobs)["brought"] == []
    return made


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


@pytest.fixture
def start(aurora_mount, tmp_path, place):
    """Makes one worker's training of Aurora, with other knobs than usual if given."""
    import aurora_finetune
    from raylib import aurora_loop, params
    from raylib.run import Run

    def made(out="out", stop_after=None, **knobs):
        env = {**AURORA, **{f"AURORA_{k.upper()}": str(v) for k, v in knobs.items()}}
        env["AURORA_SCRATCH"] = str(tmp_path / "scratch")
        settings = params.load(aurora_finetune.Settings, env)
        run = Run(id=out, storage=str(aurora_mount), output=str(tmp_path / out))
        return aurora_loop.Training(place(stop_after), settings, run, "config")

    return made


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
    """Registers an adapter of the tiny Qwen2 with random weights, or as it is before training."""

    def made(run, seed=1, base=None, trained=True):
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM

        from raylib import adapters, inputs

        found = inputs.find(llm_mount / "models/Qwen/Qwen2.5-7B-Instruct", "base", "stage")
        torch.manual_seed(seed)
        config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"])
        model = get_peft_model(AutoModelForCausalLM.from_pretrained(found.path), config)
        for name, parameter in model.named_parameters():
            if trained and "lora_B" in name:
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


@pytest.fixture
def batch_settings(tmp_path):
    """The settings of a small batch."""
    import batch_inference
    from raylib import params

    env = {**BATCH, "BATCH_SCRATCH": str(tmp_path / "scratch")}
    return params.load(batch_inference.Settings, env)


@pytest.fixture
def batch_run(llm_mount, tmp_path):
    """The run of a batch."""
    from raylib.run import Run

    return Run(id="b", storage=str(llm_mount), output=str(tmp_path / "b"))
