"""The accountant's fuzz draws every event of the vocabulary; one that is new has to be drawn, too."""

import importlib
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fuzz.cases import LEAVES, Draw, draw_case, leaf, wrapped

from dpcheck.core import events
from dpcheck.core.events.event import Event, children


def _kinds(kind=Event):
    for below in kind.__subclasses__():
        if below.__module__.startswith(events.__name__):
            yield below.__name__
        yield from _kinds(below)


def _inside(event):
    yield type(event).__name__
    for inner in children(event):
        yield from _inside(inner)


def test_every_event_is_drawn():
    for module in pkgutil.iter_modules(events.__path__):
        importlib.import_module(f"{events.__name__}.{module.name}")
    drawn = {kind for number in range(300) for kind in _inside(draw_case(0, number).event)}
    for number in range(1500):
        draw = Draw(1, number)
        drawn |= set(_inside(wrapped(draw, leaf(draw))))
    assert set(LEAVES) <= drawn
    assert drawn == set(_kinds())
