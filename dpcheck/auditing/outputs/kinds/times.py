"""Dates, times and durations, exact to the microsecond or to numpy's own unit."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.registry import reads

_NOTHING = timedelta(0)
_START, _MICROSECOND = datetime(2000, 1, 1), timedelta(microseconds=1)


@reads(datetime)
def read_datetime(value: datetime, path: str, flat: Flat) -> None:
    """The day and the second within it, as written, and one number that no midnight cuts.

    Microseconds from 2000 on are exact in a float for 285 years either way.
    """
    written = datetime.combine(value.date(), value.time())
    flat.number(f"microseconds of {path} since 2000", (written - _START) / _MICROSECOND)
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
    seconds = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    flat.number(f"seconds of {path}", seconds)


def _read_zone(zone: tzinfo | None, offset: timedelta | None, path: str, flat: Flat) -> None:
    if zone is not None:
        flat.number(f"{path}.utcoffset()", (offset or _NOTHING).total_seconds())


@reads(timedelta)
def read_timedelta(value: timedelta, path: str, flat: Flat) -> None:
    """Days, and seconds within the day."""
    flat.number(f"{path}.total_seconds()", value.total_seconds())
    flat.number(f"{path}.microseconds", float(value.microseconds))
