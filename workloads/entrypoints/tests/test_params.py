"""Tests of how parameters are read, and of what every program says without Ray or torch."""

import dataclasses
import json
import pathlib
import subprocess
import sys
from typing import ClassVar

import pytest

from raylib import params, run
from raylib.errors import ParameterError
from raylib.params import Params, knob

ENTRYPOINTS = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = sorted(p.stem for p in ENTRYPOINTS.glob("*.py"))
RUN = {"RUN_ID": "abc", "RUN_OUTPUT": "/mnt/blob/x/abc", "RUN_WORKERS": "1"}
TOKEN = {"SERVE_TOKEN": "0123456789abcdef"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample(Params):
    PREFIX: ClassVar[str] = "SAMPLE_"

    steps: int = knob(10, low=1, high=100, unit="steps", help="how long")
    rate: float = knob(0.5, low=0, high=1, help="how fast")
    on: bool = knob(False, help="whether")
    mode: str = knob("fast", choices=("fast", "slow"), help="which way")
    times: tuple[str, ...] = knob((), pattern=r"\d+", help="when")
    ranks: tuple[int, ...] = knob((4, 8), low=1, high=64, help="how large")
    place: str = run.relative_path("a/b", "where")
    key: str = knob("", secret=True, result=False, help="a secret")
    every: int = knob(5, low=1, result=False, help="how often")


def test_defaults_and_values_have_the_types_of_their_fields():
    assert params.load(Sample, {}) == Sample()
    got = params.load(
        Sample,
        {
            "SAMPLE_STEPS": "7",
            "SAMPLE_RATE": "1e-1",
            "SAMPLE_ON": "true",
            "SAMPLE_TIMES": "1, 22",
            "SAMPLE_RANKS": "16",
        },
    )
    assert got == Sample(steps=7, rate=0.1, on=True, times=("1", "22"), ranks=(16,))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("STEPS", "ten", "is 'ten' which is no whole number"),
        ("STEPS", "0", "is '0' which is out of range"),
        ("STEPS", "1.5", "no whole number"),
        ("RATE", "nan", "not finite"),
        ("RATE", "2", "at most 1"),
        ("ON", "perhaps", "neither true nor false"),
        ("MODE", "fasst", "did you mean fast?"),
        ("TIMES", "1,x", "wrong form"),
        ("RANKS", "4,128", "out of range"),
        ("PLACE", "/etc", "wrong form"),
        ("PLACE", "a/../../b", "wrong form"),
        ("PLACE", "", "wrong form"),
        ("STEPS", "9" * 400, "out of range"),
        ("RATE", "9" * 400, "not finite"),
        ("STEPZ", "1", "did you mean SAMPLE_STEPS?"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name, value, words):
    with pytest.raises(ParameterError) as e:
        params.load(Sample, {"SAMPLE_" + name: value})
    assert words in str(e.value)
    assert "SAMPLE_" + name in str(e.value)


def test_all_problems_are_reported_at_once():
    with pytest.raises(ParameterError) as e:
        params.load(Sample, {"SAMPLE_STEPS": "0", "SAMPLE_RATE": "2", "SAMPLE_ONN": "1"})
    assert len(e.value.problems) == 3


def test_variables_that_kubernetes_makes_for_services_are_passed_over():
    env = {
        "SAMPLE_X_SERVICE_HOST": "10.0.0.1",
        "SAMPLE_X_SERVICE_PORT_HTTP": "80",
        "SAMPLE_X_PORT": "tcp://10.0.0.1:80",
        "SAMPLE_X_PORT_80_TCP_ADDR": "10.0.0.1",
    }
    assert params.load(Sample, env) == Sample()
    with pytest.raises(ParameterError, match="SAMPLE_Y_PORT"):
        params.load(Sample, {**env, "SAMPLE_Y_PORT": "1"})


def test_a_file_gives_values_and_variables_win(tmp_path):
    yaml = pytest.importorskip("yaml")
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({"steps": 3, "rate": 0.25, "ranks": [2, 4], "on": True}))
    env = {"SAMPLE_CONFIG": str(file), "SAMPLE_STEPS": "9"}
    assert params.load(Sample, env) == Sample(steps=9, rate=0.25, ranks=(2, 4), on=True)
    file.write_text(yaml.safe_dump({"stepps": 3, "key": "s", "rate": 7}))
    with pytest.raises(ParameterError) as e:
        params.load(Sample, {"SAMPLE_CONFIG": str(file)})
    assert "did you mean steps?" in str(e.value)
    assert "secret" in str(e.value)
    assert "out of range" in str(e.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"steps:\n", "no value of steps"),
        (b"rate: 0.1\nsteps: 1\nsteps: 2\n", "steps comes twice"),
        (b"mode: [fast]\n", "which is no text"),
        (b"ranks: {a: 1}\n", "which is no whole number"),
        (b"times: [1, null]\n", "which is no text"),
        (b"- steps\n", "must hold keys and values"),
        (b"mode: \xff\n", "cannot be read"),
    ],
)
def test_a_file_that_is_not_meant_so_is_refused(tmp_path, content, words):
    pytest.importorskip("yaml")
    (tmp_path / "c.yaml").write_bytes(content)
    with pytest.raises(ParameterError, match=words):
        params.load(Sample, {"SAMPLE_CONFIG": str(tmp_path / "c.yaml")})


