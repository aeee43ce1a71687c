"""A proved function as its program was read, on real data: what an attack compares with the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.attack.interface import CannotEvaluate, EvaluatedRelease
from dpcheck.execution.randomness import seeded
from dpcheck.program.facts.kinds import Aggregate, Released
from dpcheck.program.graph import Node
from dpcheck.program.proof import Program, arguments_for
from dpcheck.program.running import CannotRun, Run, run


@dataclass(frozen=True, slots=True)
class ProgramEvaluation:
    """`evaluate(data, seed)` of a function whose program was read."""

    function: Callable[..., object]
    program: Program

    def evaluate(self, data: object, seed: int) -> tuple[object, Sequence[EvaluatedRelease]]:
        """The output of the program, and every value that was released, before its noise."""
        rng = np.random.default_rng(seed)
        try:
            with seeded(None, rng):
                made = run(self.program, data, rng)
        except Exception as error:  # whatever it is, it is no statement about the proof
            raise CannotEvaluate(_reason(error)) from error
        nodes = [n for n in self.program.graph.nodes if n.primitive == "release"]
        return made.output, [_release(n, made) for n in nodes if n.id in made.values]

    def call(self, data: object, rng: np.random.Generator) -> object:
        """The function itself."""
        given, named = arguments_for(self.function, data, rng)
        return self.function(*given, **named)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, CannotRun) else f"{type(error).__name__}: {error}"


def _release(node: Node, made: Run) -> EvaluatedRelease:
    private, fact = node.args[0], node.fact
    assert isinstance(private.fact, Aggregate)
    assert isinstance(fact, Released)
    assert fact.release is not None
    release = fact.release
    value = np.broadcast_to(np.asarray(made.values[private.id], dtype=float), release.shape)
    return EvaluatedRelease(
        str(release.line),
        value,
        np.asarray(private.fact.box.lo, dtype=float),
        np.asarray(private.fact.box.hi, dtype=float),
        float(release.diff.l1),
        float(release.diff.l2),
        float(release.diff.linf),
        sampled=bool(release.coins) or release.sampling is not None,
    )
