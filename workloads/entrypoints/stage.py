"""Brings models and data into the storage, once, for the workloads that need them.

Each item is complete or absent: files first, and last a record with their sizes and SHA-256. What
is complete is left alone, so the program can run again at any time.

    item         from                                     to, below RUN_STORAGE
    aurora       Hugging Face: microsoft/aurora           models/microsoft/aurora
    qwen         Hugging Face: Qwen/Qwen2.5-7B-Instruct   models/Qwen/Qwen2.5-7B-Instruct
    gpt2         Hugging Face: openai-community/gpt2      models/openai-community/gpt2
    viggo        the files at STAGE_VIGGO_URL             llm-pipeline/data/viggo
    shakespeare  the text at STAGE_TEXT_URL               llm-pipeline/data/shakespeare
    era5         WeatherBench2, at STAGE_ERA5_TIMES       aurora/data/era5

With STAGE_SOURCE=tiny nothing is downloaded: small models with random weights and small made-up
data of the same form take the places, for rehearsals without a GPU.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from raylib import aurora_data, program
from raylib.params import Params, knob
from raylib.run import Run
from raylib.shared import SCRATCH

ITEMS = ("aurora", "era5", "qwen", "viggo", "gpt2", "shakespeare")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Params):
    """What to bring, and from where."""

    PREFIX: ClassVar[str] = "STAGE_"

    items: tuple[str, ...] = knob(ITEMS, choices=ITEMS, help="what to bring")
    source: str = knob(
        "hub",
        choices=("hub", "tiny"),
        help="hub downloads; tiny makes small stand-ins on the spot, for rehearsals",
    )
    aurora_revision: str = knob(
        "0be7e57c685dac86b78c4a19a3ab149d13c6a3dd",
        pattern="[0-9a-f]{40}",
        help="the commit of microsoft/aurora, as microsoft-aurora 2.0.1 pins it",
    )
    qwen_revision: str = knob(
        "a09a35458c702b33eeacc393d103063234e8bc28",
        pattern="[0-9a-f]{40}",
        help="the commit of Qwen/Qwen2.5-7B-Instruct",
    )
    gpt2_revision: str = knob(
        "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        pattern="[0-9a-f]{40}",
        help="the commit of openai-community/gpt2",
    )
    viggo_url: str = knob(
        "https://viggo-ds.s3.amazonaws.com",
        pattern="(https|file)://.+",
        help="where train.jsonl and test.jsonl of ViGGO are, with instruction, input and output",
    )
    text_url: str = knob(
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        pattern="(https|file)://.+",
        help="where the text for tune_gpt2 is",
    )
    text_sha256: str = knob("", pattern="[0-9a-f]{64}", help="its SHA-256; empty = not checked")
    era5_store: str = knob(
        "gs://weatherbench2/datasets/era5/"
        "1959-2023_01_10-wb13-6h-1440x721_with_derived_variables.zarr",
        help="the Zarr store of the states; a path or any address that fsspec knows",
    )
    era5_times: tuple[str, ...] = knob(
        ("20210829T06", "20210829T12", "20210829T18"),
        pattern=r"\d{8}T(00|06|12|18)",
        help="the states to bring, as YYYYMMDDTHH, UTC",
    )
    era5_region: tuple[float, ...] = knob(
        (),
        low=-90,
        high=360,
        unit="degrees",
        help="south,north,west,east of a regional cut, longitudes from 0; empty = the whole globe",
    )
    scratch: str = knob(SCRATCH, pattern="/.+", help="a folder on the node's own disk")
    cluster_timeout_seconds: float = knob(
        900.0, low=1, high=86400, unit="seconds", help="how long to wait for a worker"
    )

    def problems(self) -> list[str]:
        """Refuses nothing to bring, a region that is none, and days that no calendar has."""
        wrong = aurora_data.wrong_times("STAGE_ERA5_TIMES", self.era5_times)
        if not self.items:
            wrong.append(f"STAGE_ITEMS is empty; name at least one of {', '.join(ITEMS)}")
        if len(self.era5_region) not in (0, 4):
            wrong.append("STAGE_ERA5_REGION must be four numbers: south,north,west,east")
        elif self.era5_region:
            south, north, west, east = self.era5_region
            if not (-90 <= south < north <= 90 and 0 <= west < east <= 360):
                wrong.append(
                    f"STAGE_ERA5_REGION is {self.era5_region}, but must be south,north,west,east "
                    "with -90 <= south < north <= 90 and 0 <= west < east <= 360"
                )
        return wrong


def work(settings: Settings, run: Run) -> Mapping[str, Any]:
    """Brings what is missing and returns what was brought and what was there."""
    from raylib import staging

    return staging.stage(settings, run)


PROGRAM = program.Program("stage", __doc__ or "", Settings, work, needs_output=False)

if __name__ == "__main__":
    sys.exit(program.main(PROGRAM))
