"""Tests that Ray installs a run's lock the way that the builders ask for it."""

import hashlib
import importlib.util
import pathlib
import zipfile

import pytest
import ray
import yaml

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None,
    reason="Ray copies the environment that it runs in, and that of the models has 8 GB",
)

GOLDEN = pathlib.Path(__file__).parents[2] / "testdata" / "rayjob-llm-training.golden.yaml"
LOCK = "/opt/ray-on-aks/scripts/requirements.txt"


def wheel(folder: pathlib.Path, version: str) -> str:
    """Writes a wheel with one module and returns its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"brought-{version}-py3-none-any.whl"
    info = f"brought-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("brought.py", f"version = {version!r}\n")
        z.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: brought\nVersion: {version}\n"
        )
        z.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        z.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def environment(lock: pathlib.Path) -> dict:
    """Returns the environment of the rendered job, with the lock in another place."""
    env = yaml.safe_load(yaml.safe_load(GOLDEN.read_text())["spec"]["runtimeEnvYAML"])
    text = yaml.safe_dump(env)
    assert text.count(LOCK) == 1
    return yaml.safe_load(text.replace(LOCK, str(lock)))


def write_lock(folder: pathlib.Path, sha256: str) -> pathlib.Path:
    """Writes a lock that is too long for a variable or an argument, as the real ones are."""
    lock = folder / "requirements.txt"
    comment = "# what a real lock has in hashes\n" * 10000
    lock.write_text(
        f"--no-index\n--find-links {folder}\n{comment}brought==1.5 \\\n    --hash=sha256:{sha256}\n"
    )
    return lock


@ray.remote
def imported() -> str:
    """Returns the version of what a worker imports."""
    import brought

    return brought.version


@pytest.fixture
def started(patient_ray):
    """Starts a Ray of one node: two in one place would make the same environment twice."""

    def start(lock: pathlib.Path) -> None:
        ray.init("local", num_cpus=1, runtime_env=environment(lock), include_dashboard=False)

    yield start
    ray.shutdown()


def test_workers_import_what_the_lock_names(started, tmp_path):
    started(write_lock(tmp_path, wheel(tmp_path, "1.5")))
    assert ray.get(imported.remote(), timeout=300) == "1.5"
    with pytest.raises(ImportError):
        import brought  # noqa: F401


def test_another_file_under_the_name_is_refused(started, tmp_path):
    wheel(tmp_path, "1.5")
    started(write_lock(tmp_path, hashlib.sha256(b"what was locked").hexdigest()))
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="DO NOT MATCH THE HASHES"):
        ray.get(imported.remote(), timeout=300)
