"""Tests of stage: complete or absent, once, and from stores and servers of this machine."""

import datetime
import hashlib
import json
import types

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("netCDF4")

import stage
from raylib import aurora_data, files, inputs, params, sealed, sources, staging
from raylib.errors import InputError, StorageError
from raylib.run import Run


def settings(tmp_path, **knobs):
    env = {f"STAGE_{k.upper()}": str(v) for k, v in knobs.items()}
    return params.load(stage.Settings, {**env, "STAGE_SCRATCH": str(tmp_path / "scratch")})


def test_everything_that_the_programs_read_is_made_and_left_alone(tmp_path):
    pytest.importorskip("aurora")
    everything = ",".join(stage.ITEMS)
    s = settings(tmp_path, items=everything, source="tiny")
    run = Run(id="s", storage=str(tmp_path / "mount"))
    staging.bring(s, run)
    for folder in staging.FOLDERS.values():
        if "era5" not in folder:
            inputs.find(run.path(folder), folder, "stage")
    states = aurora_data.States(run.path("aurora/data/era5"))
    assert [x.init for x in states.samples(6, ())] == [datetime.datetime(2021, 8, 29, 12)]
    before = sorted(p for p in (tmp_path / "mount").rglob("*"))
    assert staging.stage(s, run)["brought"] == []
    assert sorted(p for p in (tmp_path / "mount").rglob("*")) == before
    more = settings(tmp_path, items="era5", source="tiny", era5_times="20210829T12,20210830T00")
    assert staging._compare(more, run)[1].keys() == {"aurora/data/era5/20210830T00"}


def test_an_item_is_complete_or_absent(tmp_path, monkeypatch):
    def fetch(folder):
        (folder / "a.bin").write_bytes(b"a" * 100)
        (folder / "sub").mkdir()
        (folder / "sub/b.bin").write_bytes(b"b" * 100)

    s, folder = settings(tmp_path), tmp_path / "mount/item"
    copy = files.copy
    monkeypatch.setattr(files, "copy", lambda a, b: copy(a, b) if a.name == "a.bin" else full(a, b))

    def full(source, target):
        raise StorageError(f"copying {source} to {target}: the disk is full")

    with pytest.raises(StorageError, match="the disk is full"):
        staging.one(s, folder, "x", fetch)
    with pytest.raises(InputError, match=r"the thing .* is not complete"):
        inputs.find(folder, "the thing", "stage")
    monkeypatch.setattr(files, "copy", copy)
    staging.one(s, folder, "x", fetch)
    found = inputs.find(folder, "the thing", "stage")
    assert [n for n, _, _ in found.files] == ["a.bin", "sub/b.bin"]
    assert found.about["source"] == "x"
    assert not list((tmp_path / "scratch/stage").iterdir())


def test_a_copy_on_the_node_is_made_once_and_checked(tmp_path, monkeypatch):
    folder = tmp_path / "mount/item"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"a" * 100)
    item = sealed.seal(folder, {})
    first = inputs.local(item, tmp_path / "scratch")
    made = (first / "a.bin").stat().st_mtime_ns
    assert inputs.local(item, tmp_path / "scratch") == first
    assert (first / "a.bin").stat().st_mtime_ns == made
    (first / "a.bin").write_bytes(b"cut")
    assert (inputs.local(item, tmp_path / "scratch") / "a.bin").stat().st_size == 100
    (folder / "a.bin").write_bytes(b"b" * 100)
    with pytest.raises(InputError, match="another content than its record says"):
        inputs.local(item, tmp_path / "other")
    monkeypatch.setattr(files, "free_bytes", lambda folder: 1000)
    with pytest.raises(StorageError, match=r"100 bytes and .* to spare, but 1000 are free"):
        inputs.local(item, tmp_path / "third")


def test_a_run_takes_what_it_began_with_and_not_what_was_brought_since(tmp_path):
    folder = tmp_path / "mount/item"
    made = []
    for i in range(2):
        (folder / str(i)).mkdir(parents=True)
        (folder / str(i) / "a.bin").write_bytes(bytes(i + 1))
        made.append(sealed.seal(folder / str(i), {"finished": f"2026-01-0{i + 1}"}))
    assert inputs.find(folder, "it", "stage").digest == made[1].digest
    assert inputs.find(folder, "it", "stage", made[0].digest).path == folder / "0"
    with pytest.raises(InputError, match="its content is not 000000000000, which the run began"):
        inputs.find(folder, "it", "stage", "0" * 64)


SURFACE = {sources._NAMES[v] for v in aurora_data.SURFACE}


