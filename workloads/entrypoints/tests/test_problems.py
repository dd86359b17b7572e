"""Tests of values that are right alone and wrong together, or that only a program can judge."""

import pytest

from raylib import params
from raylib.errors import ParameterError

TOKEN = {"SERVE_TOKEN": "0123456789abcdef"}


@pytest.mark.parametrize(
    ("program", "env", "words"),
    [
        ("stage", {"STAGE_ITEMS": ""}, "STAGE_ITEMS is empty"),
        ("stage", {"STAGE_ERA5_TIMES": "20219999T06"}, "'20219999T06' is no time"),
        ("stage", {"STAGE_ERA5_REGION": "60,30,0,40"}, "south < north"),
        ("stage", {"STAGE_ERA5_REGION": "30,60,-10,40"}, "0 <= west"),
        ("stage", {"STAGE_ERA5_REGION": "30,100,0,40"}, "north <= 90"),
        ("stage", {"STAGE_ERA5_REGION": "30,60,40,40"}, "west < east"),
        ("aurora_finetune", {"AURORA_INIT_TIMES": "20210230T06"}, "'20210230T06' is no time"),
        ("batch_inference", {"BATCH_MAX_MODEL_LEN": "250"}, "no room for a prompt"),
        ("serve_llm", {"SERVE_MAX_MODEL_LEN": "512"}, "no room for a prompt"),
    ],
)
def test_values_that_cannot_be_together_are_refused(program, env, words):
    settings = __import__(program).Settings
    with pytest.raises(ParameterError, match=words):
        params.load(settings, {**TOKEN, **env})


def test_a_region_and_an_empty_value_that_is_the_default_are_taken():
    settings = __import__("stage").Settings
    given = {"STAGE_ERA5_REGION": "-90,90,0,360", "STAGE_TEXT_SHA256": ""}
    assert params.load(settings, given).era5_region == (-90, 90, 0, 360)


def test_help_tells_bounds_exactly():
    assert "at most 2147483647" in params.describe(__import__("aurora_finetune").Settings)
