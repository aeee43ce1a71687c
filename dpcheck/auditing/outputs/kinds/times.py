"""Dates, times and durations, exact to the microsecond or to numpy's own unit."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.registry import reads

_NOTHING = timedelta(0)
_START = date(2000, 1, 1).toordinal()


@reads(datetime)
def read_datetime(value: datetime, path: str, flat: Flat) -> None:
    """The day and the second within it, as written, and one number that no midnight cuts.

    Microseconds from 2000 on are exact in a float for 285 years either way.
    """
    whole = f"({path}.toordinal() - {_START}) * 86400 + {_clock(path)}"
    seconds = (value.toordinal() - _START) * 86400 + _whole_seconds(value)
    flat.number(
        f"({whole}) * 10**6 + {path}.microsecond", float(seconds * 10**6 + value.microsecond)
    )
    flat.number(f"{path}.toordinal()", float(value.toordinal()))
    _read_clock(value.time(), f"{path}.time()", flat)
    _read_zone(value.tzinfo, value.utcoffset(), path, flat)


@reads(date)
def read_date(value: date, path: str, flat: Flat) -> None:
    """The day's number."""
    flat.number(f"{path}.toordinal()", float(value.toordinal()))


@reads(time)
def read_time(value: time, path: str, flat: Flat) -> None:
    """Seconds since midnight."""
    _read_clock(value, path, flat)
    _read_zone(value.tzinfo, value.utcoffset(), path, flat)


def _read_clock(value: time, path: str, flat: Flat) -> None:
    name = f"{_clock(path)} + {path}.microsecond / 1e6"
    flat.number(name, _whole_seconds(value) + value.microsecond / 1e6)


def _clock(path: str) -> str:
    return f"{path}.hour * 3600 + {path}.minute * 60 + {path}.second"


def _whole_seconds(value: time | datetime) -> int:
    return value.hour * 3600 + value.minute * 60 + value.second


def _read_zone(zone: tzinfo | None, offset: timedelta | None, path: str, flat: Flat) -> None:
    if zone is not None:
        flat.number(f"{path}.utcoffset().total_seconds()", (offset or _NOTHING).total_seconds())


@reads(timedelta)
def read_timedelta(value: timedelta, path: str, flat: Flat) -> None:
    """Days, and seconds within the day."""
    flat.number(f"{path}.total_seconds()", value.total_seconds())
    flat.number(f"{path}.microseconds", float(value.microseconds))