def test_secrets_are_not_shown_and_decide_nothing():
    with_key = params.load(Sample, {"SAMPLE_KEY": "hush", "SAMPLE_EVERY": "1"})
    assert "hush" not in json.dumps(with_key.shown())
    assert params.digest(with_key.deciding()) == params.digest(Sample().deciding())
    assert params.digest(Sample(steps=11).deciding()) != params.digest(Sample().deciding())


def test_a_wrong_secret_is_not_in_the_message():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Secret(Params):
        PREFIX: ClassVar[str] = "S_"
        token: str = knob(required=True, secret=True, pattern="x+", help="t")

    with pytest.raises(ParameterError) as e:
        params.load(Secret, {"S_TOKEN": "yyy"})
    assert "yyy" not in str(e.value)


def test_places_of_a_run_stay_on_the_mount():
    here = params.load(run.Run, {**RUN, "RUN_OTHER": "not ours"})
    assert here.path("models/x") == pathlib.Path("/mnt/blob/models/x")
    for outside in ("../x", "a/../../x", "/etc"):
        with pytest.raises(ParameterError):
            here.path(outside)
    with pytest.raises(ParameterError, match="RUN_OUTPUT is 'x', but must be an absolute path"):
        params.load(run.Run, {"RUN_ID": "a", "RUN_OUTPUT": "x"})


def bare(program: str, *arguments: str, **env: str) -> subprocess.CompletedProcess:
    """Runs a program without site-packages: no Ray, no torch, no YAML."""
    return subprocess.run(
        [sys.executable, "-S", str(ENTRYPOINTS / f"{program}.py"), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_and_check_config_need_nothing_installed(program):
    usage = bare(program, "--help")
    assert usage.returncode == 0, usage.stderr
    assert "RUN_STORAGE" in usage.stdout
    checked = bare(program, "--check-config", **RUN, **TOKEN)
    assert checked.returncode == 0, checked.stderr
    answer = json.loads(checked.stdout)
    assert answer["ok"] is True
    assert TOKEN["SERVE_TOKEN"] not in checked.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_refuses_what_it_does_not_know(program):
    module = __import__(program)
    prefix = module.PROGRAM.params.PREFIX
    env = {**RUN, **TOKEN, f"{prefix}NO_SUCH_KNOB": "1"}
    got = bare(program, "--check-config", **env)
    assert got.returncode == 2
    assert f"{prefix}NO_SUCH_KNOB is no parameter" in got.stderr
    assert bare(program, "--no-such-flag", **RUN).returncode == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_knob_is_documented(program):
    cls = __import__(program).PROGRAM.params
    for f in dataclasses.fields(cls):
        facts = f.metadata["knob"]
        assert len(facts.help) > 10, f.name
        if not facts.required:
            assert params.load(cls, {**TOKEN}) is not None


@pytest.mark.parametrize("program", ["serve_aurora", "serve_llm"])
def test_a_service_without_a_token_does_not_start(program, monkeypatch):
    module = __import__(program)
    monkeypatch.delenv("SERVE_TOKEN", raising=False)
    monkeypatch.setenv("RUN_ID", "abc")
    with pytest.raises(ParameterError, match="SERVE_TOKEN is not set"):
        _ = module.app
    assert bare(program, "--check-config", **RUN).returncode == 2
    short = bare(program, "--check-config", **RUN, SERVE_TOKEN="short")
    assert short.returncode == 2
    assert "'short'" not in short.stderr
