"""Programs that are proved without an attack, to see whether a changed rule makes some proof smaller."""

from __future__ import annotations

import importlib
import math
import warnings
from pathlib import Path

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import DpcheckError
from dpcheck.program.proof import proof_of, read

GRAMMAR = 60  # programs


def proofs(root: Path) -> dict[str, float]:
    """Name -> epsilon at delta 1e-5; infinite where it is refused."""
    del root
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, data, adjacency, form in _programs():
            found[name] = _proved(function, data, adjacency, form)
    return found


def _programs():
    from tests.prove.grammar.attack import compiled
    from tests.prove.grammar.programs import ROWS, write

    hostile = importlib.import_module("tests.prove.test_hostile")
    for case in hostile.CASES.values():
        yield case.name, case.function, case.data, case.adjacency, case.form
    for seed in range(GRAMMAR):
        program = write(seed)
        for adjacency in ("replace-one", "add-remove"):
            name = f"grammar {seed} {adjacency}"
            data = np.zeros((ROWS, program.columns))
            yield name, compiled(program.source), data, adjacency, None


def _proved(function, data, adjacency: str, form: str | None) -> float:
    try:
        program = read(function, data, Adjacency(adjacency), form=form)
        return float(proof_of(program, data).epsilon(delta=1e-5).upper)
    except (DpcheckError, ValueError, OverflowError, MemoryError):
        return math.inf
