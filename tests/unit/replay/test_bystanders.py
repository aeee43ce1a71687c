"""What runs beside the function that is watched: imports, profilers, the collector of garbage."""

from __future__ import annotations

import contextlib
import cProfile
import gc
import sys

import numpy as np
import pytest

import dpcheck
from dpcheck.core.errors import NotProvable
from dpcheck.replay import FindingKind, examine
from dpcheck.replay.sources import generators

# As compiled packages are: loaded once in a process, whatever becomes of the first import.
ONCE = """
import os, sys
if hasattr(sys, "_loaded_once_{name}"):
    raise RuntimeError("already defined")
sys._loaded_once_{name} = True
SEED = os.urandom(4)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    def make(name):
        (tmp_path / f"{name}.py").write_text(ONCE.format(name=name))
        monkeypatch.syspath_prepend(tmp_path)
        return name

    return make


def test_a_trace_does_not_break_an_import(package):
    """Reading entropy is refused in a trace: the import was broken off, and every call after it failed."""
    package("loads_once_traced")

    def total(x, rng):
        import loads_once_traced  # noqa: F401

        return np.clip(x, 0, 1).sum() + rng.laplace(scale=2.0)

    people = dpcheck.records(x=dpcheck.number(0, 1), rows=3)
    assert dpcheck.prove(total, data=people, adjacency="replace-one").epsilon().upper == 0.5
    assert "loads_once_traced" in sys.modules


def test_imports_of_functions_it_calls_are_made_ahead(package):
    package("loads_once_inner")
    names: dict = {}
    exec(  # with globals of its own, as in a file of the user's
        "def inner():\n    import loads_once_inner\n    return 0.0\n"
        "def outer(data, rng):\n    return inner() + data[0] + rng.laplace()\n",
        names,
    )
    finding = examine(names["outer"], ([0.0], [1.0]))
    assert finding.kind is FindingKind.EXACT


def test_an_import_that_fails_is_the_function_s_own_affair():
    def total(data, rng):
        with contextlib.suppress(ImportError):
            import there_is_no_such_module  # noqa: F401
        return data[0] + rng.laplace()

    assert examine(total, ([0.0], [1.0])).epsilon().lower == pytest.approx(1.0)


@pytest.mark.parametrize("watch", ["trace", "replay"])
def test_under_a_profiler(watch):
    """cProfile's object is returned by sys.getprofile and refused by sys.setprofile."""

    def total(x, rng):
        return np.sum(x) + rng.laplace()

    profiler = cProfile.Profile()
    profiler.enable()
    try:
        if watch == "trace":
            with pytest.raises(NotProvable, match="without bounds"):
                dpcheck.prove(total, data=np.zeros(2), adjacency="replace-one")
        else:
            assert examine(total, (np.zeros(1), np.ones(1))).kind is FindingKind.EXACT
        after = profiler.getstats()
        _marker_of_this_test()
    finally:
        profiler.disable()
    names = {getattr(each.code, "co_name", "") for each in profiler.getstats()}
    assert after is not None
    assert "_marker_of_this_test" in names  # it went on watching


def _marker_of_this_test():
    return 0


def test_a_tuple_that_is_being_built_survives_a_limit_that_rings_in_the_search_for_generators(
    monkeypatch,
):
    """Whoever holds every object holds that tuple, and Python then refuses to finish it."""

    class Rings(tuple):
        left = 50

        def __contains__(self, kind):
            Rings.left -= 1
            if Rings.left == 0:
                raise TimeoutError
            return False

    kept = []

    def entries():
        for number in range(40):
            if number == 0:
                gc.collect()
                try:
                    generators.living_generators()
                except TimeoutError as error:
                    kept.append(error)  # with its traceback, as a chain of errors has it
            yield number

    monkeypatch.setattr(generators, "_KINDS", Rings())
    assert tuple(entries()) == tuple(range(40))
    assert kept