@pytest.fixture
def store(tmp_path):
    """A Zarr store with the names, the order and the coordinates of WeatherBench2's."""
    pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    lat, lon = np.linspace(-90, 90, 9), np.linspace(0, 360, 16, endpoint=False)
    times = np.array(["2021-08-29T06", "2021-08-29T12"], dtype="datetime64[ns]")
    axes = {"time": times, "level": [500, 850], "longitude": lon, "latitude": lat}
    values = {}
    for i, name in enumerate(sources._NAMES.values()):
        dims = ["time", "longitude", "latitude"]
        if name not in SURFACE:
            dims.insert(1, "level")
        shape = [len(axes[d]) for d in dims]
        values[name] = (dims, i + np.arange(np.prod(shape), dtype="f4").reshape(shape) / 1000)
    for name in sources._STATIC.values():
        values[name] = (["longitude", "latitude"], np.ones((16, 9), "f4"))
    path = tmp_path / "wb2.zarr"
    xarray.Dataset(values, axes).to_zarr(path)
    return str(path)


def test_states_come_out_of_the_store_as_aurora_takes_them(tmp_path, store):
    import xarray

    time = datetime.datetime(2021, 8, 29, 12)
    sources.state(store, time, (), tmp_path)
    sources.static(store, (), tmp_path)
    folder = types.SimpleNamespace(path=tmp_path)
    got = aurora_data.read(folder, "state.nc", aurora_data.SURFACE, aurora_data.ATMOSPHERE)
    assert got.levels == (500, 850)
    assert (got.lat[0], got.lat[-1]) == (90, -90)
    want = xarray.open_zarr(store)["temperature"].sel(time="2021-08-29T12", level=850)
    at = want.sel(latitude=90.0, longitude=22.5)
    assert got.values["t"][1, 0, 1] == pytest.approx(float(at))
    assert aurora_data.read(folder, "static.nc", aurora_data.STATIC, ()).values["slt"].shape == (
        9,
        16,
    )


def test_a_region_is_cut_to_whole_patches(tmp_path, store):
    sources.state(store, datetime.datetime(2021, 8, 29, 6), (-45, 90, 0, 130), tmp_path)
    folder = types.SimpleNamespace(path=tmp_path)
    got = aurora_data.read(folder, "state.nc", aurora_data.SURFACE, aurora_data.ATMOSPHERE)
    assert got.values["2t"].shape == (4, 4)
    with pytest.raises(InputError, match="no state at 20210830T00"):
        sources.state(store, datetime.datetime(2021, 8, 30, 0), (), tmp_path / "x")
    with pytest.raises(InputError, match="cannot be read"):
        sources.state(str(tmp_path / "absent.zarr"), datetime.datetime(2021, 1, 1), (), tmp_path)


def test_viggo_becomes_conversations_that_training_takes(tmp_path):
    from raylib import llm_config

    source = tmp_path / "server"
    source.mkdir()
    row = {"instruction": "Say what it means.", "input": "I like it.", "output": "inform(x[y])"}
    for name in ("train", "test"):
        (source / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    sources.viggo(source.as_uri(), tmp_path)
    assert llm_config.check_data(tmp_path, "viggo") == 1
    messages = json.loads((tmp_path / "test.jsonl").read_text())["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant"]
    (source / "test.jsonl").write_text('{"instruction": "x"}\n')
    with pytest.raises(InputError, match="line 1 is no row of ViGGO"):
        sources.viggo(source.as_uri(), tmp_path)


def test_a_text_is_checked(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"to be")
    right = hashlib.sha256(b"to be").hexdigest()
    sources.text((tmp_path / "in.txt").as_uri(), right, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b"to be"
    with pytest.raises(InputError, match="has the SHA-256"):
        sources.text((tmp_path / "in.txt").as_uri(), "0" * 64, tmp_path / "out2.txt")


def test_the_hubs_files_are_chosen_and_checked(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    right = hashlib.sha256(b"w" * 10).hexdigest()

    class Api:
        def repo_info(self, repository, revision, files_metadata):
            lfs = types.SimpleNamespace(sha256=right)
            return types.SimpleNamespace(
                siblings=[
                    types.SimpleNamespace(rfilename="model.safetensors", size=10, lfs=lfs),
                    types.SimpleNamespace(rfilename="onnx/config.json", size=1, lfs=None),
                    types.SimpleNamespace(rfilename="pytorch_model.bin", size=1, lfs=None),
                ]
            )

    content = [b"w" * 10]

    def download(repository, name, revision, local_dir):
        (local_dir / name).write_bytes(content[0])

    monkeypatch.setattr(hub, "HfApi", Api)
    monkeypatch.setattr(hub, "hf_hub_download", download)
    patterns = ("*.json", "*.safetensors", "!onnx/*")
    sources.hub("a/b", "0" * 40, patterns, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    content[0] = b"x" * 10
    with pytest.raises(InputError, match="not the content"):
        sources.hub("a/b", "0" * 40, patterns, tmp_path)
    content[0] = b"w"
    with pytest.raises(InputError, match="not the size"):
        sources.hub("a/b", "0" * 40, patterns, tmp_path)
    with pytest.raises(InputError, match="no file like"):
        sources.hub("a/b", "0" * 40, ("*.gguf",), tmp_path)
