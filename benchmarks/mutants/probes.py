"""Programs that are proved without an attack, to see what a changed rule concludes."""

from __future__ import annotations

import importlib
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import DpcheckError
from dpcheck.program.proof import proof_of, read

GRAMMAR = 60  # programs
DELTA = 1e-5
Found = Iterator[tuple[str, float]]
Asked = Callable[[str], bool]
Reached = set[tuple[str, str]]  # functions of rules and facts: (file, name)


def anything(name: str) -> bool:
    """Every case is asked."""
    del name
    return True


@contextmanager
def watched(reached: Reached) -> Iterator[None]:
    """Notes which functions of rules and facts run."""

    def note(frame: types.FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and ("/program/rules/" in file or "/program/facts/" in file):
            reached.add((file, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def load() -> None:
    """Import all tests that are used, once."""
    for name in ("program.test_primitives", "prove.test_hostile", "prove.test_corpus"):
        importlib.import_module(f"tests.{name}")


def stated(asked: Asked = anything) -> Found:
    """The cases of tests/prove whose epsilon the tests state: (name, epsilon that is proved now)."""
    for name, case, form in _cases(asked, right=True):
        yield name, _proved(case.function, case.data, case.adjacency, form, _delta(case))


def wrong(asked: Asked = anything) -> Iterator[tuple[str, float, float]]:
    """The hostile functions: (name, epsilon that is proved now, what they spend)."""
    for name, case, form in _cases(asked, right=False):
        yield name, _proved(case.function, case.data, case.adjacency, form, 0.0), case.epsilon


def others(asked: Asked = anything) -> Found:
    """Random programs: (name, epsilon that is proved now)."""
    from tests.prove.grammar.attack import compiled
    from tests.prove.grammar.programs import ROWS, write

    for seed in range(GRAMMAR):
        program = write(seed)
        for adjacency in ("replace-one", "add-remove"):
            if not asked(f"grammar {seed} {adjacency}"):
                continue
            data = np.zeros((ROWS, program.columns))
            found = _proved(compiled(program.source), data, adjacency, None, DELTA)
            yield f"grammar {seed} {adjacency}", found


def _cases(asked: Asked, *, right: bool):
    hostile = importlib.import_module("tests.prove.test_hostile")
    for case in hostile.CASES.values():
        if case.right is right and asked(case.name):
            yield case.name, case, case.form
    corpus = importlib.import_module("tests.prove.test_corpus")
    for case in corpus.PROVED if right else corpus.WRONG:
        if asked(case.name):
            yield case.name, case, None


def _delta(case) -> float:
    return getattr(case, "delta", 0.0)


def _proved(function, data, adjacency: str, form: str | None, delta: float) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = read(function, data, Adjacency(adjacency), form=form)
            return float(proof_of(program, data).epsilon(delta=delta).upper)
        except (DpcheckError, ValueError, OverflowError, MemoryError):
            return math.inf
