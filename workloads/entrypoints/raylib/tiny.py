"""Small stand-ins for models and data, with random weights, made on the spot. Needs torch.

They have the form of the real ones, so the programs run unchanged on them: for rehearsals without a
GPU and for the tests.
"""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from raylib import aurora_data

# The grid of made-up states: one row more than a multiple of the patch, as real ones have.
HEIGHT, WIDTH = 17, 32
LEVELS = (100, 250, 500, 850)


def aurora(folder: pathlib.Path, seed: int = 0) -> None:
    """Writes the base checkpoint of the tiny Aurora."""
    import torch

    from raylib import aurora_model

    torch.manual_seed(seed)
    model = aurora_model.build("tiny", autocast=False, use_lora=False)
    # Untrained blocks add nothing to their input, and so LoRA would get no gradient.
    for name, parameter in model.named_parameters():
        if "ln_modulation" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    torch.save(model.state_dict(), folder / aurora_model.CHECKPOINTS["tiny"])


def states(folder: pathlib.Path, time: datetime.datetime) -> None:
    """Writes a made-up state: waves of realistic mean and spread that travel with time."""
    import numpy as np
    from aurora.normalisation import locations, scales

    hours = (time - datetime.datetime(2000, 1, 1)).total_seconds() / 3600
    lat, lon = _grid()
    values = {}
    for i, v in enumerate((*aurora_data.SURFACE, *aurora_data.ATMOSPHERE)):
        wave = np.sin(np.radians(lon[None, :] * (1 + i % 3) + 3 * hours)) * np.cos(
            np.radians(lat[:, None])
        )
        if v in aurora_data.ATMOSPHERE:
            values[v] = np.stack(
                [locations[f"{v}_{p}"] + scales[f"{v}_{p}"] * wave for p in LEVELS]
            )
        else:
            values[v] = locations[v] + scales[v] * wave
    write_netcdf(folder / "state.nc", values, LEVELS, time=time)


def static(folder: pathlib.Path) -> None:
    """Writes made-up static variables."""
    import numpy as np

    lat, lon = _grid()
    hill = np.clip(np.outer(np.cos(np.radians(lat)), np.sin(np.radians(lon))), 0, 1)
    values = {"lsm": (hill > 0.3).astype("f4"), "z": 3000 * 9.8 * hill, "slt": np.round(hill * 6)}
    write_netcdf(folder / "static.nc", values, ())


def _grid() -> tuple[Any, Any]:
    import numpy as np

    return np.linspace(90, -90, HEIGHT), np.linspace(0, 360, WIDTH, endpoint=False)


def write_netcdf(
    path: pathlib.Path,
    values: Mapping[str, Any],
    levels: Sequence[int],
    lat: Any = None,
    lon: Any = None,
    time: datetime.datetime | None = None,
) -> None:
    """Writes arrays of (level, latitude, longitude) or (latitude, longitude) as float32.

    The time that they are of, if one is given, is an attribute of the file.
    """
    import netCDF4
    import numpy as np

    if lat is None:
        lat, lon = _grid()
    with netCDF4.Dataset(path, "w") as data:
        if time is not None:
            data.setncattr(aurora_data.TIME, aurora_data.name(time))
        for axis, points in (("latitude", lat), ("longitude", lon), ("level", levels)):
            if len(points):
                data.createDimension(axis, len(points))
                data.createVariable(axis, "f4", (axis,))[:] = np.asarray(points)
        for name, array in values.items():
            axes = ("level", "latitude", "longitude")[3 - np.ndim(array) :]
            data.createVariable(name, "f4", axes)[:] = array
