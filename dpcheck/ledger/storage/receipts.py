"""What was asked for under an id: reserved once, released once."""

from __future__ import annotations

import json
from dataclasses import replace

from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.storage.entries import Charged, Entry, Released, ReleaseShown, event_fields
from dpcheck.ledger.storage.interface import Kept
from dpcheck.ledger.storage.seals import written


def asked_for(event: Event, who: str | None = None) -> str:
    """What an id stands for: an event, and of a population who is to pay."""
    text = written(event_fields(event))
    return text if who is None else f"{text} for {who}"


def words_of(asked: str) -> str:
    """What an id stands for, as a message says it.

    >>> from dpcheck.core.events.guarantee import PureDP
    >>> words_of(asked_for(PureDP(0.5)))
    'PureDP(epsilon=0.5, adjacency=None)'
    """
    fields, end = json.JSONDecoder().raw_decode(asked)
    return f"{from_dict(fields)}{' for some of its accounts' if end < len(asked) else ''}"


def reserved(entry: Entry) -> Kept | None:
    """What is kept of a release with an id."""
    if isinstance(entry, Released) and entry.request is not None:
        return Kept(entry.request, entry.path, asked_for(entry.event), entry.times, released=False)
    if isinstance(entry, Charged) and entry.request is not None:
        what = asked_for(entry.event, entry.who)
        return Kept(entry.request, entry.population, what, entry.times, released=False)
    return None


def kept_after(known: dict[str, Kept], entry: Entry) -> None:
    """Add what `entry` says; adding it twice changes nothing."""
    found = reserved(entry)
    if found is not None:
        known.setdefault(found.request, found)
    elif isinstance(entry, ReleaseShown):
        known[entry.request] = replace(known[entry.request], released=True)
