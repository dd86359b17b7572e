"""States of the atmosphere for Aurora: where they are, what they must hold, and how they are read.

A state is a NetCDF file named by its true time. Needs numpy and netCDF4.

    DATA/YYYYMMDDTHH/…/state.nc    variables 2t 10u 10v msl (latitude, longitude) and z u v t q
                                   (level, latitude, longitude) at that time, UTC; coordinates
                                   latitude (falling), longitude (rising, 0 to 360), level (hPa);
                                   an attribute time, YYYYMMDDTHH, if it is there, must be right
    DATA/static/…/static.nc        lsm z slt (latitude, longitude)
"""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from raylib import inputs, log, sealed
from raylib.errors import InputError

SURFACE = ("2t", "10u", "10v", "msl")
STATIC = ("lsm", "z", "slt")
ATMOSPHERE = ("z", "u", "v", "t", "q")
STEP = datetime.timedelta(hours=6)
STAGED_BY = "stage (STAGE_ITEMS=era5)"
_FORM = "%Y%m%dT%H"
# The attribute of a state's file that says its time.
TIME = "time"


class TimeError(InputError):
    """A text that is no time."""


def wrong_times(knob: str, texts: Sequence[str]) -> list[str]:
    """Returns what is wrong with the times of a parameter."""
    wrong = []
    for text in texts:
        try:
            parse_time(text)
        except TimeError as e:
            wrong.append(f"{knob}: {e}")
    return wrong


def parse_time(text: str) -> datetime.datetime:
    """Returns the time that YYYYMMDDTHH means. Raises TimeError if it means none."""
    try:
        time = datetime.datetime.strptime(text, _FORM)
    except ValueError:
        time = None
    # Digits may be missing for strptime, but not in the name of a state.
    if time is None or name(time) != text:
        raise TimeError(f"{text!r} is no time of the form YYYYMMDDTHH")
    return time


def name(time: datetime.datetime) -> str:
    """Returns the name of the state at a time."""
    return time.strftime(_FORM)


@dataclasses.dataclass(frozen=True)
class Sample:
    """The times that a forecast needs: before, initial, and that of the truth."""

    init: datetime.datetime
    lead: datetime.timedelta

    @property
    def before(self) -> datetime.datetime:
        """The time 6 hours before the initial time."""
        return self.init - STEP

    @property
    def truth(self) -> datetime.datetime:
        """The time that the forecast is for."""
        return self.init + self.lead


class States:
    """The states below a folder."""

    def __init__(
        self, folder: pathlib.Path, known: Mapping[str, str] | None = None, static: str = ""
    ) -> None:
        """Reads from `folder` when asked to.

        `known` are digests of states by name, and `static` that of the static variables, of which
        no other content is taken.
        """
        self.folder = folder
        self._known, self._static = known or {}, static

    def state(self, time: datetime.datetime, why: str) -> sealed.Sealed:
        """Returns the folder of the state at a time. Raises InputError that says why it is needed.

        It is looked up by its time alone: another one is never taken in its place.
        """
        digest = self._known.get(name(time), "")
        return inputs.find(self.folder / name(time), f"the state ({why})", STAGED_BY, digest)

    def static(self) -> sealed.Sealed:
        """Returns the folder of the static variables."""
        path = self.folder / "static"
        return inputs.find(path, "the static variables", STAGED_BY, self._static)

    def samples(self, lead_hours: int, wanted: tuple[str, ...]) -> list[Sample]:
        """Returns the samples in order of time, each with all of its states there.

        Of those that are wanted by name, each must be complete; otherwise all that are.
        Raises InputError.
        """
        lead = datetime.timedelta(hours=lead_hours)
        if wanted:
            chosen = [Sample(parse_time(t), lead) for t in sorted(set(wanted))]
            for s in chosen:
                self.check(s)
            return chosen
        there = set()
        for path in sorted(self.folder.glob("????????T??")):
            if self._known and path.name not in self._known:
                continue
            try:
                time = parse_time(path.name)
                self.state(time, "found in the folder")
            except InputError as e:
                # A run that has begun must not go on without a state that it began with.
                if self._known:
                    raise
                log.event("state_passed_over", path=str(path), reason=str(e))
                continue
            there.add(time)
        found = [
            s
            for s in (Sample(t, lead) for t in sorted(there))
            if s.before in there and s.truth in there
        ]
        if not found:
            raise InputError(
                f"{self.folder} has no time with a state 6 hours before and one {lead_hours} "
                f"hours after; the workload {STAGED_BY} brings the states of STAGE_ERA5_TIMES"
            )
        return found

    def check(self, sample: Sample, truth: bool = True) -> None:
        """Raises InputError for the first state that a sample lacks."""
        self.state(sample.before, f"6 hours before the initial time {name(sample.init)}")
        self.state(sample.init, f"the initial time {name(sample.init)}")
        if truth:
            hours = int(sample.lead.total_seconds() // 3600)
            self.state(sample.truth, f"the truth {hours} hours after {name(sample.init)}")


@dataclasses.dataclass(frozen=True)
class Fields:
    """One file in memory: float32 arrays by variable, and its coordinates."""

    path: pathlib.Path
    values: dict[str, Any]
    lat: Any
    lon: Any
    levels: tuple[int, ...]


def read(
    folder: sealed.Sealed,
    file: str,
    surface: tuple[str, ...],
    upper: tuple[str, ...],
    time: datetime.datetime | None = None,
) -> Fields:
    """Reads a file in one go and checks names, shapes and values, and its time if it has one.

    Raises InputError for another time, a missing variable, a wrong shape, or values that are not
    finite.
    """
    import netCDF4
    import numpy as np

    path = folder.path / file
    try:
        opened = netCDF4.Dataset(file, memory=path.read_bytes())
    except OSError as e:
        raise InputError(f"{path} is no NetCDF file: {e}") from e
    with opened as data:
        said = data.getncattr(TIME) if TIME in data.ncattrs() else None
        if time is not None and said is not None and said != name(time):
            raise InputError(f"{path} is of the time {said}, not {name(time)}")
        for needed in ("latitude", "longitude", *surface, *upper, *(("level",) if upper else ())):
            if needed not in data.variables:
                raise InputError(f"{path} lacks the variable {needed}")
        lat, lon = (np.asarray(data[c][:], dtype=np.float32) for c in ("latitude", "longitude"))
        levels = tuple(int(v) for v in data["level"][:]) if upper else ()
        values: dict[str, Any] = {}
        for v in (*surface, *upper):
            array = np.ma.filled(data[v][:], np.nan).astype(np.float32)
            want = (len(levels), len(lat), len(lon)) if v in upper else (len(lat), len(lon))
            if array.shape != want:
                raise InputError(f"{path}: {v} has the shape {array.shape}, not {want}")
            if not np.isfinite(array).all():
                raise InputError(f"{path}: {v} has values that are missing or not finite")
            values[v] = array
    if not (np.diff(lat) < 0).all() or not (np.diff(lon) > 0).all():
        raise InputError(f"{path}: latitude must fall and longitude must rise")
    return Fields(path, values, lat, lon, levels)


def same_grid(several: Sequence[Fields]) -> Fields:
    """Returns the last of files that are used together.

    Raises InputError if one has other latitudes, longitudes or, where it has any, levels: arrays of
    the same shape would be put together although they are of other places.
    """
    last = several[-1]
    for other in several:
        for axis in ("lat", "lon", "levels"):
            ours, theirs = (list(getattr(f, axis)) for f in (last, other))
            if ours != theirs and theirs:
                raise InputError(f"{other.path} and {last.path} do not fit: they differ in {axis}")
    return last
