"""A program as it was read, against Python: the same outputs, and releases that move no more than proved."""

from __future__ import annotations

import copy
import hashlib
import linecache
import sys
import types
import warnings
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dpcheck.attack.attack import _inside, _moves
from dpcheck.attack.compare import same
from dpcheck.attack.datasets import pairs, space_of
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import NotProvable, ProofsContradict
from dpcheck.program.proof import read
from dpcheck.session.evaluating import ProgramEvaluation

from .programs import COLUMNS, ROWS, write

PAIRS = 3
# The lowered graph adds numbers up in another order than a loop, a mean or a norm does.
REORDERED = frozenset({"sum", "product", "variance", "cumulative", "quantile"})


@dataclass(frozen=True)
class Judgement:
    """`verdict` is "same" (bit for bit), "rounded" (floats up to a millionth), "refused", "fails" (in Python,
    on all data) or "different"."""

    seed: int
    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        return f"program {self.seed}: {self.verdict}: {self.reason}\n{write(self.seed)}"


def loaded(source: str) -> types.ModuleType:
    """A module of that source, which can be read as a file's can."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    name = f"/nowhere/language_{digest}.py"
    made = types.ModuleType(f"language_{digest}")
    made.__file__ = name
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    sys.modules[made.__name__] = made
    exec(compile(source, name, "exec"), made.__dict__)
    return made


def judge(seed: int, adjacency: Adjacency = Adjacency.REPLACE_ONE) -> Judgement:
    """Read a program, and run both on random and extreme neighbours with one seed."""
    module = loaded(write(seed))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _judged(seed, module.program, adjacency)
    finally:
        del sys.modules[module.__name__]
        linecache.cache.pop(module.__file__, None)


def _judged(seed: int, function: object, adjacency: Adjacency) -> Judgement:
    example = np.zeros((ROWS, COLUMNS))
    try:
        program = read(function, example, adjacency)  # type: ignore[arg-type]
    except NotProvable as refusal:
        return Judgement(seed, "refused", str(refusal))
    evaluation = ProgramEvaluation(function, program)  # type: ignore[arg-type]
    space = space_of(example, None)
    assert space is not None
    reordered = any(node.primitive in REORDERED for node in program.graph.nodes)
    verdict = "same"
    for pair in islice(pairs(space, adjacency, seed), PAIRS):
        made = []
        for side in pair:
            try:
                own = evaluation.call(copy.deepcopy(side), np.random.default_rng(seed))
            except Exception as error:
                return Judgement(seed, "fails", f"{type(error).__name__}: {error}")
            output, releases = evaluation.evaluate(copy.deepcopy(side), seed)
            if not same(output, own) or not (reordered or identical(output, own)):
                return Judgement(seed, "different", f"{own!r} of Python, {output!r} as read")
            if not identical(output, own):
                verdict = "rounded"
            made.append(releases)
        try:
            for side, releases in zip(pair, made, strict=True):
                _inside(releases, side)
            _moves(made[0], made[1], pair, 1)
        except ProofsContradict as error:
            return Judgement(seed, "different", str(error))
    return Judgement(seed, verdict)


def identical(one: object, other: object) -> bool:
    """The same bits of every number, of any NaN; containers of them alike."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return len(one) == len(other) and all(
            a == b and identical(x, y) for (a, x), (b, y) in pairs
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(identical, one, other))
    left, right = np.asarray(one), np.asarray(other)
    if left.dtype.kind != right.dtype.kind or left.shape != right.shape:
        return False
    if left.dtype.kind not in "biuf":
        return bool(np.all(left == right))
    if left.dtype.kind == "f":
        left, right = (np.where(np.isnan(each), np.nan, each) for each in (left, right))
    return left.tobytes() == right.tobytes()
